// SPDX-License-Identifier: MIT
import { batch } from '../signal.ts';
import { GROUPS, lensText, peakRange, START } from '../data/lens.ts';
import * as state from '../state.ts';
import { canSave, savePage } from '../save.ts';
import { address, currentLink } from '../url.ts';
import { copyPng, copySvg, copyText, savePng, saveSvg, shownView } from './copy.ts';
import { heaviest, stacksOf, stackText } from './details.tsx';
import { isHelpOpen } from './help.tsx';
import { stepSearch } from './search.ts';
import { shownTables } from './table.tsx';
import { cycleTheme } from './theme.ts';
import { ruleText } from '../data/lens.ts';

/** What a key or the palette does; the help is made of these, too. */
export interface Action {
	key: string; // '': none
	text: string;
	run: () => void;
}

function selectedName(): string | null {
	const s = state.selected.value;
	return s ? state.profile.value.symbolTable.name[s.symbol]! : null;
}

/** Moves an end of the range; without a range the whole run is one. */
function moveRange(end: 'from' | 'to', by: number): void {
	const n = state.profile.value.edges.n;
	const range = state.lens.value.range ?? { from: START, to: n };
	const next = { ...range, [end]: range[end] + by };
	next.from = Math.max(START, Math.min(next.from, n - 1));
	next.to = Math.max(0, Math.min(next.to, n));
	if (next.from < next.to) {
		state.setRange(next);
	}
}

function setMark(): void {
	const { range } = state.lens.value;
	const n = state.profile.value.edges.n;
	const edge = Math.min(n - 1, range ? range.to : state.cursorEdge.value);
	if (edge >= 0 && !state.marks.value.includes(edge)) {
		state.marks.value = [...state.marks.value, edge].sort((a, b) => a - b);
	}
}

let lastEscape = 0;

/** Once: what is selected and typed. Twice: the lens. */
function escape(): void {
	const now = performance.now();
	if (now - lastEscape < 600) {
		state.resetLens();
	}
	lastEscape = now;
	batch(() => {
		if (state.lens.value.range) {
			state.setRange(null);
		}
		state.selected.value = null;
		state.searched.value = '';
	});
}

function focusStack(): void {
	const s = state.selected.value;
	if (s?.base) {
		const p = state.profile.value;
		const names = new Set<string>();
		for (let at = s.base; at > 0; at = p.nodes.parent[at]!) {
			names.add(p.symbolTable.name[p.nodes.symbol[at]!]!);
		}
		const texts = [...names]
			.slice(0, 12)
			.map((text) => ({ text, isRegex: false, isNegated: false }));
		const known = new Set(state.lens.value.texts.map(ruleText));
		state.change({
			texts: [...state.lens.value.texts, ...texts.filter((t) => !known.has(ruleText(t)))],
		});
	}
}

function cycleGroup(): void {
	const at = GROUPS.indexOf(state.lens.value.group);
	state.change({ group: GROUPS[(at + 1) % GROUPS.length]! });
}

function inTree(mode: state.TreeMode): () => void {
	return () =>
		batch(() => {
			state.treeMode.value = mode;
			if (state.view.value === 'flame') {
				state.direction.value = mode === 'functions' ? 'around' : mode;
			} else {
				state.view.value = 'tree';
			}
		});
}

export function goToPeak(): void {
	batch(() => {
		state.change({ metric: 'peak', range: null });
		state.view.value = 'flame';
	});
}

const others: Action[] = [
	{
		key: '/',
		text: 'Filter functions, files, modules',
		run: () => document.getElementById('search')?.focus(),
	},
	{ key: 'n', text: 'Next match', run: () => stepSearch(1) },
	{ key: 'N', text: 'Previous match', run: () => stepSearch(-1) },
	{
		key: 'f',
		text: 'Show only the selected function and its callees',
		run: () => {
			const name = selectedName();
			if (name) {
				state.focusOn(name);
			}
		},
	},
	{
		key: 'F',
		text: 'Show only stacks like the selected one',
		run: focusStack,
	},
	{
		key: 'x',
		text: 'Hide the selected function',
		run: () => {
			const name = selectedName();
			if (name) {
				state.hide(name);
			}
		},
	},
	{
		key: 'l',
		text: 'Fold or show library frames',
		run: () => state.change({ isUnfolded: !state.lens.value.isUnfolded }),
	},
	{
		key: 'r',
		text: 'Fold or show recursion',
		run: () => (state.foldsRecursion.value = !state.foldsRecursion.value),
	},
	{
		key: 'o',
		text: 'Flip the flame graph',
		run: () => (state.isFlipped.value = !state.isFlipped.value),
	},
	{
		key: 'G',
		text: 'Group by function, package, module or file',
		run: cycleGroup,
	},
	{ key: 't', text: 'Top-down', run: inTree('top-down') },
	{ key: 'b', text: 'Bottom-up', run: inTree('bottom-up') },
	{ key: 'c', text: 'Callers and callees', run: inTree('functions') },
	{
		key: '[',
		text: 'Move the start of the range back',
		run: () => moveRange('from', -1),
	},
	{
		key: ']',
		text: 'Move the end of the range forward',
		run: () => moveRange('to', 1),
	},
	{
		key: '{',
		text: 'Move the start of the range forward by 10',
		run: () => moveRange('from', 10),
	},
	{
		key: '}',
		text: 'Move the end of the range back by 10',
		run: () => moveRange('to', -10),
	},
	{
		key: 'p',
		text: 'Select the range of the peak',
		run: () => state.setRange(peakRange(state.profile.value.edges)),
	},
	{
		key: '',
		text: 'Go to the peak (g p)',
		run: goToPeak,
	},
	{
		key: 'M',
		text: 'Mark the cursor or the end of the range',
		run: setMark,
	},
	{
		key: 'd',
		text: 'Show or hide details',
		run: () => (state.isDetailsOpen.value = !state.isDetailsOpen.value),
	},
	{
		key: 's',
		text: 'Source of the selected function',
		run: () => {
			state.isDetailsOpen.value = true;
			requestAnimationFrame(() =>
				document.getElementById('source')?.scrollIntoView({ block: 'center' }),
			);
		},
	},
	{
		key: 'y',
		text: 'Copy the stack as text',
		run: () => {
			const s = state.selected.value;
			const p = state.profile.value;
			if (s) {
				void copyText(stackText(p, s.base || heaviest(p, stacksOf(p, s, null))));
			}
		},
	},
	{
		key: 'Y',
		text: 'Copy a link to this view, or save it as one file',
		run: () => (canSave() ? savePage(address()) : void copyText(currentLink())),
	},
	{
		key: '',
		text: 'Copy the command that prints it: heaptrack_print --lens',
		run: () => {
			const words = lensText(state.profile.value, state.lens.value).replace(/'/g, "'\\''");
			void copyText(`heaptrack_print --lens '${words}' FILE`);
		},
	},
	{
		key: '',
		text: 'Copy tables as CSV',
		run: () => void copyText(shownTables(false)),
	},
	{
		key: '',
		text: 'Copy tables as Markdown',
		run: () => void copyText(shownTables(true)),
	},
	{
		key: '',
		text: 'Save the pictures of this view as PNG',
		run: () => void savePng(),
	},
	{
		key: '',
		text: 'Save the pictures of this view as SVG',
		run: saveSvg,
	},
	{
		key: '',
		text: 'Copy the pictures of this view as SVG',
		run: () => void copySvg(shownView()),
	},
	{
		key: '',
		text: 'Copy the pictures of this view as PNG',
		run: () => void copyPng(shownView()),
	},
	{
		key: '',
		text: 'River: the heap over time in bands',
		run: () =>
			batch(() => {
				state.isRiver.value = true;
				state.view.value = 'timeline';
			}),
	},
	{
		key: 'w',
		text: 'Time of day or seconds on the axes',
		run: () => (state.isClock.value = !state.isClock.value),
	},
	{ key: 'i', text: 'Units of 1000 or 1024', run: () => state.toggleUnits() },
	{ key: '', text: 'Light, dark or the system’s colours', run: cycleTheme },
	{
		key: 'Escape',
		text: 'Clear the selection; twice: reset the lens',
		run: escape,
	},
	{ key: '?', text: 'Keys and terms', run: () => (isHelpOpen.value = true) },
];

/** The keys go to what the view is about: a graph or tree that takes arrows, or to all of it. */
function focusView(): void {
	if (document.activeElement?.matches('input, textarea, select')) {
		return; // the next key was quicker: /
	}
	const main = document.querySelector('main');
	const part = main?.querySelector<HTMLElement>('[role=tree], [role=treegrid]') ?? main;
	part?.focus({ preventScroll: true });
}

export function actions(): Action[] {
	const goTo = state.views.value.map(({ id, name }, i) => ({
		key: String(i + 1),
		text: `Go to ${name}`,
		run: () => {
			state.view.value = id;
			requestAnimationFrame(focusView);
		},
	}));
	return [...goTo, ...others];
}
