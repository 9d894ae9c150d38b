// SPDX-License-Identifier: MIT
import { useMemo, useState } from 'preact/hooks';
import { topDown } from '../data/forest.ts';
import { keepsAll } from '../data/lens.ts';
import { isTree } from '../data/processes.ts';
import { metricOf } from '../data/metrics.ts';
import {
	profile,
	tree,
	answer,
	isBinary,
	isWhole,
	kept,
	lens,
	view,
} from '../state.ts';
import { sitesOf, stackedSeries } from '../data/series.ts';
import { shortName } from '../ui/format.ts';
import { Metrics } from '../ui/chips.tsx';
import { CopyAs } from '../ui/copyas.tsx';
import { Panel } from '../ui/panel.tsx';
import { RangeField } from '../ui/rangefield.tsx';
import { useResting, useValue } from '../ui/signals.ts';
import { heapAndRss, offAtFirst, peakOf } from '../ui/lines.ts';
import { TimeChart } from '../ui/timechart.tsx';
import { metricName } from '../ui/labels.ts';
import { Legend, Swatch } from '../ui/legend.tsx';
import { Cards } from './cards.tsx';
import { CostFlame } from './costflame.tsx';
import { Absent, Nothing } from './empty.tsx';
import { FoldHint } from './foldhint.tsx';
import { TopTables } from './toptables.tsx';
import { ChartTable } from '../ui/charttable.tsx';

function HeapChart() {
	const p = profile.value;
	const stacks = useValue(kept);
	const whole = useValue(isWhole);
	const series = useMemo(() => {
		const sites = sitesOf(p);
		const name = (key: number) => ({
			label: shortName(sites.name[key]!),
			symbol: sites.symbol[key]!,
		});
		return stackedSeries(p, sites.keys, name, 5, stacks);
	}, [p, stacks, whole]);
	const hasBinary = useValue(isBinary);
	const peak = useMemo(() => peakOf(p, whole ? stacks : null), [p, stacks, whole, hasBinary]);
	const [off, setOff] = useState(() => offAtFirst(p));
	const lines = useMemo(
		() => heapAndRss(p, whole ? series : null, stacks === null, off),
		[series, off],
	);
	return (
		<Panel
			title="Heap over time"
			head={<Legend series={series} off={off} onSwitch={setOff} />}
			hint={
				whole ? (
					<>
						drag to select, or type <RangeField />
					</>
				) : (
					'reading…'
				)
			}
		>
			<TimeChart
				lines={lines}
				height={230}
				{...peak}
			/>
			<ChartTable series={series} />
		</Panel>
	);
}

function HeapFlame() {
	const t = useValue(tree);
	const a = useValue(answer);
	const forest = useMemo(() => topDown(t, a), [t, a]);
	const metric = a.lens.metric;
	return (
		<Panel
			title={metricOf(metric).heading}
			head={
				<>
					<Metrics />
					<FoldHint forest={forest} />
					<ul class="legend right">
						<li>
							<Swatch of="yours-a" /> your code
						</li>
						<li>
							<Swatch of="library" /> library{a.lens.isUnfolded ? '' : ' (folded)'}
						</li>
						<li>
							<Swatch of="root" /> {isTree(profile.value) ? 'processes' : 'program'}
						</li>
					</ul>
				</>
			}
		>
			{forest.total[0] === 0 ? (
				<Nothing />
			) : (
				<>
					<CostFlame
						forest={forest}
						height="content"
						label={`Flame graph of ${metricName(metric)}`}
						onZoom={() => (view.value = 'flame')}
					/>
					<CopyAs />
				</>
			)}
		</Panel>
	);
}

export function Overview() {
	const whole = useResting(isWhole); // after the chart
	const hasMoments = profile.value.edges.n > 0;
	const l = useValue(lens);
	return (
		<>
			{(l.range || !keepsAll(l)) && (
				<p class="dim">Sentences, Short-lived and Growing are of the whole run.</p>
			)}
			<Cards />
			{hasMoments ? <HeapChart /> : <Absent title="Heap over time" />}
			<HeapFlame />
			{whole && <TopTables />}
		</>
	);
}
