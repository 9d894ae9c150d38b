// SPDX-License-Identifier: MIT
import { effect } from '../signal.ts';
import { ruleText } from '../data/lens.ts';
import { isCounted } from '../data/metrics.ts';
import { announcement, answer, isAnswerable, lens, profile } from '../state.ts';
import { plural } from './format.ts';
import { metricName, rangeWords, weight } from './labels.ts';

/** Tells those who do not see the page what a change of the lens led to. */

const REST_MS = 250; // a range that is dragged is told once

function words(): string {
	const l = lens.value;
	const { metric, range } = l;
	const { total } = answer.value;
	const where = range ? `Range ${rangeWords(profile.value, range)}` : 'All time';
	const rules = [...l.focus, ...l.texts.map(ruleText), ...l.threads, ...l.processes]
		.map((rule) => `, ${rule}`)
		.join('');
	const amount = weight(metric, isCounted(metric) ? total.blocks : total.bytes);
	const cost = `${metricName(metric)} ${amount}`;
	return `${where}${rules}: ${plural(total.allocations, 'allocation')}, ${cost}`;
}

export function bindAnnouncements(): void {
	let timer = 0;
	let before = lens.value;
	effect(() => {
		if (lens.value !== before && isAnswerable.value) {
			before = lens.value;
			clearTimeout(timer);
			timer = setTimeout(() => (announcement.value = words()), REST_MS);
		}
	});
}
