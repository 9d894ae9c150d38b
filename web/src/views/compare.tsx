// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { compareProfiles, type Difference } from '../data/compare.ts';
import type { Facts, Profile } from '../data/profile.ts';
import * as state from '../state.ts';
import { Metrics } from '../ui/chips.tsx';
import { compareWith } from '../ui/drop.ts';
import { baseName, bytes, count, duration, percent, shortName } from '../ui/format.ts';
import { METRIC_NAMES, weight } from '../ui/labels.ts';
import { useValue } from '../ui/signals.ts';

function Choose() {
	return (
		<section class="panel empty" aria-labelledby="compare-title">
			<h2 id="compare-title">Compare with another recording</h2>
			<p>
				Drop a page of heaptrack (<code>heaptrack_print --html OUT FILE</code>) anywhere on this one, or choose it. It is taken as
				what was <em>before</em>; nothing leaves your machine.
			</p>
			<input
				type="file"
				aria-label="Page to compare with"
				accept=".html,.bin"
				onChange={(e) => {
					const file = e.currentTarget.files?.[0];
					if (file) {
						void compareWith(file);
					}
				}}
			/>
		</section>
	);
}

function signed(text: string, n: number): string {
	return n > 0 ? `+${text}` : text;
}

const TOTALS: [string, (f: Facts['summary']) => number, (n: number) => string][] = [
	['peak', (s) => s.peak_bytes, bytes],
	['never freed', (s) => s.never_freed_bytes, bytes],
	['allocations', (s) => s.allocations, count],
	['temporary', (s) => s.temporary, count],
	['runtime', (s) => s.duration_ns, duration],
];

function Totals({ before, after }: { before: Profile; after: Profile }) {
	return (
		<table class="data">
			<thead>
				<tr>
					<th>total</th>
					<th class="num">before</th>
					<th class="num">now</th>
					<th class="num">difference</th>
					<th class="num">%</th>
				</tr>
			</thead>
			<tbody>
				{TOTALS.map(([name, read, text]) => {
					const [b, a] = [read(before.facts.summary), read(after.facts.summary)];
					const d = a - b;
					const delta = d < 0 ? `−${text(-d)}` : signed(text(d), d);
					return (
						<tr key={name}>
							<th scope="row">{name}</th>
							<td class="num">{text(b)}</td>
							<td class="num">{text(a)}</td>
							<td class="num">{delta}</td>
							<td class="num">{b ? signed(percent(d, b), d) : ''}</td>
						</tr>
					);
				})}
			</tbody>
		</table>
	);
}

function kindOf(d: Difference): string {
	return d.before === 0 ? 'new' : d.after === 0 ? 'gone' : d.after === d.before ? 'same' : 'changed';
}

const ROWS = 200;

export function CompareView() {
	const p = useValue(() => state.profile.value);
	const other = useValue(() => state.compared.value);
	const metric = useValue(() => state.lens.value.metric);
	const rows = useMemo(() => (other ? compareProfiles(other.profile, p, metric) : []), [p, other, metric]);
	if (!other) {
		return <Choose />;
	}
	const changed = rows.filter((d) => d.before !== d.after);
	const most = Math.max(1, ...changed.map((d) => Math.abs(d.after - d.before)));
	const of = (kind: string) => rows.filter((d) => kindOf(d) === kind).length;
	return (
		<>
			<section class="panel" aria-labelledby="totals-title">
				<div class="panel-head">
					<h2 id="totals-title">
						Before ({other.name}) and now ({p.facts.program.name})
					</h2>
					<button type="button" class="link" onClick={() => (state.compared.value = null)}>
						choose another
					</button>
				</div>
				<Totals before={other.profile} after={p} />
			</section>
			<section class="panel" aria-labelledby="changed-title">
				<div class="panel-head">
					<h2 id="changed-title">Functions that changed</h2>
					<Metrics />
					<span class="dim hint">
						{count(of('new'))} new, {count(of('gone'))} gone, {count(of('changed'))} changed
					</span>
				</div>
				<table class="data compare">
					<thead>
						<tr>
							<th>function</th>
							<th>change</th>
							<th class="num">before</th>
							<th class="num">now</th>
							<th class="num">difference in {METRIC_NAMES[metric].toLowerCase()}</th>
							<th>
								<span class="sr">as a bar</span>
							</th>
							<th class="num">blocks</th>
						</tr>
					</thead>
					<tbody>
						{changed.slice(0, ROWS).map((d) => {
							const delta = d.after - d.before;
							return (
								<tr key={`${d.name} ${d.file}`}>
									<td title={d.name}>
										<code>{shortName(d.name)}</code> <span class="dim place">{baseName(d.file)}</span>
									</td>
									<td class={`kind ${kindOf(d)}`}>{kindOf(d)}</td>
									<td class="num">{weight(metric, d.before)}</td>
									<td class="num">{weight(metric, d.after)}</td>
									<td class="num">{signed(weight(metric, delta), delta)}</td>
									<td class="delta">
										<i class={delta > 0 ? 'more' : 'less'} style={{ width: `${(100 * Math.abs(delta)) / most}%` }} />
									</td>
									<td class="num">{signed(count(d.blocksAfter - d.blocksBefore), d.blocksAfter - d.blocksBefore)}</td>
								</tr>
							);
						})}
					</tbody>
				</table>
				{changed.length === 0 && <p class="dim">No function costs more or less than before.</p>}
			</section>
		</>
	);
}
