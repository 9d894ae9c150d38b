// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs';

/** The profile that a page's file holds; `m` is web/src/data bundled. */
export async function profileOf(m, page) {
	const html = readFileSync(page, 'latin1');
	const parts = ['profile', 'rest'].map((id) => {
		const from = html.indexOf(`id="${id}">`) + `id="${id}">`.length;
		return new Uint8Array(Buffer.from(html.slice(from, html.indexOf('</script>', from)), 'base64'));
	});
	return m.decode(parts);
}
