// SPDX-License-Identifier: MIT
import { batch, computed, signal } from './signal.ts';
import { WHOLE, type Lens, type Range } from './data/lens.ts';
import { stacksUnder } from './data/match.ts';
import type { Metric } from './data/metrics.ts';
import type { Profile } from './data/profile.ts';
import { measured } from './measure.ts';
import { useBinary } from './ui/format.ts';
import { ask, sum } from './data/query.ts';
import { buildTree, selfCosts, totalCosts, type Shape } from './data/tree.ts';

/**
 * What the page shows: the recording, the lens, and what is chosen in the views. Views read
 * these and what is computed from them; nothing else holds state that two of them need.
 */

/** A view of the page: a row of views/table.ts, which main.tsx puts into `views`. */
export interface View {
	id: string; // in the address: v=ID
	name: string; // of its tab
	// What people who know other tools look for: shown when the pointer rests on the tab
	hint: string;
	Part: () => preact.JSX.Element;
	isEarly?: true; // the first part of the recording answers it, while the rest is read
	hasStrip?: () => boolean; // the heap over time stands above it
	hasDetails?: () => boolean; // the details of what is selected stand beside it
	isFull?: true; // as high as the window: it scrolls by itself
}
export const views = signal<readonly View[]>([]);

export type Direction = 'top-down' | 'bottom-up' | 'around' | 'map';
export type TreeMode = 'top-down' | 'bottom-up' | 'functions';

export const profile = signal<Profile>(null as unknown as Profile);
export const isWhole = signal(false); // until then intervals, sizes and sources are empty
export const lens = signal<Lens>(WHOLE);
export const view = signal('overview');
export const shownView = computed(() => views.value.find(({ id }) => id === view.value)!);
export const direction = signal<Direction>('top-down');
export const treeMode = signal<TreeMode>('top-down');
export const isFlipped = signal(false);
export const zoomed = signal<Zoom | null>(null); // what fills the flame graph; null: all
export const isRiver = signal(false); // the heap over time is shown as bands that are links
export const foldsRecursion = signal(false);
export const openedRuns = signal<ReadonlySet<number>>(new Set());
export const colouring = signal<'owner' | 'module'>('owner');
export const orders = signal<ReadonlyMap<string, number>>(new Map()); // of tables: ui/table.tsx
export const isDetailsOpen = signal(true);
export const detailsWidth = signal(0); // px; 0: as the page likes
export const isClock = signal(false);
export const isBinary = signal(false);
export const marks = signal<readonly number[]>([]); // edges
export const cursorEdge = signal(-1); // under the pointer in a chart of time

/** Another recording, from before this one. */
export interface Base {
	name: string;
	profile: Profile;
}
export const base = signal<Base | null>(null);
export const compared = signal<Base | Range | null>(null); // or this one between two edges
// A recording that the address compares with, and that is not here
export const missing = signal('');

export const suppressed = signal<readonly string[]>([]);
export const isServed = signal(false);
export const isServerGone = signal(false);
export const announcement = signal('');
export const refused = signal(''); // why a file or a word of the address could not be taken in

/** What is looked at: something with a key in the tree; the path tells which of several. */
export interface Selection {
	symbol: number; // of the profile
	base: number; // a node of the profile it stands for; 0: the function, wherever it is
}
export const selected = signal<Selection | null>(null);

/** A box of the flame graph, by its name and the keys from the root to it. */
export interface Zoom {
	name: string;
	path: readonly number[];
}

/** What a search in the flame graph or tree marks; not a part of the lens until Enter. */
export const searched = signal('');

const shape = computed<Shape>(() => ({
	group: lens.value.group,
	isUnfolded: lens.value.isUnfolded,
	hide: lens.value.hide,
	focus: lens.value.focus,
	foldsRecursion: foldsRecursion.value,
	opened: openedRuns.value,
}));

let lastShape = '';
let lastShapeValue: Shape | null = null;
/** How the lens shapes trees: the same object as long as it does. */
export const stableShape = computed(() => {
	const text = JSON.stringify({ ...shape.value, opened: [...shape.value.opened] });
	if (text !== lastShape || !lastShapeValue) {
		lastShape = text;
		lastShapeValue = shape.value;
	}
	return lastShapeValue;
});

export const tree = computed(() =>
	measured('tree', () => buildTree(profile.value, stableShape.value)),
);

let lastTexts = '';
let lastKept: { profile: Profile; kept: Uint8Array | null } | null = null;
const keptStacks = computed(() => {
	const l = lens.value;
	const text = JSON.stringify([l.texts, l.focus, l.threads, l.processes]);
	if (text !== lastTexts || lastKept?.profile !== profile.value) {
		lastTexts = text;
		lastKept = { profile: profile.value, kept: stacksUnder(profile.value, l) };
	}
	return lastKept;
});

/** False while a lens or view asks for what only the recording's second part says. */
export const isAnswerable = computed(
	() => isWhole.value || (shownView.value.isEarly && !lens.value.range),
);

export const answer = computed(() => {
	void isAnswerable.value; // then it is another
	return measured('query', () => ask(profile.value, lens.value, keptStacks.value.kept));
});
export const kept = computed(() => keptStacks.value.kept);

/** Weights of the tree's nodes under the lens. */
export const treeSelf = computed(() => selfCosts(tree.value, answer.value.weights));
export const treeTotal = computed(() => totalCosts(tree.value, treeSelf.value));

export const totalWeight = computed(() => {
	return sum(answer.value.weights);
});

// --- changes

export function change(part: Partial<Lens>): void {
	lens.value = { ...lens.value, ...part };
}

export function setMetric(metric: Metric): void {
	change({ metric });
}

/** A range that is dragged where each answer takes longer than a picture: asked once it rests. */
export const dragged = signal<Range | null>(null);

export function setRange(range: Range | null): void {
	change({ range });
}

export function focusOn(name: string): void {
	if (!lens.value.focus.includes(name)) {
		change({ focus: [name] });
	}
}

export function hide(name: string): void {
	if (!lens.value.hide.includes(name)) {
		change({ hide: [...lens.value.hide, name] });
	}
}

export function compareEdges(range: Range): void {
	batch(() => {
		compared.value = range;
		view.value = 'compare';
	});
}

export function resetLens(): void {
	batch(() => {
		lens.value = { ...WHOLE, metric: lens.value.metric };
		searched.value = '';
	});
}

export function toggleUnits(): void {
	useBinary(!isBinary.value);
	isBinary.value = !isBinary.value;
}
