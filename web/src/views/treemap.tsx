// SPDX-License-Identifier: MIT
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Answer } from '../data/query.ts';
import { heaviestOf } from '../data/rank.ts';
import { sitesOf, sumsBySite } from '../data/series.ts';
import { ownerOf } from '../data/tree.ts';
import { squarify, type Rect } from '../data/treemap.ts';
import * as state from '../state.ts';
import { baseName, count, percent, shortName } from '../ui/format.ts';
import { metricName, shortWeight, symbolName } from '../ui/labels.ts';
import { matched } from '../ui/search.ts';
import { useValue } from '../ui/signals.ts';
import { pictures, type Pen } from '../ui/svg.ts';

/** What stacks are listed under, with a weight. */
interface Tile {
	name: string;
	symbol: number; // 0: it is no function
	weight: number;
}

interface Group {
	name: string;
	weight: number;
	tiles: Tile[];
}

const MOST = 400; // tiles
const HEAD = 18; // px

/** What a function is shown in: as the lens gathers, else its package, or its file. */
function placeOf(symbol: number): string {
	const { symbols } = state.profile.value;
	const { group } = state.lens.value;
	return (
		(group === 'function'
			? symbols.package[symbol] || baseName(symbols.file[symbol]!)
			: symbolName(state.profile.value, symbol, group)) ||
		baseName(symbols.module[symbol]!) ||
		'(unknown)'
	);
}

/** Groups and what is in them, the largest first. */
function groupsOf(a: Answer): Group[] {
	const p = state.profile.value;
	const sites = sitesOf(p, a.lens.metric);
	const weights = sumsBySite(sites, a.weights);
	const { n, ids } = heaviestOf(null, weights, MOST);
	const groups = new Map<string, Group>();
	const add = (name: string, tile: Tile) => {
		const group = groups.get(name) ?? { name, weight: 0, tiles: [] };
		group.weight += tile.weight;
		group.tiles.push(tile);
		groups.set(name, group);
	};
	let shown = 0;
	for (const id of ids) {
		const [name, symbol, weight] = [sites.name[id]!, sites.symbol[id]!, weights[id]!];
		add(symbol ? placeOf(symbol) : name, { name: shortName(name), symbol, weight });
		shown += weight;
	}
	const all = weights.reduce((sum, w) => sum + w, 0);
	if (n > MOST) {
		const name = `${count(n - MOST)} smaller`;
		add(name, { name, symbol: 0, weight: all - shown });
	}
	return [...groups.values()].sort((x, y) => y.weight - x.weight);
}

/** Each group with where it is, and each of its tiles with where that is. */
function layOut(groups: Group[], width: number, height: number) {
	const places = squarify(
		groups.map((group) => group.weight),
		{ x: 0, y: 0, width, height },
	);
	return groups.map((group, i) => {
		const at = places[i]!;
		const head = at.height > 3 * HEAD && at.width > 3 * HEAD ? HEAD : 0;
		const inside = { ...at, y: at.y + head, height: at.height - head };
		const rects = squarify(
			group.tiles.map((tile) => tile.weight),
			inside,
		);
		return { group, at, head, tiles: group.tiles.map((tile, k) => ({ tile, at: rects[k]! })) };
	});
}

const hasRoom = (r: Rect) => r.width > 2 * LINE && r.height > LINE;

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

/** Packages or files, and in each the functions that are responsible, as large as they weigh. */
export function Treemap() {
	const a = useValue(() => state.answer.value);
	useValue(() => state.isBinary.value);
	const picked = useValue(() => state.selected.value);
	const marked = useValue(() => matched.value);
	const box = useRef<HTMLDivElement>(null);
	const [size, setSize] = useState({ width: 0, height: 0 });
	const [focused, setFocused] = useState(0);
	const p = state.profile.value;
	const { metric } = a.lens;
	useLayoutEffect(() => {
		const watch = new ResizeObserver(([entry]) => setSize(entry!.contentRect));
		watch.observe(box.current!);
		return () => watch.disconnect();
	}, []);
	const groups = useMemo(() => groupsOf(a), [a]);
	const laid = useMemo(
		() => (size.width ? layOut(groups, size.width, size.height) : []),
		[groups, size.width, size.height],
	);
	useEffect(() => setFocused(0), [groups]);
	const total = groups.reduce((sum, group) => sum + group.weight, 0);
	const costOf = (n: number) => `${shortWeight(metric, n)} · ${percent(n, total)}`;
	const colourOf = ({ symbol }: Tile, i: number) =>
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
			{laid.map(({ group, at, head, tiles }) => (
				<>
					{head > 0 && (
						<h2
							style={styleOf({ ...at, height: head })}
							title={group.name}
						>
							{group.name} {costOf(group.weight)}
						</h2>
					)}
					{tiles.map(({ tile, at }, i) => {
						const own = ++number;
						const { symbol } = tile;
						return (
							<button
								class={
									(picked && picked.symbol === symbol ? 'at ' : '') +
									(marked?.[symbol] ? 'marked' : '')
								}
								style={{
									...styleOf(at),
									background: `var(--${colourOf(tile, i)})`,
								}}
								tabIndex={own === focused ? 0 : -1}
								title={`${tile.name}\n${group.name}\n${costOf(tile.weight)}`}
								onFocus={() => setFocused(own)}
								onClick={() =>
									symbol && (state.selected.value = { symbol, base: 0 })
								}
							>
								{hasRoom(at) && (
									<>
										<span>{tile.name}</span>
										<span>{costOf(tile.weight)}</span>
									</>
								)}
							</button>
						);
					})}
				</>
			))}
		</div>
	);
}
