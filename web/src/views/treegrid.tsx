// SPDX-License-Identifier: MIT
import { render, type ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { hasChildren, heaviest, type Forest } from '../data/forest.ts';
import { ALLOCATIONS, lacks, lacksCurves, lacksMetric, TEMPORARY } from '../data/missing.ts';
import { isCounted, metricOf, type Metric } from '../data/metrics.ts';
import * as state from '../state.ts';
import { ownerOf } from '../data/tree.ts';
import { count, elide, percent } from '../ui/format.ts';
import { metricName, nodeName, placeOf, weight } from '../ui/labels.ts';
import { matched } from '../ui/search.ts';
import { REST_MS, useRead, useTurn, useValue } from '../ui/signals.ts';
import { useSize } from '../ui/size.ts';
import { Sparkline } from '../ui/sparkline.tsx';
import { inOrder, useHead, useOrder, useSheet, type Value } from '../ui/table.tsx';
import { areKnown, curveOf, medianLife } from './curves.ts';
import { barOf, hideNode, openRun, selectNode } from './nodes.ts';

const ROW = 24;
const CURVE = 'alive over time';
const LIFE = 'median life';
const SELF = 'self';
type Size = 'phone' | 'narrow' | 'medium' | 'wide';
// Columns beside the fixed ones, by the room there is, and how wide each is
const EXTRA: Record<Size, string[]> = {
	phone: [],
	narrow: [SELF],
	medium: [SELF, 'allocations', CURVE],
	wide: [SELF, 'blocks', 'temporary', 'allocations', LIFE, CURVE],
};
const WIDTHS: Record<string, number> = { [CURVE]: 100, [LIFE]: 76 };
// Of the place, but on a phone; of the weight and its share
const FIXED: Record<Size, number[]> = {
	phone: [84, 56],
	narrow: [90, 92, 54],
	medium: [120, 120, 60],
	wide: [150, 150, 60],
};
const [GAP, PADDING, ARROW] = [8, 12, 18];

/** In pixels: what follows from the room is worked out in each row anew. The name has the rest. */
function columnsOf(width: number, size: Size, extra: string[]): number[] {
	const behind = [...FIXED[size], ...extra.map((name) => WIDTHS[name] ?? 84)];
	return [Math.max(110, behind.reduce((left, n) => left - n - GAP, width - PADDING)), ...behind];
}

// A node of the bottom-up tree is a way out to callers: these are nothing that it has
const OF_CALLS = [SELF, LIFE, CURVE];

function sizeOf(width: number): Size {
	return width < 480 ? 'phone' : width < 830 ? 'narrow' : width < 1160 ? 'medium' : 'wide';
}

/** A count that is the weight already is not said twice; beside mappings, nothing of blocks is. */
function extraColumns(size: Size, metric: Metric, f: Forest): string[] {
	const said = isCounted(metric) ? ['blocks', metric as string] : [];
	const left = f.kind === 'up' ? OF_CALLS : [];
	const p = state.profile.value;
	const isMissing = (name: string) =>
		(name !== SELF && !metricOf(metric).of_blocks) ||
		(name === 'blocks' && lacksMetric(p, metric, 'blocks')) ||
		(name === 'temporary' && lacks(p, TEMPORARY)) ||
		(name === 'allocations' && lacks(p, ALLOCATIONS)) ||
		((name === LIFE || name === CURVE) && lacksCurves(p));
	return EXTRA[size].filter(
		(name) => !said.includes(name) && !left.includes(name) && !isMissing(name),
	);
}
// That rows can be ordered by; the order of these is in the address
const COLUMNS = ['function', 'place', 'total', SELF, 'blocks', 'temporary', 'allocations'];
const BRANCHES_BELOW = 0.7; // of a node's weight: then its heaviest child is one of several

interface Row {
	node: number;
	level: number;
	position: number;
	siblings: number;
}

/** Open along the heaviest path until it branches. */
function heaviestPath(f: Forest, from: number): Set<number> {
	const open = new Set<number>([from]);
	for (let at = from; ; ) {
		const [next] = heaviest(f, at);
		if (
			next === undefined ||
			f.isRest[next] ||
			f.total[next]! < f.total[at]! * BRANCHES_BELOW
		) {
			return open;
		}
		open.add(next);
		at = next;
	}
}

/** What a node is ordered by in each column that has a number or a name. */
function valueOf(f: Forest, node: number, column: string): Value {
	switch (column) {
		case 'function':
			return nodeName(state.profile.value, f, node);
		case 'place':
			return placeOf(state.profile.value, f.symbol[node]!, f.line[node]!) || null;
		case SELF:
			return f.self[node]!;
		case 'blocks':
		case 'temporary':
		case 'allocations':
			return f[column][node]!;
		default:
			return f.total[node]!;
	}
}

function rowsOf(f: Forest, open: ReadonlySet<number>, order: number): Row[] {
	const rows: Row[] = [];
	const column = COLUMNS[Math.abs(order) - 1]!;
	const walk = (node: number, level: number, position: number, siblings: number) => {
		rows.push({ node, level, position, siblings });
		if (open.has(node)) {
			const own = inOrder(heaviest(f, node), order && Math.sign(order), (child) => [
				f.isRest[child] ? null : valueOf(f, child, column),
			]);
			own.forEach((child, i) => walk(child, level + 1, i + 1, own.length));
		}
	};
	walk(0, 1, 1, 1);
	return rows;
}

function openAll(f: Forest, from: number): number[] {
	const out: number[] = [];
	const queue = [from];
	while (queue.length && out.length < 5000) {
		const node = queue.pop()!;
		out.push(node);
		queue.push(...heaviest(f, node));
	}
	return out;
}

export interface TreeGridProps {
	forest: Forest;
	label: string;
	rootSymbol?: number; // what the root is, if it is not the program
	isNarrow?: boolean;
}

/** A tree as a table; only the rows on the screen are there. */
export function TreeGrid({ forest: given, label, rootSymbol, isNarrow }: TreeGridProps) {
	const metric = useRead(() => state.lens.value.metric);
	const marked = useValue(matched);
	const picked = useValue(state.selected);
	const forest = useMemo(() => {
		if (rootSymbol !== undefined) {
			given.symbol[0] = rootSymbol;
		}
		return given;
	}, [given, rootSymbol]);
	const [open, setOpen] = useState<ReadonlySet<number>>(() => heaviestPath(forest, 0));
	const order = useOrder('tree');
	const [at, setAt] = useState(0);
	const [top, setTop] = useState(0);
	const box = useRef<HTMLDivElement>(null);
	const ruler = useRef<HTMLElement>(null);
	const { width, height } = useSize(box);
	const letter = useSize(ruler).width / 100 || 8;
	const body = useRef<HTMLDivElement>(null);
	const shape = useRef(forest.parent);

	useEffect(() => {
		if (shape.current !== forest.parent) {
			shape.current = forest.parent;
			setOpen(heaviestPath(forest, 0));
			setAt(0);
		}
	}, [forest]);
	const size = sizeOf(isNarrow ? Math.min(width, 829) : width);
	const hasBinary = useValue(state.isBinary);
	const names = extraColumns(size, metric, forest).join('\n');
	const extra = useMemo(() => names.split('\n').filter(Boolean), [names]);
	const rested = useTurn(top, REST_MS);
	// What it takes to read over time is not asked for rows that fly by
	const isMoving = rested !== undefined && rested !== top && extra.includes(CURVE);
	const rows = useMemo(() => rowsOf(forest, open, order), [forest, open, order]);
	useSheet(label, () => [
		['level', 'function', 'place', metricName(metric), ...extra],
		...rows.map(({ node, level }) => [
			level,
			...['function', 'place', 'total', ...extra].map((name) =>
				name === CURVE || name === LIFE ? undefined : valueOf(forest, node, name),
			),
		]),
	]);
	const show = (row: number) => {
		const scroller = box.current;
		if (!scroller) {
			return;
		}
		const y = row * ROW;
		if (y < scroller.scrollTop) {
			scroller.scrollTop = y;
		} else if (y + 2 * ROW > scroller.scrollTop + scroller.clientHeight) {
			scroller.scrollTop = y + 2 * ROW - scroller.clientHeight;
		}
	};
	useEffect(() => {
		if (picked?.base && forest.kind === 'down' && !rootSymbol) {
			const node = forest.tree.ofBase[picked.base]!;
			const path = new Set(open);
			for (let up = node; up > 0;) {
				path.add((up = forest.parent[up]!));
			}
			const isSeen = path.size === open.size;
			if (isSeen && rows[at]?.node === node) {
				return;
			}
			if (!isSeen) {
				setOpen(path);
			}
			const row = (isSeen ? rows : rowsOf(forest, path, order)).findIndex(
				(r) => r.node === node,
			);
			if (row >= 0) {
				setAt(row);
				show(row);
			}
		}
	}, [picked?.base]);
	const toggle = (node: number, wanted = !open.has(node)) => {
		const next = new Set(open);
		if (wanted) {
			next.add(node);
		} else {
			next.delete(node);
		}
		setOpen(next);
	};
	const go = (row: number) => {
		const to = Math.max(0, Math.min(rows.length - 1, row));
		setAt(to);
		show(to);
		selectNode(forest, rows[to]!.node);
	};
	const onKey = (event: KeyboardEvent) => {
		const isHead = (event.target as Element).matches('.sort') && /^( |Enter)$/.test(event.key);
		if (isHead || event.ctrlKey || event.metaKey || event.altKey) {
			return;
		}
		const row = rows[at]!;
		const page = Math.max(1, Math.floor(height / ROW) - 2);
		const goUp = () => go(rows.findIndex((r) => r.node === forest.parent[row.node]));
		switch (event.key) {
			case 'ArrowDown':
			case 'j':
				go(at + 1);
				break;
			case 'ArrowUp':
			case 'k':
				go(at - 1);
				break;
			case 'PageDown':
				go(at + page);
				break;
			case 'PageUp':
				go(at - page);
				break;
			case 'Home':
				go(0);
				break;
			case 'End':
				go(rows.length - 1);
				break;
			case 'ArrowRight':
				if (open.has(row.node)) {
					go(at + 1);
				} else {
					toggle(row.node, true);
				}
				break;
			case 'ArrowLeft':
				if (open.has(row.node)) {
					toggle(row.node, false);
				} else {
					goUp();
				}
				break;
			case 'Backspace':
			case 'u':
				goUp();
				break;
			case 'Enter':
				toggle(row.node);
				break;
			case ' ':
				openRun(forest, row.node);
				break;
			case 'e':
				setOpen(new Set([...open, ...heaviestPath(forest, row.node)]));
				break;
			case '*':
				setOpen(new Set([...open, ...openAll(forest, row.node)]));
				break;
			case '-':
				toggle(row.node, false);
				break;
			default:
				return;
		}
		event.preventDefault();
		event.stopPropagation();
	};

	const onClick = (event: MouseEvent) => {
		const index = indexOf(event);
		const { node } = rows[index]!;
		if (isArrow(event)) {
			toggle(node);
			return;
		}
		setAt(index);
		if (event.shiftKey) {
			openRun(forest, node);
		} else if (event.altKey) {
			hideNode(forest, node);
		} else {
			selectNode(forest, node);
		}
	};

	const first = Math.max(0, Math.floor(top / ROW) - 4);
	const places = Math.ceil(height / ROW) + 9; // however far it is scrolled
	const shown = inPlaces(first, places, rows.length);
	const idOf = (row: number) => `${label.replace(/\W+/g, '-')}-${row}`;
	const columns = useMemo(() => columnsOf(width, size, extra), [width, size, extra]);
	const lines = useRef<{ extra: string[]; all: Line[] } | null>(null);
	useLayoutEffect(() => {
		if (lines.current?.extra !== extra) {
			body.current!.replaceChildren();
			lines.current = { extra, all: [] };
		}
		const { all } = lines.current;
		all.splice(shown.length).forEach(({ element }) => element.remove());
		shown.forEach((index, place) => {
			const row = rows[index]!;
			(all[place] ??= new Line(body.current!, extra)).show({
				...row,
				id: idOf(index),
				forest,
				index,
				metric,
				isOpen: open.has(row.node),
				isAt: index === at,
				isMarked: marked?.has(forest.symbol[row.node]!) ?? false,
				extra,
				columns,
				letter,
				hasCurves: !isMoving || areKnown(forest, row.node),
				hasBinary,
			});
		});
	});
	return (
		<div
			class={`treegrid ${size}`}
			role="treegrid"
			aria-label={label}
			aria-rowcount={rows.length + 1}
			aria-activedescendant={idOf(at)}
			style={{ '--columns': columns.map((column) => `${column}px`).join(' ') }}
			tabIndex={0}
			ref={box}
			onKeyDown={onKey}
			onScroll={(e) => setTop((e.target as HTMLElement).scrollTop)}
		>
			<code class="ruler" ref={ruler} aria-hidden="true" />
			<div class="tr th" role="row" aria-rowindex={1}>
				<Head name="function">{forest.tree.group}</Head>
				<Head name="place" />
				<Head name="total">{metricName(metric).toLowerCase()}</Head>
				<span role="columnheader" class="num">
					% of all
				</span>
				{extra.map((name) => (
					<Head key={name} name={name} />
				))}
			</div>
			<div
				ref={body}
				role="rowgroup"
				aria-owns={[...shown].sort((a, b) => a - b).map(idOf).join(' ')}
				class="rows"
				style={{ height: `${rows.length * ROW}px` }}
				onClick={onClick}
				onDblClick={(event) => !isArrow(event) && toggle(rows[indexOf(event)]!.node)}
			/>
		</div>
	);
}

/**
 * So many rows, each in a place of its own: those that stay keep theirs, and the elements of the
 * others are written anew, which takes less than making some.
 */
function inPlaces(first: number, places: number, rows: number): number[] {
	const turned = first % places;
	return Array.from(
		{ length: places },
		(_, place) => first - turned + place + (place < turned ? places : 0),
	).filter((row) => row < rows);
}

function Head({ name, children }: { name: string; children?: ComponentChildren }) {
	const column = COLUMNS.indexOf(name) + 1;
	const isText = name === 'function' || name === 'place';
	const head = useHead({
		table: 'tree',
		column,
		isText,
		isOwn: name === 'total',
		children: children ?? name,
	});
	return (
		<span
			role="columnheader"
			class={isText || name === CURVE ? '' : 'num'}
			{...(column ? head : { children: name })}
		/>
	);
}

/** What stands in a column that is not always there. */
function extraOf(
	name: string,
	{ forest: f, node, metric, hasCurves }: RowProps,
): string | Float64Array | null {
	const p = state.profile.value;
	const isPlace = hasCurves && !f.isRest[node]; // its stacks are known
	switch (name) {
		case SELF:
			return weight(metric, f.self[node]!);
		case CURVE:
			return isPlace ? curveOf(p, f, node) : null;
		case LIFE:
			return isPlace ? medianLife(p, f, node) : '';
		default:
			return count(f[name as 'blocks' | 'temporary' | 'allocations'][node]!);
	}
}

interface RowProps extends Row {
	id: string;
	forest: Forest;
	index: number;
	metric: Metric;
	isOpen: boolean;
	isAt: boolean;
	isMarked: boolean;
	extra: string[];
	columns: number[]; // how wide each is, in pixels
	letter: number; // the same of one, of a name
	hasCurves: boolean;
	hasBinary: boolean; // how figures are written
}

const isArrow = (event: MouseEvent) => (event.target as Element).matches('.name > i');

/** Which of all rows an event was in. */
function indexOf(event: MouseEvent): number {
	const row = (event.target as Element).closest('[role=row]')!;
	return Number(row.getAttribute('aria-rowindex')) - 2;
}

const EVEN = /^[ -~…]*$/; // each letter as wide as another, in code

/** The element of a row, made once: of what it shows, only what is another is written. */
class Line {
	element: HTMLElement;
	private cells: HTMLElement[];
	private before?: RowProps;
	private written: unknown[] = [];

	constructor(body: Element, extra: string[]) {
		body.insertAdjacentHTML(
			'beforeend',
			'<div role="row"><span role="gridcell"><i aria-hidden="true"></i><code></code></span>' +
				`${'<span role="gridcell" class="num"></span>'.repeat(3 + extra.length)}</div>`,
		);
		this.element = body.lastElementChild as HTMLElement;
		this.cells = [...this.element.children] as HTMLElement[];
	}

	show(props: RowProps): void {
		const { before, element, cells, written } = this;
		const [name, ofPlace, bar] = cells as [HTMLElement, HTMLElement, HTMLElement];
		const [arrow, code] = name.children as unknown as [HTMLElement, HTMLElement];
		const keys = Object.keys(props) as (keyof RowProps)[];
		if (before && keys.every((key) => props[key] === before[key])) {
			return;
		}
		this.before = props;
		let at = 0;
		/** Writes an attribute, or a property of its style. */
		const write = (to: HTMLElement, key: string, value: unknown) => {
			if (written[at] !== value) {
				written[at] = value;
				if (key in to.style) {
					to.style.setProperty(key, String(value));
				} else if (value === undefined) {
					to.removeAttribute(key);
				} else {
					to.setAttribute(key, String(value));
				}
			}
			at++;
		};
		const { forest: f, node, metric, columns, letter } = props;
		const p = state.profile.value;
		const symbol = f.symbol[node]!;
		const [total, value] = [f.total[0]!, f.total[node]!];
		const isParent = hasChildren(f, node);
		write(element, 'class', `tr${props.isAt ? ' at' : ''}${props.isMarked ? ' marked' : ''}`);
		write(element, 'id', props.id);
		write(element, 'top', `${props.index * ROW}px`);
		write(element, 'aria-level', props.level);
		write(element, 'aria-posinset', props.position);
		write(element, 'aria-setsize', props.siblings);
		write(element, 'aria-rowindex', props.index + 2);
		write(element, 'aria-selected', props.isAt);
		write(element, 'aria-expanded', isParent ? props.isOpen : undefined);
		write(arrow, 'class', isParent ? (props.isOpen ? 'open' : 'closed') : 'leaf');

		const text = nodeName(p, f, node);
		const indent = Math.min(props.level - 1, 40) * (columns.length < 4 ? 5 : 14); // a phone's
		const room = (columns[0]! - ARROW - indent) / letter;
		const short = elide(text, Math.max(8, room | 0));
		const owner = symbol ? ownerOf(p, symbol) : 'program';
		const cut = (isCut: boolean) => (isCut ? ' cut' : '');
		const isOdd = short.length > room || !EVEN.test(short);
		write(name, 'class', `name ${owner}${f.isRun[node] ? ' run' : ''}${cut(isOdd)}`);
		write(name, 'padding-left', `${indent}px`);
		write(name, 'title', symbol ? p.symbolTable.name[symbol] : '');

		const isPlace = symbol > 0 && f.tree.group === 'function';
		const place = isPlace ? placeOf(p, symbol, f.line[node]!) : '';
		write(ofPlace, 'class', `dim place${cut(place.length * letter > columns[1]!)}`);
		write(bar, 'class', 'num bar');
		write(bar, 'background-size', barOf(value / (total || 1)).backgroundSize);
		[
			short,
			place,
			weight(metric, value),
			percent(value, total),
			...props.extra.map((column) => extraOf(column, props)),
		].forEach((text, i) => {
			const cell = i ? cells[i]! : code;
			if (written[at] !== text) {
				written[at] = text;
				if (typeof text === 'object') {
					render(text && <Sparkline values={text} />, cell);
				} else if (cell.firstChild) {
					cell.firstChild.nodeValue = text;
				} else {
					cell.textContent = text;
				}
			}
			at++;
		});
	}
}
