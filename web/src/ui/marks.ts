// SPDX-License-Identifier: MIT
import type { Profile } from '../data/profile.ts';
import { marks } from '../state.ts';
import { moment } from './format.ts';

export const markLetter = (i: number) => String.fromCharCode(65 + i);

/** "A at 1.66 s"; edges without a mark by their time alone. */
export function markName(p: Profile, edge: number): string {
	if (edge < 0 || edge >= p.edges.n) {
		return edge < 0 ? 'start' : 'end';
	}
	const i = marks.value.indexOf(edge);
	const when = moment(p.edges.timeNs[edge]!, p.facts.summary.duration_ns);
	return i < 0 ? when : `${markLetter(i)} at ${when}`;
}
