// SPDX-License-Identifier: MIT
import { savePictures } from '../save.ts';
import { announcement } from '../state.ts';
import { picturesAsPng, picturesAsSvg } from './svg.ts';

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

/** The pictures in a part of the page; saved where the clipboard takes no pictures. */
export async function copyPng(part: ParentNode): Promise<void> {
	const png = picturesAsPng(part);
	if (!png) {
		return;
	}
	try {
		await navigator.clipboard.write([new ClipboardItem({ 'image/png': png })]);
		announcement.value = 'Copied as PNG';
	} catch {
		savePictures(await png);
		announcement.value = 'Saved as PNG: the clipboard takes no pictures here';
	}
}

export async function copySvg(part: ParentNode): Promise<void> {
	const svg = picturesAsSvg(part);
	if (svg) {
		await copyText(svg);
		announcement.value = 'Copied as SVG';
	}
}

/** The pictures of the view. */
export const shownView = (): ParentNode => document.querySelector('.view') ?? document;

export async function savePng(): Promise<void> {
	const png = await picturesAsPng(shownView());
	if (png) {
		savePictures(png);
	}
}

export function saveSvg(): void {
	const svg = picturesAsSvg(shownView());
	if (svg) {
		savePictures(new Blob([svg], { type: 'image/svg+xml' }));
	}
}
