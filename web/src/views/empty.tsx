// SPDX-License-Identifier: MIT
import { change, lens, profile, resetLens } from '../state.ts';
import { metricName } from '../ui/labels.ts';
import { rangeWords } from '../ui/timechart.tsx';
import { useValue } from '../ui/signals.ts';

/** A recording without an allocation. */
export function Empty() {
	return (
		<section class="panel empty">
			<h2>The recorder saw no allocation</h2>
			<p>
				The program ended before its first, or it maps memory itself, as Go and some
				runtimes do; or it became, or started, what the lines above name.
			</p>
		</section>
	);
}

/** A lens under which nothing is left. */
export function Nothing() {
	const l = useValue(() => lens.value);
	const p = profile.value;
	const where = l.range ? ` in ${rangeWords(p, l.range)}` : '';
	const rules = [...l.texts.map((t) => t.text), ...l.focus];
	return (
		<p class="nothing">
			Nothing under {metricName(l.metric)}
			{where}
			{rules.length ? ` with ${rules.join(', ')}` : ''}:{' '}
			{l.range && (
				<button type="button" class="link" onClick={() => change({ range: null })}>
					reset time
				</button>
			)}{' '}
			{rules.length > 0 && (
				<button type="button" class="link" onClick={() => change({ texts: [], focus: [] })}>
					reset filter
				</button>
			)}{' '}
			<button type="button" class="link" onClick={resetLens}>
				reset all
			</button>
		</p>
	);
}
