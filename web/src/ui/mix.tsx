// SPDX-License-Identifier: MIT
import type { Profile } from '../data/profile.ts';
import { bytes, count } from './format.ts';

/** Labels of the 16 classes of lifetimes: < 1 µs, < 4 µs, ... */
export const LIFETIMES = Array.from({ length: 16 }, (_, i) => lifetimeLabel(i));

function lifetimeLabel(i: number): string {
	if (i === 15) {
		return 'longer';
	}
	const us = 4 ** i;
	const [value, unit] = us < 1000 ? [us, 'µs'] : us < 1e6 ? [us / 1e3, 'ms'] : [us / 1e6, 's'];
	return `< ${value < 10 && value % 1 ? value.toFixed(1) : Math.round(value)} ${unit}`;
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

/** The sizes that a function asks for, most frequent first. */
export function SizeMix({ p, own }: { p: Profile; own: Uint8Array }) {
	const z = p.sizes;
	const found = new Map<string, [number, number, number]>();
	for (let s = 0; s < p.stacks.n; s++) {
		for (let i = own[s] ? z.first[s]! : z.first[s + 1]!; i < z.first[s + 1]!; i++) {
			const size = z.size[i]!;
			const name = z.isClass[i] ? `${bytes(size)} – ${bytes(size * 2)}` : bytes(size);
			const row = found.get(name) ?? [0, 0, size];
			row[0] += z.count[i]!;
			row[1] += z.bytes[i]!;
			found.set(name, row);
		}
	}
	const rows = [...found.entries()].sort((a, b) => b[1][0] - a[1][0]).slice(0, 6);
	return <Bars rows={rows.map(([name, [n, total]]) => [name, n, `${count(n)} × · ${bytes(total)}`])} />;
}

/** How long its blocks lived, of those that were freed. */
export function Lifetimes({ p, own }: { p: Profile; own: Uint8Array }) {
	const sums = LIFETIMES.map((_, k) =>
		p.stacks.lifetimes[k]!.reduce((sum, n, s) => sum + (own[s] ? n : 0), 0),
	);
	const used = LIFETIMES.map((name, k): [string, number, string] => [name, sums[k]!, count(sums[k]!)]);
	const rows = used.filter(([, n]) => n > 0);
	return rows.length ? <Bars rows={rows} /> : <p class="dim">None was freed.</p>;
}
