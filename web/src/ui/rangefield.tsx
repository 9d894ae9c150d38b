// SPDX-License-Identifier: MIT
import { useState } from 'preact/hooks';
import { parseRange, type Range } from '../data/lens.ts';
import type { Profile } from '../data/profile.ts';
import { announcement, lens, profile, setRange } from '../state.ts';
import { rangeWords, SECONDS } from './labels.ts';
import { useRead } from './signals.ts';

/** As it is typed: spaces, long dashes and milliseconds, too. null: it is no range. */
function typedRange(p: Profile, text: string): Range | null {
	const isTime = !p.facts.page.time_unit;
	const words = text
		.trim()
		.replace(SECONDS, (n) => (isTime ? n : (Number(n) / 1e9).toFixed(9)))
		.replace(/\s*[-–—]\s*/g, '-')
		.replace(/([\d.]+) *ms\b/g, (_, ms: string) => (Number(ms) / 1e3).toFixed(9))
		.replace(/(\d) +(?=s\b|%)/g, '$1');
	return parseRange(p, words);
}

/** The range of time as text, which can be typed. Enter takes it; nothing is the whole run. */
export function RangeField() {
	const p = profile.value;
	const range = useRead(() => lens.value.range);
	const [refused, refuse] = useState<{ text: string; range: Range | null } | null>(null);
	const typed = refused?.range === range ? refused!.text : null;
	const take = (text: string) => {
		const next = text.trim() ? typedRange(p, text) : null;
		if (next || !text.trim()) {
			refuse(null);
			setRange(next);
		} else {
			refuse({ text, range });
			announcement.value = `Not a range of time: ${text}`;
		}
	};
	return (
		<input
			class="range-field"
			aria-label="Range of time"
			title="1.2 s - 3 s, start - peak, or peak"
			placeholder="10% - 50%"
			aria-invalid={typed !== null}
			value={typed ?? (range ? rangeWords(p, range) : '')}
			onChange={(e) => take(e.currentTarget.value)}
			onKeyDown={(e) => {
				if (e.key === 'Escape') {
					refuse(null);
					e.currentTarget.value = range ? rangeWords(p, range) : '';
					e.currentTarget.blur();
				}
			}}
		/>
	);
}
