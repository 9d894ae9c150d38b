// SPDX-License-Identifier: MIT
import { lacks, TIME } from '../data/missing.ts';
import { ENDED, type Allocator } from '../data/profile.ts';
import { isServerGone, refused, profile, view } from '../state.ts';
import { baseName, bytes, count, duration, plural, unbroken } from './format.ts';
import { sentence } from './labels.ts';
import { useRead, useValue } from './signals.ts';
import { Table } from './table.tsx';

/** "8 functions of libc.so.6, 12 of server". */
function hookedWords(allocators: Allocator[]): string {
	const hooked = allocators.filter((a) => a.hooked);
	const parts = hooked.map((a, i) => {
		const n = a.functions.length;
		return `${i ? count(n) : plural(n, 'function')} of ${baseName(a.module)}`;
	});
	const more = parts.length > MODULES ? [`${count(parts.length - MODULES)} more modules`] : [];
	return [...parts.slice(0, MODULES), ...more].join(', ') || 'the C library alone';
}

const MODULES = 4;

/** Which allocators the figures are of, where that is not a matter of course. */
function Hooked({ allocators }: { allocators: Allocator[] }) {
	return (
		<details class="as-table hooked">
			<summary>Recorded: {hookedWords(allocators)}</summary>
			<div class="scroll" tabIndex={0} role="region" aria-label="Allocators">
				<Table
					id="allocators"
					rows={allocators}
					columns={[
						[
							'module',
							(a) => baseName(a.module),
							(name, a) => <td title={a.module}>{name}</td>,
						],
						[
							'allocates and frees with',
							(a) => a.functions.join(', '),
							(names) => (
								<td>
									<code>{names}</code>
								</td>
							),
						],
						[
							'recorded',
							(a) => String(a.hooked),
							(_, a) => <td>{a.hooked ? 'yes' : `no: ${a.why}`}</td>,
						],
					]}
				/>
			</div>
		</details>
	);
}

/** Notes on the figures stands above them. */
export function Notices() {
	const p = profile.value;
	const wrongFile = useValue(refused);
	const isGone = useValue(isServerGone);
	const isFirst = useRead(() => view.value === 'overview');
	const { page, summary, allocators } = p.facts;
	const { sentences } = p.facts.quality;
	const lines = sentences.map(({ text }) => unbroken(sentence(p, text)));
	const end = duration(summary.duration_ns);
	const isOver = page.ended !== ENDED.running || lacks(p, TIME);
	if (!isOver && !sentences.some((q) => /end|incomplete|cut/.test(q.id))) {
		lines.unshift(
			`The recording ends at ${end}, before the program; ` +
			`“never freed” means “live at ${end}”`,
		);
	}
	if (page.merged_stacks > 0) {
		lines.push(
			`To keep this file small, ${count(page.merged_stacks)} ` +
			`stacks below ${bytes(page.merged_below_bytes)} ` +
			`were merged into their callers; all totals are exact`,
		);
	}
	if (page.redacted) {
		lines.push('This file was written without paths, arguments and linkage names');
	}
	if (wrongFile) {
		lines.unshift(wrongFile);
	}
	if (isGone) {
		lines.unshift('heaptrack has quit; what is loaded can still be used');
	}
	return (
		<>
			{lines.length > 0 && (
				<ul class="notices" aria-label="Notes on the figures">
					{lines.map((line) => (
						<li key={line}>{line}</li>
					))}
				</ul>
			)}
			{isFirst && allocators.length > 0 && <Hooked allocators={allocators} />}
		</>
	);
}
