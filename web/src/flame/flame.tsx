// SPDX-License-Identifier: MIT
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Boxes } from '../data/forest.ts';
import { measured } from '../measure.ts';
import { useValue } from '../ui/signals.ts';
import { themeTurn } from '../ui/theme.ts';
import { draw, palette, ROW, rowTop, type Scene } from './draw.ts';
import { boxAt, layOut, type Layout } from './layout.ts';
import type { Skin } from './skin.tsx';
import { Tip } from './tip.tsx';

export interface FlameProps {
	forest: Boxes;
	skin: Skin;
	label: string; // what it shows, for those who do not see it
	height: 'content' | 'fill'; // as high as its boxes, within bounds; or all there is
	isFlipped?: boolean;
	selectedBase?: number; // a node of the profile
	isMarked?: ((node: number) => boolean) | null;
	zoom?: number; // a node; 0: all
	onZoom?: (node: number) => void;
	onSelect?: (node: number) => void;
	onOpenRun?: (node: number) => void;
	onHide?: (node: number) => void;
}

/** What of the width is seen: weights. */
interface Window {
	from: number;
	to: number;
}

const CONTENT_MAX = 15 * ROW;

const reduced = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** A flame graph on a canvas, with a tree of one live element beside it for screen readers. */
export function Flame(props: FlameProps) {
	const { forest: f, skin } = props;
	const box = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const [size, setSize] = useState({ width: 0, height: 0 });
	const [top, setTop] = useState(0);
	const [hover, setHover] = useState<{ box: number; x: number; y: number } | null>(null);
	const [focused, setFocused] = useState(0);
	const [hasFocus, setHasFocus] = useState(false);
	const layout = useMemo(() => measured('layout', () => layOut(f, f.total[0]! / 1e6)), [f]);
	const zoomed = Math.max(0, layout.of[props.zoom ?? 0] ?? 0);
	const from = layout.start[zoomed] ?? 0;
	const to = from + (f.total[layout.node[zoomed]!] ?? 0);
	const [moving, setMoving] = useState<(Window & { of: Boxes }) | null>(null); // while it zooms
	const shown = moving?.of === f ? moving : { from, to };
	const drawn = useRef<Window & { of: Boxes }>({ from, to, of: f });
	const context = useRef<CanvasRenderingContext2D | null>(null);

	useLayoutEffect(() => {
		const watch = new ResizeObserver(([entry]) => {
			const r = entry!.contentRect;
			setSize({ width: Math.floor(r.width), height: Math.floor(r.height) });
		});
		watch.observe(box.current!);
		return () => watch.disconnect();
	}, []);

	useLayoutEffect(() => {
		const start = drawn.current;
		if (reduced() || start.of !== f || (start.from === from && start.to === to)) {
			return; // of other costs there is no way from one to the other
		}
		const began = performance.now();
		let request = 0;
		const step = (now: number) => {
			const t = Math.min(1, (now - began) / 120);
			const ease = 1 - (1 - t) ** 3;
			const at = (a: number, b: number) => a + (b - a) * ease;
			setMoving(t < 1 ? { from: at(start.from, from), to: at(start.to, to), of: f } : null);
			if (t < 1) {
				request = requestAnimationFrame(step);
			}
		};
		setMoving(start);
		request = requestAnimationFrame(step);
		return () => cancelAnimationFrame(request);
	}, [f, from, to]);

	const selected = useMemo(() => {
		const node = props.selectedBase ? nodeOfBase(f, props.selectedBase) : -1;
		return node > 0 ? layout.of[node]! : -1;
	}, [f, layout, props.selectedBase]);
	const scene: Scene = {
		forest: f,
		layout,
		from: shown.from,
		to: shown.to,
		top,
		...size,
		isFlipped: props.isFlipped ?? false,
		selected,
		focused: hasFocus ? focused : -1,
		isMarked: props.isMarked ?? null,
		label: skin.text,
		colour: skin.colour,
	};
	const turn = useValue(() => themeTurn.value);

	useLayoutEffect(() => {
		if (size.width === 0) {
			return; // its place is not known yet
		}
		const c = canvas.current!;
		const ratio = devicePixelRatio || 1;
		const width = Math.round(size.width * ratio);
		const height = Math.round(size.height * ratio);
		if (c.width !== width || c.height !== height) {
			c.width = width;
			c.height = height;
		}
		context.current ??= c.getContext('2d')!;
		context.current.setTransform(ratio, 0, 0, ratio, 0, 0);
		measured('draw', () => draw(context.current!, scene, palette(turn)));
		drawn.current = { from: shown.from, to: shown.to, of: f };
	}, [f, skin, layout, shown.from, shown.to, top, size, scene.isFlipped, selected, scene.focused, props.isMarked, turn]);

	const find = (event: MouseEvent) => {
		const r = canvas.current!.getBoundingClientRect();
		const x = event.clientX - r.left;
		const y = event.clientY - r.top + top;
		const levels = Math.max(layout.levels * ROW, size.height);
		const depth = Math.floor((scene.isFlipped ? levels - y : y) / ROW);
		const at = shown.from + (x / size.width) * (shown.to - shown.from);
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
	const itemId = `box-of-${props.label.replace(/\W+/g, '-')}`;
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
				aria-activedescendant={itemId}
				onKeyDown={onKey}
				onFocus={() => setHasFocus(true)}
				onBlur={() => setHasFocus(false)}
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
					id={itemId}
					class="sr"
					role="treeitem"
					aria-selected="true"
					aria-level={(layout.depth[focused] ?? 0) + 1}
				>
					{skin.words(focusedNode)}
				</div>
			</div>
			{hover && layout.node[hover.box] !== undefined && (
				<Tip skin={skin} forest={f} node={layout.node[hover.box]!} {...hover} />
			)}
		</div>
	);
}

/** The node of a forest that a node of the profile is in. */
function nodeOfBase(f: Boxes, base: number): number {
	if (f.kind === 'down' && f.tree.parent === f.parent) {
		return f.tree.ofBase[base]!;
	}
	return f.base.indexOf(base);
}

/** The box that an arrow key leads to; null: the key leads nowhere. */
function move(
	l: Layout,
	f: Boxes,
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
