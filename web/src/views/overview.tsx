// SPDX-License-Identifier: MIT
import { useMemo, useState } from 'preact/hooks';
import { topDown } from '../data/forest.ts';
import { metricOf } from '../data/metrics.ts';
import {
	lens,
	profile,
	setRange,
	tree,
	answer,
	isWhole,
	kept,
	marks,
	isClock,
	view,
} from '../state.ts';
import { sitesOf, stackedSeries } from '../data/series.ts';
import { bytes, moment, shortName } from '../ui/format.ts';
import { Metrics } from '../ui/chips.tsx';
import { CopyAs } from '../ui/copyas.tsx';
import { RangeField } from '../ui/rangefield.tsx';
import { useResting, useValue } from '../ui/signals.ts';
import { themeTurn } from '../ui/theme.ts';
import { heapAndRss, offAtFirst } from '../ui/lines.ts';
import { TimeChart } from '../ui/timechart.tsx';
import { metricName } from '../ui/labels.ts';
import { Legend, Swatch } from '../ui/legend.tsx';
import { Cards } from './cards.tsx';
import { CostFlame } from './costflame.tsx';
import { Absent } from './empty.tsx';
import { FoldHint } from './foldhint.tsx';
import { TopTables } from './toptables.tsx';
import { ChartTable } from '../ui/charttable.tsx';

function HeapChart() {
	const p = useValue(() => profile.value);
	const range = useValue(() => lens.value.range);
	const stacks = useValue(() => kept.value);
	const turn = useValue(() => themeTurn.value);
	const clock = useValue(() => isClock.value);
	const marked = useValue(() => marks.value);
	const whole = useValue(() => isWhole.value);
	const series = useMemo(() => {
		const sites = sitesOf(p);
		const name = (key: number) => ({
			label: shortName(sites.name[key]!),
			symbol: sites.symbol[key]!,
		});
		return stackedSeries(p, sites.keys, name, 5, stacks);
	}, [p, stacks, whole]);
	const [off, setOff] = useState(() => offAtFirst(p));
	const lines = useMemo(
		() => heapAndRss(p, whole ? series : null, stacks === null, off),
		[series, off],
	);
	const { peak_bytes, peak_time_ns } = p.facts.summary;
	return (
		<section class="panel" aria-labelledby="heap-title">
			<div class="panel-head">
				<h2 id="heap-title">Heap over time</h2>
				<Legend
					profile={p}
					series={series}
					off={off}
					onSwitch={setOff}
				/>
				<span class="dim hint">
					{whole ? (
						<>
							drag to select, or type <RangeField />
						</>
					) : (
						'reading what each function held…'
					)}
				</span>
			</div>
			<TimeChart
				profile={p}
				lines={lines}
				height={230}
				range={range}
				onRange={setRange}
				flag={{
					ns: peak_time_ns,
					text: `peak ${bytes(peak_bytes)} · ${moment(peak_time_ns)}`,
				}}
				marks={marked}
				isClock={clock}
				theme={String(turn)}
				label={
					`Heap over time by function: ` +
					`largest ${bytes(peak_bytes)} at ${moment(peak_time_ns)}`
				}
			/>
			<ChartTable profile={p} series={series} />
		</section>
	);
}

function HeapFlame() {
	const t = useValue(() => tree.value);
	const a = useValue(() => answer.value);
	const forest = useMemo(() => topDown(t, a), [t, a]);
	const metric = a.lens.metric;
	return (
		<section class="panel" aria-labelledby="flame-title">
			<div class="panel-head">
				<h2 id="flame-title">{metricOf(metric).heading}</h2>
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
						<Swatch of="root" /> program
					</li>
				</ul>
			</div>
			{forest.total[0] === 0 ? (
				<p class="nothing">Nothing matches this lens.</p>
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
		</section>
	);
}

export function Overview() {
	const whole = useResting(() => isWhole.value); // after the chart
	const hasMoments = useValue(() => profile.value.edges.n > 0);
	return (
		<>
			<Cards />
			{hasMoments ? <HeapChart /> : <Absent title="Heap over time" />}
			<HeapFlame />
			{whole && <TopTables />}
		</>
	);
}
