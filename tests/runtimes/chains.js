'use strict';
// Calls made functions along chains, and says how often each: chains.js ROUNDS FILE. The innermost
// one allocates 300000 bytes and the number of its chain. A closure is new at each call.
const BASE = 300000, N = 150, CHAINS = 400;
const [rounds, out] = [Number(process.argv[2]), process.argv[3]];
let seed = 12345;
const random = (n) => { seed = (seed * 1103515245 + 12345) & 0x7fffffff; return (seed >> 8) % n; };
let source = '(function (makers) {\n';
for (let k = 0; k < N; k++) {
	source += `makers.push(() => { const junk = {k: ${k}};
		return function f${k}(chain, at, size) { if (at === chain.length) { return new ArrayBuffer(size); }
			const r = makers[chain[at]]()(chain, at + 1, size); return junk.k >= 0 ? r : null; } });\n`;
}
const makers = [];
require('vm').runInThisContext(source + '})', {filename: '/made/functions.js'})(makers);
const chains = [], seen = new Set();
while (chains.length < CHAINS) {
	const chain = Array.from({length: 2 + random(6)}, () => random(N));
	if (!seen.has(chain.join())) { seen.add(chain.join()); chains.push(chain); }
}
const counts = new Array(CHAINS).fill(0);
let garbage = [];
setTimeout(() => {
	for (let i = 0; i < rounds; i++) {
		const c = random(CHAINS);
		counts[c]++;
		makers[chains[c][0]]()(chains[c], 1, BASE + c);
		garbage.push({a: [i], b: 'x' + i});
		garbage = garbage.length > 5000 ? [] : garbage;
	}
	require('fs').writeFileSync(out, JSON.stringify({base: BASE, chains, counts}));
	setTimeout(() => {}, 1500); // for who reads along
}, 700);
