// SPDX-License-Identifier: MIT
import {
	NEVER,
	type Edges,
	type Facts,
	type Handover,
	type Intervals,
	type Nodes,
	type OtherCosts,
	type Process,
	type Profile,
	type Samples,
	type Sizes,
	type SourceExcerpt,
	type Stacks,
	type Symbols,
	type Thread,
} from './profile.ts';
import { learnMetrics, type MetricRow } from './metrics.ts';
import { baseOf } from './names.ts';
import { pause } from './pause.ts';
import { Reader } from './reader.ts';
import { withPeak } from './samples.ts';

/** The tables of the blob's two parts, column after column: docs/page-format.md. */

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
	Others,
}

/** What the functions give, each called when its field is asked for the first time. */
function lazily<T extends object>(fields: { [K in keyof T]: () => T[K] }): T {
	const out = {};
	for (const [name, make] of Object.entries<() => unknown>(fields)) {
		Object.defineProperty(out, name, {
			configurable: true,
			enumerable: true,
			get: () => {
				const value = make();
				Object.defineProperty(out, name, { value, enumerable: true });
				return value;
			},
		});
	}
	return out as T;
}

function symbols(r: Reader, texts: string[]): Symbols {
	const n = r.varint();
	const column = () => r.column32From1(n);
	const [name, file, module, linkage] = [r.steppingFrom1(n), column(), column(), column()];
	const [source, flags, packages, functions] = [column(), column(), column(), r.steppingFrom1(n)];
	const words = (ids: Uint32Array) => () => Array.from(ids, (id) => texts[id] ?? '');
	return lazily<Symbols>({
		n: () => n,
		name: words(name),
		file: words(file),
		module: words(module),
		linkage: words(linkage),
		source: () => source,
		flags: () => new Uint8Array(flags),
		package: words(packages),
		function: () => functions,
	});
}

function nodes(r: Reader): Nodes {
	const n = r.varint();
	const parent = r.column32From1(n);
	for (let i = 1; i < n; i++) {
		parent[i] = i - parent[i]!;
	}
	return { n, parent, symbol: r.column32From1(n), line: r.column32From1(n) };
}

/** What is not of blocks, each by its number among the metrics. */
function othersOf(r: Reader, n: number, metrics: readonly MetricRow[]): Stacks['others'] {
	const out: Stacks['others'] = {};
	while (!r.isDone) {
		const { name } = metrics[r.varint()]!;
		const momentNs = r.varint();
		const [bytes, blocks] = [r.sized(), r.sized()];
		out[name] = lazily<OtherCosts>({
			momentNs: () => momentNs,
			bytes: () => bytes.column(n),
			blocks: () => blocks.column(n),
		});
	}
	return out;
}

function stacks(r: Reader, texts: string[]): Omit<Stacks, 'others'> {
	const n = r.varint();
	const node = new Uint32Array(r.rising(n));
	const column = () => {
		const at = r.sized();
		return () => at.column(n);
	};
	const column32 = () => {
		const at = r.sized();
		return () => at.column32(n);
	};
	const nodes = () => {
		const ups = column32();
		return () => ups().map((up, i) => node[i]! - up);
	};
	const words = () => {
		const ids = column32();
		return () => Array.from(ids(), (id) => texts[id] ?? '');
	};
	const fields = {
		n: () => n,
		node: () => node,
		site: nodes(),
		siteName: words(),
		keeper: nodes(),
		keeperName: words(),
		thread: column32(),
		allocations: column(),
		allocatedBytes: column(),
		temporary: column(),
		temporaryBytes: column(),
		shortLived: column(),
		peakBlocks: column(),
		peakBytes: column(),
		liveBlocks: column(),
		liveBytes: column(),
		reallocs: column(),
		firstNs: column(),
	};
	const lived = column();
	const lifetimes = Array.from({ length: 16 }, column32);
	const command = r.isDone ? () => new Uint32Array(n) : column32();
	const out: Omit<Stacks, 'others'> = lazily({
		...fields,
		lastNs: () => lived().map((ns, i) => out.firstNs[i]! + ns),
		lifetimes: () => lifetimes.map((read) => read()),
		command,
	});
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

/** Where each stack's rows begin, of which it is written how many there are. */
function readStarts(r: Reader, first: Uint32Array): void {
	r.column32(first.length - 1).forEach((n, i) => (first[i + 1] = first[i]! + n));
}

const STACKS_AT_ONCE = 4096;

/** Does something for each stack, with pauses. */
async function eachSlowly(nStacks: number, run: (stack: number) => void): Promise<void> {
	for (let s = 0; s < nStacks; s++) {
		if (s % STACKS_AT_ONCE === 0) {
			await pause();
		}
		run(s);
	}
}

const noIntervals = (nStacks: number, n = 0): Intervals => ({
	n,
	first: new Uint32Array(nStacks + 1),
	from: new Uint16Array(n),
	until: new Uint16Array(n),
	count: new Uint32Array(n),
	temporary: new Uint32Array(n),
	bytes: new Float64Array(n),
});

async function intervals(r: Reader, stacks: Stacks): Promise<Intervals> {
	const out = noIntervals(stacks.n, r.varint());
	const { first, from, until, count, temporary, bytes } = out;
	readStarts(r, first);
	for (const column of [from, until, count, temporary, bytes]) {
		await r.fillSlowly(column);
	}
	await eachSlowly(stacks.n, (s) => {
		const [total, calls] = [stacks.allocatedBytes[s]!, stacks.allocations[s]!];
		const mean = calls ? (total - (total % calls)) / calls : 0;
		let edge = 0;
		for (let i = first[s]!, end = first[s + 1]!; i < end; i++) {
			edge = from[i]! += edge;
			until[i] = until[i] === 0 ? NEVER : edge + until[i]! - 1;
			const off = bytes[i]!; // zigzag: 0, -1, 1, -2, ...
			bytes[i] = (off & 1 ? -(off + 1) / 2 : off / 2) + count[i]! * mean;
		}
	});
	return out;
}

const noSizes = (nStacks: number, n = 0): Sizes => ({
	n,
	first: new Uint32Array(nStacks + 1),
	isClass: new Uint8Array(n),
	size: new Float64Array(n),
	count: new Float64Array(n),
	bytes: new Float64Array(n),
	live: new Float64Array(n),
});

async function sizes(r: Reader, nStacks: number): Promise<Sizes> {
	const out = noSizes(nStacks, r.varint());
	readStarts(r, out.first);
	for (const column of [out.isClass, out.size, out.count, out.bytes, out.live]) {
		await r.fillSlowly(column);
	}
	return out;
}

/** Those of `processes` live within them: events are seen a little later than they are. */
function threads(r: Reader, texts: string[], processes: readonly Process[]): Thread[] {
	const n = r.varint();
	const columns = Array.from({ length: 13 }, () =>
		r.isDone ? new Float64Array(n) : r.column(n),
	);
	return Array.from({ length: n }, (_, i) => {
		const c = columns.map((column) => column[i]!);
		const own = processes[c[12]! - 1];
		const within = (ns: number) =>
			own ? Math.min(Math.max(ns, own.started_ns), own.ended_ns ?? ns) : ns;
		return {
			id: i,
			tid: c[0]!,
			name: texts[c[1]!] ?? '',
			merged: c[2]!,
			firstNs: within(c[3]!),
			lastNs: within(c[3]! + c[4]!),
			allocations: c[5]!,
			allocatedBytes: c[6]!,
			frees: c[7]!,
			temporary: c[8]!,
			liveBytes: c[9]!,
			peakBytes: c[10]!,
			foreignFrees: c[11]!,
			process: c[12]!,
		};
	});
}

function handovers(r: Reader): Handover[] {
	const n = r.varint();
	const columns = { from: r.column(n), to: r.column(n), blocks: r.column(n), bytes: r.column(n) };
	return Array.from({ length: n }, (_, i) => ({
		from: columns.from[i]!,
		to: columns.to[i]!,
		blocks: columns.blocks[i]!,
		bytes: columns.bytes[i]!,
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


type Sections = (kind: Section) => Reader;

/** The sections of a part, by their numbers. */
function sectionsOf(part: Uint8Array): Sections {
	const sections = new Map<number, Reader>();
	for (const r = new Reader(part); !r.isDone; ) {
		const kind = r.varint();
		const bytes = r.varint();
		sections.set(kind, new Reader(part, r.offset, r.offset + bytes));
		r.bytesOf(bytes);
	}
	return (kind) => {
		const r = sections.get(kind);
		if (!r) {
			throw new Error(`the profile lacks table ${kind}`);
		}
		return r;
	};
}

function factsOf(text: string): Facts {
	const facts = JSON.parse(text) as Facts;
	const { program, summary } = facts;
	program.name = baseOf(program.executable ?? '');
	// redis-server is a link to redis-check-rdb: what people called comes first, as in the report
	const called = baseOf(program.command[0] ?? '');
	program.called = /^[a-z0-9]/i.test(called) ? called : program.name;
	summary.never_freed_blocks -= summary.suppressed_blocks;
	summary.never_freed_bytes -= summary.suppressed_bytes;
	facts.processes ??= [];
	facts.commands ??= [];
	return facts;
}

/** What the first part says; of the second there is nothing yet. */
export function readFirst(part: Uint8Array): Profile {
	const section = sectionsOf(part);
	const written = section(Section.Facts);
	const text = new TextDecoder().decode(written.bytesOf(written.left));
	const strings = section(Section.Strings);
	const texts = strings.texts(strings.varint());
	const ends = stacks(section(Section.Stacks), texts);
	const known = edges(section(Section.Edges));
	const curve = edges(section(Section.Curve));
	const facts = factsOf(text);
	learnMetrics(facts.metrics);
	return {
		facts,
		symbolTable: symbols(section(Section.Symbols), texts),
		nodes: nodes(section(Section.Nodes)),
		stacks: Object.assign(ends, {
			others: othersOf(section(Section.Others), ends.n, facts.metrics),
		}),
		edges: known,
		curve: curve.n ? curve : known,
		threads: threads(section(Section.Threads), texts, facts.processes),
		handovers: handovers(section(Section.Handovers)),
		samples: withPeak(samples(section(Section.Samples)), {
			rssBytes: facts.summary.peak_rss_bytes ?? 0,
			rssKnownNs: facts.page.peak_rss_time_ns,
			heapBytes: facts.summary.peak_bytes,
			heapNs: facts.summary.peak_time_ns,
		}),
		intervals: noIntervals(ends.n),
		sizes: noSizes(ends.n),
		sources: [],
	};
}

/** Adds what the second part says. */
export async function readRest(p: Profile, part: Uint8Array): Promise<void> {
	const section = sectionsOf(part);
	p.sources = sources(section(Section.Sources));
	p.sizes = await sizes(section(Section.Sizes), p.stacks.n);
	p.intervals = await intervals(section(Section.Intervals), p.stacks);
}
