// SPDX-License-Identifier: MIT
import type { Profile } from './profile.ts';

/** Allocations of some sizes, and which sites made them. */
export interface SizeClass {
	power: number; // 2^(power - 1) <= size < 2^power
	count: number;
	bytes: number;
	live: number;
	bySite: Map<number, [number, number]>;
}

/**
 * As the recorder gathers sizes that it does not keep one by one, and as `--by size` lists them.
 */
export const classOf = (size: number) => (size < 1 ? 0 : Math.floor(Math.log2(size)) + 1);

/** The classes that some stacks made blocks of, smallest first; `keys`: the site of each stack. */
export function classesOf(p: Profile, kept: Uint8Array | null, keys: Uint32Array): SizeClass[] {
	const found = new Map<number, SizeClass>();
	const z = p.sizes;
	for (let s = 0; s < p.stacks.n; s++) {
		if (kept && !kept[s]) {
			continue;
		}
		for (let i = z.first[s]!; i < z.first[s + 1]!; i++) {
			const power = classOf(z.size[i]!);
			let c = found.get(power);
			if (!c) {
				c = { power, count: 0, bytes: 0, live: 0, bySite: new Map() };
				found.set(power, c);
			}
			c.count += z.count[i]!;
			c.bytes += z.bytes[i]!;
			c.live += z.live[i]!;
			const site = c.bySite.get(keys[s]!) ?? [0, 0];
			site[0] += z.count[i]!;
			site[1] += z.bytes[i]!;
			c.bySite.set(keys[s]!, site);
		}
	}
	return [...found.values()].sort((a, b) => a.power - b.power);
}
