// SPDX-License-Identifier: MIT
import { firstWhere } from '../data/search.ts';
import { pictures, type Pen } from './svg.ts';

/** Curves over the run of a program, drawn on a canvas: areas, lines, and what is beside them. */

export interface Line {
	label: string;
	colour: string; // a token's name
	times: ArrayLike<number>; // ns, rising: value k holds from times[k] on
	values: ArrayLike<number>;
	// A dashed one goes from value to value, the others in steps; cells stand by themselves, below
	// their values, the darker the more they weigh
	kind: 'area' | 'line' | 'dashed' | 'cells';
	weights?: number[];
	width?: number; // of a cell
	height?: number;
}

/** Where the curves are, in px of the whole, and what its ends stand for. */
export interface Frame {
	left: number;
	top: number;
	width: number;
	height: number;
	startNs: number;
	endNs: number;
	most: number;
}

export interface Look {
	line: string;
	dim: string;
	colour: (token: string) => string;
	time: (ns: number) => string;
	value: (n: number) => string;
	isBinary: boolean; // values are round in powers of two
	isBare: boolean; // no axes
}

const AXIS = { left: 74, right: 14, top: 20, bottom: 26 };
const BARE = { left: 0, right: 0, top: 4, bottom: 0 };
const X_SPACE = 90; // px from one label to the next, at least
const Y_SPACE = 32;
const HALF_LETTER = 3.4; // px

export function frameOf(
	lines: Line[],
	width: number,
	height: number,
	endNs: number,
	isBare: boolean,
	startNs = 0,
): Frame {
	const inset = isBare ? BARE : AXIS;
	let most = 0;
	for (const { values } of lines) {
		for (let i = 0; i < values.length; i++) {
			most = Math.max(most, values[i]!);
		}
	}
	return {
		left: inset.left,
		top: inset.top,
		width: Math.max(1, width - inset.left - inset.right),
		height: height - inset.top - inset.bottom,
		startNs,
		endNs: Math.max(endNs, startNs + 1000),
		most: Math.max(most * 1.04, 1),
	};
}

/** A round step so that at most `places` of them are in `span`. */
function roundStep(span: number, places: number, isBinary = false): number {
	const least = span / Math.max(1, places);
	if (isBinary) {
		return 2 ** Math.ceil(Math.log2(least));
	}
	const power = 10 ** Math.floor(Math.log10(least));
	return [1, 2, 2.5, 5, 10].map((m) => m * power).find((step) => step >= least * 0.999999)!;
}

/** Where a moment is, from the left of the whole. */
export function xOf(f: Frame, ns: number): number {
	const inside = Math.min(Math.max(ns, f.startNs), f.endNs) - f.startNs;
	return f.left + (inside / (f.endNs - f.startNs)) * f.width;
}

export function yOf(f: Frame, value: number): number {
	return f.top + f.height * (1 - value / f.most);
}

const round = (px: number) => Math.round(px) + 0.5; // a line of one px is sharp there

function drawAxes(c: Pen, f: Frame, look: Look): void {
	c.font = '12px system-ui, sans-serif';
	c.fillStyle = look.dim;
	c.strokeStyle = look.line;
	c.lineWidth = 1;
	c.beginPath();
	c.textAlign = 'center';
	c.textBaseline = 'top';
	const step = roundStep(f.endNs - f.startNs, f.width / X_SPACE);
	for (let i = Math.ceil(f.startNs / step); i * step <= f.endNs; i++) {
		const ns = i * step;
		const x = xOf(f, ns);
		c.moveTo(round(x), f.top);
		c.lineTo(round(x), f.top + f.height);
		const text = look.time(ns);
		const last = f.left + f.width + AXIS.right - text.length * HALF_LETTER;
		c.fillText(text, Math.min(x, last), f.top + f.height + 7);
	}
	c.textAlign = 'right';
	c.textBaseline = 'middle';
	const rise = roundStep(f.most, f.height / Y_SPACE, look.isBinary);
	let last = '';
	for (let value = 0; value <= f.most; value += rise) {
		const y = yOf(f, value);
		c.moveTo(f.left, round(y));
		c.lineTo(f.left + f.width, round(y));
		const text = look.value(value);
		c.fillText(text === last ? '' : text, f.left - 8, y);
		last = text;
	}
	c.stroke();
}

function drawLine(c: Pen, f: Frame, line: Line, look: Look): void {
	const { times, values } = line;
	const n = times.length;
	const x = (ns: number) => xOf(f, ns);
	const y = (value: number) => yOf(f, value);
	if (n === 0) {
		return;
	}
	if (line.weights) {
		const most = Math.log1p(Math.max(...line.weights));
		const [width, height] = [x(line.width!) - f.left, f.top + f.height - y(line.height!)];
		c.fillStyle = look.colour(line.colour);
		for (let i = 0; i < n; i++) {
			c.globalAlpha = 0.15 + 0.85 * (Math.log1p(line.weights[i]!) / most) ** 3;
			c.fillRect(x(times[i]!), y(values[i]!), width, height);
		}
		c.globalAlpha = 1;
		return;
	}
	c.beginPath();
	if (line.kind === 'area') {
		c.moveTo(x(times[0]!), y(0));
	}
	for (let i = 0; i < n; i++) {
		c.lineTo(x(times[i]!), y(values[i]!));
		if (line.kind !== 'dashed') {
			c.lineTo(x(i + 1 < n ? times[i + 1]! : f.endNs), y(values[i]!));
		}
	}
	if (line.kind === 'area') {
		c.lineTo(x(f.endNs), y(0));
		c.fillStyle = look.colour(line.colour);
		c.fill();
		return;
	}
	c.lineTo(x(f.endNs), y(values[n - 1]!));
	c.setLineDash(line.kind === 'dashed' ? [4, 3] : []);
	c.strokeStyle = look.colour(line.colour);
	c.lineWidth = 1.2;
	c.stroke();
	c.setLineDash([]);
}

/** What the colours stand for, beside each other above the curves. */
function drawLegend(c: Pen, f: Frame, lines: Line[], look: Look): void {
	let x = f.left;
	c.textAlign = 'left';
	c.textBaseline = 'middle';
	for (const { label, colour } of lines) {
		c.fillStyle = look.colour(colour);
		c.fillRect(x, 4, 10, 10);
		c.fillStyle = look.dim;
		c.fillText(label, x + 14, 9);
		x += 34 + 7 * label.length;
	}
}

/** Draws all of it: areas from the first to the last, the highest first. */
export function drawPlot(
	canvas: HTMLCanvasElement,
	f: Frame,
	lines: Line[],
	look: Look,
	title: string,
): void {
	const drawLines = (pen: Pen) => {
		if (!look.isBare) {
			drawAxes(pen, f, look);
		}
		lines.forEach((line) => drawLine(pen, f, line, look));
	};
	const ratio = devicePixelRatio || 1;
	canvas.width = canvas.clientWidth * ratio;
	canvas.height = canvas.clientHeight * ratio;
	const c = canvas.getContext('2d')!;
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	drawLines(c);
	pictures.set(canvas, {
		title,
		draw: (pen) => {
			drawLines(pen);
			drawLegend(pen, f, lines, look);
		},
	});
}

/** What holds at a moment of a line. */
export function valueAt(line: Line, ns: number): number {
	const next = firstWhere(0, line.times.length, (k) => line.times[k]! > ns);
	return line.values[Math.max(0, next - 1)] ?? 0;
}
