// SPDX-License-Identifier: MIT
import type { Profile } from '../data/profile.ts';
import { profile } from '../state.ts';

const POINTS = 48;
const WIDTH = 96;
const HEIGHT = 18;

/**
 * The largest value in each of a few stretches of time: a spike is seen however short it is.
 * Value k holds from the end of edge k - 1 to that of edge k, one behind the last to the run's end.
 */
function thin(p: Profile, values: Float64Array): number[] {
	const points = new Array<number>(POINTS).fill(0);
	const width = Math.max(1, p.facts.summary.duration_ns / POINTS);
	const at = (ns: number) => Math.min(POINTS - 1, Math.floor(ns / width));
	let from = 0;
	values.forEach((value, k) => {
		const to = p.edges.endNs[k] ?? p.facts.summary.duration_ns;
		for (let i = at(from); i <= at(to); i++) {
			points[i] = Math.max(points[i]!, value);
		}
		from = to;
	});
	return points;
}

/** What is alive over the run, very small. */
export function Sparkline({ values }: { values: Float64Array }) {
	const points = thin(profile.value, values);
	const most = Math.max(...points, 1);
	const step = WIDTH / Math.max(1, points.length);
	const path = points
		.map(
			(v, i) =>
				`L${(i * step).toFixed(1)} ${y(v, most)}` +
				`L${((i + 1) * step).toFixed(1)} ${y(v, most)}`,
		)
		.join('');
	return (
		<svg
			class="spark"
			width={WIDTH}
			height={HEIGHT}
			preserveAspectRatio="none"
			viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
			aria-hidden="true"
		>
			<path d={`M0 ${HEIGHT}${path}L${WIDTH} ${HEIGHT}Z`} />
		</svg>
	);
}

function y(value: number, most: number): string {
	return (HEIGHT - (value / most) * (HEIGHT - 1)).toFixed(1);
}
