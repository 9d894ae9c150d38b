// SPDX-License-Identifier: MIT

const POINTS = 48;
const WIDTH = 96;
const HEIGHT = 18;

/** The largest value of each of a few stretches: a spike is seen however short it is. */
export function thin(values: Float64Array, points = POINTS): number[] {
	const n = Math.min(points, values.length);
	return Array.from({ length: n }, (_, i) => {
		let most = 0;
		const end = Math.floor(((i + 1) * values.length) / n);
		for (let k = Math.floor((i * values.length) / n); k < end; k++) {
			most = Math.max(most, values[k]!);
		}
		return most;
	});
}

/** What is alive over the run, very small. */
export function Sparkline({ values }: { values: Float64Array }) {
	const points = thin(values);
	const most = Math.max(...points, 1);
	const step = WIDTH / Math.max(1, points.length);
	const path = points
		.map((v, i) => `L${(i * step).toFixed(1)} ${y(v, most)}L${((i + 1) * step).toFixed(1)} ${y(v, most)}`)
		.join('');
	return (
		<svg class="spark" width={WIDTH} height={HEIGHT} preserveAspectRatio="none" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
			<path d={`M0 ${HEIGHT}${path}L${WIDTH} ${HEIGHT}Z`} />
		</svg>
	);
}

function y(value: number, most: number): string {
	return (HEIGHT - (value / most) * (HEIGHT - 1)).toFixed(1);
}
