// SPDX-License-Identifier: MIT
import type { Profile } from '../data/profile.ts';
import type { Series } from '../data/series.ts';
import { CopyAs } from './copyas.tsx';
import { bytes, moment } from './format.ts';
import { valueAt, type Line } from './plot.ts';

const ROWS = 24;

interface FoldedTableProps {
	label: string;
	columns: string[]; // behind the time
	rows: string[][];
}

/** Below a chart: what takes it elsewhere, and the same in words. */
export function FoldedTable({ label, columns, rows }: FoldedTableProps) {
	return (
		<>
			<CopyAs />
			<details class="as-table">
				<summary>Show as table</summary>
				<div class="scroll" tabIndex={0} role="region" aria-label={`${label} as a table`}>
					<table class="data matrix">
						<thead>
							<tr>
								<th>time</th>
								{columns.map((name) => (
									<th key={name} class="num">
										{name}
									</th>
								))}
							</tr>
						</thead>
						<tbody>
							{rows.map(([when, ...values]) => (
								<tr key={when}>
									<th scope="row" class="nowrap">
										{when}
									</th>
									{values.map((text, i) => (
										<td key={columns[i]} class="num" data-by={columns[i]}>
											{text}
										</td>
									))}
								</tr>
							))}
						</tbody>
					</table>
				</div>
			</details>
		</>
	);
}

/** The heap at the moments of its largest, evenly chosen. */
export function ChartTable({ profile: p, series }: { profile: Profile; series: Series[] }) {
	const step = Math.max(1, Math.floor(p.edges.n / ROWS));
	const rows = Array.from({ length: Math.ceil(p.edges.n / step) }, (_, i) => {
		const k = i * step;
		const when = moment(p.edges.timeNs[k]!, p.facts.summary.duration_ns);
		return [when, bytes(p.edges.bytes[k]!), ...series.map((s) => bytes(s.values[k]!))];
	});
	return (
		<FoldedTable
			label="Heap over time"
			columns={['heap', ...series.map((s) => s.label)]}
			rows={rows}
		/>
	);
}

interface RateTableProps {
	profile: Profile;
	label: string;
	line: Line;
	unit: (value: number) => string;
}

/** A rate in stretches of one length, as its largest in each; or how far something has come. */
export function RateTable({ profile: p, label, line, unit }: RateTableProps) {
	const { duration_ns } = p.facts.summary;
	const rows = Array.from({ length: ROWS }, (_, i) => {
		const [from, to] = [i, i + 1].map((k) => (k * duration_ns) / ROWS) as [number, number];
		let most = valueAt(line, from);
		for (let k = 0; k < line.times.length; k++) {
			most =
				line.times[k]! >= from && line.times[k]! < to
					? Math.max(most, line.values[k]!)
					: most;
		}
		return [`${moment(from, duration_ns)} – ${moment(to, duration_ns)}`, unit(most)];
	});
	return <FoldedTable label={label} columns={['at most']} rows={rows} />;
}
