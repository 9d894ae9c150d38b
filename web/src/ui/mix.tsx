// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import type { Profile } from '../data/profile.ts';
import { sumOf } from '../data/query.ts';
import { bytes, count, inBinary } from './format.ts';
import { useMore } from './more.tsx';

/** Labels of the 16 classes of lifetimes: < 1 µs, < 4 µs, ... */
export const LIFETIMES = Array.from({ length: 16 }, (_, i) => lifetimeLabel(i));

function lifetimeLabel(i: number): string {
	if (i === 15) {
		return 'longer';
	}
	const us = 4 ** i;
	const [value, unit] = us < 1000 ? [us, 'µs'] : us < 1e6 ? [us / 1e3, 'ms'] : [us / 1e6, 's'];
	return `<\u00a0${value < 10 && value % 1 ? value.toFixed(1) : Math.round(value)}\u00a0${unit}`;
}

function Bars({ rows }: { rows: [string, number, string][] }) {
	const most = Math.max(1, ...rows.map(([, n]) => n));
	return (
		<table class="bars">
			<tbody>
				{rows.map(([name, n, text]) => (
					<tr key={name}>
						<th scope="row">{name}</th>
						<td>
							<i style={{ width: `${(100 * n) / most}%` }} />
						</td>
						<td class="num">{text}</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

interface SizeRow {
	size: number;
	isClass: number; // up to twice the size
	count: number;
	bytes: number;
}

/** The sizes that some stacks ask for, most frequent first. */
function sizesOf(p: Profile, stacks: Uint32Array): SizeRow[] {
	const z = p.sizes;
	const found = new Map<number, SizeRow>();
	for (const s of stacks) {
		for (let i = z.first[s]!; i < z.first[s + 1]!; i++) {
			const size = z.size[i]!;
			const isClass = z.isClass[i]!;
			const key = isClass ? -size : size;
			let row = found.get(key);
			if (!row) {
				row = { size, isClass, count: 0, bytes: 0 };
				found.set(key, row);
			}
			row.count += z.count[i]!;
			row.bytes += z.bytes[i]!;
		}
	}
	return [...found.values()].sort((a, b) => b.count - a.count);
}

const SIZES_SHOWN = 6;

export function SizeMix({ p, stacks }: { p: Profile; stacks: Uint32Array }) {
	const [rows, more] = useMore(useMemo(() => sizesOf(p, stacks), [p, stacks]), SIZES_SHOWN);
	return (
		<>
			<Bars
				rows={rows.map(({ size, isClass, ...row }) => [
					isClass ? `${inBinary(size)} – ${inBinary(size * 2)}` : bytes(size),
					row.count,
					`${count(row.count)} × · ${bytes(row.bytes)}`,
				])}
			/>
			{more}
		</>
	);
}

/** How many freed blocks of some stacks lived how long: by class. */
export function lifetimesOf(p: Profile, stacks: Uint32Array): number[] {
	return p.stacks.lifetimes.map((column) => sumOf(column, stacks));
}

/** How long its blocks lived, of those that were freed. */
export function Lifetimes({ p, stacks }: { p: Profile; stacks: Uint32Array }) {
	const sums = useMemo(() => lifetimesOf(p, stacks), [p, stacks]);
	const used = LIFETIMES.map((name, k): [string, number, string] => [
		name,
		sums[k]!,
		count(sums[k]!),
	]);
	const rows = used.filter(([, n]) => n > 0);
	return rows.length ? <Bars rows={rows} /> : <p class="dim">None was freed.</p>;
}
