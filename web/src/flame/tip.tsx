// SPDX-License-Identifier: MIT
import { useEffect, useState } from 'preact/hooks';
import type { Boxes } from '../data/forest.ts';
import { ownerOf } from '../data/tree.ts';
import { count } from '../ui/format.ts';
import { nodeName, placeOf } from '../ui/labels.ts';
import type { Skin } from './skin.tsx';

interface TipProps {
	skin: Skin;
	forest: Boxes;
	node: number;
	small: { n: number; total: number } | null; // that it cannot be told apart from
	x: number;
	y: number;
}

const OWNERS = { yours: 'your code', library: 'library', unknown: 'unknown code' };

const REST_MS = 150;

/** What takes a moment to find out: only where the pointer stays. */
function More({ skin, node }: { skin: Skin; node: number }) {
	const [at, setAt] = useState(-1);
	useEffect(() => {
		const timer = setTimeout(() => setAt(node), REST_MS);
		return () => clearTimeout(timer);
	}, [node]);
	return <>{at === node && skin.more?.(node)}</>;
}

/** What a box is, next to the pointer. */
export function Tip({ skin, forest: f, node, small, x, y }: TipProps) {
	const p = skin.profile;
	const symbol = f.symbol[node]!;
	const isRight = x > innerWidth - 440;
	const isLow = y > innerHeight - 200;
	const style = {
		left: isRight ? 'auto' : `${x + 14}px`,
		right: isRight ? `${innerWidth - x + 14}px` : 'auto',
		top: isLow ? 'auto' : `${y + 16}px`,
		bottom: isLow ? `${innerHeight - y + 16}px` : 'auto',
	};
	return (
		<div class="tip" role="tooltip" style={style}>
			<strong>
				{symbol && f.tree.group === 'function'
					? p.symbolTable.name[symbol]
					: nodeName(p, f, node)}
			</strong>
			{symbol > 0 && (
				<div class="dim">
					{placeOf(p, symbol, f.line[node]!)} · {OWNERS[ownerOf(p, symbol)]}
					{f.isRun[node] && f.more[node]! > 0
						? ` · ${f.more[node]} more frames folded`
						: ''}
				</div>
			)}
			<table>
				<tbody>{skin.tip(node)}</tbody>
			</table>
			{small && small.n > 1 && (
				<p class="dim">
					and {count(small.n - 1)} more too small to be told apart,{' '}
					{skin.weight(small.total)} together
				</p>
			)}
			<More skin={skin} node={node} />
		</div>
	);
}
