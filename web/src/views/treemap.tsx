// SPDX-License-Identifier: MIT
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Answer } from '../data/query.ts';
import { heaviestOf } from '../data/rank.ts';
import { sitesOf, sumsBySite } from '../data/series.ts';
import { ownerOf } from '../data/tree.ts';
import { openRuntimes, squarify, type Rect } from '../data/treemap.ts';
import * as state from '../state.ts';
import { baseName, count, elide, ownFrom, percent } from '../ui/format.ts';
import { metricName, shortCost, symbolName } from '../ui/labels.ts';
import { matched } from '../ui/search.ts';
import { useValue } from '../ui/signals.ts';
import { useSize } from '../ui/size.ts';
import { pictures, type Pen } from '../ui/svg.ts';

/** A function with a weight, or what several are in. */
interface Part {
	name: string;
	symbol: number; // 0: it is no function
	weight: number;
	parts: Part[];
}

const MOST = 400; // tiles
const HEAD = 18; // px

/** What a function is in: as the lens gathers, else its package, or its file. */
function placeOf(symbol: number): string {
	const { symbolTable: symbols } = state.profile.value;
	const { group } = state.lens.value;
	return (
		(group === 'function'
			? symbols.package[symbol] || baseName(symbols.file[symbol]!)
			: symbolName(state.profile.value, symbol, group)) ||
		baseName(symbols.module[symbol]!) ||
		'(unknown)'
	);
}

/** What it is in within that. */
function fileOf(symbol: number): string {
	return baseName(state.profile.value.symbolTable.file[symbol]!) || 'native code';
}

/** Parts gathered by a name each. */
function gathered(parts: Part[], nameOf: (part: Part) => string): Part[] {
	const groups = new Map<string, Part>();
	for (const part of parts) {
		const name = nameOf(part);
		const group = groups.get(name) ?? { name, symbol: 0, weight: 0, parts: [] };
		group.weight += part.weight;
		group.parts.push(part);
		groups.set(name, group);
	}
	return [...groups.values()].sort((x, y) => y.weight - x.weight);
}

/** Packages, in these files where they are several, and in these functions; the largest first. */
function groupsOf(a: Answer): Part[] {
	const p = state.profile.value;
	const { keys, symbol, place } = openRuntimes(p, sitesOf(p, a.lens.metric));
	const weights = sumsBySite({ keys, symbol }, a.weights);
	const { n, ids } = heaviestOf(null, weights, MOST);
	const places = new Map<Part, string>();
	let rest = weights.reduce((sum, w) => sum + w, 0);
	for (const id of ids) {
		const [own, given, weight] = [symbol[id]!, place[id]!, weights[id]!];
		const name = own ? symbolName(p, own) : given;
		places.set({ name, symbol: own, weight, parts: [] }, given || placeOf(own));
		rest -= weight;
	}
	if (n > MOST) {
		const name = `${count(n - MOST)} smaller`;
		places.set({ name, symbol: 0, weight: rest, parts: [] }, name);
	}
	const groups = gathered([...places.keys()], (part) => places.get(part)!);
	for (const group of groups) {
		const files = gathered(group.parts, ({ symbol }) => fileOf(symbol));
		group.parts = files.length > 1 && state.lens.value.group !== 'file' ? files : group.parts;
	}
	return groups;
}

/** What is drawn: where it is, and how deep in others. */
interface Placed {
	part: Part;
	at: Rect;
	within: string; // names of what it is in
	head: number; // px; 0: it has no room for one
}

/** Parts with where they are, each before what is in it. */
function layOut(parts: Part[], room: Rect, within = ''): Placed[] {
	const places = squarify(
		parts.map((part) => part.weight),
		room,
	);
	return parts.flatMap((part, i) => {
		const at = places[i]!;
		const hasHead = part.parts.length > 0 && at.height > 3 * HEAD && at.width > 3 * HEAD;
		const head = hasHead ? HEAD : 0;
		const inside = { ...at, y: at.y + head, height: at.height - head };
		const names = within ? `${within} › ${part.name}` : part.name;
		return [{ part, at, within, head }, ...layOut(part.parts, inside, names)];
	});
}

const hasRoom = (r: Rect) => r.width > 2 * LINE && r.height > LINE;

/** The longest of some texts that a width has room for; '': none. */
const fitting = (width: number, ...texts: string[]) =>
	texts.find((text) => text.length * LETTER < width - 8) ?? '';

/** Of a name its scope goes first; what is left is cut where the tile ends. */
const shortest = (name: string, width: number) =>
	(ownFrom(name) && elide(name, Math.floor((width - 8) / LETTER))) || name;

const styleOf = (r: Rect) => ({
	left: `${r.x}px`,
	top: `${r.y}px`,
	width: `${r.width}px`,
	height: `${r.height}px`,
});

/** Draws what is on the screen of a map. */
function drawParts(box: HTMLElement): (pen: Pen) => void {
	return (pen) => {
		pen.font = '12px system-ui, sans-serif';
		for (const part of box.children as HTMLCollectionOf<HTMLElement>) {
			const { offsetLeft: x, offsetTop: y, offsetWidth: width, offsetHeight: height } = part;
			const style = getComputedStyle(part);
			pen.fillStyle = style.backgroundColor;
			pen.fillRect(x, y, width - 1, height - 1);
			pen.fillStyle = style.color;
			part.innerText.split('\n').forEach((text, i) => {
				if (height >= LINE * (i + 1)) {
					pen.fillText(text.slice(0, width / LETTER), x + 4, y + LINE * (i + 0.5));
				}
			});
		}
	};
}

const [LETTER, LINE] = [7.5, 17]; // px

/** Packages, their files, and the functions that are responsible, as large as they weigh. */
export function Treemap() {
	const a = useValue(state.answer);
	useValue(state.isBinary);
	const picked = useValue(state.selected);
	const marked = useValue(matched);
	const box = useRef<HTMLDivElement>(null);
	const size = useSize(box);
	const [focused, setFocused] = useState(0);
	const p = state.profile.value;
	const { metric } = a.lens;
	const groups = useMemo(() => groupsOf(a), [a]);
	const laid = useMemo(
		() => (size.width ? layOut(groups, { x: 0, y: 0, ...size }) : []),
		[groups, size.width, size.height],
	);
	useEffect(() => setFocused(0), [groups]);
	const total = groups.reduce((sum, group) => sum + group.weight, 0);
	const costOf = (n: number) => `${shortCost(metric, n)} · ${percent(n, total)}`;
	const colourOf = ({ symbol }: Part, i: number) =>
		symbol && ownerOf(p, symbol) === 'yours' ? `yours-${'ab'[i % 2]}` : 'library';
	const title = `Treemap of ${metricName(metric)}`;
	useLayoutEffect(
		() => void pictures.set(box.current!, { title, draw: drawParts(box.current!) }),
		[title],
	);
	const step = (event: KeyboardEvent) => {
		const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
		const all = [...box.current!.querySelectorAll('button')];
		const to = by && all[focused + by];
		if (to) {
			event.preventDefault();
			setFocused(focused + by);
			to.focus();
		}
	};
	let number = -1;
	return (
		<div
			class="treemap"
			role="group"
			aria-label={title}
			ref={box}
			onKeyDown={step}
		>
			{laid.map(({ part, at, within, head }) => {
				const { name, symbol, weight } = part;
				const cost = costOf(weight);
				if (part.parts.length) {
					return (
						head > 0 && (
							<h2
								style={styleOf({ ...at, height: head })}
								title={`${within && `${within} › `}${name}\n${cost}`}
							>
								{fitting(at.width, `${name} ${cost}`, name) || name}
							</h2>
						)
					);
				}
				const own = ++number;
				return (
					<button
						class={
							(picked && picked.symbol === symbol ? 'at ' : '') +
							(marked?.has(symbol) ? 'marked' : '')
						}
						style={{
							...styleOf(at),
							background: `var(--${colourOf(part, own)})`,
						}}
						tabIndex={own === focused ? 0 : -1}
						title={`${name}\n${within}\n${cost}`}
						onFocus={() => setFocused(own)}
						onClick={() => symbol && (state.selected.value = { symbol, base: 0 })}
					>
						{hasRoom(at) && (
							<>
								<span>{shortest(name, at.width)}</span>
								<span>{fitting(at.width, cost, shortCost(metric, weight))}</span>
							</>
						)}
					</button>
				);
			})}
		</div>
	);
}
