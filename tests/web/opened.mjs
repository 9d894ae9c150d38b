// SPDX-License-Identifier: MIT
// Opens files with the engine for browsers, here in node: node opened.mjs MODULE.mjs ENGINE.wasm FILE...
// MODULE is web/src/viewer/module.ts bundled. Prints for each file, in a JSON list, its name with the parts of its
// profile, unpacked and hashed, and what they say of its quality; or why it cannot be opened. With --mutants N SEED before the files, opens
// N files made of each by changing bytes and cutting it, and prints how many ended in which way.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inflateRawSync } from 'node:zlib';

const HEAD_BYTES = 12;
const PART_BYTES = 16;

const words = process.argv.slice(2);
const { Engine } = await import(pathToFileURL(words.shift()).href);
const code = await WebAssembly.compile(readFileSync(words.shift()));

async function open(file, bytes) {
	try {
		const profile = (await Engine.of(code)).open(basename(file), new Uint8Array(bytes));
		return { profile };
	} catch (why) {
		return { why: why.message };
	}
}

/** The two parts of a profile. */
function partsOf(profile) {
	const view = new DataView(profile.buffer, profile.byteOffset);
	const parts = [];
	for (let at = HEAD_BYTES; at < profile.length; ) {
		const size = Number(view.getBigUint64(at + 8, true));
		parts.push(inflateRawSync(profile.subarray(at + PART_BYTES, at + PART_BYTES + size)));
		at += PART_BYTES + size;
	}
	return parts;
}

/** The first section of the first part is JSON: its kind, its length as a varint, and its text. */
function qualityOf([first]) {
	let [at, size] = [1, 0];
	for (let shift = 0; ; shift += 7) {
		size |= (first[at] & 127) << shift;
		if (first[at++] < 128) {
			break;
		}
	}
	return JSON.parse(first.subarray(at, at + size).toString()).quality;
}

function answerOf({ profile, why }) {
	if (!profile) {
		return { why };
	}
	const parts = partsOf(profile);
	return {
		parts: parts.map((part) => createHash('sha256').update(part).digest('hex')),
		quality: qualityOf(parts),
	};
}

/** The same bytes with a few of them changed, or without their end; the same for the same seed. */
function mutant(bytes, random) {
	const out = new Uint8Array(bytes);
	for (let i = random() % 8; i >= 0; i--) {
		out[random() % out.length] = random();
	}
	return random() % 4 ? out : out.subarray(0, random() % out.length);
}

function randomFrom(seed) {
	let state = seed >>> 0 || 1;
	return () => {
		state ^= state << 13;
		state ^= state >>> 17;
		state ^= state << 5;
		return (state >>>= 0);
	};
}

const answers = [];
if (words[0] === '--mutants') {
	const [, n, seed, ...files] = words;
	const random = randomFrom(Number(seed));
	for (const file of files) {
		const bytes = readFileSync(file);
		const counts = { file, opened: 0, refused: 0, broken: [] };
		for (let i = 0; i < Number(n); i++) {
			const { profile, why } = await open(file, mutant(bytes, random));
			const isBroken = why !== undefined && (!why || why.includes('the engine failed'));
			counts.opened += profile ? 1 : 0;
			counts.refused += profile ? 0 : 1;
			if (isBroken) {
				counts.broken.push(why);
			}
		}
		answers.push(counts);
	}
} else {
	for (const file of words) {
		const { profile, why } = file.endsWith('.html')
			? { profile: embeddedIn(readFileSync(file, 'latin1')) }
			: await open(file, readFileSync(file));
		answers.push({ file, ...answerOf({ profile, why }) });
	}
}
process.stdout.write(JSON.stringify(answers));

/** The profile that the program wrote into a page. */
function embeddedIn(html) {
	const parts = ['profile', 'rest'].map((id) => {
		const from = html.indexOf(`id="${id}">`) + `id="${id}">`.length;
		return Buffer.from(html.slice(from, html.indexOf('</script>', from)), 'base64');
	});
	const whole = Buffer.concat(parts);
	return new Uint8Array(whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.length));
}
