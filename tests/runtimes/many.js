'use strict';
// Allocates again and again below functions of many kinds, in workers that come and go, beside forced and
// concurrent collections, signals, and code that is made anew: many.js N, with --expose-gc.
const {Worker, isMainThread, workerData} = require('worker_threads');
const THREADS = 3, PER_CALL = 100, CALLS = 1500;
let last, sink = [];
function leaf() {
	for (let i = 0; i < PER_CALL; i++) { last = Buffer.allocUnsafeSlow(600); }
	return 1;
}
function deep(k) { return k ? deep(k - 1) + 1 : leaf(); }
function* stepping() { yield leaf(); yield leaf(); }
class Kept {
	constructor(n) { this.n = n; }
	get value() { return leaf() + this.n; }
}
function closure(n) { return () => leaf() + n; }
function work(calls) {
	for (let i = 0; i < calls; i += 9) {
		leaf();
		deep(i % 60);
		for (const x of stepping()) { sink.push(x); }
		closure(i)();
		[1].map(() => leaf());
		new Kept(i).value;
		new Function('leaf', `return function made() {${'\n'.repeat(i % 40)} return leaf() + leaf(); }`)(leaf)();
		sink.push({i, text: 'x' + i});
		sink = sink.length > 20000 ? [] : sink;
		if (i % 45 === 0) { gc({type: 'minor'}); }
		if (i % 900 === 0) { gc(); }
	}
}
if (isMainThread) {
	let left = Number(process.argv[2]) / PER_CALL / CALLS, running = 0, handled = 0;
	const start = () => {
		for (; running < THREADS && left > 0; left--, running++) {
			new Worker(__filename).on('exit', () => { running--; start(); });
		}
	};
	process.on('SIGUSR2', () => { handled++; leaf(); });
	start();
	new Worker(__filename, {workerData: 'signals'});
	(function turn() { // the main thread works, too
		work(90);
		if (running || left > 0) { setImmediate(turn); } else { console.log(`${handled} signals`); process.exit(0); }
	})();
} else if (workerData) {
	setInterval(() => process.kill(process.pid, 'SIGUSR2'), 1);
} else {
	const part = (left) => { work(90); if (left > 90) { setImmediate(part, left - 90); } };
	part(CALLS);
}
