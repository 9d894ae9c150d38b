// SPDX-License-Identifier: MIT
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Forest } from '../data/forest.ts';
import { isCounted, type Metric } from '../data/lens.ts';
import type { Profile } from '../data/profile.ts';
import { measured } from '../measure.ts';
import { ownerOf } from '../data/tree.ts';
import { elide, percent } from '../ui/format.ts';
import { nodeName, placeOf, shortWeight, weight } from '../ui/labels.ts';
import { Colour, draw, forgetHatches, palette, ROW, rowTop, type Scene } from './draw.ts';
import { boxAt, layOut, type Layout } from './layout.ts';
import { Tip } from './tip.tsx';

export interface FlameProps {
	profile: Profile;
	forest: Forest;
	metric: Metric;
	label: string; // what it shows, for those who do not see it
	height: 'content' | 'fill'; // as high as its boxes, within bounds; or all there is
	isFlipped?: boolean;
	selectedBase?: number; // a node of the profile
	isMarked?: ((node: number) => boolean) | null;
	byModule?: boolean;
	zoom?: number; // a node; 0: all
	onZoom?: (node: number) => void;
	onSelect?: (node: number) => void;
	onOpenRun?: (node: number) => void;
	onHide?: (node: number) => void;
}

export function colourOf(p: Profile, f: Forest, node: number, byModule: boolean): Colour {
	const symbol = f.symbol[node]!;
	if (symbol === 0 || f.isRest[node]) {
		return f.isRest[node] ? Colour.Unknown : Colour.Root;
	}
	if (byModule) {
		let h = 0;
		for (const c of p.symbols.module[symbol]!) {
			h = (Math.imul(h, 31) + c.charCodeAt(0)) >>> 0;
		}
		return Colour.Series + (h % 6);
	}
	const owner = ownerOf(p, symbol);
	return owner === 'yours'
		? f.key[node]! & 1
			? Colour.YoursA
			: Colour.YoursB
		: owner === 'library'
			? Colour.Library
			: Colour.Unknown;
}

const CONTENT_MAX = 15 * ROW;

const reduced = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** A flame graph on a canvas, with a tree of one live element beside it for screen readers. */
export function Flame(props: FlameProps) {
	const { profile: p, forest: f, metric } = props;
	const box = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const [size, setSize] = useState({ width: 0, height: 0 });
	const [top, setTop] = useState(0);
	const [hover, setHover] = useState<{ box: number; x: number; y: number } | null>(null);
	const [focused, setFocused] = useState(0);
	const layout = useMemo(() => measured('layout', () => layOut(f, f.total[0]! / 1e6)), [f]);
	const zoomed = Math.max(0, layout.of[props.zoom ?? 0] ?? 0);
	const from = layout.start[zoomed] ?? 0;
	const to = from + (f.total[layout.node[zoomed]!] ?? 0);
	const [window_, setWindow] = useState({ from, to });
	const frame = useRef(0);

	useLayoutEffect(() => {
		const watch = new ResizeObserver(([entry]) => {
			const r = entry!.contentRect;
			setSize({ width: Math.floor(r.width), height: Math.floor(r.height) });
		});
		watch.observe(box.current!);
		return () => watch.disconnect();
	}, []);

	useEffect(() => {
		const start = { ...window_ };
		const began = performance.now();
		const step = (now: number) => {
			const t = reduced() ? 1 : Math.min(1, (now - began) / 120);
			const ease = 1 - (1 - t) ** 3;
			setWindow({
				from: start.from + (from - start.from) * ease,
				to: start.to + (to - start.to) * ease,
			});
			if (t < 1) {
				frame.current = requestAnimationFrame(step);
			}
		};
		if (start.from !== from || start.to !== to) {
			frame.current = requestAnimationFrame(step);
		}
		return () => cancelAnimationFrame(frame.current);
	}, [from, to]);

	const total = f.total[0]!;
	const label = (node: number, chars: number) => boxText(p, f, metric, total, node, chars);
	const selected = useMemo(() => {
		const node = props.selectedBase ? nodeOfBase(f, props.selectedBase) : -1;
		return node > 0 ? layout.of[node]! : -1;
	}, [f, layout, props.selectedBase]);
	const isFocusShown = document.activeElement === box.current;
	const scene: Scene = {
		forest: f,
		layout,
		...window_,
		top,
		...size,
		isFlipped: props.isFlipped ?? false,
		selected,
		focused: isFocusShown ? focused : -1,
		isMarked: props.isMarked ?? null,
		label,
		colour: (node) => colourOf(p, f, node, props.byModule ?? false),
	};
	const theme = document.documentElement.dataset['theme'] ?? '';

	useLayoutEffect(() => {
		const c = canvas.current!;
		const ratio = devicePixelRatio || 1;
		const width = Math.round(size.width * ratio);
		const height = Math.round(size.height * ratio);
		if (c.width !== width || c.height !== height) {
			c.width = width;
			c.height = height;
		}
		const context = c.getContext('2d')!;
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		forgetHatches();
		measured('draw', () => draw(context, scene, palette()));
	});
	void theme;

	const find = (event: MouseEvent) => {
		const r = canvas.current!.getBoundingClientRect();
		const x = event.clientX - r.left;
		const y = event.clientY - r.top + top;
		const levels = Math.max(layout.levels * ROW, size.height);
		const depth = Math.floor((scene.isFlipped ? levels - y : y) / ROW);
		const at = window_.from + (x / size.width) * (window_.to - window_.from);
		return boxAt(layout, f, depth, at);
	};
	const choose = (i: number) => {
		setFocused(i);
		props.onSelect?.(layout.node[i]!);
	};
	const zoomTo = (i: number) => props.onZoom?.(layout.node[i]!);
	const showBox = (i: number) => {
		const y = rowTop({ ...scene, top: 0 }, layout.depth[i]!);
		const scroller = box.current!;
		if (y < scroller.scrollTop) {
			scroller.scrollTop = y;
		} else if (y + ROW > scroller.scrollTop + scroller.clientHeight) {
			scroller.scrollTop = y + ROW - scroller.clientHeight;
		}
	};
	const go = (i: number) => {
		if (i >= 0) {
			choose(i);
			showBox(i);
		}
	};
	const onKey = (event: KeyboardEvent) => {
		const moved = move(layout, f, focused, event.key, scene.isFlipped);
		if (moved !== null && !event.ctrlKey && !event.metaKey && !event.altKey) {
			go(moved);
		} else if (event.key === 'Enter') {
			zoomTo(focused);
		} else if (event.key === 'Backspace' || event.key === 'u') {
			const node = props.zoom ?? 0;
			props.onZoom?.(node ? f.parent[node]! : 0);
		} else if (event.key === ' ') {
			props.onOpenRun?.(layout.node[focused]!);
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	};
	const onClick = (event: MouseEvent) => {
		const i = find(event);
		if (i < 0) {
			return;
		}
		if (event.altKey) {
			props.onHide?.(layout.node[i]!);
		} else if (event.shiftKey) {
			props.onOpenRun?.(layout.node[i]!);
		} else {
			choose(i);
		}
	};
	const focusedNode = layout.node[Math.min(focused, layout.n - 1)] ?? 0;
	const levels = layout.levels * ROW;
	return (
		<div
			class={`flame${props.height === 'fill' ? ' fill' : ''}`}
			style={props.height === 'fill' ? {} : { height: `${Math.min(CONTENT_MAX, levels)}px` }}
		>
			<div
				class="flame-scroll"
				ref={box}
				tabIndex={0}
				role="tree"
				aria-label={`${props.label}. Arrow keys move, Enter zooms, Backspace zooms out`}
				aria-activedescendant="flame-item"
				onKeyDown={onKey}
				onFocus={() => setFocused((i) => i)}
				onScroll={(e) => setTop((e.target as HTMLElement).scrollTop)}
			>
				<canvas
					ref={canvas}
					aria-hidden="true"
					style={{ width: `${size.width}px`, height: `${size.height}px` }}
					onClick={onClick}
					onDblClick={(e) => {
						const i = find(e);
						if (i >= 0) {
							zoomTo(i);
						}
					}}
					onMouseMove={(e) => {
						const i = find(e);
						setHover(i < 0 ? null : { box: i, x: e.clientX, y: e.clientY });
					}}
					onMouseLeave={() => setHover(null)}
				/>
				<div style={{ height: `${Math.max(0, levels - size.height)}px` }} aria-hidden="true" />
				<div
					id="flame-item"
					class="sr"
					role="treeitem"
					aria-selected="true"
					aria-level={(layout.depth[focused] ?? 0) + 1}
				>
					{`${nodeName(p, f, focusedNode)}, ${weight(metric, f.total[focusedNode]!)}, ${percent(f.total[focusedNode]!, total)} ${placeOf(p, f.symbol[focusedNode]!, f.line[focusedNode]!)}`}
				</div>
			</div>
			{hover && layout.node[hover.box] !== undefined && (
				<Tip profile={p} forest={f} metric={metric} node={layout.node[hover.box]!} {...hover} />
			)}
		</div>
	);
}

function boxText(
	p: Profile,
	f: Forest,
	metric: Metric,
	total: number,
	node: number,
	chars: number,
): string {
	const name = nodeName(p, f, node);
	const value = shortWeight(metric, f.total[node]!);
	const share = percent(f.total[node]!, total);
	const unit = isCounted(metric) ? ' calls' : '';
	for (const text of [`${name}  ${value}${unit} · ${share}`, `${name}  ${value}${unit}`, name]) {
		if (text.length <= chars) {
			return text;
		}
	}
	return elide(name, chars);
}

/** The node of a forest that a node of the profile is in. */
function nodeOfBase(f: Forest, base: number): number {
	if (f.kind === 'down' && f.tree.parent === f.parent) {
		return f.tree.ofBase[base]!;
	}
	return f.base.indexOf(base);
}

/** The box that an arrow key leads to; null: the key leads nowhere. */
function move(
	l: Layout,
	f: Forest,
	at: number,
	key: string,
	isFlipped: boolean,
): number | null {
	const up = isFlipped ? 'ArrowDown' : 'ArrowUp';
	const down = isFlipped ? 'ArrowUp' : 'ArrowDown';
	if (key === up) {
		return l.of[f.parent[l.node[at]!]!]!;
	}
	if (key === down) {
		return at + 1 < l.end[at]! ? at + 1 : at;
	}
	if (key === 'ArrowRight') {
		const next = l.end[at]!;
		return next < l.n && l.depth[next] === l.depth[at] ? next : at;
	}
	if (key === 'ArrowLeft') {
		for (let i = at - 1; i >= 0 && l.depth[i]! >= l.depth[at]!; i--) {
			if (l.depth[i] === l.depth[at]) {
				return i;
			}
		}
		return at;
	}
	return key === 'Home' ? 0 : null;
}
