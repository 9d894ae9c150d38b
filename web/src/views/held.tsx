// SPDX-License-Identifier: MIT
import { useState } from 'preact/hooks';
import type { Leaks } from '../data/profile.ts';
import * as state from '../state.ts';
import { bytes, count, moment, percent } from '../ui/format.ts';
import { signed } from '../ui/labels.ts';
import { Panel } from '../ui/panel.tsx';
import { Select } from '../ui/pill.tsx';
import { Table, type Column } from '../ui/table.tsx';

const GRADES: Record<string, string> = {
	held: 'held',
	held_inside: 'held inside: only by pointers into the block',
	disguised: 'held in disguise: by flagged or odd pointers, or in the kernel',
	unreachable: 'unreachable: nothing points to them',
	owned: 'only unreachable blocks point to them',
	cycle: 'cycles: only they themselves lead to each other',
};

type Look = Leaks['looks'][number];

/** The flame graph of what a root holds, or of what nothing points to. */
function show(metric: string, symbol?: string) {
	state.change({ metric, focus: symbol ? [symbol] : [] });
	state.view.value = 'flame';
}

interface TallyProps {
	id: string;
	title: string;
	head: string;
	share?: string; // what the first figure is a share of
	columns: Record<string, string>; // bytes, blocks, and further ones: their heads by their keys
	rows: readonly { look: number; name: string | null; [key: string]: unknown }[];
	look: Look;
	base: Look | undefined; // what it is compared with
	onName?: ((name: string) => void) | false;
}

interface Found {
	name: string;
	now: number[]; // by column
	gains: number[]; // of the first two
}

/** What a look found, by name, and how much more of it than another one. */
function Tally({ id, title, head, share, columns, rows, look, base, onName }: TallyProps) {
	const keys = Object.keys(columns);
	const figure = (n: number, i: number) => (/bytes/.test(keys[i]!) ? bytes(n) : count(n));
	const all = new Map<string, number[][]>();
	for (const row of rows) {
		const side = row.look === look.look ? 0 : row.look === base?.look ? 1 : -1;
		if (side >= 0) {
			const name = row.name ?? '';
			const sides = all.get(name) ?? [keys.map(() => 0), keys.map(() => 0)];
			keys.forEach((key, i) => (sides[side]![i]! += Number(row[key])));
			all.set(name, sides);
		}
	}
	const found = [...all].map(([name, [now, before]]): Found => ({
		name,
		now: now!,
		gains: base ? [0, 1].map((i) => now![i]! - before![i]!) : [],
	}));
	const total = found.reduce((sum, row) => sum + row.now[0]!, 0);
	const ofKey = (i: number): Column<Found> => [
		columns[keys[i]!]!,
		(row) => row.now[i]!,
		(n) => figure(n, i),
	];
	return (
		<Panel title={title}>
			<Table
				id={id}
				class="data lines tally"
				rows={found
					.filter((row) => [...row.now, ...row.gains].some(Boolean))
					.sort((a, b) => b.now[0]! - a.now[0]!)}
				columns={[
					[
						head,
						(row) => row.name,
						(name) => (
							<th scope="row">
								{onName ? (
									<button class="link" onClick={() => onName(name)}>
										{name}
									</button>
								) : (
									name
								)}
							</th>
						),
					],
					ofKey(0),
					!!share && [share, (row) => row.now[0]!, (n) => percent(n, total)],
					...keys.slice(1).map((_, i) => ofKey(i + 1)),
					...(base ? [`since ${moment(base.time_ns)}`, 'blocks since then'] : []).map(
						(head, i): Column<Found> => [
							head,
							(row) => row.gains[i]!,
							(n) => signed(figure(Math.abs(n), i), n),
						],
					),
				]}
				most={200}
			/>
		</Panel>
	);
}

/** By looks that asked what points to live blocks: grades, roots and classes. */
export function Held({ leaks }: { leaks: Leaks }) {
	const { looks } = leaks;
	const [chosen, choose] = useState([0, 1]);
	const [look = looks[0]!, base] = chosen.map((i) => looks[i]);
	const both = { look, base: base === look ? undefined : base };
	const classes = leaks.classes.filter((row) => row.kind === 'cpp');
	const isNewest = look === looks[0]; // which the other views show
	return (
		<>
			{looks.length > 1 && (
				<p>
					{['The look at', 'compared with that at'].map((label, side) => (
						<span key={side}>
							{label}{' '}
							<Select
								label={label}
								of={looks.map((each, i) => [i, moment(each.time_ns)])}
								now={chosen[side]!}
								onChoose={(to) =>
									choose(chosen.map((old, i) => (i === side ? to : old)))
								}
							/>{' '}
						</span>
					))}
				</p>
			)}
			<Tally
				{...both}
				id="grades"
				title={`What pointed to live blocks at ${moment(look.time_ns)}`}
				head="grade"
				share="% of live"
				columns={{ bytes: 'bytes', blocks: 'blocks' }}
				rows={looks.flatMap((each) =>
					each.grades.map((row) => ({
						...row,
						look: each.look,
						name: GRADES[row.grade]!,
					})),
				)}
				onName={isNewest && ((name) => show(/^held/.test(name) ? 'graded' : 'unreachable'))}
			/>
			<Tally
				{...both}
				id="holders"
				title="Who held them, and what only they lead to"
				head="holder"
				share="% of held"
				columns={{ retained_bytes: 'retained bytes', retained_blocks: 'blocks' }}
				rows={leaks.holders}
				onName={isNewest && ((name) => show('held', name))}
			/>
			{classes.length > 0 && (
				<Tally
					{...both}
					id="classes"
					title="Their C++ classes"
					head="class"
					columns={{
						bytes: 'bytes',
						blocks: 'blocks',
						retained_bytes: 'retained bytes',
						objects_in_arenas: 'objects in arenas',
					}}
					rows={classes}
				/>
			)}
		</>
	);
}
