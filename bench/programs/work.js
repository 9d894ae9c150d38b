// SPDX-License-Identifier: MIT
// JSON and zlib in node: work.js ROUNDS
const zlib = require('zlib');
const rounds = Number(process.argv[2] || 200);
const things = Array.from({length: 2000}, (_, i) => ({id: i, name: `thing ${i}`, tags: ['x'.repeat(i % 50)]}));
let bytes = 0;
for (let i = 0; i < rounds; i++) {
	const text = JSON.stringify(things);
	const packed = zlib.deflateSync(text, {level: 1});
	bytes += JSON.parse(zlib.inflateSync(packed).toString()).length;
}
console.log(bytes);
