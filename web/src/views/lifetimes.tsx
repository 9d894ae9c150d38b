// SPDX-License-Identifier: MIT
import { useMemo, useState } from 'preact/hooks';
import { cellsOf, sharesIn } from '../data/lifetimes.ts';
import { isTree } from '../data/processes.ts';
import type { Sites } from '../data/series.ts';
import * as state from '../state.ts';
import { CopyAs } from '../ui/copyas.tsx';
import { duration, moment } from '../ui/format.ts';
import { Swatch } from '../ui/legend.tsx';
import { Panel } from '../ui/panel.tsx';
import { useRead, useValue } from '../ui/signals.ts';
import { TimeChart, type Line } from '../ui/timechart.tsx';
import { Shares } from './shares.tsx';

const ALL: readonly [number, number] = [0, Infinity];
const FOCUS_MOST = 10;

/** When blocks were allocated, and how long they lived: what is drawn around becomes the lens. */
export function LifetimesOverTime({ sites }: { sites: Sites }) {
	const p = state.profile.value;
	const kept = useValue(state.kept);
	const range = useRead(() => state.lens.value.range);
	const [drawn, setDrawn] = useState({ range, band: ALL });
	const band = drawn.range === range ? drawn.band : ALL;
	const lines = useMemo(() => {
		const [freed, left] = cellsOf(p, kept);
		return [
			{ ...freed, label: 'freed', colour: 'series-2', kind: 'cells' },
			{ ...left, label: 'never freed', colour: 'never', kind: 'cells' },
		] as Line[];
	}, [p, kept]);
	const shares = useMemo(
		() => (range ? sharesIn(p, kept, sites.keys, range, band) : []),
		[p, kept, sites, range, band],
	);
	const names = shares
		.filter(({ key }) => sites.symbol[key])
		.slice(0, FOCUS_MOST)
		.map(({ key }) => sites.name[key]!);
	const lived =
		band === ALL ? '' : ` that lived ${duration(band[0])} to ${duration(band[1])}`;
	return (
		<>
			<Panel
				title="Lifetime by time of allocation"
				head={
					<span class="legend">
						<span>
							<Swatch of="series-2" /> freed
							{isTree(p) && ', or gone with their process'}
						</span>
						<span>
							<Swatch of="never" /> never freed, up to the end
						</span>
					</span>
				}
				hint="stronger: more bytes; drag to see who allocated them"
			>
				<TimeChart
					lines={lines}
					height={220}
					unit={(ns) => moment(ns, p.facts.summary.duration_ns)}
					band={band}
					onBand={(from, to) =>
						setDrawn({
							range: state.lens.value.range,
							band: to > from ? [from, to] : ALL,
						})
					}
					label="Lifetime of blocks by the time of their allocation"
				/>
				<CopyAs />
			</Panel>
			{shares.length > 0 && (
				<Shares
					title={`Who allocated the blocks of the range${lived}`}
					shares={shares}
					sites={sites}
				>
					{names.length > 0 && (
						<button
							class="pill"
							onClick={() => state.change({ focus: names })}
						>
							Show only {names.length === 1 ? 'this function' : 'these functions'}
						</button>
					)}
				</Shares>
			)}
		</>
	);
}
