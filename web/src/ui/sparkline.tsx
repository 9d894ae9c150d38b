// SPDX-License-Identifier: MIT
import type { Profile } from '../data/profile.ts';
import { periodStarts } from '../data/series.ts';
import { profile } from '../state.ts';

const POINTS = 48;
const WIDTH = 96;
const HEIGHT = 18;

/** The largest value in each of a few stretches of time: a spike is seen however short it is. */
function thin(p: Profile, values: Float64Array): number[] {
	const points = new Array<number>(POINTS).fill(0);
	const width = Math.max(1, p.facts.summary.duration_ns / POINTS);
	const at = (ns: number) => Math.min(POINTS - 1, Math.floor(ns / width));
	const starts = periodStarts(p.edges);
	values.forEach((value, k) => {
		const to = starts[k + 1] ?? p.facts.summary.duration_ns;
		for (let i = at(starts[k]!); i <= at(to); i++) {
			points[i] = Math.max(points[i]!, value);
		}
	});
	return points;
}

const known = new WeakMap<Float64Array, string>(); // a table that scrolls asks again and again

function pathOf(values: Float64Array): string {
	let path = known.get(values);
	if (path === undefined) {
		const points = thin(profile.value, values);
		const most = Math.max(...points, 1);
		const step = WIDTH / POINTS;
		path = points
			.map((v, i) => `L${+(i * step).toFixed(1)} ${y(v, most)}h${step}`)
			.join('');
		known.set(values, path);
	}
	return path;
}

/** What is alive over the run, very small. */
export function Sparkline({ values }: { values: Float64Array }) {
	return (
		<svg
			class="spark"
			width={WIDTH}
			height={HEIGHT}
			preserveAspectRatio="none"
			viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
			aria-hidden="true"
		>
			<path d={`M0 ${HEIGHT}${pathOf(values)}L${WIDTH} ${HEIGHT}Z`} />
		</svg>
	);
}

function y(value: number, most: number): string {
	return (HEIGHT - (value / most) * (HEIGHT - 1)).toFixed(1);
}
