// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { calleesOf, callersOf, type Boxes, type Forest } from '../data/forest.ts';
import * as state from '../state.ts';
import { symbolName } from '../ui/labels.ts';
import { useValue } from '../ui/signals.ts';

/** What views do with the nodes of a tree, as boxes or as rows. */

export function selectNode(f: Boxes, node: number): void {
	if (f.symbol[node]) {
		state.selected.value = { symbol: f.symbol[node]!, base: f.base[node]! };
	}
}

/** The bar behind a figure. */
export function barOf(share: number) {
	return { backgroundSize: `${100 * share}% 14px` };
}

/** Shift+click: a run frame by frame, or as one box again. */
export function openRun(f: Boxes, node: number): void {
	const key = f.key[node]!;
	const opened = new Set(state.openedRuns.value);
	if (opened.has(key)) {
		opened.delete(key);
	} else if (f.isRun[node]) {
		opened.add(key);
	} else {
		return;
	}
	state.openedRuns.value = opened;
}

export function hideNode(f: Boxes, node: number): void {
	state.hide(state.profile.value.symbolTable.name[f.symbol[node]!]!);
}

/** The key that the tree has for a function, whatever it is gathered under. */
function keyOfSymbol(symbol: number): number {
	const t = state.tree.value;
	const p = state.profile.value;
	if (t.group === 'function') {
		return p.symbolTable.function[symbol]!;
	}
	const at = t.symbol.indexOf(symbol);
	return at > 0 ? t.key[at]! : -1;
}

interface Around {
	symbol: number;
	name: string;
	callers: Forest;
	callees: Forest;
}

/** The selected function between those who call it and those it calls; null: none is selected. */
export function useAround(): Around | null {
	const p = state.profile.value;
	const t = useValue(state.tree);
	const a = useValue(state.answer);
	const picked = useValue(state.selected);
	const symbol = picked?.symbol ?? 0;
	const key = picked ? keyOfSymbol(symbol) : -1;
	return useMemo(() => {
		if (key < 0) {
			return null;
		}
		const [callers, callees] = [callersOf(t, a, key), calleesOf(t, a, key)];
		callers.symbol[0] = callees.symbol[0] = symbol;
		return { symbol, name: symbolName(p, symbol, t.group), callers, callees };
	}, [t, a, key, symbol]);
}
