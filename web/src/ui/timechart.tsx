// SPDX-License-Identifier: MIT
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { rangeOf, type Range } from '../data/lens.ts';
import type { Profile } from '../data/profile.ts';
import { isBinary } from '../state.ts';
import { bytes, clock, duration, moment } from './format.ts';
import { markLabel } from './marks.ts';
import { drawPlot, frameOf, valueAt, type Frame, type Line, type Look } from './plot.ts';
import { useValue } from './signals.ts';

export type { Line } from './plot.ts';

export interface TimeChartProps {
	profile: Profile;
	lines: Line[]; // areas are drawn from the first to the last: the highest first
	height: number;
	unit?: (value: number) => string;
	range: Range | null;
	onRange: (range: Range | null) => void;
	flag?: { ns: number; text: string } | null;
	marks?: readonly number[]; // edges
	cursor?: number | null;
	onCursor?: (ns: number | null) => void;
	onPick?: (ns: number) => void; // by a click
	band?: readonly [from: number, to: number]; // of values, within the range
	onBand?: (from: number, to: number) => void; // a drag has these, too; a click has one
	isBare?: boolean; // without axes: the strip
	isClock?: boolean;
	label: string;
	theme: string;
}

const LETTER = 7.2; // px, of a flag's label

export function lookOf(
	props: Pick<TimeChartProps, 'profile' | 'unit' | 'isClock' | 'isBare'>,
	hasBinary: boolean,
): Look {
	const style = getComputedStyle(document.documentElement);
	const colour = (token: string) => style.getPropertyValue(`--${token}`).trim();
	const started = props.profile.facts.program.started_ns;
	const isShort = props.profile.facts.summary.duration_ns < 1e9;
	return {
		line: colour('line'),
		dim: colour('dim'),
		colour,
		time: (ns) =>
			props.isClock && started
				? clock(started, ns)
				: props.profile.facts.page.time_unit
					? moment(ns)
					: isShort
						? `${+(ns / 1e6).toFixed(6)} ms`
						: `${+(ns / 1e9).toFixed(6)} s`,
		value: props.unit ?? bytes,
		isBinary: hasBinary && !props.unit,
		isBare: props.isBare ?? false,
	};
}

/** Curves over the run of a program. Dragging chooses a range, at once; a click clears it. */
export function TimeChart(props: TimeChartProps) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const plot = useRef<HTMLDivElement>(null);
	const overlay = useRef<HTMLDivElement>(null);
	const [width, setWidth] = useState(0);
	const [hover, setHover] = useState<Spot | null>(null);
	const hasBinary = useValue(() => isBinary.value);
	const endNs = props.profile.facts.summary.duration_ns;
	const frame = useMemo(
		() => frameOf(props.lines, width, props.height, endNs, props.isBare ?? false),
		[props.lines, width, props.height, endNs],
	);
	const latest = useRef({ props, frame });
	latest.current = { props, frame };

	useLayoutEffect(() => {
		const watch = new ResizeObserver(([entry]) =>
			setWidth(Math.floor(entry!.contentRect.width)),
		);
		watch.observe(canvas.current!);
		return () => watch.disconnect();
	}, []);
	useEffect(() => listen(plot.current!, latest, setHover), []);
	useLayoutEffect(() => {
		if (width > 0) {
			drawPlot(canvas.current!, frame, props.lines, lookOf(props, hasBinary), props.label);
		}
	}, [props.lines, width, props.height, props.theme, props.isClock, props.unit, hasBinary]);
	const cursor = props.cursor ?? hover?.ns ?? null;
	useLayoutEffect(() => {
		place(overlay.current!, props, frame, cursor, hover?.value ?? Infinity);
	}, [props.range, props.band, props.flag, props.marks, props.lines, cursor, hover, width]);

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
	const { profile: p, lines, unit = bytes } = props;
	const areas = lines.filter((line) => line.kind === 'area');
	const top = areas[0];
	const started = p.facts.program.started_ns;
	const isClock = props.isClock && started;
	const when = isClock ? clock(started, ns) : moment(ns, p.facts.summary.duration_ns);
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
	const e = props.profile.edges;
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
	if (props.range) {
		const left = x(at(props.range.from));
		add('range', left, Math.max(1, x(at(props.range.to)) - left));
		const y = (value: number) => `${100 * Math.max(0, 1 - value / frame.most)}%`;
		const [from, to] = props.band ?? [0, Infinity];
		Object.assign(parts[0]!.style, { top: y(to), bottom: `calc(100% - ${y(from)})` });
	}
	if (props.flag) {
		add('flag', x(props.flag.ns), undefined, props.isBare ? '' : props.flag.text);
	}
	let right = -Infinity; // where the label before ends
	let isLower = false;
	props.marks?.forEach((mark, i) => {
		const left = x(at(mark));
		const text = markLabel(props.profile, i);
		isLower = left < right && !isLower;
		right = left + 14 + 8 * text.length;
		add('mark', left, undefined, text, isLower);
	});
	if (cursor !== null) {
		add('cursor', x(cursor), undefined, props.isBare ? '' : reading(props, cursor, value));
	}
	overlay.replaceChildren(...parts);
}

/** Drags become ranges while they last. Gives what ends the listening. */
function listen(
	plot: HTMLDivElement,
	latest: { current: { props: TimeChartProps; frame: Frame } },
	setHover: (spot: Spot | null) => void,
): () => void {
	let start: { ns: number; x: number; value: number } | null = null;
	let request = 0;
	const at = (event: PointerEvent) => {
		const r = plot.getBoundingClientRect();
		const share = Math.min(Math.max(0, event.clientX - r.left), r.width) / r.width;
		return share * latest.current.frame.endNs;
	};
	const valueOf = (event: PointerEvent) => {
		const r = plot.getBoundingClientRect();
		return ((r.bottom - event.clientY) / r.height) * latest.current.frame.most;
	};
	const point = (spot: Spot | null) => {
		setHover(spot);
		latest.current.props.onCursor?.(spot?.ns ?? null);
	};
	const down = (event: PointerEvent) => {
		if (event.button === 0) {
			start = { ns: at(event), x: event.clientX, value: valueOf(event) };
			plot.setPointerCapture(event.pointerId);
			event.preventDefault();
		}
	};
	const move = (event: PointerEvent) => {
		const here = at(event);
		const value = valueOf(event);
		point({ ns: here, value });
		if (start) {
			const [from, to] = start.ns < here ? [start.ns, here] : [here, start.ns];
			const { profile, onRange, onBand } = latest.current.props;
			const ends = [start.value, value].sort((a, b) => a - b) as [number, number];
			cancelAnimationFrame(request);
			request = requestAnimationFrame(() => {
				onRange(rangeOf(profile.edges, from, to));
				onBand?.(Math.max(0, ends[0]), ends[1]);
			});
		}
	};
	const up = (event: PointerEvent) => {
		if (start && Math.abs(start.x - event.clientX) < 3) {
			cancelAnimationFrame(request);
			latest.current.props.onRange(null);
			latest.current.props.onPick?.(start.ns);
			latest.current.props.onBand?.(0, 0);
		}
		start = null;
	};
	const leave = () => point(null);
	const listeners = { pointerdown: down, pointermove: move, pointerup: up, pointerleave: leave };
	const all = Object.entries(listeners) as [
		keyof typeof listeners,
		(event: PointerEvent) => void,
	][];
	all.forEach(([name, run]) => plot.addEventListener(name, run));
	return () => all.forEach(([name, run]) => plot.removeEventListener(name, run));
}

/** What a range is, in words. */
export function rangeWords(p: Profile, range: Range): string {
	const e = p.edges;
	const span = p.facts.summary.duration_ns;
	const from = range.from < 0 ? 0 : e.timeNs[range.from]!;
	const to = range.to < e.n ? e.timeNs[range.to]! : span;
	const [a, b] = [moment(from, to - from), moment(to, to - from)];
	const [number, unit] = a.split('\u00a0');
	return `${b.endsWith(`\u00a0${unit}`) ? number : a}–${b} (${duration(to - from)})`;
}
