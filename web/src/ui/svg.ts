// SPDX-License-Identifier: MIT

/**
 * Pictures as SVG: what is drawn on a canvas is drawn on this instead. It knows what the flame
 * graph and the charts ask of a canvas, no more.
 */
export class Svg {
	fillStyle: string | CanvasPattern = '';
	strokeStyle = '';
	lineWidth = 1;
	globalAlpha = 1;
	font = '';
	textAlign = 'left';
	textBaseline = 'middle';
	private path = '';
	private dash = '';
	private parts: string[] = [];

	/** What is drawn from here on is so far down. */
	begin(top: number): void {
		this.parts.push(`<g transform="translate(0 ${top})" xml:space="preserve">`);
	}

	end(): void {
		this.parts.push('</g>');
	}

	fillRect(x: number, y: number, width: number, height: number): void {
		const [left, top] = [rounded(x), rounded(y)];
		const size = `width="${rounded(width)}" height="${rounded(height)}"`;
		this.parts.push(`<rect x="${left}" y="${top}" ${size}${this.filled()}/>`);
	}

	fillText(text: string, x: number, y: number): void {
		const anchor = { right: 'end', center: 'middle' }[this.textAlign] ?? 'start';
		const line = this.textBaseline === 'top' ? 'hanging' : 'central';
		const [, style, size, family] = /^(italic)?\s*(\S+) (.*)$/.exec(this.font)!;
		const slant = style ? ' font-style="italic"' : '';
		this.parts.push(
			`<text x="${rounded(x)}" y="${rounded(y)}" text-anchor="${anchor}" ` +
				`dominant-baseline="${line}" font-family="${escaped(family!)}" ` +
				`font-size="${size}"${slant}${this.filled()}>${escaped(text)}</text>`,
		);
	}

	beginPath(): void {
		this.path = '';
	}

	moveTo(x: number, y: number): void {
		this.path += `M${rounded(x)} ${rounded(y)}`;
	}

	lineTo(x: number, y: number): void {
		this.path += `${this.path ? 'L' : 'M'}${rounded(x)} ${rounded(y)}`;
	}

	setLineDash(lengths: number[]): void {
		this.dash = lengths.join();
	}

	fill(): void {
		this.parts.push(`<path d="${this.path}"${this.filled()}/>`);
	}

	stroke(): void {
		const dash = this.dash && ` stroke-dasharray="${this.dash}"`;
		this.parts.push(
			`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" ` +
				`stroke-width="${this.lineWidth}"${dash}/>`,
		);
	}

	/** All of it, so large. */
	text(width: number, height: number): string {
		return (
			`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
			`viewBox="0 0 ${width} ${height}">${this.parts.join('')}</svg>\n`
		);
	}

	private filled(): string {
		const { fillStyle, globalAlpha } = this;
		const colour = typeof fillStyle === 'string' ? fillStyle : hatchColours.get(fillStyle);
		const alpha = globalAlpha < 1 ? ` fill-opacity="${globalAlpha}"` : '';
		return ` fill="${colour}"${alpha}`;
	}
}

/** What of a canvas pictures are drawn with. */
export type Pen = CanvasRenderingContext2D | Svg;

/** What stands for a pattern where there is none. */
export const hatchColours = new WeakMap<CanvasPattern, string>();

interface Picture {
	title: string;
	draw: (pen: Pen) => void;
}

/** How the picture of each canvas or map is drawn again. */
export const pictures = new WeakMap<HTMLElement, Picture>();

const TITLE = 26; // px

/** Pictures one below the other. */
interface Shown {
	width: number;
	height: number;
	draw: (pen: Pen, lower: (by: number, draw: () => void) => void) => void;
}

/** The pictures in a part of the page; null: there are none. */
function shownIn(part: ParentNode): Shown | null {
	const shown = [...part.querySelectorAll<HTMLElement>('canvas, .treemap')].filter((element) =>
		pictures.has(element),
	);
	const width = Math.max(...shown.map((element) => element.clientWidth));
	let height = 0;
	const places = shown.map((element) => {
		const top = height;
		height += TITLE + element.clientHeight;
		return { ...pictures.get(element)!, top, bottom: height };
	});
	const background = getComputedStyle(document.documentElement).getPropertyValue('--panel');
	const draw: Shown['draw'] = (pen, lower) => {
		for (const { title, draw, top, bottom } of places) {
			lower(top, () => {
				pen.fillStyle = background.trim();
				pen.fillRect(0, 0, width, bottom - top);
				pen.fillStyle = 'GrayText';
				pen.font = '13px system-ui, sans-serif';
				pen.textAlign = 'left';
				pen.textBaseline = 'middle';
				pen.fillText(title, 6, TITLE / 2);
				lower(TITLE, () => draw(pen));
			});
		}
	};
	return height ? { width, height, draw } : null;
}

/** The pictures in a part of the page as SVG; '': there are none. */
export function picturesAsSvg(part: ParentNode): string {
	const shown = shownIn(part);
	const svg = new Svg();
	shown?.draw(svg, (by, draw) => {
		svg.begin(by);
		draw();
		svg.end();
	});
	return shown ? svg.text(shown.width, shown.height) : '';
}

const SHARP = 2; // px of a picture for one of the page, at least

/** The same as PNG; null: there are none. */
export function picturesAsPng(part: ParentNode): Promise<Blob> | null {
	const shown = shownIn(part);
	if (!shown) {
		return null;
	}
	const canvas = document.createElement('canvas');
	const scale = Math.max(SHARP, devicePixelRatio);
	canvas.width = shown.width * scale;
	canvas.height = shown.height * scale;
	const pen = canvas.getContext('2d')!;
	pen.scale(scale, scale);
	shown.draw(pen, (by, draw) => {
		pen.save();
		pen.translate(0, by);
		draw();
		pen.restore();
	});
	return new Promise((done) => canvas.toBlob((blob) => done(blob!)));
}

const rounded = (n: number) => Math.round(n * 100) / 100;

const escaped = (text: string) =>
	text.replace(/[<>&"]/g, (c) => `&#${c.charCodeAt(0)};`);
