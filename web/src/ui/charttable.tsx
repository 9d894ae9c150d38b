// SPDX-License-Identifier: MIT
import type { Series } from '../data/series.ts';
import { profile } from '../state.ts';
import { CopyAs } from './copyas.tsx';
import { bytes, moment } from './format.ts';
import { valueAt, type Line } from './plot.ts';
import { Table, type Column } from './table.tsx';

const ROWS = 24;

interface FoldedTableProps {
	label: string;
	columns: string[]; // behind the time
	rows: number[][]; // ns, and a value for each column
	when: (ns: number) => string;
	unit?: (value: number) => string;
}

/** Below a chart: what takes it elsewhere, and the same in words. */
export function FoldedTable({ label, columns, rows, when, unit = bytes }: FoldedTableProps) {
	return (
		<>
			<CopyAs />
			<details class="as-table">
				<summary>Show as table</summary>
				<div class="scroll" tabIndex={0} role="region" aria-label={`${label} as a table`}>
					<Table
						id={label.replace(/\W+/g, '-')}
						class="data matrix"
						rows={rows}
						columns={[
							[
								'time',
								([ns]) => ns,
								(ns) => (
									<th scope="row" class="nowrap">
										{when(ns)}
									</th>
								),
								'',
							],
							...columns.map(
								(name, i): Column<number[]> => [
									name,
									(row) => row[i + 1],
									(value) => (
										<td class="num" data-by={name}>
											{unit(value)}
										</td>
									),
								],
							),
						]}
					/>
				</div>
			</details>
		</>
	);
}

/** The heap at the moments of its largest, evenly chosen. */
export function ChartTable({ series }: { series: Series[] }) {
	const p = profile.value;
	const step = Math.max(1, Math.floor(p.edges.n / ROWS));
	const rows = Array.from({ length: Math.ceil(p.edges.n / step) }, (_, i) => {
		const k = i * step;
		return [p.edges.timeNs[k]!, p.edges.bytes[k]!, ...series.map((s) => s.values[k]!)];
	});
	return (
		<FoldedTable
			label="Heap over time"
			columns={['heap', ...series.map((s) => s.label)]}
			rows={rows}
			when={(ns) => moment(ns, p.facts.summary.duration_ns)}
		/>
	);
}

interface RateTableProps {
	label: string;
	line: Line;
	unit: (value: number) => string;
}

/** A rate in stretches of one length, as its largest in each; or how far something has come. */
export function RateTable({ label, line, unit }: RateTableProps) {
	const { duration_ns } = profile.value.facts.summary;
	const rows = Array.from({ length: ROWS }, (_, i) => {
		const [from, to] = [i, i + 1].map((k) => (k * duration_ns) / ROWS) as [number, number];
		let most = valueAt(line, from);
		for (let k = 0; k < line.times.length; k++) {
			most =
				line.times[k]! >= from && line.times[k]! < to
					? Math.max(most, line.values[k]!)
					: most;
		}
		return [from, most];
	});
	const when = (ns: number) => moment(ns, duration_ns);
	return (
		<FoldedTable
			label={label}
			columns={['at most']}
			rows={rows}
			when={(ns) => `${when(ns)} – ${when(ns + duration_ns / ROWS)}`}
			unit={unit}
		/>
	);
}
