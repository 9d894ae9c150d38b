// SPDX-License-Identifier: MIT
import type { ComponentChildren } from 'preact';
import type { Boxes, Forest } from '../data/forest.ts';
import { ALLOCATIONS, lacks, TEMPORARY } from '../data/missing.ts';
import { metricOf, type Metric } from '../data/metrics.ts';
import type { Profile } from '../data/profile.ts';
import { ownerOf } from '../data/tree.ts';
import { count, percent } from '../ui/format.ts';
import { cost, metricName, nodeName, placeOf, shortCost } from '../ui/labels.ts';
import { Colour } from './draw.ts';

/** A box's name, and what may stand behind it: the first of these that fits. */
export interface Label {
	name: string;
	additions: string[];
}

/** What the boxes of a graph look like, and what they say. */
export interface Skin {
	profile: Profile; // whose symbols they have
	colour: (node: number) => Colour;
	label: (node: number) => Label; // in the box
	weight: (total: number) => string; // of several boxes
	words: (node: number) => string; // for those who do not see it
	tip: (node: number) => ComponentChildren; // beside the pointer: rows of a table
	more?: (node: number) => ComponentChildren; // below them, once the pointer rests
}

export function wordsOf(p: Profile, f: Boxes, node: number, cost: string): string {
	return `${nodeName(p, f, node)}, ${cost} ${placeOf(p, f.symbol[node]!, f.line[node]!)}`;
}

function moduleColour(module: string): Colour {
	let h = 0;
	for (const c of module) {
		h = (Math.imul(h, 31) + c.charCodeAt(0)) >>> 0;
	}
	return Colour.Series + (h % 6);
}

function ownerColour(p: Profile, f: Boxes, symbol: number, node: number): Colour {
	switch (ownerOf(p, symbol)) {
		case 'yours':
			return f.key[node]! & 1 ? Colour.YoursA : Colour.YoursB;
		case 'library':
			return Colour.Library;
		default:
			return Colour.Unknown;
	}
}

export type TipRow = readonly [name: string, value: string, share: string];

export const tipRows = (rows: readonly TipRow[]) =>
	rows.map(([name, value, share]) => (
		<tr key={name}>
			<td>{name}</td>
			<td class="num">{value}</td>
			<td class="num">{share}</td>
		</tr>
	));

/** Whose code it is, or of which module; and what it costs. */
export function costSkin(p: Profile, f: Forest, metric: Metric, byModule = false): Skin {
	const total = f.total[0]!;
	return {
		profile: p,
		colour: (node) => {
			const symbol = f.symbol[node]!;
			if (symbol === 0 || f.isRest[node]) {
				return f.isRest[node] ? Colour.Unknown : Colour.Root;
			}
			return byModule
				? moduleColour(p.symbolTable.module[symbol]!)
				: ownerColour(p, f, symbol, node);
		},
		label: (node) => {
			const value = shortCost(metric, f.total[node]!);
			return {
				name: nodeName(p, f, node),
				additions: [`${value} · ${percent(f.total[node]!, total)}`, value],
			};
		},
		weight: (sum) => cost(metric, sum),
		words: (node) =>
			wordsOf(
				p,
				f,
				node,
				`${cost(metric, f.total[node]!)}, ${percent(f.total[node]!, total)}`,
			),
		tip: (node) =>
			tipRows([
				[
					metricName(metric),
					cost(metric, f.total[node]!),
					percent(f.total[node]!, total),
				],
				['by itself', cost(metric, f.self[node]!), percent(f.self[node]!, total)],
				...(lacks(p, ALLOCATIONS) || !metricOf(metric).of_blocks
					? []
					: [
							[
								'allocations',
								count(f.allocations[node]!),
								lacks(p, TEMPORARY)
									? ''
									: `${count(f.temporary[node]!)} temporary`,
							] as const,
						]),
			]),
	};
}
