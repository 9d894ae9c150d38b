// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs';

/** The profile that a page's file holds; `m` is web/src/data bundled. */
export async function profileOf(m, page) {
	const html = readFileSync(page, 'latin1');
	const from = html.indexOf('id="profile">') + 'id="profile">'.length;
	const blob = Buffer.from(html.slice(from, html.indexOf('</script>', from)), 'base64');
	return m.decode(new Uint8Array(blob));
}
