// SPDX-License-Identifier: MIT
import type { Leaks } from '../data/profile.ts';
import * as state from '../state.ts';
import { bytes, count, moment, percent } from '../ui/format.ts';
import { Name } from '../ui/name.tsx';
import { Table } from '../ui/table.tsx';

const GRADES: Record<string, string> = {
	held: 'held',
	held_inside: 'held inside: only pointers to their inside were found',
	disguised: 'held in disguise: by pointers with flags, at odd addresses, or in the kernel',
	unreachable: 'unreachable: nothing points to them',
	owned: 'only unreachable blocks point to them',
	cycle: 'cycles: only they themselves lead to each other',
};

/** The flame graph of what a root holds, or of what nothing points to. */
function show(metric: string, symbol?: string) {
	state.change({ metric, focus: symbol ? [symbol] : [] });
	state.view.value = 'flame';
}

function Grades({ look }: { look: Leaks['looks'][number] }) {
	const rows = look.grades.filter((row) => row.blocks > 0);
	const total = rows.reduce((sum, row) => sum + row.bytes, 0);
	return (
		<section class="panel" aria-labelledby="grades-title">
			<h2 id="grades-title">What pointed to live blocks at {moment(look.time_ns)}</h2>
			<Table
				id="grades"
				heads={['grade', 'bytes', '% of live', 'blocks']}
				rows={rows}
				values={(row) => [GRADES[row.grade]!, row.bytes, row.bytes, row.blocks]}
			>
				{(row) => (
					<tr>
						<th scope="row">
							<button
								class="link"
								onClick={() =>
									show(/^held|^dis/.test(row.grade) ? 'graded' : 'unreachable')
								}
							>
								{GRADES[row.grade]}
							</button>
						</th>
						<td class="num">{bytes(row.bytes)}</td>
						<td class="num">{percent(row.bytes, total)}</td>
						<td class="num">{count(row.blocks)}</td>
					</tr>
				)}
			</Table>
		</section>
	);
}

/** By the newest look that asked what points to live blocks: grades, roots and classes. */
export function Held({ leaks }: { leaks: Leaks }) {
	const look = leaks.looks[0]!;
	const holders = [...leaks.holders].sort((a, b) => b.retained_bytes - a.retained_bytes);
	const held = holders.reduce((sum, row) => sum + row.retained_bytes, 0);
	const classes = leaks.classes
		.filter((row) => row.kind === 'cpp' && row.look === look.look)
		.sort((a, b) => b.bytes - a.bytes);
	return (
		<>
			<Grades look={look} />
			<section class="panel" aria-labelledby="holders-title">
				<h2 id="holders-title">Who held them, with all that nothing else leads to</h2>
				<Table
					id="holders"
					heads={['holder', 'retained bytes', '% of held', 'blocks']}
					rows={holders}
					values={(row) => [
						row.name ?? '',
						row.retained_bytes,
						row.retained_bytes,
						row.retained_blocks,
					]}
					most={200}
				>
					{(row) => (
						<tr>
							<th scope="row">
								<button class="link name" onClick={() => show('held', row.name!)}>
									<Name text={row.name ?? ''} />
								</button>
							</th>
							<td class="num">{bytes(row.retained_bytes)}</td>
							<td class="num">{percent(row.retained_bytes, held)}</td>
							<td class="num">{count(row.retained_blocks)}</td>
						</tr>
					)}
				</Table>
			</section>
			{classes.length > 0 && (
				<section class="panel" aria-labelledby="classes-title">
					<h2 id="classes-title">Of what classes of C++ they were</h2>
					<Table
						id="classes"
						heads={['class', 'bytes', 'retained bytes', 'blocks', 'objects in arenas']}
						rows={classes}
						values={(row) => [
							row.name ?? '',
							row.bytes,
							row.retained_bytes,
							row.blocks,
							row.objects_in_arenas,
						]}
						most={200}
					>
						{(row) => (
							<tr>
								<th scope="row">
									<Name text={row.name ?? ''} />
								</th>
								<td class="num">{bytes(row.bytes)}</td>
								<td class="num">{bytes(row.retained_bytes ?? 0)}</td>
								<td class="num">{count(row.blocks)}</td>
								<td class="num">{count(row.objects_in_arenas ?? 0)}</td>
							</tr>
						)}
					</Table>
				</section>
			)}
		</>
	);
}
