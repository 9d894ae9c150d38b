'use strict';
// Stops itself at many kinds of calls, and says what Error's stack says of each: one line of JSON
// with function, file, line and method of every frame, the innermost first; null: none.
// Functions that wait for a promise are left out: they have no frame.
// With ALLOCATE=n it does not stop but allocates n bytes, and one more each time, with time before
// and behind for who reads along.
const fs = require('fs');
Error.stackTraceLimit = Infinity;
let stops = 0;
const rows = (_, sites) => sites.filter((s) => !s.isAsync()).map((s) => [s.getFunctionName(), s.getFileName() ?? null, s.getLineNumber(), s.getMethodName()]);
function truth() {
	const was = Error.prepareStackTrace;
	Error.prepareStackTrace = rows;
	const holder = {};
	Error.captureStackTrace(holder, truth);
	const stack = holder.stack;
	Error.prepareStackTrace = was;
	fs.writeSync(1, JSON.stringify({stop: ++stops, stack}) + '\n');
}
const kill = process._kill, pid = process.pid;
const base = Number(process.env.ALLOCATE), blocks = [];
if (base) { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500); setTimeout(() => {}, 1000); }
function stop() { truth(); base ? blocks.push(Buffer.allocUnsafeSlow(base + stops)) : kill(pid, 19); return stops; }

class Shape {
	#side = 2;
	static of(n) { return new this(n); }
	constructor(n) { this.n = n; stop(); }
	get area() { return stop() * this.#side; }
	set side(v) { this.#side = v; stop(); }
	#hidden() { return stop(); }
	open() { return this.#hidden(); }
	['comp' + 'uted']() { return stop(); }
	static { stop(); }
}
class Square extends Shape {
	constructor(n) { super(n); this.late = () => stop(); }
	toString() { stop(); return 'square'; }
}
const plain = () => stop();
const object = {
	method() { return stop(); },
	arrow: () => stop(),
	old: function () { return stop(); },
	nested: { deep: function () { return object.old(); } },
	get value() { return stop(); },
};
function Old() { this.x = stop(); }
Old.prototype.proto = function () { return stop(); };
Old.prototype.late = function late() { return this.proto(); };
function* generator() {
	yield stop();
	yield* [1, 2].map((x) => x + stop());
}
function captures(a, b, c, d, e, f, g, h, i, j) {
	const inner = function () { return a + b + c + d + e + f + g + h + i + j + stop(); };
	return inner();
}
function deep(n) { return n ? deep(n - 1) + 1 : stop(); }
function manyLocals() {
	const names = Array.from({length: 90}, (_, i) => 'v' + i);
	return new Function(`return function wide() { ${names.map((n) => `let ${n} = 1;`).join('')} return [() => ${names.join('+')}, eval('0')].length + this.stop(); }`)();
}

const $ = new Shape(1);
$.area; $.side = 3; $.open(); $.computed();
const square = Square.of(1);
square.late();
`${square}`;
plain(); object.method(); object.arrow(); object.old(); object.nested.deep(); object.value;
new Old().late();
[...generator()];
captures(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
deep(40);
manyLocals().call({stop});
[3, 1].sort((a, b) => { stop(); return a - b; });
'ab'.replace(/b/, () => { stop(); return ''; });
[1].forEach(function each() { stop(); });
JSON.stringify({toJSON() { stop(); return 1; }});
Reflect.apply(plain, null, []);
plain.bind(null)();
new Proxy({}, {get() { return stop(); }}).x;
eval('(function evaled() {\n return stop(); })()');
(0, eval)('globalThis.viaEval = function (s) {\n return s(); }');
globalThis.viaEval(stop);
new Function('s', 'return s()')(stop);
(function ünïcödé() { return stop(); })();
(function 名前() { return stop(); })();
require('vm').runInThisContext('(function (s) { return s(); })', {filename: 'elsewhere.js', lineOffset: 10})(stop);

// Hot: baseline, Maglev and TurboFan, with calls inlined
let every = 0;
function leaf(x) {
	if (every && x % every === 0) { stop(); }
	return x & 3;
}
function middle(x) {
	return leaf(x) +
		leaf(x + 1);
}
function outer(x) {
	let sum = 0;
	for (let i = 0; i < 10; i++) {
		sum += middle(x + i);
	}
	return sum;
}
class Hot {
	constructor() { this.n = 0; }
	add(x) { this.n += outer(x); return this; }
}
const hot = new Hot();
for (const rounds of [3, 30, 300, 3000, 30000]) {
	every = 0;
	for (let i = 0; i < rounds; i++) { hot.add(i); }
	every = 5;
	hot.add(rounds);
	hot.add(rounds);
}
function osr() { // entered in mid-loop
	let sum = 0;
	every = 0;
	for (let i = 0; i < 300000; i++) {
		if (i === 150000) { every = 1000; }
		sum += middle(i);
		if (i > 152000) { break; }
	}
	return sum;
}
osr();
every = 0;

async function asynchronous() {
	stop();
	await null;
	stop();
	await Promise.all([1, 2].map(async (x) => { await null; return stop() + x; }));
}
class Later {
	constructor() { this.timer = setTimeout(function () { stop(); }, 1); }
}
new Later();
setImmediate(() => stop());
process.nextTick(function tick() { stop(); });
Promise.resolve().then(() => stop());
asynchronous().then(() => {
	const emitter = new (require('events'))();
	emitter.on('event', function () { stop(); });
	emitter.emit('event');
	queueMicrotask(() => { stop(); });
});
