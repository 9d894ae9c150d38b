// SPDX-License-Identifier: MIT
import type { Boxes } from '../data/forest.ts';
import { SMALL_PX, type Layout } from './layout.ts';

export const ROW = 22;
const FONT = '12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** What part of a layout is on the screen, and how. */
export interface Scene {
	forest: Boxes;
	layout: Layout;
	from: number; // weights
	to: number;
	top: number; // px that are scrolled away
	width: number;
	height: number;
	isFlipped: boolean; // the root at the bottom
	selected: number; // box; -1: none
	focused: number;
	isMarked: ((node: number) => boolean) | null; // by a search
	label: (node: number, chars: number) => string;
	colour: (node: number) => Colour;
}

/** Index into the palette. */
export const enum Colour {
	YoursA,
	YoursB,
	Library,
	Unknown,
	Root,
	Series,
	Less = Series + 6, // three steps, from little to all; then what is the same, then more
	Same = Less + 3,
	More,
}

export interface Palette {
	fills: string[];
	text: string;
	dim: string;
	line: string;
	background: string;
	accent: string;
	mark: string;
}

const hatches = new Map<string, CanvasPattern>();

let known: { turn: number; palette: Palette } | null = null;

/** The colours as they are since they changed for the `turn`th time. */
export function palette(turn: number): Palette {
	if (known?.turn !== turn) {
		known = { turn, palette: readPalette() };
		hatches.clear();
	}
	return known.palette;
}

function readPalette(): Palette {
	const style = getComputedStyle(document.documentElement);
	const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
	return {
		fills: [
			token('yours-a'),
			token('yours-b'),
			token('library'),
			token('unknown'),
			token('root'),
			...Array.from({ length: 6 }, (_, i) => token(`series-${i}`)),
			...[1, 2, 3].map((i) => token(`less-${i}`)),
			token('same'),
			...[1, 2, 3].map((i) => token(`more-${i}`)),
		],
		text: token('box-text'),
		dim: token('dim'),
		line: token('line'),
		background: token('panel'),
		accent: token('accent'),
		mark: token('mark'),
	};
}

/** Slanting lines, for what is unknown and for what is too small to be told apart. */
function hatch(context: CanvasRenderingContext2D, colour: string, background: string) {
	const key = `${colour} ${background}`;
	let pattern = hatches.get(key);
	if (!pattern) {
		const tile = document.createElement('canvas');
		tile.width = tile.height = 6;
		const c = tile.getContext('2d')!;
		c.fillStyle = background;
		c.fillRect(0, 0, 6, 6);
		c.strokeStyle = colour;
		c.lineWidth = 1.2;
		for (const shift of [-6, 0, 6]) {
			c.beginPath();
			c.moveTo(shift, 6);
			c.lineTo(shift + 6, 0);
			c.stroke();
		}
		pattern = context.createPattern(tile, 'repeat')!;
		hatches.set(key, pattern);
	}
	return pattern;
}

let charWidth = 0;

const TEXT_PX = 24; // narrower boxes have no text

export function rowTop(s: Scene, depth: number): number {
	const levels = Math.max(s.layout.levels * ROW, s.height);
	return (s.isFlipped ? levels - (depth + 1) * ROW : depth * ROW) - s.top;
}

/** The row that a point of the canvas is in. */
export function depthAt(s: Scene, y: number): number {
	const levels = Math.max(s.layout.levels * ROW, s.height);
	return Math.floor((s.isFlipped ? levels - y - s.top : y + s.top) / ROW);
}

/** Boxes side by side that are too small to be told apart. */
interface Run {
	depth: number;
	left: number;
	right: number;
}

/** What is on the screen, by how it is drawn: one colour after the other. */
interface Seen {
	boxes: number[][]; // by colour
	faded: number[];
	texts: number[];
	runs: Run[];
}

function addSmall(seen: Seen, depth: number, left: number, right: number): void {
	const last = seen.runs[seen.runs.length - 1];
	if (last?.depth === depth && left - last.right < 1) {
		last.right = right;
	} else {
		seen.runs.push({ depth, left, right });
	}
}

function look(s: Scene, scale: number, nColours: number): Seen {
	const { layout, forest } = s;
	const seen: Seen = { boxes: Array.from({ length: nColours }, () => []), faded: [], texts: [], runs: [] };
	const rows = Array.from({ length: layout.levels }, (_, depth) => rowTop(s, depth));
	for (let i = 0; i < layout.n; ) {
		const node = layout.node[i]!;
		const depth = layout.depth[i]!;
		const left = (layout.start[i]! - s.from) * scale;
		const width = forest.total[node]! * scale;
		const y = rows[depth]!;
		const isAbove = y + ROW <= 0;
		const isBelow = y >= s.height;
		if (left + width <= 0 || left >= s.width || (s.isFlipped ? isAbove : isBelow)) {
			i = layout.end[i]!; // what is in it is further out
			continue;
		}
		if (width < SMALL_PX) {
			addSmall(seen, depth, left, left + width);
			i = layout.end[i]!;
			continue;
		}
		if (!isAbove && !isBelow) {
			(s.isMarked && !s.isMarked(node) ? seen.faded : seen.boxes[s.colour(node)]!).push(i);
			if (width > TEXT_PX) {
				seen.texts.push(i);
			}
		}
		i++;
	}
	return seen;
}

/** Draws what can be seen. */
export function draw(context: CanvasRenderingContext2D, s: Scene, p: Palette): void {
	const scale = s.width / (s.to - s.from || 1);
	const seen = look(s, scale, p.fills.length);
	context.fillStyle = p.background;
	context.fillRect(0, 0, s.width, s.height);
	seen.boxes.forEach((boxes, colour) => {
		const isUnknown = (colour as Colour) === Colour.Unknown;
		context.fillStyle = isUnknown ? hatch(context, p.line, p.fills[Colour.Library]!) : p.fills[colour]!;
		boxes.forEach((i) => fillBox(context, s, scale, i));
	});
	context.globalAlpha = 0.35;
	context.fillStyle = p.fills[Colour.Library]!;
	seen.faded.forEach((i) => fillBox(context, s, scale, i));
	context.globalAlpha = 1;
	drawRuns(context, s, p, seen.runs);
	drawTexts(context, s, p, seen.texts, scale);
	outline(context, s, p, scale);
}

function fillBox(context: CanvasRenderingContext2D, s: Scene, scale: number, i: number): void {
	const { layout, forest } = s;
	const start = layout.start[i]! - s.from;
	const left = Math.max(0, start * scale);
	const right = Math.min(s.width, (start + forest.total[layout.node[i]!]!) * scale);
	const gap = right - left > 3 ? 1 : 0;
	context.fillRect(left, rowTop(s, layout.depth[i]!), right - left - gap, ROW - 1);
}

function drawRuns(context: CanvasRenderingContext2D, s: Scene, p: Palette, runs: Run[]): void {
	context.fillStyle = hatch(context, p.dim, p.fills[Colour.Library]!);
	for (const { depth, left, right } of runs) {
		const y = rowTop(s, depth);
		if (y < s.height && y + ROW > 0) {
			context.fillRect(Math.max(0, left), y, Math.max(1, right - left - 0.5), ROW - 1);
		}
	}
}

function drawTexts(
	context: CanvasRenderingContext2D,
	s: Scene,
	p: Palette,
	texts: number[],
	scale: number,
): void {
	const { layout, forest } = s;
	let isItalic = false;
	context.font = FONT;
	context.textBaseline = 'middle';
	context.fillStyle = p.text;
	charWidth ||= context.measureText('0000000000').width / 10;
	for (const i of texts) {
		const node = layout.node[i]!;
		const left = Math.max(0, (layout.start[i]! - s.from) * scale);
		const right = Math.min(s.width, (layout.start[i]! + forest.total[node]! - s.from) * scale);
		const chars = Math.floor((right - left - 10) / charWidth);
		if (chars < 3) {
			continue;
		}
		const wantsItalic = forest.isRun[node] === 1;
		if (wantsItalic !== isItalic) {
			isItalic = wantsItalic;
			context.font = `${isItalic ? 'italic ' : ''}${FONT}`;
		}
		context.globalAlpha = s.isMarked && !s.isMarked(node) ? 0.6 : 1;
		context.fillText(s.label(node, chars), left + 6, rowTop(s, layout.depth[i]!) + ROW / 2);
	}
	context.globalAlpha = 1;
}

function outline(context: CanvasRenderingContext2D, s: Scene, p: Palette, scale: number): void {
	for (const [box, colour] of [
		[s.selected, p.accent],
		[s.focused, p.text],
	] as const) {
		if (box < 0) {
			continue;
		}
		const { layout, forest } = s;
		const left = Math.max(1, (layout.start[box]! - s.from) * scale);
		const right = Math.min(
			s.width - 1,
			(layout.start[box]! + forest.total[layout.node[box]!]! - s.from) * scale,
		);
		if (right > left) {
			context.strokeStyle = colour;
			context.lineWidth = 2;
			const y = rowTop(s, layout.depth[box]!);
			context.strokeRect(left, y + 1, Math.max(2, right - left - 2), ROW - 3);
		}
	}
}
