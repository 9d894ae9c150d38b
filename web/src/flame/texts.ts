// SPDX-License-Identifier: MIT
import { elide } from '../ui/format.ts';
import type { Pen } from '../ui/svg.ts';
import { ROW, rowTop, sidesOf, type Scene } from './draw.ts';
import type { Label } from './skin.tsx';

/** What stands in the boxes, cut to their width by counting: all letters are as wide. */

const FONT = '12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const INSET = 6;
const LEAST = 3; // letters that say something

let charWidth = 0;

/** The most that fits behind a name. */
function fitting({ name, additions }: Label, chars: number): string {
	const fits = additions.find((more) => name.length + 2 + more.length <= chars);
	return fits ? `${name}  ${fits}` : elide(name, chars);
}

function drawText(context: Pen, s: Scene, box: number): void {
	const [left, right] = sidesOf(s, box);
	const chars = Math.floor((right - left - INSET - 4) / charWidth);
	const node = s.layout.node[box]!;
	const text = chars < LEAST ? '' : fitting(s.label(node), chars);
	if (!text) {
		return;
	}
	if (s.isMarked) {
		context.globalAlpha = s.isMarked(node) ? 1 : 0.6;
	}
	context.fillText(text, left + INSET, rowTop(s, s.layout.depth[box]!) + ROW / 2);
}

/** Upright, then slanted what stands for several: a change of font costs more than a text. */
export function drawTexts(
	context: Pen,
	s: Scene,
	colour: string,
	boxes: number[],
): void {
	const isRun = (box: number) => s.forest.isRun[s.layout.node[box]!] === 1;
	context.textBaseline = 'middle';
	context.fillStyle = colour;
	for (const isSlanted of [false, true]) {
		context.font = isSlanted ? `italic ${FONT}` : FONT;
		if ('measureText' in context) {
			charWidth ||= context.measureText('0000000000').width / 10;
		}
		boxes.filter((box) => isRun(box) === isSlanted).forEach((box) => drawText(context, s, box));
	}
	context.globalAlpha = 1;
}
