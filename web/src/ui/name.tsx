// SPDX-License-Identifier: MIT
import { ownFrom } from './format.ts';

/** A function's name. Where there is no room for all of it, its scope is cut, not itself. */
export function Name({ text }: { text: string }) {
	const from = ownFrom(text);
	return (
		<code class="function" style={{ '--own': text.length - from }}>
			{from > 0 && <span class="scope">{text.slice(0, from)}</span>}
			{text.slice(from)}
		</code>
	);
}

interface NameLinkProps {
	name: string;
	text: string; // the same in short
	onClick: () => void;
}

/** The same, which leads to where there is more of it. */
export function NameLink({ name, text, onClick }: NameLinkProps) {
	return (
		<button class="link name" title={name} onClick={onClick}>
			<Name text={text} />
		</button>
	);
}
