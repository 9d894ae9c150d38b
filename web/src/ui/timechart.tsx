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
	isBare?: boolean; // without axes: the strip
	isClock?: boolean;
	label: string;
	theme: string;
}

function lookOf(props: TimeChartProps, hasBinary: boolean): Look {
	const style = getComputedStyle(document.documentElement);
	const colour = (token: string) => style.getPropertyValue(`--${token}`).trim();
	const started = props.profile.facts.program.started_ns;
	const isShort = props.profile.facts.summary.duration_ns < 1e9;
	return {
		line: colour('line'),
		dim: colour('dim'),
		colour,
		time: (ns) =>
			props.isClock
				? clock(started, ns)
				: props.profile.facts.program.time_unit
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
	const [hover, setHover] = useState<number | null>(null);
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
	const cursor = props.cursor ?? hover;
	useLayoutEffect(() => {
		place(overlay.current!, props, frame, cursor);
	}, [props.range, props.flag, props.marks, props.lines, cursor, width]);

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

/** What is read off where the pointer is: when, and how much there was. */
function reading(props: TimeChartProps, ns: number): string {
	const { profile: p, lines } = props;
	const top = lines.find((line) => line.kind === 'area');
	const started = p.facts.program.started_ns;
	const when = props.isClock ? clock(started, ns) : moment(ns, p.facts.summary.duration_ns);
	return top ? `${when} · ${(props.unit ?? bytes)(valueAt(top, ns))}` : when;
}

/** Puts the shaded range, the flag and the marks where they belong. */
function place(
	overlay: HTMLDivElement,
	props: TimeChartProps,
	frame: Frame,
	cursor: number | null,
): void {
	const e = props.profile.edges;
	const x = (ns: number) => (ns / frame.endNs) * frame.width;
	const at = (edge: number) => (edge < 0 ? 0 : edge < e.n ? e.timeNs[edge]! : frame.endNs);
	const parts: HTMLElement[] = [];
	const add = (name: string, left: number, width?: number, text?: string) => {
		const part = document.createElement('div');
		part.className = name;
		part.style.left = `${left}px`;
		if (width !== undefined) {
			part.style.width = `${width}px`;
		}
		if (text) {
			const span = document.createElement('span');
			span.textContent = text;
			span.className = left > frame.width - 180 ? 'left' : '';
			part.append(span);
		}
		parts.push(part);
	};
	if (props.range) {
		const left = x(at(props.range.from));
		add('range', left, Math.max(1, x(at(props.range.to)) - left));
	}
	if (props.flag) {
		add('flag', x(props.flag.ns), undefined, props.isBare ? '' : props.flag.text);
	}
	props.marks?.forEach((mark, i) =>
		add('mark', x(at(mark)), undefined, markLabel(props.profile, i)),
	);
	if (cursor !== null) {
		add('cursor', x(cursor), undefined, props.isBare ? '' : reading(props, cursor));
	}
	overlay.replaceChildren(...parts);
}

/** Drags become ranges while they last. Gives what ends the listening. */
function listen(
	plot: HTMLDivElement,
	latest: { current: { props: TimeChartProps; frame: Frame } },
	setHover: (ns: number | null) => void,
): () => void {
	let start: { ns: number; x: number } | null = null;
	let request = 0;
	const at = (event: PointerEvent) => {
		const r = plot.getBoundingClientRect();
		const share = Math.min(Math.max(0, event.clientX - r.left), r.width) / r.width;
		return share * latest.current.frame.endNs;
	};
	const point = (ns: number | null) => {
		setHover(ns);
		latest.current.props.onCursor?.(ns);
	};
	const down = (event: PointerEvent) => {
		if (event.button === 0) {
			start = { ns: at(event), x: event.clientX };
			plot.setPointerCapture(event.pointerId);
			event.preventDefault();
		}
	};
	const move = (event: PointerEvent) => {
		const here = at(event);
		point(here);
		if (start) {
			const [from, to] = start.ns < here ? [start.ns, here] : [here, start.ns];
			const { profile, onRange } = latest.current.props;
			cancelAnimationFrame(request);
			request = requestAnimationFrame(() => onRange(rangeOf(profile.edges, from, to)));
		}
	};
	const up = (event: PointerEvent) => {
		if (start && Math.abs(start.x - event.clientX) < 3) {
			cancelAnimationFrame(request);
			latest.current.props.onRange(null);
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
	const [number, unit] = a.split(' ');
	return `${b.endsWith(` ${unit}`) ? number : a}–${b} (${duration(to - from)})`;
}
