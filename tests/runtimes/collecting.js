'use strict';
// Collects garbage nearly all the time, in two threads, and allocates in between: collecting.js BASE FILE
// with --expose-gc. Each stack has a size of its own, from BASE on, in a worker from twice BASE on. FILE
// has a line of JSON for each, before it first allocates: size, and what Error's stack has.
const fs = require('fs');
const {Worker, isMainThread} = require('worker_threads');
const [base, file] = [Number(process.argv[2]) * (isMainThread ? 1 : 2), process.argv[3]];
Error.stackTraceLimit = Infinity;
Error.prepareStackTrace = (_, sites) => JSON.stringify(sites.filter((s) => !s.isAsync())
	.map((s) => [s.getFunctionName(), s.getFileName() ?? null, s.getLineNumber()]));
const sizes = new Map();
function truth() {
	const holder = {};
	Error.captureStackTrace(holder, truth);
	const stack = holder.stack;
	let size = sizes.get(stack);
	if (size === undefined) {
		sizes.set(stack, size = base + sizes.size);
		fs.appendFileSync(file, JSON.stringify({size, stack: JSON.parse(stack)}) + '\n');
	}
	return size;
}
let last;
function stop() { last = Buffer.allocUnsafeSlow(truth()); return 1; }

const makers = Array.from({length: 12}, (_, k) => new Function('stop', 'down', `${'\n'.repeat(k)}
	const junk = [stop];
	return function f${k}(n) { return n ? down(n - 1) + junk.length : stop(); };`));
// Old functions move when pages are made compact, new ones with each collection of the young
const old = makers.map((make) => make(stop, (n) => pick()(n)));
let turn = 0;
function pick() {
	const k = (turn = (turn * 5 + 3) % 64) % makers.length;
	return turn & 16 ? old[k] : makers[k](stop, (n) => pick()(n));
}
class Holder {
	constructor(n) { this.junk = [n]; }
	run(n) { return [n].map((m) => pick()(m))[0]; }
}
let kept = [], inside = 0n;
const began = process.hrtime.bigint();
function collect(how) {
	const from = process.hrtime.bigint();
	gc(how);
	inside += process.hrtime.bigint() - from;
}
(function round(i) {
	const holder = new Holder(i);
	for (let n = 0; n < 8; n++) {
		turn = (i % 5) * 11; // so that stacks come again
		holder.run(n);
		kept.push(Array.from({length: 200}, (_, k) => ({k, text: 'x' + k})));
		collect(n % 4 ? {type: 'minor'} : undefined);
	}
	kept = kept.length > 300 ? kept.slice(200) : kept;
	if (i === 3 && isMainThread) { new Worker(__filename, {argv: process.argv.slice(2)}); }
	if (i === 30) { console.log(isMainThread ? 'ready' : 'worker'); }
	if (i % 100 === 0) { console.log(`${Number(100n * inside / (process.hrtime.bigint() - began))} % in collections`); }
	setImmediate(round, i + 1);
})(0);
