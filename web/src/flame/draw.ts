// SPDX-License-Identifier: MIT
import type { Boxes } from '../data/forest.ts';
import { hatchColours, type Pen } from '../ui/svg.ts';
import { SMALL_PX, type Layout } from './layout.ts';
import type { Label } from './skin.tsx';
import { drawTexts } from './texts.ts';

export const ROW = 22;

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
	isMarked: ((node: number) => boolean) | null; // by a search
	label: (node: number) => Label;
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
			token('library'), // hatched
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
	};
}

/** Slanting lines, for what is unknown and for what is too small to be told apart. */
function hatch(context: Pen, colour: string, background: string): string | CanvasPattern {
	const key = `${colour} ${background}`;
	let pattern = hatches.get(key);
	if (!pattern) {
		if (!('createPattern' in context)) {
			return background;
		}
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
		hatchColours.set(pattern, background);
	}
	return pattern;
}

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

/** Where a box begins and ends, as far as it can be seen; whole px are filled fastest. */
export function sidesOf(s: Scene, box: number): [left: number, right: number] {
	const scale = s.width / (s.to - s.from || 1);
	const start = s.layout.start[box]! - s.from;
	const end = start + s.forest.total[s.layout.node[box]!]!;
	return [Math.max(0, Math.round(start * scale)), Math.min(s.width, Math.round(end * scale))];
}

/** Rectangles that are filled alike, one row high: left, top and width of each in turn. */
type Rects = number[];

/** What is on the screen, by how it is drawn: one colour after the other. */
interface Seen {
	fills: Rects[]; // by colour
	faded: Rects;
	runs: Rects; // boxes side by side that are too small to be told apart
	texts: number[]; // boxes
	boxes: number[]; // that a search can mark: the box, its sides, and 1 if it does not mark it
}

function nothingSeen(nColours: number): Seen {
	const fills = Array.from({ length: nColours }, () => []);
	return { fills, faded: [], runs: [], texts: [], boxes: [] };
}

/** The end of a row, as far as it is filled: what follows without a gap makes that longer. */
interface RowEnd {
	of: Rects | null;
	at: number;
	right: number;
}

function addRect(row: RowEnd, to: Rects, left: number, right: number, top: number): void {
	if (row.of === to && left - row.right < 1) {
		to[row.at + 2] = right - to[row.at]!;
	} else {
		row.of = to;
		row.at = to.length;
		to.push(left, top, right - left);
	}
	row.right = right;
}

const GAP_PX = 3; // wider boxes have a gap behind them

const isFaded = (s: Scene, box: number) =>
	s.isMarked !== null && !s.isMarked(s.layout.node[box]!);

/** Where each row of a picture begins, and how far it is filled. */
function rowsOf(s: Scene): { tops: number[]; ends: RowEnd[] } {
	const tops = Array.from({ length: s.layout.levels }, (_, depth) => rowTop(s, depth));
	return { tops, ends: tops.map(() => ({ of: null, at: 0, right: 0 })) };
}

/** Of the box at `at` of all. */
function addBox(s: Scene, all: number[], at: number, row: RowEnd, top: number, seen: Seen): void {
	const box = all[at]!;
	const left = all[at + 1]!;
	const right = all[at + 2]!;
	const to = all[at + 3] ? seen.faded : seen.fills[s.colour(s.layout.node[box]!)]!;
	if (right - left > TEXT_PX) {
		seen.texts.push(box);
	}
	if (right - left > GAP_PX) {
		row.of = null;
		to.push(left, top, right - left - 1);
	} else {
		addRect(row, to, left, Math.max(right, left + 1), top);
	}
}

function look(s: Scene, nColours: number): Seen {
	const { layout, forest } = s;
	const scale = s.width / (s.to - s.from || 1);
	const seen = nothingSeen(nColours);
	const { tops, ends } = rowsOf(s);
	for (let i = 0; i < layout.n;) {
		const node = layout.node[i]!;
		const depth = layout.depth[i]!;
		const left = (layout.start[i]! - s.from) * scale;
		const width = forest.total[node]! * scale;
		const top = tops[depth]!;
		const isAbove = top + ROW <= 0;
		const isBelow = top >= s.height;
		if (left + width <= 0 || left >= s.width || (s.isFlipped ? isAbove : isBelow)) {
			i = layout.end[i]!; // what is in it is further out
			continue;
		}
		const isSmall = width < SMALL_PX;
		if (!isAbove && !isBelow) {
			if (isSmall) {
				const [from, to] = sidesOf(s, i);
				addRect(ends[depth]!, seen.runs, from, Math.max(from + 1, to), top);
			} else {
				const at = seen.boxes.length;
				// Iterated over, it would take as long as all else here
				const sides = sidesOf(s, i);
				seen.boxes.push(i, sides[0], sides[1], +isFaded(s, i));
				addBox(s, seen.boxes, at, ends[depth]!, top, seen);
			}
		}
		i = isSmall ? layout.end[i]! : i + 1;
	}
	return seen;
}

function fill(
	context: Pen,
	rects: Rects,
	colour: string | CanvasPattern,
): void {
	context.fillStyle = colour;
	for (let i = 0; i < rects.length; i += 3) {
		context.fillRect(rects[i]!, rects[i + 1]!, rects[i + 2]!, ROW - 1);
	}
}

/** What was drawn last. */
interface Drawn {
	boxes: number[];
	scene: Scene;
	palette: Palette;
}

const drawn = new WeakMap<Pen, Drawn>();

/** What was drawn on it is there no more. */
export function isEmptied(context: Pen): void {
	drawn.delete(context);
}

/** True if a search alone may have turned what was drawn. */
function isAsBefore(last: Drawn | undefined, s: Scene, p: Palette): last is Drawn {
	const { isMarked, ...rest } = s;
	return last?.palette === p && (Object.keys(rest) as (keyof typeof rest)[]).every(
		(key) => rest[key] === last.scene[key],
	);
}

/** The boxes that a letter of a search marks, or no more. */
function lookAgain(s: Scene, nColours: number, { boxes }: Drawn): Seen | null {
	const seen = nothingSeen(nColours);
	const { tops, ends } = rowsOf(s);
	let hasTurned = false;
	for (let i = 0; i < boxes.length; i += 4) {
		const box = boxes[i]!;
		const is = +isFaded(s, box);
		if (is !== boxes[i + 3]) {
			boxes[i + 3] = is;
			hasTurned = true;
			const depth = s.layout.depth[box]!;
			addBox(s, boxes, i, ends[depth]!, tops[depth]!, seen);
		}
	}
	return hasTurned ? seen : null;
}

/** Draws what can be seen; of what is drawn already, what looks another way. */
export function draw(context: Pen, s: Scene, p: Palette): void {
	const last = drawn.get(context);
	const n = p.fills.length;
	let seen: Seen | null;
	if (isAsBefore(last, s, p)) {
		seen = lookAgain(s, n, last);
		last.scene = s;
		if (!seen) {
			return;
		}
	} else {
		seen = look(s, n);
		drawn.set(context, { boxes: seen.boxes, scene: s, palette: p });
		context.fillStyle = p.background;
		context.fillRect(0, 0, s.width, s.height);
	}
	const library = p.fills[Colour.Library]!;
	seen.fills.forEach((rects, colour) => {
		const isUnknown = (colour as Colour) === Colour.Unknown;
		fill(context, rects, isUnknown ? hatch(context, p.line, library) : p.fills[colour]!);
	});
	fill(context, seen.faded, p.line);
	fill(context, seen.runs, hatch(context, p.dim, library));
	drawTexts(context, s, p.text, seen.texts);
}
