// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs';
import { Duplex } from 'node:stream';
import { createInflateRaw } from 'node:zlib';

// Browsers inflate raw streams; node does since version 20.12, and Debian 12 has 18
try {
	new DecompressionStream('deflate-raw');
} catch {
	globalThis.DecompressionStream = class {
		constructor() {
			return Duplex.toWeb(createInflateRaw());
		}
	};
}

/** The profile that a page's file holds; `m` is web/src/data bundled. */
export async function profileOf(m, page) {
	const html = readFileSync(page, 'latin1');
	const parts = ['profile', 'rest'].map((id) => {
		const from = html.indexOf(`id="${id}">`) + `id="${id}">`.length;
		return new Uint8Array(Buffer.from(html.slice(from, html.indexOf('</script>', from)), 'base64'));
	});
	return m.decode(parts);
}
