// SPDX-License-Identifier: MIT
import { parseLens } from '../data/lens.ts';
import { isNamed } from '../data/match.ts';
import { lacks, lacksCurves, LIVE, NOT_IN_FILE, PEAK, TEMPORARY } from '../data/missing.ts';
import { ownFindings, type Finding, type Profile } from '../data/profile.ts';
import { ask, sum } from '../data/query.ts';
import { batch } from '../signal.ts';
import { kept, lens, profile, selected } from '../state.ts';
import { bytes, count, percent, plural, shortName, span, unbroken } from '../ui/format.ts';
import { sentence } from '../ui/labels.ts';
import { useMore } from '../ui/more.tsx';
import { useResting } from '../ui/signals.ts';
import { follow } from '../url.ts';

/**
 * What a card is about: the findings that belong on it, its number, where its lens is shown best.
 */
interface CardKind {
	id: string;
	title: string;
	tone: string;
	ids: RegExp;
	lens: string;
	view: string;
	action: string;
	number: (p: Profile, main: Finding | undefined) => string;
	// Behind the number: in which it is so
	time?: (p: Profile, main: Finding | undefined) => string;
	none: (p: Profile) => string;
}

/** What an allocator did that could not be hooked is in no number. */
function missesAllocator(p: Profile): boolean {
	return p.facts.quality.sentences.some((q) => q.id === 'not-hooked');
}

/** Files of others tell what was temporary in their sense, not how long blocks lived. */
function knowsLives(p: Profile): boolean {
	return p.facts.page.source === 0 || p.facts.page.source === 1;
}

function briefOf(p: Profile): number {
	return knowsLives(p) ? p.facts.summary.short_lived : p.facts.summary.temporary;
}

function inNoFinding({ summary, page }: Profile['facts']): string {
	const { noise_bytes, noise_blocks } = page;
	const blocks = plural(summary.never_freed_blocks - noise_blocks, 'block');
	const own = `${bytes(summary.never_freed_bytes - noise_bytes)} in ${blocks}`;
	return noise_bytes ? `${own}; the rest is the runtime's own.` : `${own}.`;
}

const CARDS: CardKind[] = [
	{
		id: 'peak',
		title: 'Peak',
		tone: 'peak',
		ids: /^(peak|doubling|bursts|runtime)$/,
		lens: '',
		view: 'flame',
		action: 'Heap at the peak',
		number: (p) => (lacks(p, PEAK) ? 'unknown' : bytes(p.facts.summary.peak_bytes)),
		none: (p) =>
			lacks(p, PEAK) ? NOT_IN_FILE : 'No single function holds much of it.',
	},
	{
		id: 'never-freed',
		title: 'Never freed',
		tone: 'never',
		ids: /^(never-freed|all-freed|allocated-once|at-start)$/,
		lens: 'm=never-freed',
		view: 'never-freed',
		action: 'Stacks',
		number: (p) =>
			lacks(p, LIVE) ? 'unknown' : bytes(p.facts.summary.never_freed_bytes),
		none: (p) =>
			lacks(p, LIVE)
				? NOT_IN_FILE
				: p.facts.summary.never_freed_bytes > p.facts.page.noise_bytes
					? inNoFinding(p.facts)
					: p.facts.summary.never_freed_bytes > 0
						? `Nothing ${missesAllocator(p) ? 'that was recorded ' : ''}was left ` +
							`allocated except ${bytes(p.facts.page.noise_bytes)} of the runtime.`
						: missesAllocator(p)
							? 'Every block that was recorded was freed.'
							: 'Every block was freed.',
	},
	{
		id: 'temporary',
		title: 'Short-lived',
		tone: 'temporary',
		ids: /^(churn|one-size)$/,
		lens: 'm=allocations',
		view: 'tree',
		action: 'Allocations',
		number: (p) => (lacks(p, TEMPORARY) ? 'unknown' : count(briefOf(p))),
		none: (p) =>
			lacks(p, TEMPORARY)
				? NOT_IN_FILE
				: `${percent(briefOf(p), p.facts.summary.allocations)} ` +
					`of all allocations were freed ${
						knowsLives(p)
							? 'within 1 ms or 16 allocations of their thread'
							: 'before the next one'
					}.`,
	},
	{
		id: 'growing',
		title: 'Growing',
		tone: 'growing',
		ids: /^(growing|stopped-growing|steady|outside-growing|mapped-growing|no-growth)$/,
		lens: 'm=never-freed',
		view: 'never-freed',
		action: 'Growth',
		number: (p, f) => {
			const rate = f?.numbers['rate_bytes_per_s'];
			// In less than a second
			const grown = f?.id === 'no-growth' ? undefined : f?.numbers['grown_bytes'];
			const heap = p.facts.findings.find((o) => o.id === 'no-growth')?.numbers;
			const by = grown ? f?.numbers : heap;
			const replacesOld =
				by?.['before_attach_freed_bytes'] || by?.['before_attach_freed_blocks'];
			const sign = replacesOld ? '≤ ' : '+';
			return rate
				? `${sign}${bytes(rate)}/s`
				: grown
					? `${sign}${bytes(grown)}`
					: heap === undefined
						? lacksCurves(p) ? 'unknown' : '–'
						: heap['heap_grown_bytes']
							? `${sign}${bytes(heap['heap_grown_bytes'])}`
							: '0 B';
		},
		time: (p, f) => {
			const n =
				(f?.numbers['grown_bytes'] ? f : p.facts.findings.find((o) => o.id === 'no-growth'))
					?.numbers ?? {};
			return n['rate_bytes_per_s'] || n['to_ns'] === undefined
				? ''
				: ` in ${span(n['to_ns'] - (n['from_ns'] ?? 0))}`;
		},
		none: (p) =>
			!lacksCurves(p)
				? 'No finding is about growth.'
				: p.edges.n
					? `Which functions grew is ${NOT_IN_FILE}; ` +
						'the chart below shows the whole heap.'
					: NOT_IN_FILE,
	},
];

// The first in a text, or its end
const FIGURE = /\d[\d.,]*\s(?:[kMGT]?B(?:\/s)?|%|of [\d,]+ blocks)(?: \([^)]*%[^)]*\))?|$/;

/** The first figure of a text is what the eye looks for. */
function Figures({ text }: { text: string }) {
	const words = unbroken(text);
	const [figure] = FIGURE.exec(words)!;
	const [before, ...after] = figure ? words.split(figure) : [words];
	return (
		<>
			{before}
			<strong>{figure}</strong>
			{after.join(figure)}
		</>
	);
}

/** A sentence of the program; the function that it is about is set as code. */
export function Sentence({ text: given, name }: { text: string; name: string | null }) {
	const text = given.replaceAll('<-', '←');
	const short = name && shortName(name);
	const shown = [name, short, short?.replaceAll('<…>', '<>')].find((n) => n && text.includes(n));
	if (!shown) {
		return <Figures text={sentence(profile.value, text)} />;
	}
	const at = text.indexOf(shown);
	return (
		<>
			{unbroken(text.slice(0, Math.min(at, 1)).toUpperCase() + text.slice(1, at))}
			<code>{shown}</code>
			<Figures text={text.slice(at + shown.length)} />
		</>
	);
}

/** What a finding says: its first part stands out, what explains it below. */
function Said({ finding }: { finding: Finding }) {
	const at = finding.text.search(/; (?![^()]*\))/); // not within parentheses
	const [first, more] =
		at < 0 ? [finding.text, ''] : [`${finding.text.slice(0, at)}.`, finding.text.slice(at + 2)];
	return (
		<>
			<p class="main">
				<Sentence text={first} name={finding.function} />
			</p>
			{more && (
				<p class="dim more">
					<Sentence text={more} name={finding.function} />
				</p>
			)}
		</>
	);
}

/** What a lens is about, selected in all that the heap held. */
function showPeak(lens: string): void {
	const p = profile.value;
	const [name] = parseLens(p, lens).lens.focus;
	const isIts = p.symbolTable.name.map((each) => name !== undefined && isNamed(each, name));
	const sums = new Map<number, number>(); // by outermost box of the function
	for (let s = 0; s < p.stacks.n; s++) {
		let box = 0;
		for (let at = p.stacks.node[s]!; at > 0; at = p.nodes.parent[at]!) {
			box = isIts[p.nodes.symbol[at]!] ? at : box;
		}
		sums.set(box, (sums.get(box) ?? 0) + p.stacks.peakBytes[s]!);
	}
	sums.delete(0);
	const [[base] = [0]] = [...sums].sort((a, b) => b[1] - a[1]);
	batch(() => {
		follow(lens.replace(/(^|&)focus=[^&]*/g, ''), 'flame');
		selected.value = base ? { symbol: p.nodes.symbol[base]!, base } : null;
	});
}

function Card({ kind, findings }: { kind: CardKind; findings: Finding[] }) {
	const p = profile.value;
	const [main, ...also] = findings;
	const [others, more] = useMore(also, 2);
	const whole = kind.number(p, main);
	const under = useResting(lens);
	const stacks = useResting(kept);
	// Peak and never freed: the metric under the lens
	const number =
		/^[pn]/.test(kind.id) && whole !== 'unknown' && (under.range || stacks)
			? bytes(sum(ask(p, { ...under, metric: kind.id }, stacks).bytes))
			: whole;
	const link = main?.lens || kind.lens;
	const hasRange = /(^|&)t=/.test(link);
	const without = link.replace(/(^|&)t=[^&]*/, '').replace(/^&/, '');
	return (
		<section class="panel card" aria-labelledby={`card-${kind.id}`}>
			<h2 id={`card-${kind.id}`}>{kind.title}</h2>
			<p class={`number ${number === '–' || number === 'unknown' ? 'dim' : kind.tone}`}>
				{number}
				<span class="dim time">{kind.time?.(p, main)}</span>
			</p>
			{main ? (
				<Said finding={main} />
			) : (
				<p class="main">{unbroken(kind.none(p))}</p>
			)}
			{others.map((f) => (
				<p key={f.text} class="dim more">
					<Sentence text={f.text} name={f.function} />
				</p>
			))}
			{more}
			{number !== 'unknown' && (
				<p class="actions">
					<button
						class="link"
						onClick={() =>
							kind.id === 'peak'
								? showPeak(without)
								: follow(hasRange ? without : link, kind.view)
						}
					>
						{kind.action}
					</button>
					{(hasRange || kind.id === 'peak') && p.edges.n > 0 && (
						<button
							class="link"
							onClick={() => follow(hasRange ? link : 't=peak', 'timeline')}
						>
							Select range
						</button>
					)}
				</p>
			)}
		</section>
	);
}

/**
 * What is never freed and grew is both: a card that says nothing of it would deny it. What was
 * freed in the end is no matter of what was not.
 */
function belongs(kind: CardKind, f: Finding): boolean {
	const grows = f.id === 'never-freed' && (f.numbers['grown_bytes'] ?? 0) > 0;
	const wasFreed = /^(at-start|allocated-once)$/.test(f.id) && f.numbers['blocks'] === undefined;
	return wasFreed ? kind.id === 'peak' : kind.ids.test(f.id) || (kind.id === 'growing' && grows);
}

/** The findings, each where a person looks for it; what belongs on no card stands below them. */
export function Cards() {
	const p = profile.value;
	const left = ownFindings(p.facts);
	// The heap's growth is said where it is the most
	const ofHeap = (f: Finding) => Number(f.id === 'no-growth');
	const of = CARDS.map((kind) =>
		left.filter((f) => belongs(kind, f)).sort((a, b) => ofHeap(b) - ofHeap(a)),
	);
	const rest = left.filter((f) => !CARDS.some((kind) => kind.ids.test(f.id)));
	return (
		<>
			<div class="cards">
				{CARDS.map((kind, i) => (
					<Card key={kind.id} kind={kind} findings={of[i]!} />
				))}
			</div>
			{rest.length > 0 && (
				<section class="panel also" aria-labelledby="also-title">
					<h2 id="also-title">Also seen</h2>
					<ul>
						{rest.map((f) => (
							<li key={f.text}>
								<strong>{f.title}</strong>{' '}
								<Sentence text={f.text} name={f.function} />{' '}
								{f.lens && (
									<button
										class="link"
										onClick={() => follow(f.lens, 'flame')}
									>
										Show
									</button>
								)}
							</li>
						))}
					</ul>
				</section>
			)}
		</>
	);
}
