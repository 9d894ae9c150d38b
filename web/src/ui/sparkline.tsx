// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import type { Lens } from '../data/lens.ts';
import { stacksUnder } from '../data/match.ts';
import { lacksCurves } from '../data/missing.ts';
import type { Profile } from '../data/profile.ts';
import { curvesOfGroups, periodStarts } from '../data/series.ts';
import type { Column } from './table.tsx';
import { profile } from '../state.ts';

const POINTS = 48;
const WIDTH = 96;
const HEIGHT = 18;

let spans: { edges: Profile['edges']; from: Uint8Array; to: Uint8Array } | null = null;

/** The points that each period of a profile is part of, from the first to the last. */
function spansOf(p: Profile) {
	if (spans?.edges !== p.edges) {
		const starts = periodStarts(p.edges);
		const width = Math.max(1, p.facts.summary.duration_ns / POINTS);
		const at = (ns: number) => Math.min(POINTS - 1, Math.floor(ns / width));
		const from = Uint8Array.from(starts, at);
		spans = { edges: p.edges, from, to: from.map((_, k) => from[k + 1] ?? POINTS - 1) };
	}
	return spans;
}

/** The largest value in each of a few stretches of time: a spike is seen however short it is. */
function thin(p: Profile, values: Float64Array): number[] {
	const points = new Array<number>(POINTS).fill(0);
	const { from, to } = spansOf(p);
	for (let k = 0; k < values.length; k++) {
		const value = values[k]!;
		for (let i = from[k]!; i <= to[k]!; i++) {
			if (points[i]! < value) {
				points[i] = value;
			}
		}
	}
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
export function Sparkline({ values }: { values: Float64Array | undefined }) {
	return values ? (
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
	) : null;
}

/**
 * A column of what is alive over time, of the first `most` rows. `rowOf`: whose each stack is;
 * `under`: which stacks count.
 */
export function useCurves<T extends { id: number }>(
	p: Profile,
	under: Lens,
	rowOf: ArrayLike<number>,
	rows: T[],
	most: number,
): Column<T> | false {
	const curves = useMemo(() => {
		const kept = stacksUnder(p, under);
		const keys = Int32Array.from(rowOf, (id, s) => (!kept || kept[s] ? id : -1));
		const top = rows.slice(0, most).map(({ id }) => id);
		const all = curvesOfGroups(p, keys, top);
		return new Map(top.map((id, i) => [id, all[i]!]));
	}, [rows]);
	return (
		!lacksCurves(p) && [
			'alive over time',
			null,
			(_, { id }) => (
				<td>
					<Sparkline values={curves.get(id)} />
				</td>
			),
		]
	);
}

function y(value: number, most: number): string {
	return (HEIGHT - (value / most) * (HEIGHT - 1)).toFixed(1);
}
