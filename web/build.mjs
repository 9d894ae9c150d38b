// SPDX-License-Identifier: MIT Bundles the page into one HTML document: node build.mjs FOLDER OUT
// [ENGINE.wasm] FOLDER holds a copy of web/ with its node_modules; marks like @@TITLE@@ stay, for
// src/web/page.c. What stands from @@VIEWER@@ or @@ENGINE@@ to @@END@@ is for the page that opens
// any recording (heaptrack_print --viewer) alone.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const [folder, out, wasm] = process.argv.slice(2);
process.chdir(folder);
const packages = createRequire(join(process.cwd(), 'package.json'));
const { build } = packages('esbuild');
const { minify } = packages('terser');

// Names as short as esbuild's, but alike from function to function, which packs better. What is
// read of a signal is never left out: reading it is what it is for
const SMALLER = {
	ecma: 2020,
	// Unsafe: symbols made strings, function expressions as constructors. Neither is here
	compress: {
		passes: 4,
		pure_getters: false,
		unsafe: true,
		unsafe_arrows: true,
		sequences: false, // statements pack better
		lhs_constants: false,
	},
};

// What the page alone knows is called something shorter: names in two words, handlers of its own
// parts, and these. JSON has names in small letters; of the others, those that come from outside
// stay (columns by the names of metrics, too). The worker has none, for the engine calls it.
const OWN = new RegExp(
	'^(?!on[A-Z])[a-z]+[A-Z]\\w*$|' +
	'^on(Band|Choose|Close|Cursor|Go|Hide|Name|OpenRun|Pick|Range|Remove|Select|Switch|Zoom)$|' +
	'^(answer|bands|behind|boxes|chart|chosen|colour|column|column32|current|curves|edges|' +
	'extra|facts|faded|fills|forest|found|gains|handovers|heads|holds|ids|intervals|keeper|' +
	'kept|known|layout|letter|letters|levels|lifetimes|linkage|lives|lowered|many|merged|' +
	'others|power|props|readers|rising|room|runs|samples|scene|seen|series|shown|siblings|' +
	'sized|skin|tell|texts|times|until|varint|vnode|walkers|' +
	'wanted|weights|within|work|written)$',
);
const FROM_OUTSIDE = [
	...['fromBase64', 'heaptrackMeasured', 'preventScroll'],
	...['allocatedBytes', 'liveBlocks', 'liveBytes', 'peakBlocks', 'peakBytes', 'shortLived'],
	'temporaryBytes',
];

// gzip looks 32 kB back: what is alike has to stand close together. The modules that come first, in
// an order that reorder.mjs found by trying; all others stand where they are imported first
const FIRST = readFileSync('order.txt', 'utf8').trim().split('\n');

const imports = (files) => files.map((file) => `import './${file}';`).join('\n');

async function bundle(entry) {
	const isPage = entry === 'src/main.tsx';
	const contents = imports([...FIRST, 'main.tsx']);
	const result = await build({
		...(isPage ? { stdin: { contents, resolveDir: 'src' } } : { entryPoints: [entry] }),
		bundle: true,
		minify: true,
		charset: 'utf8',
		write: false,
		format: 'iife',
		target: ['chrome103', 'firefox113', 'safari16.4'],
		tsconfigRaw: '{}', // its jsx is for the types alone
		jsx: 'transform',
		jsxFactory: 'createElement',
		jsxFragment: 'Fragment',
		inject: isPage ? ['src/jsx.ts'] : [],
		legalComments: 'none',
		define: { 'process.env.NODE_ENV': '"production"' },
		logLevel: 'warning',
	});
	const { text } = result.outputFiles[0];
	if (entry.endsWith('.css')) {
		return text.trim();
	}
	const properties = { regex: OWN, reserved: FROM_OUTSIDE };
	return (await minify(text, { ...SMALLER, mangle: isPage ? { properties } : {} })).code;
}

/** What may stand in an inline script: nothing that ends it. */
function inline(script) {
	return script.replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** One line for each package that is in the bundle; whose it is; and the terms, each once. */
function licences() {
	const used = Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).dependencies).sort();
	const [lines, owners, terms] = [[], [], new Map()];
	for (const name of used) {
		const at = join('node_modules', name);
		const meta = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8'));
		const file = readdirSync(at).find((f) => /^licen[cs]e/i.test(f));
		if (!file) {
			throw new Error(`${name} has no licence file`);
		}
		const text = readFileSync(join(at, file), 'utf8');
		const [whose] = /^copyright .*$/im.exec(text);
		const rest = text.slice(text.indexOf(whose) + whose.length).trim();
		terms.set(rest.replace(/\s+/g, ' '), rest);
		owners.push(`${name}: ${whose}`);
		lines.push(`${name} ${meta.version} (${meta.license})`);
	}
	return [lines, owners, [...terms.values()]].map((part) => part.join('\n')).join('\n\n');
}

const style = await bundle('src/style/main.css');
const early = inline(await bundle('src/early.ts'));
const script = inline(await bundle('src/main.tsx'));
const viewer = inline(await bundle('src/viewer/viewer.ts'));
/** The engine, packed, and the scripts of its page and worker. Without it there is no viewer. */
async function engine() {
	if (!wasm) {
		return '';
	}
	const packed = gzipSync(readFileSync(wasm), { level: 9, memLevel: 7 }).toString('base64');
	const known = '/usr/share/doc/wasi-libc/copyright';
	const libraries = existsSync(known)
		? readFileSync(known, 'utf8')
		: 'wasi-libc (MIT, and others)';
	const worker = inline(await bundle('src/viewer/worker.ts'));
	return (
		`<script id="viewer">${viewer}</script>\n` +
		`<script type="application/octet-stream" id="engine">${packed}</script>\n` +
		`<script type="text/plain" id="worker">${worker}</script>\n` +
		`<script type="text/plain" id="engine-licences">${libraries}</script>`
	);
}

const policy = [
	"default-src 'none'",
	`script-src ${hash(early)} ${hash(script)}` +
	`@@VIEWER@@ ${hash(viewer)} 'wasm-unsafe-eval'; worker-src blob:@@END@@`,
	`style-src ${hash(style)}`,
	'img-src data:',
	'connect-src @@CONNECT@@',
	"base-uri 'none'",
	"form-action 'none'",
].join('; ');

const parts = {
	POLICY: policy,
	STYLE: style,
	EARLY: early,
	SCRIPT: script,
	ENGINE: await engine(),
	LICENCES: licences(),
};
const html = readFileSync('index.html', 'utf8').replace(
	/(?<!@)@([A-Z]+)@(?!@)/g,
	(mark, name) => parts[name] ?? mark,
);
writeFileSync(out, html);
