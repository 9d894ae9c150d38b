// SPDX-License-Identifier: MIT
import { firstWhere } from './search.ts';

/** Where a weight belongs among others, the heaviest first: behind those that weigh as much. */
function placeOf(top: number[], weights: Float64Array, weight: number): number {
	return firstWhere(0, top.length, (place) => weights[top[place]!]! < weight);
}

export interface Top {
	n: number; // how many weigh anything
	ids: number[]; // the heaviest of them, in order
}

/** Of some numbers (null: of all that have a weight) the `most` heaviest, without sorting all. */
export function heaviestOf(
	ids: ArrayLike<number> | null,
	weights: Float64Array,
	most: number,
): Top {
	const top: number[] = [];
	let n = 0;
	let least = 0; // what is below this is none of them
	for (let i = 0, end = ids?.length ?? weights.length; i < end; i++) {
		const id = ids ? ids[i]! : i;
		const weight = weights[id]!;
		n += +(weight > 0);
		if (weight > least) {
			top.splice(placeOf(top, weights, weight), 0, id);
			top.length = Math.min(top.length, most);
			least = top.length < most ? 0 : weights[top[most - 1]!]!;
		}
	}
	return { n, ids: top };
}
