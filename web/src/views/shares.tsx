// SPDX-License-Identifier: MIT
import type { ComponentChildren } from 'preact';
import type { Share } from '../data/lifetimes.ts';
import { bytes, count, shortName } from '../ui/format.ts';
import { Name } from '../ui/name.tsx';
import { Table } from '../ui/table.tsx';

const MOST = 12;

/** Functions with their share in something; one is selected by a click. */
export function Shares({
	title,
	shares,
	names,
	onPick,
	children,
}: {
	title: string;
	shares: Share[];
	names: string[];
	onPick: (key: number) => void;
	children?: ComponentChildren;
}) {
	return (
		<section class="panel" aria-label={title}>
			<div class="panel-head">
				<h2>{title}</h2>
				{children}
			</div>
			<Table
				id="shares"
				heads={[
					'function',
					'allocations',
					'total',
					'average',
				]}
				rows={shares}
				values={(s) => [shortName(names[s.key]!), s.count, s.bytes, s.bytes / s.count]}
				most={MOST}
			>
				{(share) => (
					<tr key={share.key}>
						<td>
							<button
								class="link name"
								onClick={() => onPick(share.key)}
							>
								<Name text={shortName(names[share.key]!)} />
							</button>
						</td>
						<td class="num">{count(share.count)}</td>
						<td class="num">{bytes(share.bytes)}</td>
						<td class="num">{bytes(share.bytes / share.count)}</td>
					</tr>
				)}
			</Table>
		</section>
	);
}
