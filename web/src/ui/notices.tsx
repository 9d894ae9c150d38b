// SPDX-License-Identifier: MIT
import { ENDED } from '../data/profile.ts';
import { isServerGone, profile } from '../state.ts';
import { count, duration } from './format.ts';
import { bytes } from './format.ts';
import { useValue } from './signals.ts';

/** What touches the numbers stands above them. */
export function Notices() {
	const p = useValue(() => profile.value);
	const isGone = useValue(() => isServerGone.value);
	const { program, quality, page, summary } = p.facts;
	const lines = quality.map((line) => line.text);
	const end = duration(summary.duration_ns);
	if (program.ended === ENDED.signaled) {
		lines.unshift(
			`The program was ended by signal ${program.exit_status} after ${end}; “never freed” means “alive at that moment”`,
		);
	} else if (program.ended === ENDED.running && !quality.some((q) => /end|incomplete|cut/.test(q.id))) {
		lines.unshift(`The recording ends at ${end} without an end of the program; “never freed” means “alive at ${end}”`);
	}
	if (page.merged_stacks > 0) {
		lines.push(
			`To keep this file small, ${count(page.merged_stacks)} stacks below ${bytes(page.merged_below_bytes)} end at their callers; no sum changes`,
		);
	}
	if (page.redacted) {
		lines.push('Paths, arguments and linkage names were left out of this file');
	}
	if (isGone) {
		lines.unshift('heaptrack has quit; what is loaded stays usable');
	}
	if (!lines.length) {
		return null;
	}
	return (
		<ul class="notices" aria-label="What touches the numbers">
			{lines.map((line) => (
				<li key={line}>{line}</li>
			))}
		</ul>
	);
}
