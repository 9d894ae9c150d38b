// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { lens, marks, profile, setRange } from '../state.ts';
import { bytes, moment } from './format.ts';
import { heapLine } from './lines.ts';
import { useValue } from './signals.ts';
import { themeTurn } from './theme.ts';
import { TimeChart } from './timechart.tsx';

/** The heap over time in one line, on every tab: drag to choose a range. */
export function Strip() {
	const p = useValue(() => profile.value);
	const range = useValue(() => lens.value.range);
	const marked = useValue(() => marks.value);
	const turn = useValue(() => themeTurn.value);
	const lines = useMemo(() => [heapLine(p)], [p]);
	const { peak_bytes, peak_time_ns, duration_ns } = p.facts.summary;
	return (
		<div class="strip">
			<TimeChart
				profile={p}
				lines={lines}
				height={52}
				range={range}
				onRange={setRange}
				isBare
				flag={{ ns: peak_time_ns, text: '' }}
				marks={marked}
				theme={String(turn)}
				label={
					`Heap over time, largest ${bytes(peak_bytes)} at ${moment(peak_time_ns)}. ` +
					`Keys [ and ] move the range`
				}
			/>
			<div class="strip-words dim" aria-hidden="true">
				<span>{moment(0, duration_ns)}</span>
				<span>
					heap over time · peak {bytes(peak_bytes)} at {moment(peak_time_ns)} · drag to
					select
				</span>
				<span>{moment(duration_ns)}</span>
			</div>
		</div>
	);
}
