// SPDX-License-Identifier: MIT
import { ruleText, type Lens } from '../data/lens.ts';
import { lacksMetric } from '../data/missing.ts';
import { metricOf, metrics } from '../data/metrics.ts';
import type { Profile } from '../data/profile.ts';
import { isOfLook, lookAt } from '../data/query.ts';
import { change, lens, profile, resetLens, setMetric } from '../state.ts';
import { metricName } from './labels.ts';
import { moment, shortName } from './format.ts';
import { useValue } from './signals.ts';
import { rangeWords } from './timechart.tsx';

interface ChipProps {
	what: string;
	text: string;
	onRemove: () => void;
}

function Chip({ what, text, onRemove }: ChipProps) {
	return (
		<span class="chip">
			<span class="dim">{what}</span> {text}
			<button aria-label={`Remove ${what} ${text}`} onClick={onRemove}>
				×
			</button>
		</span>
	);
}

function without<T>(list: readonly T[], item: T): T[] {
	return list.filter((other) => other !== item);
}

/** The words of the lens that a person can take away again. */
function chipsOf(p: Profile, l: Lens): ChipProps[] {
	const chips: ChipProps[] = [];
	if (l.range) {
		const look = lookAt(p, l.metric, l.range);
		const of = isOfLook(l.metric)
			? look
				? `look at ${moment(look.time_ns)}`
				: 'no look until then'
			: `${metricOf(l.metric).title}: of the whole recording`;
		const range = rangeWords(p, l.range);
		const text = metricOf(l.metric).of_blocks ? range : `${range} (${of})`;
		chips.push({ what: 'time', text, onRemove: () => change({ range: null }) });
	}
	for (const name of l.focus) {
		const onRemove = () => change({ focus: without(l.focus, name) });
		chips.push({ what: 'under', text: shortName(name), onRemove });
	}
	for (const rule of l.texts) {
		const onRemove = () => change({ texts: without(l.texts, rule) });
		const text = ruleText({ ...rule, isNegated: false });
		chips.push({ what: rule.isNegated ? 'not' : 'with', text, onRemove });
	}
	for (const name of l.hide) {
		const onRemove = () => change({ hide: without(l.hide, name) });
		chips.push({ what: 'hidden', text: shortName(name), onRemove });
	}
	if (l.threads.length) {
		chips.push({
			what: 'threads',
			text: l.threads.join(', '),
			onRemove: () => change({ threads: [] }),
		});
	}
	if (l.group !== 'function') {
		chips.push({ what: 'by', text: l.group, onRemove: () => change({ group: 'function' }) });
	}
	if (l.isUnfolded) {
		chips.push({
			what: 'library frames',
			text: 'shown',
			onRemove: () => change({ isUnfolded: false }),
		});
	}
	return chips;
}

/** The cost that is looked at. Some make sense only in a range. */
export function Metrics() {
	const now = useValue(() => lens.value.metric);
	const hasRange = useValue(() => lens.value.range !== null);
	const p = useValue(() => profile.value);
	return (
		<div class="metrics" role="group" aria-label="Cost">
			{metrics()
				.filter(
					({ name, of_ranges, of_blocks }) =>
						name === now ||
						(of_ranges
							? hasRange
							: !lacksMetric(p, name) && (of_blocks || !hasRange || isOfLook(name))),
				)
				.map(({ name, help }) => (
					<button
						key={name}
						class={`pill${name === now ? ' on' : ''}`}
						aria-pressed={name === now}
						title={help}
						onClick={() => setMetric(name)}
					>
						{metricName(name)}
					</button>
				))}
		</div>
	);
}

/** The lens, as things that can be taken away. */
export function Chips() {
	const l = useValue(() => lens.value);
	const p = useValue(() => profile.value);
	const chips = chipsOf(p, l);
	if (!chips.length) {
		return null;
	}
	return (
		<div class="chips" role="group" aria-label="Lens">
			{chips.map((chip) => (
				<Chip key={`${chip.what} ${chip.text}`} {...chip} />
			))}
			<button class="link" title="Esc Esc" onClick={resetLens}>
				reset
			</button>
		</div>
	);
}
