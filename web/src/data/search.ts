// SPDX-License-Identifier: MIT

/** From `low` on the first number for which something holds, as for all behind it; else `high`. */
export function firstWhere(low: number, high: number, holds: (i: number) => boolean): number {
	while (low < high) {
		const middle = (low + high) >> 1;
		if (holds(middle)) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return low;
}
