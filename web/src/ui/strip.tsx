// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { isWhole, kept, profile } from '../state.ts';
import { bytes, moment } from './format.ts';
import { capital } from './labels.ts';
import { heapLine, keptLine } from './lines.ts';
import { RangeField } from './rangefield.tsx';
import { useRead } from './signals.ts';
import { TimeChart } from './timechart.tsx';

/** The heap over time in one line, on every tab: drag to choose a range. */
export function Strip() {
	const p = profile.value;
	const stacks = useRead(() => (isWhole.value ? kept.value : null));
	const { peak_bytes, peak_time_ns, duration_ns } = p.facts.summary;
	const { lines, top, ns, what } = useMemo(() => {
		const whole = heapLine(p);
		if (!stacks) {
			return { lines: [whole], top: peak_bytes, ns: peak_time_ns, what: 'heap over time' };
		}
		const { line, ...largest } = keptLine(p, stacks);
		const lines = [{ ...whole, colour: 'series-5' }, line];
		return { lines, ...largest, what: 'heap under the lens, whole heap in grey' };
	}, [p, stacks]);
	return (
		<div class="strip">
			<TimeChart
				lines={lines}
				height={52}
				isBare
				flag={{ ns, text: '' }}
				label={
					`${capital(what)}, largest ${bytes(top)} at ${moment(ns)}. ` +
					`Keys [ and ] move the range`
				}
			/>
			<div class="strip-words dim">
				<span aria-hidden="true">{moment(0, duration_ns)}</span>
				<span>
					<span aria-hidden="true">
						{what} · peak {bytes(top)}
						{top > 0 && ` at ${moment(ns)}`} · drag to select, or type{' '}
					</span>
					<RangeField />
				</span>
				<span aria-hidden="true">{moment(duration_ns)}</span>
			</div>
		</div>
	);
}
