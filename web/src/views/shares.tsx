// SPDX-License-Identifier: MIT
import type { ComponentChildren } from 'preact';
import type { Share } from '../data/lifetimes.ts';
import type { Sites } from '../data/series.ts';
import { profile, selected } from '../state.ts';
import { bytes, count, namesApart } from '../ui/format.ts';
import { placeOf } from '../ui/labels.ts';
import { NameLink } from '../ui/name.tsx';
import { Panel } from '../ui/panel.tsx';
import { Table, type Column } from '../ui/table.tsx';

const MOST = 12;

/** Of rows with a site: its name, which selects the function that it is. */
export function siteColumn(
	{ name, symbol }: Sites,
	rows: readonly { key: number }[],
): Column<{ key: number }> {
	const told = namesApart(rows.map(({ key }) => name[key]!));
	const names = rows.map(({ key }) => name[key]);
	return [
		'function',
		({ key }) => told(name[key]!),
		(text, { key }) => (
			<td>
				<NameLink
					name={name[key]!}
					text={text}
					onClick={() => {
						if (symbol[key]) {
							selected.value = { symbol: symbol[key], base: 0 };
						}
					}}
				/>{' '}
				{names.indexOf(name[key]) !== names.lastIndexOf(name[key]) && (
					<span class="dim place">{placeOf(profile.value, symbol[key]!, 0)}</span>
				)}
			</td>
		),
	];
}

/** Functions with their share in something; one is selected by a click. */
export function Shares({
	title,
	shares,
	sites,
	children,
}: {
	title: string;
	shares: Share[];
	sites: Sites;
	children?: ComponentChildren;
}) {
	return (
		<Panel
			title={title}
			head={children}
		>
			<Table
				id="shares"
				rows={shares}
				columns={[
					siteColumn(sites, shares),
					['allocations', (s) => s.count, count],
					['total', (s) => s.bytes, bytes],
					['average', (s) => s.bytes / s.count, bytes],
				]}
				most={MOST}
			/>
		</Panel>
	);
}
