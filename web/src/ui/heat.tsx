// SPDX-License-Identifier: MIT
import type { ComponentChildren } from 'preact';

interface HeatProps {
	label: string;
	corner: string;
	rows: readonly string[];
	columns: readonly string[];
	by?: string; // before a column's name, where there is no room for heads
	weights: readonly (readonly number[])[];
	at?: (row: number, column: number) => boolean;
	children: (row: number, column: number) => ComponentChildren; // of cells with a weight
}

/** A table of two sorts of things: the more a cell weighs, the stronger its colour. */
export function Heat({ label, corner, rows, columns, by = '', weights, at, children }: HeatProps) {
	const most = Math.log1p(Math.max(1, ...weights.flat()));
	return (
		<div class="scroll tall" tabIndex={0} role="region" aria-label={label}>
			<table class="heat matrix">
				<thead>
					<tr>
						<th>{corner}</th>
						{columns.map((name) => (
							<th>{name}</th>
						))}
					</tr>
				</thead>
				<tbody>
					{rows.map((name, r) => (
						<tr>
							<th scope="row">{name}</th>
							{columns.map((column, c) => {
								const weight = weights[r]![c]!;
								const share = 20 + (80 * Math.log1p(weight)) / most;
								return (
									<td
										data-by={by + column}
										class={at?.(r, c) ? 'at' : ''}
										style={
											weight
												? {
														background:
															'color-mix(in srgb, var(--more-3) ' +
															`${share.toFixed()}%, transparent)`,
													}
												: {}
										}
									>
										{weight > 0 && children(r, c)}
									</td>
								);
							})}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}
