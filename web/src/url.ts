// SPDX-License-Identifier: MIT
import { batch, effect } from './signal.ts';
import { edgeAtOrAfter, lensWords, parseLens, parseRange, rangeText } from './data/lens.ts';
import { isNamed } from './data/match.ts';
import { metricOf, metrics, type Metric } from './data/metrics.ts';
import { lacksMetric } from './data/missing.ts';
import { savedView } from './save.ts';
import * as state from './state.ts';
import { programMarks } from './ui/marks.ts';

/**
 * The address holds what is shown: the words of the lens (data/lens.ts), and v (view), dir, flip,
 * rec, colour and zoom (flame graph), mode (tree), river (timeline), sel (function), sort (tables
 * and the columns they are ordered by), marks (seconds), clock, cmp (what it is compared with: the
 * name of a recording, or @ and a range of this one).
 */

const IS_SO = { true: '1' };

/** What is one of several, with their texts; without a word it is what it was at first. */
const CHOICES = (
	[
		['dir', state.direction, { 'bottom-up': 'bu', around: 'around', map: 'map' }],
		['mode', state.treeMode, { 'bottom-up': 'bu', functions: 'fn' }],
		['flip', state.isFlipped, IS_SO],
		['rec', state.foldsRecursion, IS_SO],
		['clock', state.isClock, IS_SO],
		['river', state.isRiver, IS_SO],
		['colour', state.colouring, { module: 'module' }],
	] as [string, { value: string | boolean }, Record<string, string>][]
).map(([key, choice, texts]) => ({ key, choice, texts, first: choice.value }));

export function address(lens = state.lens.value): string {
	const p = state.profile.value;
	const words = lensWords(p, lens);
	if (state.view.value !== 'overview') {
		words.unshift(`v=${state.view.value}`);
	}
	for (const { key, choice, texts } of CHOICES) {
		const text = texts[String(choice.value)];
		if (text) {
			words.push(`${key}=${text}`);
		}
	}
	const { name, path } = state.zoomed.value ?? {};
	if (path) {
		words.push(`zoom=${encodeURIComponent(`${name}@${path.join('.')}`)}`);
	}
	const orders = [...state.orders.value].map(([table, column]) => `${table}:${column}`);
	if (orders.length) {
		words.push(`sort=${orders.join(',')}`);
	}
	const selected = state.selected.value;
	if (selected) {
		const path = selected.base ? `@${selected.base}` : '';
		words.push(`sel=${encodeURIComponent(p.symbolTable.name[selected.symbol]! + path)}`);
	}
	if (String(state.marks.value) !== String(programMarks(p))) {
		const seconds = state.marks.value.map((edge) => (p.edges.timeNs[edge] ?? 0) / 1e9);
		words.push(`marks=${seconds.map((s) => +s.toFixed(9)).join(',')}`);
	}
	const other = state.compared.value;
	if (other) {
		words.push(
			'cmp=' +
				('profile' in other
					? encodeURIComponent(other.name)
					: `@${rangeText(p.edges, other)}`),
		);
	}
	return words.join('&');
}

/**
 * A selection by its function's name, and a node of this recording if it still is that function.
 */
function select(text: string): void {
	const p = state.profile.value;
	const parts = /^(.*?)(?:@(\d+))?$/s.exec(text)!;
	const base = Number(parts[2] ?? 0);
	const symbol = p.symbolTable.name.findIndex((name) => name !== '' && isNamed(name, parts[1]!));
	if (symbol > 0) {
		const is = p.symbolTable.name[p.nodes.symbol[base] ?? 0] === parts[1];
		state.selected.value = {
			symbol: is && base ? p.nodes.symbol[base]! : symbol,
			base: is ? base : 0,
		};
	}
}

/** A box by its name and the keys to it: whether it is still there is seen where it is drawn. */
function zoom(text: string): void {
	const parts = /^(.*)@(\d+(?:\.\d+)*)$/s.exec(text);
	state.zoomed.value = parts && { name: parts[1]!, path: parts[2]!.split('.').map(Number) };
}

/** A range is taken; a recording must be here already: an address does not bring it. */
function compareWith(text: string): void {
	const range = text.startsWith('@') ? parseRange(state.profile.value, text.slice(1)) : null;
	const base = state.base.value?.name === text ? state.base.value : null;
	state.compared.value = range ?? base;
	state.missing.value = range || base ? '' : text;
}

function takeWord(key: string, value: string): void {
	const p = state.profile.value;
	for (const { choice, texts } of CHOICES.filter((each) => each.key === key)) {
		const [named] = Object.entries(texts).find(([, text]) => text === value) ?? [];
		choice.value = named === 'true' || (named ?? choice.value);
		return;
	}
	switch (key) {
		case 'v':
			state.view.value = state.views.value.some(({ id }) => id === value)
				? value
				: 'overview';
			break;
		case 'sel':
			select(value);
			break;
		case 'marks':
			state.marks.value = value
				.split(',')
				.filter(Boolean)
				.map((s) => edgeAtOrAfter(p.edges, Math.round(Number(s) * 1e9)))
				.filter((edge) => edge < p.edges.n);
			break;
		case 'cmp':
			compareWith(value);
			break;
		case 'zoom':
			zoom(value);
			break;
		case 'process':
			state.refused.value =
				`process=${value}: no such process, or its stacks are not told apart ` +
				'from those of others';
			break;
		case 'sort':
			state.orders.value = new Map(
				[...value.matchAll(/([\w-]+):(-?\d+)/g)].map((m) => [m[1]!, Number(m[2])]),
			);
			break;
		default:
			state.refused.value = `Ignored in the address: ${key}=${value}`;
	}
}

let known = ''; // what the address says as far as we know

export function readAddress(): void {
	known = location.hash.slice(1) || savedView();
	const p = state.profile.value;
	const { lens, rest } = parseLens(p, known);
	const isAbsent = (name: Metric) => metricOf(name).of_blocks && lacksMetric(p, name);
	if (isAbsent(lens.metric)) {
		lens.metric = metrics().find(({ name }) => !isAbsent(name))!.name;
	}
	batch(() => {
		state.lens.value = lens;
		state.refused.value = '';
		state.view.value = 'overview';
		state.selected.value = state.zoomed.value = null;
		state.orders.value = new Map();
		CHOICES.forEach(({ choice, first }) => (choice.value = first));
		state.marks.value = programMarks(p);
		state.compared.value = null;
		rest.forEach(([key, value]) => takeWord(key, value));
	});
}

/** Shows the lens of a finding, in the view that shows it best. */
export function follow(text: string, view: string): void {
	const { lens } = parseLens(state.profile.value, text);
	batch(() => {
		state.lens.value = lens;
		state.view.value = view;
		state.zoomed.value = null;
	});
}

function takeChanges(): void {
	if ((location.hash.slice(1) || savedView()) !== known) {
		readAddress();
	}
}

function withoutSelection(words: string): string {
	return words.replace(/(^|&)sel=[^&]*/, '');
}

let isPressed = false;
let isHeld = false; // and the step that this press makes has been taken

/**
 * Keeps the address and the page at one. It has been read. What is changed is a step that Back
 * takes away, but for what is selected; a drag is one step.
 */
export function bindAddress(): void {
	takeChanges();
	let timer = 0;
	effect(() => {
		const now = address();
		if (now === location.hash.slice(1) || now === known) {
			return;
		}
		const isOther = withoutSelection(now) !== withoutSelection(known);
		clearTimeout(timer);
		timer = setTimeout(() => {
			const isStep = !isHeld && isOther;
			known = now;
			const words = now || (savedView() && 'v=overview');
			const to = words ? `#${words}` : location.pathname + location.search;
			history[isStep ? 'pushState' : 'replaceState'](null, '', to);
			isHeld = isPressed;
		}, isOther ? 50 : 200); // telling the browser takes as long as marking a row
	});
	addEventListener('hashchange', takeChanges);
	const press = (isDown: boolean) => () => {
		isPressed = isDown;
		isHeld = false;
	};
	addEventListener('pointerdown', press(true), true);
	for (const end of ['pointerup', 'pointercancel']) {
		addEventListener(end, () => setTimeout(press(false), 100), true);
	}
}

export function currentLink(): string {
	const base = location.href.split('#')[0]!;
	const words = address();
	return words ? `${base}#${words}` : base;
}

