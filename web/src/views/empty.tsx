// SPDX-License-Identifier: MIT
import { change, lens, profile, resetLens } from '../state.ts';
import { METRIC_NAMES } from '../ui/labels.ts';
import { rangeWords } from '../ui/timechart.tsx';
import { useValue } from '../ui/signals.ts';

/** A recording without an allocation. */
export function Empty() {
	return (
		<section class="panel empty">
			<h2>The recorder saw no allocation</h2>
			<p>Usual reasons:</p>
			<ul>
				<li>
					the program is linked statically (<code>file PROGRAM</code> says “statically linked”)
				</li>
				<li>it is set-uid, so that libraries cannot be preloaded</li>
				<li>it brings an allocator of its own</li>
				<li>it ended before it allocated anything</li>
			</ul>
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
			Nothing under {METRIC_NAMES[l.metric]}
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
