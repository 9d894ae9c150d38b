// SPDX-License-Identifier: MIT
import { useMemo, useState } from 'preact/hooks';
import type { Share } from '../data/lifetimes.ts';
import { ALLOCATIONS, lacks, lacksCurves, NOT_IN_FILE } from '../data/missing.ts';
import { isTree } from '../data/processes.ts';
import type { Profile } from '../data/profile.ts';
import { sitesOf } from '../data/series.ts';
import { classesOf, classOf } from '../data/sizes.ts';
import * as state from '../state.ts';
import { bytes, count, inBinary, percent } from '../ui/format.ts';
import { Heat } from '../ui/heat.tsx';
import { LIFETIMES } from '../ui/mix.tsx';
import { Panel } from '../ui/panel.tsx';
import { Pills } from '../ui/pill.tsx';
import { useRead, useValue } from '../ui/signals.ts';
import { Table } from '../ui/table.tsx';
import { LifetimesOverTime } from './lifetimes.tsx';
import { Shares, siteColumn } from './shares.tsx';

function classLabel(power: number): string {
	const [from, to] = [2 ** (power - 1), 2 ** power];
	return power < 2 ? `${power} B` : `${inBinary(from)} – ${inBinary(to > 1024 ? to : to - 1)}`;
}

/** Freed blocks by how long they lived and what they had as usual size, per stack. */
function heat(
	p: Profile,
	kept: Uint8Array | null,
): { powers: number[]; cells: Map<number, number[]> } {
	const cells = new Map<number, number[]>();
	for (let s = 0; s < p.stacks.n; s++) {
		const n = p.stacks.allocations[s]!;
		if ((kept && !kept[s]) || !n) {
			continue;
		}
		const power = classOf(p.stacks.allocatedBytes[s]! / n);
		const row = cells.get(power) ?? LIFETIMES.map(() => 0);
		p.stacks.lifetimes.forEach((column, k) => (row[k]! += column[s]!));
		cells.set(power, row);
	}
	const powers = [...cells.keys()].filter((power) => cells.get(power)!.some((n) => n > 0));
	return { powers: powers.sort((a, b) => a - b), cells };
}

interface Cell {
	power: number;
	life: number; // class of lifetimes
}

/** Who made the freed blocks of a cell, by how many. */
function sitesOfCell(p: Profile, kept: Uint8Array | null, keys: Uint32Array, cell: Cell): Share[] {
	const sums = new Map<number, Share>();
	for (let s = 0; s < p.stacks.n; s++) {
		const mean = p.stacks.allocatedBytes[s]! / p.stacks.allocations[s]!;
		const count = p.stacks.lifetimes[cell.life]![s]!;
		if (count && (!kept || kept[s]) && classOf(mean) === cell.power) {
			const sum = sums.get(keys[s]!) ?? { key: keys[s]!, count: 0, bytes: 0 };
			sum.count += count;
			sum.bytes += count * mean;
			sums.set(sum.key, sum);
		}
	}
	return [...sums.values()].sort((a, b) => b.count - a.count);
}

interface LifesProps {
	p: Profile;
	kept: Uint8Array | null;
	chosen: Cell | null;
	onChoose: (cell: Cell) => void;
}

function SizesByLifetime({ p, kept, chosen, onChoose }: LifesProps) {
	const { powers, cells } = useMemo(() => heat(p, kept), [p, kept]);
	const used = LIFETIMES.map((_, k) => k).filter((k) =>
		powers.some((w) => cells.get(w)![k]! > 0),
	);
	if (!used.length) {
		return <p class="dim">No block was freed.</p>;
	}
	return (
		<Heat
			label="Sizes and lifetimes"
			corner="size \ lifetime"
			rows={powers.map(classLabel)}
			columns={used.map((k) => LIFETIMES[k]!)}
			weights={powers.map((w) => used.map((k) => cells.get(w)![k]!))}
			at={(r, c) => chosen?.power === powers[r] && chosen.life === used[c]}
		>
			{(r, c) => (
				<button
					title="Show who allocated them"
					onClick={() => onChoose({ power: powers[r]!, life: used[c]! })}
				>
					{count(cells.get(powers[r]!)![used[c]!]!)}
				</button>
			)}
		</Heat>
	);
}

interface Pool {
	key: number;
	size: number;
	count: number;
	bytes: number;
	stacks: number;
}

const POOL_CALLS = 10_000;

/** Stacks that ask for one size very often; those of a site and size are one row. */
function poolsOf(p: Profile, keys: Uint32Array, kept: Uint8Array | null): Pool[] {
	const found = new Map<string, Pool>();
	const z = p.sizes;
	for (let s = 0; s < p.stacks.n; s++) {
		for (let i = z.first[s]!; i < z.first[s + 1]!; i++) {
			if ((!kept || kept[s]) && !z.isClass[i] && z.count[i]! > POOL_CALLS) {
				const [key, size] = [keys[s]!, z.size[i]!];
				const none = { key, size, count: 0, bytes: 0, stacks: 0 };
				const pool = found.get(`${key} ${size}`) ?? none;
				pool.count += z.count[i]!;
				pool.bytes += z.bytes[i]!;
				pool.stacks++;
				found.set(`${key} ${size}`, pool);
			}
		}
	}
	return [...found.values()].sort((a, b) => b.count - a.count);
}

export function SizesView() {
	const p = state.profile.value;
	const kept = useValue(state.kept);
	const range = useRead(() => state.lens.value.range);
	const [byBytes, setByBytes] = useState(false);
	const [chosen, setChosen] = useState<number | null>(null);
	const [cell, setCell] = useState<Cell | null>(null);
	const sites = useMemo(() => sitesOf(p), [p]);
	const classes = useMemo(() => classesOf(p, kept, sites.keys), [p, kept]);
	const pools = useMemo(() => poolsOf(p, sites.keys, kept), [p, kept]);
	const value = (c: { count: number; bytes: number }) => (byBytes ? c.bytes : c.count);
	const most = Math.max(1, ...classes.map(value));
	const total = classes.reduce((sum, c) => sum + value(c), 0);
	const own = classes.find((c) => c.power === chosen);
	const inClass = own
		? [...own.bySite].map(([key, [n, sum]]) => ({ key, count: n, bytes: sum }))
		: [];
	inClass.sort((a, b) => value(b) - value(a));
	if (lacks(p, ALLOCATIONS) || !p.sizes.size.length) {
		return <p class="panel nothing">The size of each block is {NOT_IN_FILE}.</p>;
	}
	return (
		<>
			<Panel
				title="Sizes of allocations"
				head={
					<Pills
						label="Weighed by"
						of={[
							[false, 'Calls'],
							[true, 'Bytes'],
						]}
						now={byBytes}
						onChoose={setByBytes}
					/>
				}
				hint={range && 'of the whole run: sizes are not kept by time'}
			>
				<Table
					id="sizes"
					class="bars histogram"
					rows={classes}
					columns={[
						[
							'size',
							(c) => c.power,
							(power) => (
								<th scope="row">
									<button
										class="link"
										aria-pressed={power === chosen}
										onClick={() => setChosen(power === chosen ? null : power)}
									>
										{classLabel(power)}
									</button>
								</th>
							),
							'',
						],
						[
							<span class="sr">{byBytes ? 'bytes' : 'calls'} as a bar</span>,
							null,
							(_, c) => (
								<td>
									<i style={{ width: `${(100 * value(c)) / most}%` }} />
								</td>
							),
							'',
						],
						['calls', (c) => c.count, count],
						['total', (c) => c.bytes, bytes],
						['average', (c) => c.bytes / c.count, bytes],
						[`% of ${byBytes ? 'bytes' : 'calls'}`, value, (n) => percent(n, total)],
						!isTree(p) && ['never freed', (c) => c.live, count],
					]}
				/>
			</Panel>
			{own && (
				<Shares
					title={`Who allocates ${classLabel(own.power)}`}
					shares={inClass}
					sites={sites}
				/>
			)}
			<Panel
				title="Freed blocks by the mean size of their stack, and lifetime"
				hint={range && 'of the whole run'}
			>
				<SizesByLifetime p={p} kept={kept} chosen={cell} onChoose={setCell} />
			</Panel>
			{cell && (
				<Shares
					title={
						`Who allocated blocks of ${classLabel(cell.power)} on average ` +
						`that lived ${LIFETIMES[cell.life]}`
					}
					shares={sitesOfCell(p, kept, sites.keys, cell)}
					sites={sites}
				/>
			)}
			{!lacksCurves(p) && <LifetimesOverTime sites={sites} />}
			{pools.length > 0 && (
				<Panel title={`Same stack, same size, more than ${count(POOL_CALLS)} times`}>
					<Table
						id="pools"
						rows={pools}
						columns={[
							siteColumn(sites, pools),
							['size', (pool) => pool.size, bytes],
							['stacks', (pool) => pool.stacks, count],
							['allocations', (pool) => pool.count, count],
							['total', (pool) => pool.bytes, bytes],
						]}
						most={20}
					/>
				</Panel>
			)}
		</>
	);
}
