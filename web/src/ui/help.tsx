// SPDX-License-Identifier: MIT
import { signal } from '@preact/signals-core';
import { metrics } from '../data/metrics.ts';
import { actions } from './actions.ts';
import { Dialog } from './dialog.tsx';
import { metricName } from './labels.ts';
import { useValue } from './signals.ts';

export const isHelpOpen = signal(false);

const WORDS: [string, string][] = [
	['Self, total', 'What a function asks for by itself; that and what it calls'],
	['Site', 'The stack of an allocation, under its innermost frame that is your own'],
	['Yours, library', 'Whose code a frame is. A run of library frames is one grey box: its outermost name and how many stand in it beside that'],
	['Churn', 'Freed within 16 allocations of their thread or within 1 ms'],
	['Percent', 'Always of what the lens shows'],
	['Range', 'Snaps outwards to moments at which every number is exact'],
];

const MOUSE: [string, string][] = [
	['click', 'select: details beside the view'],
	['double-click, Enter', 'zoom into a box, open a row'],
	['Backspace, u', 'zoom out, to the caller'],
	['Shift+click, Space', 'show one run of library frames, or fold it again'],
	['Alt+click', 'leave a function out'],
	['arrows, j k, Page, Home, End', 'move; left and right close and open'],
	['e, *, −', 'open a chain, open all below, close'],
	['drag in a chart', 'choose a range of time'],
];

export function Help() {
	const isOpen = useValue(() => isHelpOpen.value);
	if (!isOpen) {
		return null;
	}
	const licences = document.getElementById('licences')?.textContent?.trim() ?? '';
	return (
		<Dialog label="Keys and words" onClose={() => (isHelpOpen.value = false)}>
			<form method="dialog" class="dialog-head">
				<h2>Keys and words</h2>
				<button class="pill round" aria-label="Close">
					×
				</button>
			</form>
			<div class="help">
				<table>
					<tbody>
						{actions()
							.filter((a) => a.keys.length)
							.map((a) => (
								<tr key={a.id}>
									<td>
										<kbd>{a.keys.join(' ')}</kbd>
									</td>
									<td>{a.text}</td>
								</tr>
							))}
						{metrics().filter((m) => m.key).map(({ name, key }) => (
							<tr key={name}>
								<td>
									<kbd>m {key}</kbd>
								</td>
								<td>{metricName(name)}</td>
							</tr>
						))}
						<tr>
							<td>
								<kbd>Ctrl+K</kbd>
							</td>
							<td>All actions, by name</td>
						</tr>
					</tbody>
				</table>
				<div>
					<h3>In a view</h3>
					<dl>
						{MOUSE.map(([key, text]) => (
							<div key={key}>
								<dt>{key}</dt>
								<dd>{text}</dd>
							</div>
						))}
					</dl>
					<h3>Words</h3>
					<dl>
						{metrics().map(({ name, help }) => (
							<div key={name}>
								<dt>{metricName(name)}</dt>
								<dd>{help}</dd>
							</div>
						))}
						{WORDS.map(([word, text]) => (
							<div key={word}>
								<dt>{word}</dt>
								<dd>{text}</dd>
							</div>
						))}
					</dl>
				</div>
			</div>
			<details>
				<summary>Licences of what is in this page</summary>
				<pre>{licences}</pre>
			</details>
		</Dialog>
	);
}
