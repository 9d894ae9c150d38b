// SPDX-License-Identifier: MIT
import type { ComponentChildren } from 'preact';
import { profile } from '../state.ts';
import { residentMeans } from './labels.ts';

/** What a colour stands for begins with it. */
export function Swatch({ of }: { of: string }) {
	return <i class="swatch" style={{ background: `var(--${of})` }} />;
}

/** The bit of RSS among what is switched off; the series have those from 0 on. */
export const RSS_OFF = 1 << 30;

const COLOURS = [0, 1, 2, 3, 4, 6, 7, 8].map((i) => `series-${i}`);

/** The token of the colour of the i-th of some series. */
export const colourOf = (label: string, i: number) =>
	label === 'other' ? 'series-5' : COLOURS[i % COLOURS.length]!;

interface LegendProps {
	series: readonly { label: string }[];
	off?: number; // bits of those that are switched off
	onSwitch?: (off: number) => void; // they can be
	hasRss?: boolean;
}

/** The colours of a chart that is stacked by series, and of the line of what was resident. */
export function Legend({ series, off = 0, onSwitch, hasRss = true }: LegendProps) {
	const item = (bit: number, what: ComponentChildren) =>
		onSwitch ? (
			<button
				class="link"
				aria-pressed={!(off & bit)}
				onClick={() => onSwitch(off ^ bit)}
			>
				{what}
			</button>
		) : (
			what
		);
	return (
		<ul class="legend">
			{series.map(({ label }, i) => (
				<li key={i}>
					{item(
						1 << i,
						<>
							<Swatch of={colourOf(label, i)} /> <code>{label}</code>
						</>,
					)}
				</li>
			))}
			{hasRss && profile.value.samples.n > 0 && (
				<li title={residentMeans}>
					{item(
						RSS_OFF,
						<>
							<i class="dash" /> RSS
						</>,
					)}
				</li>
			)}
		</ul>
	);
}
