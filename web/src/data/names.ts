// SPDX-License-Identifier: MIT

/** What a function is matched by in another recording: as src/engine/names/shorten.c has it. */

const OPERATOR = /(?<![\w$])operator(?:\(\)|(?![\w$])(?: [^(<]*|<*[>=!+\-*/%^&|~,[\]]*))/y;

/** If an operator's name begins at i, where it ends, else i. */
function behindOperator(text: string, i: number): number {
	OPERATOR.lastIndex = i;
	return i + (OPERATOR.exec(text)?.[0].length ?? 0);
}

/** One past the bracket that closes the one at i. */
function behindBrackets(text: string, i: number): number {
	let depth = 0;
	while (i < text.length) {
		const end = behindOperator(text, i);
		if (end > i) {
			i = end;
			continue;
		}
		const c = text[i++]!;
		if ('<([{'.includes(c)) {
			depth++;
		} else if ('>)]}'.includes(c) && !(c === '>' && text[i - 2] === '-') && --depth === 0) {
			break;
		}
	}
	return i;
}

/** "(anonymous namespace)::f()", "decltype (x()) f()". */
function isNoList(text: string, i: number): boolean {
	return text.startsWith('(anonymous namespace)', i) || text.startsWith('decltype (', i - 9);
}

/** "void fill<int>(int) const" gives "fill<int>". */
export function matchName(name: string): string {
	let begin = 0; // behind the return type
	let parameters = name.length; // their "(", or the end
	for (let i = 0; i < name.length; ) {
		const end = behindOperator(name, i);
		const c = name[i]!;
		if (end > i) {
			i = name.startsWith(' <', end) ? behindBrackets(name, end + 1) : end;
		} else if (c === '(' && i > 0 && !isNoList(name, i)) {
			parameters = i;
			i = behindBrackets(name, i);
			// A local name goes on behind the parameters
			if (name.startsWith('::', i) || name.startsWith(' const::', i)) {
				parameters = name.length;
			}
		} else if ('<{(['.includes(c)) {
			i = behindBrackets(name, i);
		} else {
			i++;
			begin = c === ' ' && parameters === name.length ? i : begin;
		}
	}
	// Without parameters a space belongs to the name
	return (parameters === name.length ? name : name.slice(begin, parameters)) || name;
}

/** The last part of a path. */
export function baseOf(path: string): string {
	return path.slice(path.lastIndexOf('/') + 1);
}

/** Of a long text both ends: instances of one template differ at the first or the last. */
export const ends = (text: string, n: number) =>
	text.length > 2 * n ? `${text.slice(0, n)}…${text.slice(-n)}` : text;
