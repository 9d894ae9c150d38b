// SPDX-License-Identifier: MIT
import type { Profile } from '../data/profile.ts';
import { residentMeans } from './labels.ts';

/** What a colour stands for begins with it. */
export function Swatch({ of }: { of: string }) {
	return <i class="swatch" style={{ background: `var(--${of})` }} />;
}

/** The colours of a chart that is stacked by series, and of the line of what was resident. */
export function Legend(props: { profile: Profile; series: readonly { label: string }[] }) {
	return (
		<ul class="legend">
			{props.series.map((s, i) => (
				<li key={s.label}>
					<Swatch of={`series-${s.label === 'other' ? 5 : Math.min(i, 4)}`} />{' '}
					<code>{s.label}</code>
				</li>
			))}
			{props.profile.samples.n > 0 && (
				<li title={residentMeans}>
					<i class="dash" /> RSS
				</li>
			)}
		</ul>
	);
}
