// SPDX-License-Identifier: MIT
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { rangeOf } from '../data/lens.ts';
import { dragged, isBinary, isClock, lens, marks, profile, setRange } from '../state.ts';
import { bytes, clock, moment } from './format.ts';
import { markLabel } from './marks.ts';
import { themeTurn } from './theme.ts';
import { drawPlot, frameOf, valueAt, type Frame, type Line, type Look } from './plot.ts';
import { REST_MS, useRead, useValue } from './signals.ts';
import { useSize } from './size.ts';

export type { Line } from './plot.ts';

export interface TimeChartProps {
	lines: Line[]; // areas are drawn from the first to the last: the highest first
	height: number;
	unit?: (value: number) => string;
	flag?: { ns: number; text: string } | null;
	cursor?: number | null;
	onCursor?: (ns: number | null) => void;
	onPick?: (ns: number) => void; // by a click
	band?: readonly [from: number, to: number]; // of values, within the range
	onBand?: (from: number, to: number) => void; // a drag has these, too; a click has one
	isBare?: boolean; // without axes: the strip
	label: string;
}

const LETTER = 7.2; // px, of a flag's label

export function lookOf(
	{ unit, isBare = false }: Pick<TimeChartProps, 'unit' | 'isBare'>,
	hasBinary: boolean,
): Look {
	const { program, summary, page } = profile.value.facts;
	const style = getComputedStyle(document.documentElement);
	const colour = (token: string) => style.getPropertyValue(`--${token}`).trim();
	const isShort = summary.duration_ns < 1e9;
	return {
		line: colour('line'),
		dim: colour('dim'),
		colour,
		time: (ns) =>
			isClock.value && program.started_ns
				? clock(program.started_ns, ns)
				: page.time_unit
					? moment(ns)
					: isShort
						? `${+(ns / 1e6).toFixed(6)} ms`
						: `${+(ns / 1e9).toFixed(6)} s`,
		value: unit ?? bytes,
		isBinary: hasBinary && !unit,
		isBare,
	};
}

const LIVE_NODES = 50000; // of a stack tree: up to here a drag is answered picture by picture

const shownRange = () => dragged.value ?? lens.value.range;

/** What was dragged is asked for. */
function settle(): void {
	if (dragged.value) {
		setRange(dragged.value);
		dragged.value = null;
	}
}

/** Curves over the run of a program. Dragging chooses a range, at once; a click clears it. */
export function TimeChart(props: TimeChartProps) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const plot = useRef<HTMLDivElement>(null);
	const overlay = useRef<HTMLDivElement>(null);
	const { width } = useSize(canvas);
	const [hover, setHover] = useState<Spot | null>(null);
	const hasBinary = useValue(isBinary);
	const range = useRead(shownRange);
	const marked = useValue(marks);
	const turn = useValue(themeTurn);
	const hasClock = useValue(isClock);
	const p = profile.value;
	const endNs = p.facts.summary.duration_ns;
	const frame = useMemo(
		() => frameOf(props.lines, width, props.height, endNs, props.isBare ?? false),
		[props.lines, width, props.height, endNs],
	);
	const drag = useRef<(Spot & { x: number }) | null>(null);
	const request = useRef(0);
	const rest = useRef(0);
	const spotOf = (event: PointerEvent): Spot => {
		const r = plot.current!.getBoundingClientRect();
		const share = Math.min(Math.max(0, event.clientX - r.left), r.width) / r.width;
		const value = ((r.bottom - event.clientY) / r.height) * frame.most;
		return { ns: share * frame.endNs, value };
	};
	const point = (spot: Spot | null) => {
		setHover(spot);
		props.onCursor?.(spot?.ns ?? null);
	};
	const onDown = (event: PointerEvent) => {
		if (event.button === 0) {
			drag.current = { ...spotOf(event), x: event.clientX };
			plot.current!.setPointerCapture(event.pointerId);
			event.preventDefault();
		}
	};
	/** A drag becomes a range while it lasts, or when it rests. */
	const onMove = (event: PointerEvent) => {
		const [from, here] = [drag.current, spotOf(event)];
		point(here);
		if (from) {
			const { min, max } = Math;
			cancelAnimationFrame(request.current);
			request.current = requestAnimationFrame(() => {
				dragged.value = rangeOf(p.edges, min(from.ns, here.ns), max(from.ns, here.ns));
				clearTimeout(rest.current);
				rest.current = setTimeout(() => {
					settle(); // another range has no band
					props.onBand?.(
						max(0, min(from.value, here.value)),
						max(from.value, here.value),
					);
				}, p.nodes.n > LIVE_NODES ? REST_MS : 0);
			});
		}
	};
	const onUp = (event: PointerEvent) => {
		if (drag.current && Math.abs(drag.current.x - event.clientX) < 3) {
			cancelAnimationFrame(request.current);
			clearTimeout(rest.current);
			dragged.value = null;
			setRange(null);
			props.onPick?.(drag.current.ns);
			props.onBand?.(0, 0);
		}
		drag.current = null;
		settle();
	};

	useLayoutEffect(() => {
		if (width > 0) {
			drawPlot(canvas.current!, frame, props.lines, lookOf(props, hasBinary), props.label);
		}
	}, [props.lines, width, props.height, turn, hasClock, props.unit, hasBinary]);
	const cursor = props.cursor ?? hover?.ns ?? null;
	useLayoutEffect(() => {
		place(overlay.current!, props, frame, cursor, hover?.value ?? Infinity);
	}, [range, props.band, props.flag, marked, props.lines, cursor, hover, width]);

	return (
		<div
			class="timechart"
			role="img"
			aria-label={props.label}
			style={{ height: `${props.height}px` }}
		>
			<canvas ref={canvas} aria-hidden="true" />
			<div
				class="plot"
				ref={plot}
				onPointerDown={onDown}
				onPointerMove={onMove}
				onPointerUp={onUp}
				onPointerLeave={() => point(null)}
				style={{
					left: `${frame.left}px`,
					top: `${frame.top}px`,
					width: `${frame.width}px`,
					height: `${frame.height}px`,
				}}
			>
				<div class="overlay" ref={overlay} />
			</div>
		</div>
	);
}

/** Where the pointer is in a chart. */
interface Spot {
	ns: number;
	value: number;
}

/** The area that a value is in, and how high it is there itself; '': it is above all. */
function bandAt(areas: Line[], ns: number, value: number, unit: (n: number) => string): string {
	const i = areas.findLastIndex((line) => valueAt(line, ns) >= value);
	if (i < 0 || areas.length < 2) {
		return '';
	}
	const below = areas[i + 1] ? valueAt(areas[i + 1]!, ns) : 0;
	return ` · ${areas[i]!.label} ${unit(valueAt(areas[i]!, ns) - below)}`;
}

/** What is read off where the pointer is: when, how much there was, and of what. */
function reading(props: TimeChartProps, ns: number, value: number): string {
	const { lines, unit = bytes } = props;
	const p = profile.value;
	const areas = lines.filter((line) => line.kind === 'area');
	const top = areas[0];
	const started = p.facts.program.started_ns;
	const when =
		isClock.value && started ? clock(started, ns) : moment(ns, p.facts.summary.duration_ns);
	if (lines[0]?.weights && value < Infinity) {
		return `${when} · ${unit(Math.max(0, value))}`;
	}
	return top ? `${when} · ${unit(valueAt(top, ns))}${bandAt(areas, ns, value, unit)}` : when;
}

/** Puts the shaded range, the flag and the marks where they belong. */
function place(
	overlay: HTMLDivElement,
	props: TimeChartProps,
	frame: Frame,
	cursor: number | null,
	value: number,
): void {
	const p = profile.value;
	const e = p.edges;
	const range = shownRange();
	const x = (ns: number) => (ns / frame.endNs) * frame.width;
	const at = (edge: number) => (edge < 0 ? 0 : edge < e.n ? e.timeNs[edge]! : frame.endNs);
	const parts: HTMLElement[] = [];
	const add = (name: string, left: number, width?: number, text?: string, isLower = false) => {
		const part = document.createElement('div');
		part.className = name;
		part.style.left = `${left}px`;
		if (width !== undefined) {
			part.style.width = `${width}px`;
		}
		if (text) {
			const span = document.createElement('span');
			span.textContent = text;
			if (name === 'flag') {
				span.style.left = `${Math.min(4, frame.width - left - LETTER * text.length)}px`;
			} else {
				span.className =
					(left > frame.width - 180 ? 'left' : '') + (isLower ? ' lower' : '');
			}
			part.append(span);
		}
		parts.push(part);
	};
	if (range) {
		const left = x(at(range.from));
		add('range', left, Math.max(1, x(at(range.to)) - left));
		const y = (value: number) => `${100 * Math.max(0, 1 - value / frame.most)}%`;
		const [from, to] = props.band ?? [0, Infinity];
		Object.assign(parts[0]!.style, { top: y(to), bottom: `calc(100% - ${y(from)})` });
	}
	if (props.flag) {
		add('flag', x(props.flag.ns), undefined, props.isBare ? '' : props.flag.text);
	}
	let right = -Infinity; // where the label before ends
	let isLower = false;
	marks.value.forEach((mark, i) => {
		const left = x(at(mark));
		const text = markLabel(p, i);
		isLower = left < right && !isLower;
		right = left + 14 + 8 * text.length;
		add('mark', left, undefined, text, isLower);
	});
	if (cursor !== null) {
		add('cursor', x(cursor), undefined, props.isBare ? '' : reading(props, cursor, value));
	}
	overlay.replaceChildren(...parts);
}
