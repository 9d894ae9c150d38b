// SPDX-License-Identifier: MIT
import { batch, computed, effect, signal } from '../signal.ts';
import { parseRule } from '../data/lens.ts';
import { marksOf, nodesBelow, textsOf, type Marks } from '../data/match.ts';
import type { Profile } from '../data/profile.ts';
import { measured } from '../measure.ts';
import * as state from '../state.ts';
import { percent } from './format.ts';
import { shortCost } from './labels.ts';
import { REST_MS } from './signals.ts';

/** What is typed marks functions at once; Enter makes it a part of the lens. */

const typed = new WeakMap<Profile, Marks>();

/** Symbols of a profile that hold what is typed; null: nothing is typed. */
export function matchedIn(p: Profile): Marks | null {
	const rule = parseRule(state.searched.value);
	if (!rule) {
		return null;
	}
	const marks = measured('search', () => marksOf(p, rule, typed.get(p)));
	typed.set(p, marks);
	return marks;
}

/** What the first letters would wait for. */
export function prepareSearch(): void {
	setTimeout(() => textsOf(state.profile.value));
	setTimeout(() => void state.treeTotal.value);
}

export const matched = computed(() => matchedIn(state.profile.value));

/** Of each function that is marked the heaviest node of the tree. */
const found = computed(() => {
	const marked = matched.value?.all();
	if (!marked) {
		return [];
	}
	const t = state.tree.value;
	const total = state.treeTotal.value;
	const { n, key, symbol } = t;
	const heaviest: number[] = []; // by key
	for (let i = 1; i < n; i++) {
		if (marked[symbol[i]!] && total[i]! > 0) {
			const before = heaviest[key[i]!];
			if (before === undefined || total[before]! < total[i]!) {
				heaviest[key[i]!] = i;
			}
		}
	}
	return heaviest.filter((node) => node > 0);
});

/** The same, heaviest first. */
const hits = computed(() => {
	const total = state.treeTotal.value;
	return found.value.slice().sort((a, b) => total[b]! - total[a]!);
});

const at = signal(-1);

/** What has been typed, once no letter followed for a moment. */
const rested = signal('');
let timer = 0;
effect(() => {
	const text = state.searched.value;
	clearTimeout(timer);
	timer = setTimeout(() => (rested.value = text), REST_MS);
});

let lastInfo = '';
/** How many functions are marked, and what they weigh; while letters come, what it was. */
export const searchInfo = computed(() => {
	if (rested.value === state.searched.value) {
		lastInfo = infoOf(matched.value?.all());
	}
	return lastInfo;
});

function infoOf(marked: Uint8Array | undefined): string {
	if (!marked) {
		return '';
	}
	const p = state.profile.value;
	const nodes = nodesBelow(p, marked);
	let sum = 0;
	for (let s = 0; s < p.stacks.n; s++) {
		if (nodes[p.stacks.node[s]!]) {
			sum += state.answer.value.weights[s]!;
		}
	}
	const n = found.value.length;
	const weight = shortCost(state.lens.value.metric, sum);
	const place = at.value >= 0 && n ? `${(at.value % n) + 1} of ` : '';
	return `${place}${n} function${n === 1 ? '' : 's'}, ` +
		`${weight} (${percent(sum, state.totalWeight.value)})`;
}

/** Selects the next function that was found. */
export function stepSearch(by: number): void {
	const nodes = hits.value;
	if (!nodes.length) {
		return;
	}
	at.value = (Math.max(at.value, by > 0 ? -1 : 0) + by + nodes.length) % nodes.length;
	const node = nodes[at.value]!;
	const t = state.tree.value;
	state.selected.value = { symbol: t.symbol[node]!, base: t.base[node]! };
}

/** Who looks for a function that stands in folded boxes alone wants to see it. */
function unfoldFor(marked: Marks | null): void {
	const p = state.profile.value;
	if (!found.value.length && marked && p.nodes.symbol.some((s) => marked.has(s))) {
		state.change({ isUnfolded: true });
	}
}

/** What is typed becomes a chip; the heaviest function that it names is selected. */
export function commitSearch(): void {
	const rule = parseRule(state.searched.value);
	if (!rule) {
		return;
	}
	unfoldFor(rule.isNegated ? null : matched.value);
	const [heaviest] = hits.value;
	const t = state.tree.value;
	batch(() => {
		state.change({ texts: [...state.lens.value.texts, rule] });
		if (!rule.isNegated && heaviest) {
			state.selected.value = { symbol: t.symbol[heaviest]!, base: t.base[heaviest]! };
		}
		state.searched.value = '';
		at.value = -1;
	});
}
