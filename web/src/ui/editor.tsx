// SPDX-License-Identifier: MIT
import { useState } from 'preact/hooks';
import { copyText } from './copy.ts';

/** What opens a file at a line: an address that the system knows, or a command to be copied. */
const EDITORS: [string, string][] = [
	['VS Code', 'vscode://file/%f:%l'],
	['Kate', 'kate --line %l %f'],
	['KDevelop', 'kdevelop %f:%l'],
	['Qt Creator', 'qtcreator -client %f:%l'],
	['gvim', 'gvim %f +%l'],
	['Emacs', 'emacsclient -n +%l %f'],
	['custom…', ''],
];

const KEY = 'heaptrack-editor';

function stored(): string {
	try {
		return localStorage.getItem(KEY) ?? EDITORS[0]![1];
	} catch {
		return EDITORS[0]![1];
	}
}

function store(template: string): void {
	try {
		localStorage.setItem(KEY, template);
	} catch {
		// it holds for this page
	}
}

function quoted(path: string): string {
	return /^[\w./+-]+$/.test(path) ? path : `'${path.replace(/'/g, "'\\''")}'`;
}

function filled(template: string, file: string, line: number): string {
	const isAddress = template.includes('://');
	return template
		.replace('%f', isAddress ? encodeURI(file) : quoted(file))
		.replace('%l', String(line || 1))
		.replace('%c', '1');
}

export function OpenInEditor({ file, line }: { file: string; line: number }) {
	const [template, setTemplate] = useState(stored());
	const known = EDITORS.find(([, t]) => t === template);
	const target = filled(template, file, line);
	const choose = (next: string) => {
		setTemplate(next);
		store(next);
	};
	return (
		<p class="editor">
			{template.includes('://') ? (
				<a href={target}>Open in editor</a>
			) : (
				<button
					class="link"
					title={target}
					onClick={() => void copyText(target)}
				>
					Copy command
				</button>
			)}
			<select
				aria-label="Editor"
				value={known ? template : ''}
				onChange={(e) => choose(e.currentTarget.value || 'EDITOR %f %l %c')}
			>
				{EDITORS.map(([name, t]) => (
					<option key={name} value={t}>
						{name}
					</option>
				))}
			</select>
			{!known && (
				<input
					aria-label="Command or address with %f, %l and %c"
					value={template}
					onChange={(e) => choose(e.currentTarget.value)}
				/>
			)}
		</p>
	);
}
