// SPDX-License-Identifier: MIT
import { isTree } from '../data/processes.ts';
import { isRiver, profile, treeMode, type View } from '../state.ts';
import { CompareView } from './compare.tsx';
import { FlameView } from './flame.tsx';
import { GrowthView } from './growth.tsx';
import { MemoryView } from './memory.tsx';
import { Overview } from './overview.tsx';
import { SizesView } from './sizes.tsx';
import { ThreadsView } from './threads.tsx';
import { TimelineView } from './timeline.tsx';
import { TreeView } from './tree.tsx';

const always = () => true;

/** All views, in the order of their tabs and keys. A view is a file of this folder and a row. */
export const VIEWS: readonly View[] = [
	{
		id: 'overview',
		name: 'Overview',
		hint: 'What matters, in sentences',
		Part: Overview,
		isEarly: true,
	},
	{
		id: 'flame',
		name: 'Flame graph',
		hint: 'Top-down, bottom-up, around a function',
		Part: FlameView,
		isEarly: true,
		hasStrip: always,
		hasDetails: always,
		isFull: true,
	},
	{
		id: 'tree',
		name: 'Tree',
		hint: 'Top-down, bottom-up, callers/callees',
		Part: TreeView,
		hasStrip: always,
		hasDetails: () => treeMode.value !== 'functions',
		isFull: true,
	},
	{
		id: 'timeline',
		name: 'Timeline',
		hint: 'The heap and allocations over time',
		Part: TimelineView,
		hasStrip: () => isRiver.value,
		hasDetails: always,
	},
	{
		id: 'sizes',
		name: 'Sizes & lifetimes',
		hint: 'Sizes of blocks, and how long they live',
		Part: SizesView,
		hasStrip: always,
		hasDetails: always,
	},
	{
		id: 'never-freed',
		name: 'Never freed & growth',
		hint: 'Leaks, what grows, suppressions',
		Part: GrowthView,
		hasStrip: always,
		hasDetails: always,
	},
	{
		id: 'threads',
		get name() {
			return isTree(profile.value) ? 'Processes & threads' : 'Threads';
		},
		hint: 'Who allocates, who frees',
		Part: ThreadsView,
		hasStrip: always,
	},
	{
		id: 'memory',
		name: 'Memory',
		hint: 'Where RSS goes: blocks, what malloc keeps, mappings, files',
		Part: MemoryView,
		isEarly: true,
		hasStrip: always,
	},
	{
		id: 'compare',
		name: 'Compare',
		hint: 'Two recordings side by side',
		Part: CompareView,
	},
];
