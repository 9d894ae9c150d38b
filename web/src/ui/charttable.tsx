// SPDX-License-Identifier: MIT
import type { Profile } from '../data/profile.ts';
import type { Series } from '../data/series.ts';
import { bytes, moment } from './format.ts';

const ROWS = 24;

/** The same as the chart above it, in words: at the moments of the largest heaps, evenly chosen. */
export function ChartTable({ profile: p, series }: { profile: Profile; series: Series[] }) {
	const step = Math.max(1, Math.floor(p.edges.n / ROWS));
	const rows = Array.from({ length: Math.ceil(p.edges.n / step) }, (_, i) => i * step);
	return (
		<details class="as-table">
			<summary>Show as table</summary>
			<div class="scroll" tabIndex={0} role="region" aria-label="Heap over time as a table">
				<table class="data">
					<thead>
						<tr>
							<th>time</th>
							<th class="num">heap</th>
							{series.map((s) => (
								<th key={s.label} class="num">
									{s.label}
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{rows.map((k) => (
							<tr key={k}>
								<td>{moment(p.edges.timeNs[k]!, p.facts.summary.duration_ns)}</td>
								<td class="num">{bytes(p.edges.bytes[k]!)}</td>
								{series.map((s) => (
									<td key={s.label} class="num">
										{bytes(s.values[k]!)}
									</td>
								))}
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</details>
	);
}
