// SPDX-License-Identifier: MIT
import { ruleText, type Lens } from '../data/lens.ts';
import { lacksMetric } from '../data/missing.ts';
import { metricOf, metrics, type Metric } from '../data/metrics.ts';
import { processName } from '../data/processes.ts';
import type { Profile } from '../data/profile.ts';
import { isOfLook, lookAt } from '../data/query.ts';
import { change, lens, profile, resetLens, setMetric } from '../state.ts';
import { metricName, rangeWords } from './labels.ts';
import { moment, shortName } from './format.ts';
import { Pills } from './pill.tsx';
import { useRead, useValue } from './signals.ts';

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
	const add = (what: string, text: string, without: Partial<Lens>) =>
		chips.push({ what, text, onRemove: () => change(without) });
	if (l.range) {
		const look = lookAt(p, l.metric, l.range);
		const of = isOfLook(l.metric)
			? look
				? `look at ${moment(look.time_ns)}`
				: 'no look until then'
			: `${metricOf(l.metric).title}: of the whole recording`;
		const range = rangeWords(p, l.range);
		add('time', metricOf(l.metric).of_blocks ? range : `${range} (${of})`, { range: null });
	}
	for (const name of l.focus) {
		add('under', shortName(name), { focus: without(l.focus, name) });
	}
	for (const rule of l.texts) {
		const text = ruleText({ ...rule, isNegated: false });
		add(rule.isNegated ? 'not' : 'with', text, { texts: without(l.texts, rule) });
	}
	for (const name of l.hide) {
		add('hidden', shortName(name), { hide: without(l.hide, name) });
	}
	if (l.threads.length) {
		add('threads', l.threads.join(', '), { threads: [] });
	}
	if (l.processes.length) {
		const nameOf = (word: string) => {
			const own = p.facts.processes.find(
				({ id, pid }) => word === `#${id}` || word === String(pid),
			);
			return own ? processName(own) : word;
		};
		add('process', l.processes.map(nameOf).join(', '), { processes: [] });
	}
	if (l.group !== 'function') {
		add('by', l.group, { group: 'function' });
	}
	if (l.isUnfolded) {
		add('library frames', 'shown', { isUnfolded: false });
	}
	return chips;
}

/** The cost that is looked at. Some make sense only in a range. */
export function Metrics() {
	const now = useRead(() => lens.value.metric);
	const hasRange = useRead(() => lens.value.range !== null);
	const p = profile.value;
	const hasAny = (name: Metric) => p.stacks.others[name]!.bytes.some((n) => n > 0);
	return (
		<Pills
			label="Cost"
			class="metrics"
			of={metrics()
				.filter(
					({ name, of_ranges, of_blocks }) =>
						name === now ||
						(of_ranges
							? hasRange
							: !lacksMetric(p, name) &&
								(of_blocks || (hasAny(name) && (!hasRange || isOfLook(name))))),
				)
				.map(({ name, help }) => [name, metricName(name), help])}
			now={now}
			onChoose={setMetric}
		/>
	);
}

/** The lens, as things that can be taken away. */
export function Chips() {
	const l = useValue(lens);
	const p = profile.value;
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
