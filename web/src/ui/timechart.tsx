// SPDX-License-Identifier: MIT
import { useEffect, useMemo, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { edgeAtOrAfter, rangeOf, type Range } from '../data/lens.ts';
import type { Profile } from '../data/profile.ts';
import { bytes, clock, duration, moment } from './format.ts';

export interface Line {
	label: string;
	colour: string; // a token's name
	times: ArrayLike<number>; // ns
	values: ArrayLike<number>;
	kind: 'area' | 'line' | 'dashed';
}

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

const token = (name: string) =>
	getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Lines that begin at different times, on one axis. */
function joined(lines: Line[], end: number): uPlot.AlignedData {
	const tables = lines.map((l): uPlot.AlignedData => {
		const x = Array.from(l.times, (t) => t / 1e9);
		const y: (number | null)[] = Array.from(l.values);
		if (x.length && x[x.length - 1]! < end) {
			x.push(end);
			y.push(y[y.length - 1]!);
		}
		return [x, y] as uPlot.AlignedData;
	});
	return uPlot.join(
		tables,
		tables.map((t) => t.slice(1).map(() => 2)),
	) as uPlot.AlignedData;
}

function increments(): number[] {
	const out: number[] = [];
	for (let power = -6; power < 7; power++) {
		for (const m of [1, 2, 2.5, 5]) {
			out.push(m * 10 ** power);
		}
	}
	return out;
}

/** The ends of the axis marks of binary or decimal sizes come out round by themselves. */
function options(props: TimeChartProps, width: number): uPlot.Options {
	const span = props.profile.facts.summary.duration_ns;
	const unit = props.unit ?? bytes;
	const grid = { stroke: token('line'), width: 1 };
	const axis = { stroke: token('dim'), font: '12px system-ui, sans-serif', grid, ticks: { show: false } };
	const started = props.profile.facts.program.started_ns;
	return {
		width,
		height: props.height,
		padding: props.isBare ? [4, 0, 0, 0] : [20, 14, 0, 0],
		legend: { show: false },
		cursor: { drag: { x: false, y: false }, points: { show: false }, y: false, x: !props.isBare },
		scales: {
			x: { time: false, range: [0, Math.max(span / 1e9, 1e-6)] },
			y: { range: (_u, _min, max) => [0, Math.max(max * 1.04, 1)] },
		},
		axes: props.isBare
			? [{ show: false }, { show: false }]
			: [
					{
						...axis,
						size: 26,
						space: props.isClock ? 80 : 60,
						incrs: increments(),
						values: (_u, ticks) =>
							ticks.map((t) =>
								props.isClock ? clock(started, t * 1e9) : `${+t.toFixed(6)} s`,
							),
					},
					{ ...axis, size: 74, values: (_u, ticks) => ticks.map(unit) },
				],
		series: [
			{},
			...props.lines.map((l): uPlot.Series => ({
				label: l.label,
				spanGaps: true,
				points: { show: false },
				paths: l.kind === 'dashed' ? uPlot.paths.linear!() : uPlot.paths.stepped!({ align: 1 }),
				stroke: l.kind === 'area' ? undefined : token(l.colour),
				width: l.kind === 'area' ? 0 : 1.2,
				dash: l.kind === 'dashed' ? [4, 3] : undefined,
				fill: l.kind === 'area' ? token(l.colour) : undefined,
			})),
		],
	};
}

/** Curves over the run of a program. Dragging chooses a range, at once; a click clears it. */
export function TimeChart(props: TimeChartProps) {
	const host = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot | null>(null);
	const shade = useRef<HTMLDivElement>(null);
	const latest = useRef(props);
	latest.current = props;
	const end = props.profile.facts.summary.duration_ns / 1e9;
	const data = useMemo(() => joined(props.lines, end), [props.lines]);

	useEffect(() => {
		const u = new uPlot(options(props, host.current!.clientWidth), data, host.current!);
		plot.current = u;
		listen(u, latest);
		const watch = new ResizeObserver(() => {
			if (!host.current) {
				return; // the view has gone
			}
			u.setSize({ width: host.current.clientWidth, height: latest.current.height });
			place(u, shade.current!, latest.current);
		});
		watch.observe(host.current!);
		u.over.append(shade.current!);
		place(u, shade.current!, latest.current);
		return () => {
			watch.disconnect();
			host.current?.append(shade.current!);
			u.destroy();
			plot.current = null;
		};
	}, [data, props.height, props.theme, props.isClock, props.unit]);

	useEffect(() => {
		if (plot.current) {
			place(plot.current, shade.current!, props);
		}
	}, [props.range, props.flag, props.marks, props.cursor]);

	return (
		<div class="timechart" role="img" aria-label={props.label} ref={host} style={{ height: `${props.height}px` }}>
			<div class="overlay" ref={shade} />
		</div>
	);
}

/** Puts the shaded range, the flag and the marks where they belong. */
function place(u: uPlot, overlay: HTMLDivElement, props: TimeChartProps): void {
	const e = props.profile.edges;
	const x = (ns: number) => u.valToPos(ns / 1e9, 'x');
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
			if (left > u.over.clientWidth - 180) {
				span.className = 'left';
			}
			part.append(span);
		}
		parts.push(part);
	};
	if (props.range) {
		const left = props.range.from < 0 ? 0 : x(e.timeNs[props.range.from]!);
		const to = props.range.to < e.n ? e.timeNs[props.range.to]! : props.profile.facts.summary.duration_ns;
		add('range', left, Math.max(1, x(to) - left));
	}
	if (props.flag) {
		add('flag', x(props.flag.ns), undefined, props.isBare ? '' : props.flag.text);
	}
	props.marks?.forEach((mark, i) => {
		const ns = mark < e.n ? e.timeNs[mark]! : props.profile.facts.summary.duration_ns;
		add('mark', x(ns), undefined, String.fromCharCode(65 + i));
	});
	if (props.cursor !== null && props.cursor !== undefined) {
		add('cursor', x(props.cursor));
	}
	overlay.replaceChildren(...parts);
}

/** Drags become ranges while they last. */
function listen(u: uPlot, latest: { current: TimeChartProps }): void {
	let start: number | null = null;
	let frame = 0;
	const at = (event: PointerEvent) => {
		const r = u.over.getBoundingClientRect();
		const x = Math.min(Math.max(0, event.clientX - r.left), r.width);
		return Math.max(0, u.posToVal(x, 'x') * 1e9);
	};
	u.over.addEventListener('pointerdown', (event) => {
		if (event.button === 0) {
			start = at(event);
			u.over.setPointerCapture(event.pointerId);
		}
	});
	u.over.addEventListener('pointermove', (event) => {
		const { profile, onRange, onCursor } = latest.current;
		const here = at(event);
		onCursor?.(here);
		if (start !== null) {
			const [from, to] = start < here ? [start, here] : [here, start];
			cancelAnimationFrame(frame);
			frame = requestAnimationFrame(() => onRange(rangeOf(profile.edges, from, to)));
		}
	});
	u.over.addEventListener('pointerleave', () => latest.current.onCursor?.(null));
	u.over.addEventListener('pointerup', (event) => {
		const here = at(event);
		if (start !== null && Math.abs(u.valToPos(start / 1e9, 'x') - u.valToPos(here / 1e9, 'x')) < 3) {
			cancelAnimationFrame(frame);
			latest.current.onRange(null);
		}
		start = null;
	});
}

/** What a range is, in words. */
export function rangeWords(p: Profile, range: Range): string {
	const e = p.edges;
	const span = p.facts.summary.duration_ns;
	const from = range.from < 0 ? 0 : e.timeNs[range.from]!;
	const to = range.to < e.n ? e.timeNs[range.to]! : span;
	const [a, b] = [moment(from, to - from), moment(to, to - from)];
	return `${a.replace(/ s$/, '')}–${b} (${duration(to - from)})`;
}

/** The edge that is drawn at a moment. */
export function edgeShownAt(p: Profile, ns: number): number {
	return Math.min(p.edges.n - 1, edgeAtOrAfter({ ...p.edges, timeNs: p.edges.endNs }, ns));
}
