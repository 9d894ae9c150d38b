// SPDX-License-Identifier: MIT
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { orders } from '../state.ts';
import { useMore } from './more.tsx';
import { useRead } from './signals.ts';

/** What rows are ordered by; null: it says nothing, and stands last. undefined: no row does. */
export type Value = string | number | null | undefined;

/** A column's number, from 1; below 0: the smallest first. 0: as the rows come. */
export function useOrder(table: string): number {
	return useRead(() => orders.value.get(table) ?? 0);
}

/** Names begin with A, numbers with the largest; then the other way; then as they came. */
function turn(table: string, column: number, isText: boolean): void {
	const [first, second] = isText ? [-column, column] : [column, -column];
	const now = orders.value.get(table) ?? 0;
	const next = Math.abs(now) !== column ? first : now === first ? second : 0;
	const all = new Map(orders.value).set(table, next);
	if (!next) {
		all.delete(table);
	}
	orders.value = all;
}

export function inOrder<T>(
	rows: readonly T[],
	order: number,
	values: (row: T) => readonly Value[],
): T[] {
	if (!order) {
		return [...rows];
	}
	const keyed = rows.map((row) => ({ row, key: values(row)[Math.abs(order) - 1] ?? null }));
	const sign = order < 0 ? 1 : -1;
	keyed.sort(({ key: a }, { key: b }) =>
		a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -sign : sign,
	);
	return keyed.map(({ row }) => row);
}

interface HeadProps {
	table: string;
	column: number; // from 1
	isText: boolean;
	isOwn?: boolean; // rows come by it, the largest first
	children: ComponentChildren;
}

/** What the head of a column is, and how it says so. */
export function useHead({ table, column, isText, isOwn, children }: HeadProps) {
	const order = useOrder(table);
	const at = order || (isOwn ? column : 0);
	const sort = Math.abs(at) !== column ? 'none' : at < 0 ? 'ascending' : 'descending';
	const button = (
		<button class="sort" onClick={() => turn(table, column, isText)}>
			{children}
		</button>
	);
	return { 'aria-sort': sort as 'none', children: button };
}

function Head({ class: name, ...props }: HeadProps & { class: string }) {
	return <th scope="col" class={name} {...useHead(props)} />;
}

/** Tables that are shown, by what makes their rows: the heads first, all figures exact. */
const sheets = new Map<string, () => (readonly Value[])[]>();

export function useSheet(id: string, make: () => (readonly Value[])[]): void {
	useEffect(() => {
		sheets.set(id, make);
		return () => void sheets.delete(id);
	});
}

/** All tables that are shown, as CSV or Markdown, in columns that have a value. */
export function shownTables(isMarkdown: boolean): string {
	const cell = (value: Value) => {
		const text = String(value ?? '');
		return isMarkdown
			? text.replace(/\|/g, '\\|')
			: /[",\n]/.test(text)
				? `"${text.replace(/"/g, '""')}"`
				: text;
	};
	const line = (cells: string[]) => (isMarkdown ? `| ${cells.join(' | ')} |` : cells.join(','));
	const all = [...sheets.values()].map((make) => {
		const [heads = [], ...rows] = make();
		const has = (_: unknown, i: number) => rows.some((row) => row[i] !== undefined);
		const lines = [heads, ...rows].map((row) => line(row.filter(has).map(cell)));
		if (isMarkdown) {
			lines.splice(1, 0, line(heads.filter(has).map(() => '---')));
		}
		return lines.join('\n');
	});
	return all.join('\n\n');
}

/**
 * What a column is called, what its rows are ordered by (null: by nothing), and what stands in a
 * cell: a figure, or a cell of its own. With a class where it is neither a name's nor a number's.
 */
export type Column<T> = readonly [
	head: ComponentChildren,
	value: ((row: T) => Value) | null,
	cell: (value: any, row: T) => ComponentChildren,
	name?: string,
];

interface TableProps<T> {
	id: string; // of all tables, in the address
	class?: string;
	columns: readonly (Column<T> | false)[];
	rows: readonly T[];
	most?: number; // rows that are shown at first
}

interface Named {
	'data-by': ComponentChildren;
}

const isCell = (said: ComponentChildren) => /^t[dh]$/.test(String((said as VNode)?.type));

/** A table that is ordered by a click on a column's head. */
export function Table<T>({ id, class: name, columns: given, rows, most }: TableProps<T>) {
	const columns = given.filter(Boolean) as Column<T>[];
	const values = (row: T) => columns.map(([, value]) => value?.(row));
	const order = useOrder(id);
	const sorted = useMemo(() => inOrder(rows, order, values), [rows, order, columns.length]);
	const [shown, more] = useMore(sorted, most);
	useSheet(id, () => [columns.map(([head]) => String(head)), ...shown.map(values)]);
	return (
		<>
			<table class={name ?? 'data'}>
				<thead>
					<tr>
						{columns.map(([head, value, , own], i) => {
							const isText = rows.some((row) => typeof value?.(row) === 'string');
							const name = own ?? (value && !isText ? 'num' : '');
							return value && rows.length ? (
								<Head table={id} column={i + 1} class={name} isText={isText}>
									{head}
								</Head>
							) : (
								<th class={name}>{head}</th>
							);
						})}
					</tr>
				</thead>
				<tbody>
					{shown.map((row) => (
						<tr>
							{columns.map(([head, value, cell]) => {
								const said = cell(value?.(row), row);
								const own = isCell(said) ? said : <td class="num">{said}</td>;
								// Where no head is near
								(own as VNode<Named>).props['data-by'] = value ? head : undefined;
								return own;
							})}
						</tr>
					))}
				</tbody>
			</table>
			{more}
		</>
	);
}
