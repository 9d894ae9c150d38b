// SPDX-License-Identifier: MIT
import { announcement } from '../state.ts';

/** To the clipboard, also where only the old way works (pages from the file system). */
export async function copyText(text: string): Promise<void> {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = document.createElement('textarea');
		area.value = text;
		document.body.append(area);
		area.select();
		document.execCommand('copy');
		area.remove();
	}
	announcement.value = `Copied: ${text.slice(0, 80)}`;
}
