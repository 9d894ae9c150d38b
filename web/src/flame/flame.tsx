// SPDX-License-Identifier: MIT
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Boxes } from '../data/forest.ts';
import { measured } from '../measure.ts';
import { useValue } from '../ui/signals.ts';
import { useSize } from '../ui/size.ts';
import { pictures } from '../ui/svg.ts';
import { themeTurn } from '../ui/theme.ts';
import { depthAt, draw, isEmptied, palette, ROW, rowTop, sidesOf, type Scene } from './draw.ts';
import { boxAt, boxOf, layOut, smallBeside } from './layout.ts';
import { useMotion } from './motion.ts';
import type { Label, Skin } from './skin.tsx';
import { Tip } from './tip.tsx';
import { depthOf, walk } from './walk.ts';

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

const CONTENT_MAX = 15 * ROW;

/**
 * The canvas as large as its place, in the screen's own pixels; null: its place is not known yet.
 */
function contextOf(
	canvas: HTMLCanvasElement,
	size: { width: number; height: number },
): CanvasRenderingContext2D | null {
	if (size.width === 0) {
		return null;
	}
	const ratio = devicePixelRatio || 1;
	const width = Math.round(size.width * ratio);
	const height = Math.round(size.height * ratio);
	const context = canvas.getContext('2d', { alpha: false })!;
	if (canvas.width !== width || canvas.height !== height) {
		canvas.width = width;
		canvas.height = height;
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		isEmptied(context);
	}
	return context;
}

/** The layout for what is looked at; while it zooms out, still as close as it was. */
function useLayout(f: Boxes, pixels: number, zoom: number) {
	const whole = useMemo(
		() => measured('layout', () => layOut(f, { zoom, pixels })),
		[f, zoom, pixels],
	);
	const zoomed = Math.max(0, boxOf(whole, zoom));
	const from = whole.start[zoomed]!;
	const to = from + f.total[whole.node[zoomed]!]!;
	const moving = useMotion({ forest: f, zoom, from, to });
	const finer = moving && f.total[moving.zoom]! < f.total[zoom]! ? moving.zoom : zoom;
	const layout = useMemo(
		() => (finer === zoom ? whole : layOut(f, { zoom: finer, pixels })),
		[whole, finer],
	);
	return { layout, from: moving?.from ?? from, to: moving?.to ?? to };
}

/** What a skin says of its boxes, found out once for each. */
function remembered(skin: Skin): (node: number) => Label {
	const known = new Map<number, Label>();
	return (node) => {
		let label = known.get(node);
		if (!label) {
			label = skin.label(node);
			known.set(node, label);
		}
		return label;
	};
}

/** The edge of a box; an element of its own, for moving it draws no picture anew. */
function Outline({ scene: s, box, kind }: { scene: Scene; box: number; kind: string }) {
	const [left, right] = box < 0 ? [0, 0] : sidesOf(s, box);
	if (right <= left) {
		return null;
	}
	const top = rowTop(s, s.layout.depth[box]!);
	const width = Math.max(4, right - left - 1);
	return (
		<div
			class={`outline ${kind}`}
			style={{
				left: `${left}px`,
				top: `${top}px`,
				width: `${width}px`,
				height: `${ROW - 1}px`,
			}}
		/>
	);
}

/**
 * Does it if this click becomes a double click, wherever that lands: what the first click opens may
 * have moved the picture by then. What is there is not clicked.
 */
function onSecondPress(run: () => void): void {
	const stop = (event: Event) => event.stopPropagation();
	const press = (event: MouseEvent) => {
		if (event.detail === 2) {
			addEventListener('click', stop, true);
			const end = () => setTimeout(() => removeEventListener('click', stop, true));
			addEventListener('mouseup', end, { once: true });
			run();
		}
	};
	addEventListener('mousedown', press, { capture: true, once: true });
}

/** A flame graph on a canvas, with a tree of one live element beside it for screen readers. */
export function Flame(props: FlameProps) {
	const { forest: f, skin } = props;
	const scroller = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const size = useSize(scroller);
	const [top, setTop] = useState(0);
	const [hover, setHover] = useState<{ node: number; x: number; y: number } | null>(null);
	const [focus, setFocus] = useState(0); // a node
	const [hasFocus, setHasFocus] = useState(false);
	const { layout, from, to } = useLayout(f, size.width, props.zoom ?? 0);
	const focused = focus < f.n ? focus : 0;
	const selected = useMemo(
		() => (props.selectedBase ? nodeOfBase(f, props.selectedBase) : 0),
		[f, props.selectedBase],
	);
	const turn = useValue(themeTurn);
	const scene: Scene = {
		forest: f,
		layout,
		from,
		to,
		top,
		...size,
		isFlipped: props.isFlipped ?? false,
		isMarked: props.isMarked ?? null,
		label: useMemo(() => remembered(skin), [skin]),
		colour: skin.colour,
	};

	useLayoutEffect(() => {
		const context = contextOf(canvas.current!, size);
		if (context) {
			measured('draw', () => draw(context, scene, palette(turn)));
			pictures.set(canvas.current!, {
				title: props.label,
				draw: (pen) => draw(pen, scene, palette(turn)),
			});
		}
	}, [skin, layout, from, to, top, size, scene.isFlipped, props.isMarked, turn]);

	/** The node under the pointer; -1: none. */
	const find = (event: MouseEvent) => {
		const r = canvas.current!.getBoundingClientRect();
		const depth = depthAt(scene, event.clientY - r.top);
		const box = boxAt(
			layout,
			f,
			depth,
			from + ((event.clientX - r.left) / size.width) * (to - from),
		);
		return box < 0 ? -1 : layout.node[box]!;
	};
	const choose = (node: number) => {
		setFocus(node);
		props.onSelect?.(node);
	};
	const show = (node: number) => {
		const y = rowTop({ ...scene, top: 0 }, depthOf(f, node));
		const { scrollTop, clientHeight } = scroller.current!;
		scroller.current!.scrollTop = Math.min(y, Math.max(scrollTop, y + ROW - clientHeight));
	};
	const onKey = (event: KeyboardEvent) => {
		const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
		const next = hasModifier ? null : walk(f, focused, event.key, scene.isFlipped);
		if (next !== null) {
			choose(next);
			show(next);
		} else if (event.key === 'Enter') {
			props.onZoom?.(focused);
		} else if (event.key === 'Backspace' || event.key === 'u') {
			props.onZoom?.(f.parent[props.zoom ?? 0]!);
		} else if (event.key === ' ') {
			props.onOpenRun?.(focused);
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	};
	const onClick = (event: MouseEvent) => {
		const node = find(event);
		if (node >= 0) {
			(event.altKey ? props.onHide : event.shiftKey ? props.onOpenRun : choose)?.(node);
			onSecondPress(() => props.onZoom?.(node));
		}
	};
	const levels = layout.levels * ROW;
	const itemId = `box-of-${props.label.replace(/\W+/g, '-')}`;
	return (
		<div
			class={`flame${props.height === 'fill' ? ' fill' : ''}`}
			style={props.height === 'fill' ? {} : { height: `${Math.min(CONTENT_MAX, levels)}px` }}
		>
			<div
				class="flame-scroll"
				ref={scroller}
				tabIndex={0}
				role="tree"
				aria-label={`${props.label}. Arrow keys move, Enter zooms, Backspace zooms out`}
				aria-activedescendant={itemId}
				onKeyDown={onKey}
				onFocus={() => setHasFocus(true)}
				onBlur={() => setHasFocus(false)}
				onScroll={(e) => setTop(e.currentTarget.scrollTop)}
			>
				<div
					class="flame-picture"
					aria-hidden="true"
					style={{ width: `${size.width}px`, height: `${size.height}px` }}
				>
					<canvas
						ref={canvas}
						onClick={onClick}
						onMouseMove={(e) => {
							const node = find(e);
							setHover(node < 0 ? null : { node, x: e.clientX, y: e.clientY });
						}}
						onMouseLeave={() => setHover(null)}
					/>
					<Outline
						scene={scene}
						box={selected > 0 ? boxOf(layout, selected) : -1}
						kind="selected"
					/>
					<Outline
						scene={scene}
						box={hasFocus ? boxOf(layout, focused) : -1}
						kind="focused"
					/>
				</div>
				<div
					style={{ height: `${Math.max(0, levels - size.height)}px` }}
					aria-hidden="true"
				/>
				<div
					id={itemId}
					class="sr"
					role="treeitem"
					aria-selected="true"
					aria-level={depthOf(f, focused) + 1}
				>
					{skin.words(focused)}
				</div>
			</div>
			{hover && hover.node < f.n && (
				<Tip
					skin={skin}
					forest={f}
					small={smallBeside(f, hover.node, size.width / (to - from))}
					{...hover}
				/>
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
