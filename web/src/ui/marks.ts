// SPDX-License-Identifier: MIT
import { markEdge } from '../data/lens.ts';
import type { Profile } from '../data/profile.ts';
import { marks } from '../state.ts';
import { moment } from './format.ts';

const AT_FIRST = 24; // of the program's own: more could not be told apart

/** The edges of the moments that the program named, each once. */
export function programMarks(p: Profile): number[] {
	const edges = p.facts.marks
		.map((m) => markEdge(p.edges, m.time_ns))
		.filter((edge) => edge >= 0);
	return [...new Set(edges)].slice(0, AT_FIRST);
}

/** What stands at the i-th mark: the program's name for it, or a letter. */
export function markLabel(p: Profile, i: number): string {
	const edge = marks.value[i];
	const own = p.facts.marks.find((m) => markEdge(p.edges, m.time_ns) === edge);
	return own?.name ?? (i < 26 ? String.fromCharCode(65 + i) : String(i + 1));
}

/** "A at 1.66 s"; edges without a mark by their time alone. */
export function markName(p: Profile, edge: number): string {
	if (edge < 0 || edge >= p.edges.n) {
		return edge < 0 ? 'start' : 'end';
	}
	const i = marks.value.indexOf(edge);
	const when = moment(p.edges.timeNs[edge]!, p.facts.summary.duration_ns);
	return i < 0 ? when : `${markLabel(p, i)} at ${when}`;
}
