// SPDX-License-Identifier: MIT
import {
	NEVER,
	type Edges,
	type Facts,
	type Handover,
	type Intervals,
	type Nodes,
	type Profile,
	type Samples,
	type Sizes,
	type SourceExcerpt,
	type Stacks,
	type Symbols,
	type Thread,
} from './profile.ts';
import { Reader } from './reader.ts';

const MAGIC = 'heappage';
const VERSION = 1;
const HEAD_BYTES = 20;

const enum Section {
	Facts = 1,
	Strings,
	Symbols,
	Nodes,
	Stacks,
	Edges,
	Intervals,
	Sizes,
	Threads,
	Handovers,
	Samples,
	Sources,
	Curve,
}

async function inflate(packed: Uint8Array<ArrayBuffer>, size: number): Promise<Uint8Array> {
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
	const out = new Uint8Array(size);
	let at = 0;
	const reader = stream.getReader();
	for (;;) {
		const { done, value } = await reader.read();
		if (done) {
			break;
		}
		if (at + value.length > size) {
			throw new Error('the profile is larger than its head says');
		}
		out.set(value, at);
		at += value.length;
	}
	if (at !== size) {
		throw new Error(`the profile is cut: ${at} of ${size} bytes`);
	}
	return out;
}

function symbols(r: Reader, texts: string[]): Symbols {
	const n = r.varint();
	const words = () => Array.from(r.column32From1(n), (id) => texts[id] ?? '');
	const name = words();
	const file = words();
	const module = words();
	const linkage = words();
	const source = r.column32From1(n);
	const flags = new Uint8Array(r.column32From1(n));
	const packages = words();
	return { n, name, file, module, linkage, source, flags, package: packages, function: r.column32From1(n) };
}

function nodes(r: Reader): Nodes {
	const n = r.varint();
	const parent = r.column32From1(n);
	for (let i = 1; i < n; i++) {
		parent[i] = i - parent[i]!;
	}
	return { n, parent, symbol: r.column32From1(n), line: r.column32From1(n) };
}

function stacks(r: Reader, texts: string[]): Stacks {
	const n = r.varint();
	const node = new Uint32Array(r.rising(n));
	const site = r.column32(n).map((up, i) => node[i]! - up);
	const out = {
		n,
		node,
		site,
		siteName: Array.from(r.column32(n), (id) => texts[id] ?? ''),
		thread: r.column32(n),
		allocations: r.column(n),
		allocatedBytes: r.column(n),
		temporary: r.column(n),
		temporaryBytes: r.column(n),
		shortLived: r.column(n),
		peakBlocks: r.column(n),
		peakBytes: r.column(n),
		liveBlocks: r.column(n),
		liveBytes: r.column(n),
		reallocs: r.column(n),
		firstNs: r.column(n),
		lastNs: r.column(n),
		lifetimes: Array.from({ length: 16 }, () => r.column32(n)),
	};
	for (let i = 0; i < n; i++) {
		out.lastNs[i]! += out.firstNs[i]!;
	}
	return out;
}

function edges(r: Reader): Edges {
	const n = r.varint();
	const timeNs = r.rising(n);
	const endNs = r.column(n).map((more, i) => timeNs[i]! + more);
	return {
		n,
		timeNs,
		endNs,
		bytes: r.column(n),
		blocks: r.column(n),
		minBytes: r.column(n),
		allocations: r.rising(n),
		allocatedBytes: r.rising(n),
		temporary: r.rising(n),
	};
}

/** Counts per stack, as where each stack's rows begin. */
function starts(r: Reader, nStacks: number): Uint32Array {
	const out = new Uint32Array(nStacks + 1);
	const counts = r.column32(nStacks);
	for (let i = 0; i < nStacks; i++) {
		out[i + 1] = out[i]! + counts[i]!;
	}
	return out;
}

function intervals(r: Reader, stacks: Stacks): Intervals {
	const n = r.varint();
	const first = starts(r, stacks.n);
	const from = new Uint16Array(n);
	const until = new Uint16Array(n);
	const steps = r.column32(n);
	for (let s = 0; s < stacks.n; s++) {
		let at = 0;
		for (let i = first[s]!; i < first[s + 1]!; i++) {
			from[i] = at += steps[i]!;
		}
	}
	const lives = r.column32(n);
	for (let i = 0; i < n; i++) {
		until[i] = lives[i] === 0 ? NEVER : from[i]! + lives[i]! - 1;
	}
	const count = r.column32(n);
	const temporary = r.column32(n);
	const bytes = r.column(n); // zigzag: 0, -1, 1, -2, ...
	for (let s = 0; s < stacks.n; s++) {
		const [total, calls] = [stacks.allocatedBytes[s]!, stacks.allocations[s]!];
		const mean = calls ? (total - (total % calls)) / calls : 0;
		for (let i = first[s]!; i < first[s + 1]!; i++) {
			const off = bytes[i]!;
			bytes[i] = (off & 1 ? -(off + 1) / 2 : off / 2) + count[i]! * mean;
		}
	}
	return { n, first, from, until, count, temporary, bytes };
}

function sizes(r: Reader, nStacks: number): Sizes {
	const n = r.varint();
	return {
		n,
		first: starts(r, nStacks),
		isClass: new Uint8Array(r.column32(n)),
		size: r.column(n),
		count: r.column(n),
		bytes: r.column(n),
		live: r.column(n),
	};
}

function threads(r: Reader, texts: string[]): Thread[] {
	const n = r.varint();
	const columns = Array.from({ length: 12 }, () => r.column(n));
	return Array.from({ length: n }, (_, i) => {
		const c = columns.map((column) => column[i]!);
		return {
			id: i,
			tid: c[0]!,
			name: texts[c[1]!] ?? '',
			merged: c[2]!,
			firstNs: c[3]!,
			lastNs: c[3]! + c[4]!,
			allocations: c[5]!,
			allocatedBytes: c[6]!,
			frees: c[7]!,
			temporary: c[8]!,
			liveBytes: c[9]!,
			peakBytes: c[10]!,
			foreignFrees: c[11]!,
		};
	});
}

function handovers(r: Reader): Handover[] {
	const n = r.varint();
	const [from, to, blocks, bytes] = Array.from({ length: 4 }, () => r.column(n)) as [
		Float64Array,
		Float64Array,
		Float64Array,
		Float64Array,
	];
	return Array.from({ length: n }, (_, i) => ({
		from: from[i]!,
		to: to[i]!,
		blocks: blocks[i]!,
		bytes: bytes[i]!,
	}));
}

function samples(r: Reader): Samples {
	const n = r.varint();
	return {
		n,
		timeNs: r.rising(n),
		rssBytes: r.column(n),
		oursBytes: r.column(n),
		heapBytes: r.column(n),
		threads: r.column(n),
	};
}

function sources(r: Reader): SourceExcerpt[] {
	const decoder = new TextDecoder();
	return Array.from({ length: r.varint() }, () => ({
		source: r.varint(),
		firstLine: r.varint(),
		lines: decoder.decode(r.bytesOf(r.varint())).replace(/\n$/, '').split('\n'),
	}));
}

function isBlob(blob: Uint8Array): boolean {
	return blob.length > HEAD_BYTES && new TextDecoder().decode(blob.subarray(0, 8)) === MAGIC;
}

/** What `heaptrack` wrote for the page. Throws an Error that says what is wrong. */
export async function decode(blob: Uint8Array<ArrayBuffer>): Promise<Profile> {
	if (!isBlob(blob)) {
		throw new Error('these bytes are no profile of heaptrack');
	}
	const head = new DataView(blob.buffer, blob.byteOffset, HEAD_BYTES);
	const version = head.getUint32(8, true);
	if (version !== VERSION) {
		throw new Error(`the profile has version ${version}; this page reads version ${VERSION}`);
	}
	const size = head.getUint32(12, true) + head.getUint32(16, true) * 2 ** 32;
	const body = await inflate(blob.subarray(HEAD_BYTES), size);
	const sections = new Map<number, Reader>();
	for (const r = new Reader(body); !r.isDone; ) {
		const kind = r.varint();
		const bytes = r.varint();
		sections.set(kind, new Reader(body, r.offset, r.offset + bytes));
		r.bytesOf(bytes);
	}
	const section = (kind: Section): Reader => {
		const r = sections.get(kind);
		if (!r) {
			throw new Error(`the profile lacks table ${kind}`);
		}
		return r;
	};
	const facts = section(Section.Facts);
	const text = new TextDecoder().decode(facts.bytesOf(facts.left));
	const strings = section(Section.Strings);
	const texts = strings.texts(strings.varint());
	const ends = stacks(section(Section.Stacks), texts);
	const known = edges(section(Section.Edges));
	const curve = edges(section(Section.Curve));
	return {
		facts: JSON.parse(text) as Facts,
		symbols: symbols(section(Section.Symbols), texts),
		nodes: nodes(section(Section.Nodes)),
		stacks: ends,
		edges: known,
		curve: curve.n ? curve : known,
		intervals: intervals(section(Section.Intervals), ends),
		sizes: sizes(section(Section.Sizes), ends.n),
		threads: threads(section(Section.Threads), texts),
		handovers: handovers(section(Section.Handovers)),
		samples: samples(section(Section.Samples)),
		sources: sources(section(Section.Sources)),
	};
}
