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
	draw: (pen: Svg) => void;
}

/** How the picture of each canvas or map is drawn again. */
export const pictures = new WeakMap<HTMLElement, Picture>();

const TITLE = 26; // px

/** The pictures of the view, one below the other, as SVG; '': there are none. */
export function shownPictures(): string {
	const shown = [...document.querySelectorAll<HTMLElement>('.view :is(canvas, .treemap)')];
	const svg = new Svg();
	let [width, height] = [0, 0];
	const background = getComputedStyle(document.documentElement).getPropertyValue('--panel');
	for (const element of shown) {
		const picture = pictures.get(element);
		if (!picture) {
			continue;
		}
		const { clientWidth, clientHeight } = element;
		svg.begin(height);
		svg.fillStyle = background.trim();
		svg.fillRect(0, 0, clientWidth, clientHeight + TITLE);
		svg.fillStyle = 'GrayText';
		svg.font = '13px system-ui, sans-serif';
		svg.textAlign = 'left';
		svg.fillText(picture.title, 6, TITLE / 2);
		svg.begin(TITLE);
		picture.draw(svg);
		svg.end();
		svg.end();
		width = Math.max(width, clientWidth);
		height += clientHeight + TITLE;
	}
	return height ? svg.text(width, height) : '';
}

const rounded = (n: number) => Math.round(n * 100) / 100;

const escaped = (text: string) =>
	text.replace(/[<>&"]/g, (c) => `&#${c.charCodeAt(0)};`);
