// SPDX-License-Identifier: MIT
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Lens, Range } from '../data/lens.ts';
import type { Series } from '../data/series.ts';
import { isBinary, isClock, lens, profile } from '../state.ts';
import { address } from '../url.ts';
import { bytes, moment, percent } from './format.ts';
import { stacked } from './lines.ts';
import { drawPlot, frameOf, valueAt, xOf, yOf, type Frame, type Line } from './plot.ts';
import { useValue } from './signals.ts';
import { useSize } from './size.ts';
import { themeTurn } from './theme.ts';
import { lookOf } from './timechart.tsx';

const HEIGHT = 320;
const [LETTER, LINE] = [7.5, 16]; // px

interface RiverProps {
	series: Series[];
	off: number; // bits of those that are switched off
	range: Range | null; // it fills the width
	lensOf: (series: Series) => Lens | null; // that shows only this one
}

/** One of the curves, with what is drawn below it. */
interface Band {
	series: Series;
	colour: string;
	upper: Line;
	lower: Line | null;
	top: number; // its largest, and when
	ns: number;
}

/** The part of a line that is within a range. */
function within(line: Line, range: Range, startNs: number): Line {
	const [from, to] = [Math.max(0, range.from), range.to + 1];
	const times = Float64Array.from(line.times).slice(from, to);
	times[0] = Math.max(times[0]!, startNs);
	return { ...line, times, values: Float64Array.from(line.values).slice(from, to) };
}

function bandsOf(series: Series[], lines: Line[]): Band[] {
	return lines.map((upper, i) => {
		const lower = lines[i + 1] ?? null;
		const sizes = Array.from(upper.values, (v, k) => v - (lower?.values[k] ?? 0));
		const at = sizes.reduce((best, v, k) => (v > sizes[best]! ? k : best), 0);
		return {
			series: series[series.length - 1 - i]!,
			colour: upper.colour,
			upper,
			lower,
			top: sizes[at] ?? 0,
			ns: upper.times[at] ?? 0,
		};
	});
}

const sizeAt = ({ upper, lower }: Band, ns: number) =>
	valueAt(upper, ns) - (lower ? valueAt(lower, ns) : 0);

/** The outline of a band. */
function pathOf(f: Frame, { upper, lower }: Band): string {
	const n = upper.times.length;
	const points = ({ values }: { values: ArrayLike<number> }) =>
		Array.from({ length: n }, (_, k) => {
			const y = yOf(f, values[k]!).toFixed(1);
			const next = k + 1 < n ? upper.times[k + 1]! : f.endNs;
			return [upper.times[k]!, next].map((ns) => `${xOf(f, ns).toFixed(1)} ${y}`);
		}).flat();
	const below = points(lower ?? { values: new Float64Array(n) }).reverse();
	return `M${[...points(upper), ...below].join('L')}Z`;
}

interface Place {
	x: number;
	y: number;
	room: number; // px above and below
}

/** How much room a band has for something so wide. */
function roomAt(f: Frame, band: Band, x: number, half: number): Place {
	let [highest, lowest] = [f.top, f.top + f.height];
	for (let at = x - half; at <= x + half; at += 4) {
		const ns = f.startNs + ((at - f.left) / f.width) * (f.endNs - f.startNs);
		highest = Math.max(highest, yOf(f, valueAt(band.upper, ns)));
		lowest = Math.min(lowest, yOf(f, band.lower ? valueAt(band.lower, ns) : 0));
	}
	return { x, y: (highest + lowest) / 2, room: lowest - highest };
}

/** Where a band has most room for its name; null: too little everywhere. */
function labelPlace(f: Frame, band: Band): Place | null {
	const half = (band.series.label.length * LETTER) / 2 + 4;
	let best: Place = { x: 0, y: 0, room: 0 };
	for (let x = f.left + half; x <= f.left + f.width - half; x += 2 * LINE) {
		const place = roomAt(f, band, x, half);
		best = place.room > best.room ? place : best;
	}
	return best.room < LINE ? null : best;
}

/** The heap over time as bands; each names itself, and is a link to a lens of its own. */
export function River(props: RiverProps) {
	const { series, off, range } = props;
	const p = profile.value;
	const hasClock = useValue(isClock);
	const turn = useValue(themeTurn);
	const canvas = useRef<HTMLCanvasElement>(null);
	const { width } = useSize(canvas);
	const [at, setAt] = useState<{ label: string; ns: number } | null>(null);
	const hasBinary = useValue(isBinary);
	const { duration_ns } = p.facts.summary;
	const startNs = range && range.from >= 0 ? p.edges.timeNs[range.from]! : 0;
	const endNs = range && range.to < p.edges.n ? p.edges.timeNs[range.to]! : duration_ns;
	const { lines, bands } = useMemo(() => {
		const all = stacked(p, series, false, off);
		const lines = range ? all.map((line) => within(line, range, startNs)) : all;
		return { lines, bands: bandsOf(series.filter((_, i) => !(off & (1 << i))), lines) };
	}, [p, series, off, range]);
	const frame = useMemo(
		() => frameOf(lines, width, HEIGHT, endNs, false, startNs),
		[lines, width],
	);
	const title = `Heap over time by band, ${moment(startNs)} to ${moment(endNs)}`;
	useLayoutEffect(() => {
		if (width > 0) {
			drawPlot(canvas.current!, frame, lines, lookOf({}, hasBinary), title);
		}
	}, [frame, turn, hasClock, hasBinary]);
	const shapes = useMemo(
		() => bands.map((band) => ({ path: pathOf(frame, band), at: labelPlace(frame, band) })),
		[frame],
	);
	const named = bands.find((band) => band.series.label === at?.label);
	const size = named ? sizeAt(named, at!.ns) : 0;
	const all = lines[0] ? valueAt(lines[0], at?.ns ?? 0) : 0;
	const follow = (band: Band) => (event: PointerEvent) => {
		const x = event.clientX - canvas.current!.getBoundingClientRect().left - frame.left;
		const ns = frame.startNs + (x / frame.width) * (frame.endNs - frame.startNs);
		setAt({ label: band.series.label, ns: Math.min(Math.max(ns, startNs), endNs) });
	};
	return (
		<div class="river" onPointerLeave={() => setAt(null)}>
			<p class="dim" aria-hidden="true">
				{named ? (
					<>
						<code>{named.series.label}</code>{' '}
						{bytes(size)} ({percent(size, all)}) at {moment(at!.ns, duration_ns)}
					</>
				) : (
					'Click a band to show it alone'
				)}
			</p>
			<canvas ref={canvas} aria-hidden="true" style={{ height: `${HEIGHT}px` }} />
			<svg width={width} height={HEIGHT} role="group" aria-label={title}>
				{width > 0 &&
					bands.map((band, i) => {
						const { label } = band.series;
						const to = props.lensOf(band.series);
						const path = <path d={shapes[i]!.path} onPointerMove={follow(band)} />;
						return to ? (
							<a
								key={label}
								href={`#${address(to)}`}
								aria-label={`Only ${label}, at most ${bytes(band.top)}`}
								onFocus={() => setAt({ label, ns: band.ns })}
								onBlur={() => setAt(null)}
								onClick={(event) => {
									if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
										event.preventDefault();
										lens.value = to;
									}
								}}
							>
								{path}
							</a>
						) : (
							path
						);
					})}
				{shapes.map(
					({ at }, i) =>
						at && (
							<text x={at.x} y={at.y} aria-hidden="true">
								{bands[i]!.series.label}
							</text>
						),
				)}
			</svg>
		</div>
	);
}
