// SPDX-License-Identifier: MIT
// Looks for an order of the modules that packs better: node reorder.mjs FOLDER SECONDS >order.txt
// FOLDER is the build's src/web/page. It moves modules about at random, keeps what is no worse, and
// leaves out of the list what makes no difference.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const [folder, seconds] = process.argv.slice(2);
process.chdir(folder);
const { context, buildSync } = createRequire(join(process.cwd(), 'package.json'))('esbuild');
const OPTIONS = {
	bundle: true,
	minify: true,
	charset: 'utf8',
	write: false,
	legalComments: 'none',
	define: { 'process.env.NODE_ENV': '"production"' },
};
const style = buildSync({ ...OPTIONS, entryPoints: ['src/style/main.css'] }).outputFiles[0].text;
const known = readFileSync('order.txt', 'utf8').trim().split('\n');
const { metafile } = buildSync({ ...OPTIONS, entryPoints: ['src/main.tsx'], metafile: true });
const others = Object.keys(metafile.inputs)
	.filter((file) => file.startsWith('src/'))
	.map((file) => file.slice('src/'.length))
	.filter((file) => !known.includes(file) && file !== 'main.tsx');

let order = [...known, ...others];
const imports = () => [...order, 'main.tsx'].map((file) => `import './${file}';`).join('\n');
const page = await context({
	...OPTIONS,
	entryPoints: ['main'],
	tsconfigRaw: '{}',
	jsx: 'transform',
	jsxFactory: 'createElement',
	jsxFragment: 'Fragment',
	inject: ['src/jsx.ts'],
	plugins: [
		{
			name: 'order',
			setup(build) {
				build.onResolve({ filter: /^main$/ }, ({ path }) => ({ path, namespace: 'order' }));
				build.onLoad({ filter: /.*/, namespace: 'order' }, () => ({
					contents: imports(),
					resolveDir: 'src',
				}));
			},
		},
	],
});
let least = Infinity;

/** Takes an order that is no worse. */
async function attempt(next) {
	const before = order;
	order = next;
	const [{ text }] = (await page.rebuild()).outputFiles;
	const size = gzipSync(style + text, { level: 9 }).length;
	order = size > least ? before : next;
	least = Math.min(size, least);
}

const below = (n) => Math.floor(Math.random() * n);
await attempt(order);
for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
	const next = [...order];
	const moved = next.splice(below(next.length), 1 + below(3));
	next.splice(below(next.length + 1), 0, ...moved);
	await attempt(next);
}
for (const file of [...order]) {
	await attempt(order.filter((other) => other !== file));
}
process.stdout.write(`${order.join('\n')}\n`);
process.stderr.write(`${least} bytes before names are shortened\n`);
await page.dispose();
