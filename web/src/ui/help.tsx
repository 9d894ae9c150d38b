// SPDX-License-Identifier: MIT
import { signal } from '../signal.ts';
import { metrics } from '../data/metrics.ts';
import { actions } from './actions.ts';
import { Dialog } from './dialog.tsx';
import { metricName } from './labels.ts';
import { useValue } from './signals.ts';

export const isHelpOpen = signal(false);

const WORDS: [string, string][] = [
	['Self, total', 'What ends in a row or box; with all below it'],
	['Own', 'What is attributed to a function: stacks whose innermost frame of your code it is'],
	[
		'Yours, library',
		'Whose a frame is. Library frames in a row are one grey box: the outermost, +others',
	],
	['Short-lived', 'Freed within 16 allocations of their thread or 1 ms'],
	['Percent', 'Of what the lens selects'],
	['Range', 'Snaps outwards to moments with exact numbers'],
];

const MOUSE: [string, string][] = [
	['click', 'select: details beside the view'],
	['double-click, Enter', 'zoom into a box, open a row'],
	['Backspace, u', 'zoom out, to the caller'],
	['Shift+click, Space', 'show or fold one run of library frames'],
	['Alt+click', 'hide a function'],
	['arrows, j k, Page, Home, End', 'move; left and right close and open'],
	['e, *, −', 'open a chain, open all below, close'],
	['drag in a chart', 'choose a range of time'],
];

export function Help() {
	const isOpen = useValue(isHelpOpen);
	if (!isOpen) {
		return null;
	}
	const licences = document.getElementById('licences')?.textContent?.trim() ?? '';
	return (
		<Dialog label="Keys and terms" onClose={() => (isHelpOpen.value = false)}>
			<form method="dialog" class="dialog-head">
				<h2>Keys and terms</h2>
				<button class="pill round" aria-label="Close">
					×
				</button>
			</form>
			<div class="help">
				<table>
					<tbody>
						{actions()
							.filter((a) => a.key)
							.map((a) => (
								<tr key={a.text}>
									<td>
										<kbd>{a.key}</kbd>
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
					<h3>Terms</h3>
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
				<summary>Licences of the software in this page</summary>
				<pre>{licences}</pre>
			</details>
		</Dialog>
	);
}
