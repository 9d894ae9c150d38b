// As frames.js, for what only modules have: scopes of their own, and await at the top.
import fs from 'node:fs';
Error.stackTraceLimit = Infinity;
const rows = (_, sites) => sites.filter((s) => !s.isAsync()).map((s) => [s.getFunctionName(), s.getFileName() ?? null, s.getLineNumber(), s.getMethodName()]);
let stops = 0;
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
export function stop() { truth(); base ? blocks.push(Buffer.allocUnsafeSlow(base + stops)) : kill(pid, 19); return stops; }
const named = {default: function () { return stop(); }};
export default function () { return stop(); }
export const exported = () => stop();
const {a, b, c} = {a: () => stop(), b() { return stop(); }, c: async () => { await null; return stop(); }};
stop();
a(); b(); named.default();
await c();
await (async () => { await null; return exported(); })();
for (const each of [1, 2]) { await each; stop(); }
export class Thing { static #n = stop(); static m() { return stop(); } x = stop(); }
Thing.m();
new Thing();
let many = 0;
for (let i = 0; i < 200000; i++) { many += i & 1; if (i === 150000) { stop(); } }
