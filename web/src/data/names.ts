// SPDX-License-Identifier: MIT

/** What a function is matched by in another recording: as src/engine/views/diff.c has it. */

const isOpening = (c: string) => '([{<'.includes(c);

function isClosing(text: string, i: number): boolean {
	const c = text[i]!;
	return ')]}'.includes(c) || (c === '>' && text[i - 1] !== '-');
}

/** "f(int) const" is "f(int)". */
function withoutQualifiers(name: string): string {
	return name.replace(/( const| volatile| &&?| noexcept)+$/, '');
}

/** From behind, calls `at` where no bracket is open, until it gives something. */
function fromBehind<T>(text: string, at: (i: number) => T | null): T | null {
	let depth = 0;
	for (let i = text.length - 1; i >= 0; i--) {
		depth += +isClosing(text, i) - +isOpening(text[i]!);
		const found = depth === 0 ? at(i) : null;
		if (found !== null) {
			return found;
		}
	}
	return null;
}

/** Without the last brackets, if they are parameters: not those of "operator()", nor a name. */
function withoutParameters(text: string): string {
	const at = text.endsWith(')') ? (fromBehind(text, (i) => i) ?? 0) : 0;
	const name = text.slice(0, at);
	return at === 0 || name.endsWith('operator') || name.endsWith('::') ? text : name;
}

/** Behind the last space outside of brackets; "operator new" keeps its own. */
function withoutReturnType(text: string): string {
	const space = fromBehind(text, (i) =>
		text[i] === ' ' && !text.slice(0, i).endsWith('operator') ? i : null,
	);
	return space === null ? text : text.slice(space + 1) || text;
}

/** "void fill<int>(int) const" gives "fill<int>". */
export function matchName(name: string): string {
	return withoutReturnType(withoutParameters(withoutQualifiers(name))) || name;
}

/** The last part of a path. */
export function baseOf(path: string): string {
	return path.slice(path.lastIndexOf('/') + 1);
}
