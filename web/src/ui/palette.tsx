// SPDX-License-Identifier: MIT
import { signal } from '../signal.ts';
import { useMemo, useState } from 'preact/hooks';
import { profile, selected, tree, treeTotal, view, totalWeight } from '../state.ts';
import { actions } from './actions.ts';
import { Dialog } from './dialog.tsx';
import { percent, shortName } from './format.ts';
import { useValue } from './signals.ts';

export const isPaletteOpen = signal(false);

interface Entry {
	text: string;
	hint: string;
	run: () => void;
}

const FUNCTIONS = 200;
const SHOWN = 12;

/** The heaviest functions: to select one by typing. */
function functions(): Entry[] {
	const t = tree.value;
	const total = treeTotal.value;
	const found = new Map<number, number>();
	for (let i = 1; i < t.n; i++) {
		const before = found.get(t.key[i]!);
		if (total[i]! > 0 && (before === undefined || total[before]! < total[i]!)) {
			found.set(t.key[i]!, i);
		}
	}
	return [...found.values()]
		.sort((a, b) => total[b]! - total[a]!)
		.slice(0, FUNCTIONS)
		.map((i) => ({
			text: shortName(profile.value.symbolTable.name[t.symbol[i]!]!),
			hint: percent(total[i]!, totalWeight.value),
			run: () => {
				selected.value = { symbol: t.symbol[i]!, base: t.base[i]! };
				if (view.value === 'overview') {
					view.value = 'flame';
				}
			},
		}));
}

export function PaletteDialog() {
	return useValue(isPaletteOpen) ? <OpenPalette /> : null;
}

function OpenPalette() {
	const [text, setText] = useState('');
	const [at, setAt] = useState(0);
	const all = useMemo<Entry[]>(
		() => [...actions().map((a) => ({ ...a, hint: a.key })), ...functions()],
		[],
	);
	const words = text.toLowerCase().split(/\s+/).filter(Boolean);
	const found = all
		.filter((e) => words.every((w) => e.text.toLowerCase().includes(w)))
		.slice(0, SHOWN);
	const close = () => (isPaletteOpen.value = false);
	const choose = (entry: Entry | undefined) => {
		close();
		entry?.run();
	};
	return (
		<Dialog label="All actions" onClose={close}>
			<input
				class="palette-input"
				autofocus
				role="combobox"
				aria-expanded="true"
				aria-controls="palette-list"
				aria-activedescendant={found.length ? `palette-${at}` : undefined}
				aria-label="Action or function"
				placeholder="Action or function…"
				value={text}
				onInput={(e) => {
					setText(e.currentTarget.value);
					setAt(0);
				}}
				onKeyDown={(e) => {
					if (e.key === 'ArrowDown') {
						setAt(Math.min(found.length - 1, at + 1));
					} else if (e.key === 'ArrowUp') {
						setAt(Math.max(0, at - 1));
					} else if (e.key === 'Enter') {
						choose(found[at]);
					} else {
						return;
					}
					e.preventDefault();
				}}
			/>
			<ul id="palette-list" class="palette" role="listbox" aria-label="Actions">
				{found.map((entry, i) => (
					<li
						key={entry.text}
						id={`palette-${i}`}
						role="option"
						aria-selected={i === at}
						class={i === at ? 'on' : ''}
						onClick={() => choose(entry)}
					>
						<span>{entry.text}</span> <kbd>{entry.hint}</kbd>
					</li>
				))}
			</ul>
		</Dialog>
	);
}
