// SPDX-License-Identifier: MIT
import type { Forest } from '../data/forest.ts';
import type { Metric } from '../data/lens.ts';
import type { Profile } from '../data/profile.ts';
import { ownerOf } from '../data/tree.ts';
import { count, percent } from '../ui/format.ts';
import { METRIC_NAMES, nodeName, placeOf, weight } from '../ui/labels.ts';

interface TipProps {
	profile: Profile;
	forest: Forest;
	metric: Metric;
	node: number;
	x: number;
	y: number;
}

const OWNERS = { yours: 'your code', library: 'library', unknown: 'unknown code' };

/** What a box is, beside the pointer. */
export function Tip({ profile: p, forest: f, metric, node, x, y }: TipProps) {
	const symbol = f.symbol[node]!;
	const isRight = x > innerWidth - 440;
	const isLow = y > innerHeight - 180;
	const style = {
		left: isRight ? 'auto' : `${x + 14}px`,
		right: isRight ? `${innerWidth - x + 14}px` : 'auto',
		top: isLow ? 'auto' : `${y + 16}px`,
		bottom: isLow ? `${innerHeight - y + 16}px` : 'auto',
	};
	return (
		<div class="tip" role="tooltip" style={style}>
			<strong>{symbol && f.tree.group === 'function' ? p.symbols.name[symbol] : nodeName(p, f, node)}</strong>
			{symbol > 0 && (
				<div class="dim">
					{placeOf(p, symbol, f.line[node]!)} · {OWNERS[ownerOf(p, symbol)]}
					{f.isRun[node] && f.more[node]! > 0 ? ` · ${f.more[node]} more frames folded` : ''}
				</div>
			)}
			<table>
				<tbody>
					<tr>
						<td>{METRIC_NAMES[metric]}</td>
						<td class="num">{weight(metric, f.total[node]!)}</td>
						<td class="num">{percent(f.total[node]!, f.total[0]!)}</td>
					</tr>
					<tr>
						<td>by itself</td>
						<td class="num">{weight(metric, f.self[node]!)}</td>
						<td class="num">{percent(f.self[node]!, f.total[0]!)}</td>
					</tr>
					<tr>
						<td>allocations</td>
						<td class="num">{count(f.allocations[node]!)}</td>
						<td class="num">{count(f.temporary[node]!)} temporary</td>
					</tr>
				</tbody>
			</table>
		</div>
	);
}
