// SPDX-License-Identifier: MIT
import type { ComponentChildren } from 'preact';
import { useValue } from './signals.ts';

interface PillProps {
	isOn: boolean;
	title?: string;
	onClick: () => void;
	children: ComponentChildren;
}

/** What is so or not. */
export function Pill({ isOn, ...rest }: PillProps) {
	return <button class={`pill${isOn ? ' on' : ''}`} aria-pressed={isOn} {...rest} />;
}

interface SwitchProps {
	of: { value: boolean };
	title?: string;
	children: ComponentChildren;
}

/** The same of a signal. */
export function Switch({ of, ...rest }: SwitchProps) {
	return <Pill isOn={useValue(of)} onClick={() => (of.value = !of.value)} {...rest} />;
}

interface ChoiceProps<T> {
	label: string;
	class?: string;
	of: readonly (readonly [value: T, text: string, title?: string])[];
	now: T;
	onChoose: (value: T) => void;
}

/** One of several, all of which are seen. */
export function Pills<T>({ label, class: name, of, now, onChoose }: ChoiceProps<T>) {
	return (
		<div class={name} role="group" aria-label={label}>
			{of.map(([value, text, title]) => (
				<Pill isOn={value === now} title={title!} onClick={() => onChoose(value)}>
					{text}
				</Pill>
			))}
		</div>
	);
}

/** The same, of which one is seen. */
export function Select<T extends string | number>({ label, of, now, onChoose }: ChoiceProps<T>) {
	return (
		<select
			class="pill"
			aria-label={label}
			value={now}
			onChange={(e) => onChoose(of[e.currentTarget.selectedIndex]![0])}
		>
			{of.map(([value, text]) => (
				<option value={value}>{text}</option>
			))}
		</select>
	);
}
