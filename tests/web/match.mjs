// SPDX-License-Identifier: MIT
// What is marked while letters are typed (web/src/data/match.ts): node match.mjs MODULE
// Prints for each text what is marked when it was typed behind the others, and when nothing was before it, as JSON.

const { marksOf } = await import(process.argv[2]);
const name = ['', 'app::Company::run', 'compose(comp)', 'COMPOST', 'cocompose', 'tempo', 'x', 'x$y'];
const file = name.map((_, i) => (i === 6 ? '/src/compose.cpp' : '/src/a.cpp'));
const profile = { symbolTable: { n: name.length, name, file, module: name.map(() => 'app') } };

const TYPED = ['c', 'co', 'com', 'comp', 'compo', 'compos', 'compose', 'comp', 'Comp', 'Compo', 'mpo', 'mp', 'a', 'app:', 'app::c'];
const rules = [
	...TYPED.map((text) => ({ text, isRegex: false })),
	{ text: 'x$', isRegex: true },
	{ text: 'x$y', isRegex: false },
];
let before = null;
const seen = rules.map((rule, i) => {
	const marks = marksOf(profile, rule, before);
	before = marks;
	// Not all of them are on the screen at each letter
	name.forEach((_, symbol) => (symbol + i) % 3 && marks.has(symbol));
	const behind = i % 2 === 0 ? name.flatMap((_, symbol) => (marks.has(symbol) ? symbol : [])) : null;
	return { text: rule.text, behind, alone: [...marksOf(profile, rule).all()].flatMap((is, symbol) => (is ? symbol : [])) };
});
process.stdout.write(JSON.stringify(seen));
