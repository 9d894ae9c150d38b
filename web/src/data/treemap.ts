// SPDX-License-Identifier: MIT

export interface Rect {
	x: number;
	y: number;
	width: number;
	height: number;
}

/**
 * Rectangles of such sizes that fill one, the largest first, each nearly a square: rows along the
 * shorter side, which take in a size as long as that makes their worst member no longer (Bruls,
 * Huizing and van Wijk, Squarified Treemaps, 2000).
 */
export function squarify(sizes: readonly number[], { x, y, width, height }: Rect): Rect[] {
	const out: Rect[] = [];
	let left = sizes.reduce((sum, n) => sum + n, 0);
	for (let i = 0; i < sizes.length; i = out.length) {
		const scale = (width * height) / left;
		const side = Math.min(width, height);
		let [row, worst, end] = [0, Infinity, i];
		for (; end < sizes.length; end++) {
			const square = (((row + sizes[end]!) * scale) / side) ** 2;
			const ratio = Math.max((sizes[i]! * scale) / square, square / (sizes[end]! * scale));
			if (ratio > worst) {
				break;
			}
			worst = ratio;
			row += sizes[end]!;
		}
		const thick = (row * scale) / side;
		const isColumn = side === height;
		let at = isColumn ? y : x;
		for (const size of sizes.slice(i, end)) {
			const long = (size / row) * side;
			out.push(
				isColumn
					? { x, y: at, width: thick, height: long }
					: { x: at, y, width: long, height: thick },
			);
			at += long;
		}
		left -= row;
		[x, width] = isColumn ? [x + thick, width - thick] : [x, width];
		[y, height] = isColumn ? [y, height] : [y + thick, height - thick];
	}
	return out;
}
