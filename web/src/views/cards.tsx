// SPDX-License-Identifier: MIT
import type { Finding, Profile } from '../data/profile.ts';
import { profile, type View } from '../state.ts';
import { bytes, count, percent, shortName } from '../ui/format.ts';
import { useValue } from '../ui/signals.ts';
import { follow } from '../url.ts';

/** What a card is about: the findings that belong on it, its number, where its lens is shown best. */
interface CardKind {
	id: string;
	title: string;
	tone: string;
	ids: RegExp;
	lens: string;
	view: View;
	action: string;
	number: (p: Profile, main: Finding | undefined) => string;
	none: (p: Profile) => string;
}

const CARDS: CardKind[] = [
	{
		id: 'peak',
		title: 'Peak',
		tone: 'peak',
		ids: /^(peak|doubling|bursts)$/,
		lens: '',
		view: 'flame',
		action: 'Heap at the peak',
		number: (p) => bytes(p.facts.summary.peak_bytes),
		none: () => 'No single function holds a large part of it.',
	},
	{
		id: 'never-freed',
		title: 'Never freed',
		tone: 'never',
		ids: /^(never-freed|all-freed|allocated-once|at-start)$/,
		lens: 'm=never-freed',
		view: 'never-freed',
		action: 'Stacks',
		number: (p) => bytes(p.facts.summary.never_freed_bytes),
		none: (p) =>
			p.facts.summary.never_freed_bytes > p.facts.noise_bytes
				? `${count(p.facts.summary.never_freed_blocks)} blocks, without a pattern.`
				: p.facts.summary.never_freed_bytes > 0
					? `Nothing was left allocated except ${bytes(p.facts.noise_bytes)} of the runtime.`
					: 'Every block was freed.',
	},
	{
		id: 'temporary',
		title: 'Temporary',
		tone: 'temporary',
		ids: /^(churn|one-size)$/,
		lens: 'm=temporary',
		view: 'tree',
		action: 'Temporary stacks',
		number: (p) => count(p.facts.summary.temporary),
		none: (p) =>
			`${percent(p.facts.summary.temporary, p.facts.summary.allocations)} of all allocations were freed before the next one.`,
	},
	{
		id: 'growing',
		title: 'Growing',
		tone: 'growing',
		ids: /^(growing|stopped-growing|outside-growing)$/,
		lens: 'm=never-freed',
		view: 'never-freed',
		action: 'Growth',
		number: (_p, f) => {
			const rate = f?.numbers['rate_bytes_per_s'];
			const held = f?.id === 'stopped-growing' ? 0 : (f?.numbers['bytes'] ?? f?.numbers['top_bytes']);
			return rate ? `+${bytes(rate)}/s` : held ? bytes(held) : 'none';
		},
		none: () => 'No function’s live memory rose through the run.',
	},
];

const FIGURE = /\d[\d.,]* (?:[kMGT]?B(?:\/s)?|%|of [\d,]+ blocks)(?: \([^)]*%[^)]*\))?/;

/** The first figure of a text is what the eye looks for. */
function Figures({ text }: { text: string }) {
	const found = FIGURE.exec(text);
	if (!found) {
		return <>{text}</>;
	}
	return (
		<>
			{text.slice(0, found.index)}
			<strong>{found[0]}</strong>
			{text.slice(found.index + found[0].length)}
		</>
	);
}

/** A sentence of the program; the function that it is about is set as code. */
export function Sentence({ text: given, name }: { text: string; name: string | null }) {
	const text = given.replaceAll('<-', '←');
	const shown = [name ?? '', name ? shortName(name) : ''].find((n) => n && text.includes(n));
	if (!shown) {
		const isName = text.startsWith(profile.value.facts.program.name);
		return <Figures text={isName ? text : text.charAt(0).toUpperCase() + text.slice(1)} />;
	}
	const at = text.indexOf(shown);
	return (
		<>
			{text.slice(0, at)}
			<code>{shown}</code>
			<Figures text={text.slice(at + shown.length)} />
		</>
	);
}

/** What a finding says: its first part stands out, what explains it below. */
function Said({ finding }: { finding: Finding }) {
	const at = finding.text.indexOf('; ');
	const [first, more] = at < 0 ? [finding.text, ''] : [`${finding.text.slice(0, at)}.`, finding.text.slice(at + 2)];
	return (
		<>
			<p class="main">
				<Sentence text={first} name={finding.function} />
			</p>
			{more && <p class="dim more">{more.charAt(0).toUpperCase() + more.slice(1)}</p>}
		</>
	);
}

function Card({ kind, findings }: { kind: CardKind; findings: Finding[] }) {
	const p = profile.value;
	const [main, ...more] = findings;
	const number = kind.number(p, main);
	const lens = main?.lens || kind.lens;
	const hasRange = /(^|&)t=/.test(lens);
	const without = lens.replace(/(^|&)t=[^&]*/, '').replace(/^&/, '');
	return (
		<section class="panel card" aria-labelledby={`card-${kind.id}`}>
			<h2 id={`card-${kind.id}`}>{kind.title}</h2>
			<p class={`number ${number === 'none' ? 'dim' : kind.tone}`}>{number}</p>
			{main ? <Said finding={main} /> : <p class="main">{kind.none(p)}</p>}
			{more.slice(0, 2).map((f) => (
				<p key={f.text} class="dim more">
					<Sentence text={f.text} name={f.function} />
				</p>
			))}
			{(main || kind.id === 'peak') && (
				<p class="actions">
					<button type="button" class="link" onClick={() => follow(hasRange ? without : lens, kind.view)}>
						{kind.action}
					</button>
					{(hasRange || kind.id === 'peak') && (
						<button
							type="button"
							class="link"
							onClick={() => follow(hasRange ? lens : 't=peak', 'timeline')}
						>
							Select range
						</button>
					)}
				</p>
			)}
		</section>
	);
}

/** The findings, each where a person looks for it; what belongs on no card stands below them. */
export function Cards() {
	const p = useValue(() => profile.value);
	const left = p.facts.findings.filter((f) => !f.is_quality);
	const of = CARDS.map((kind) => left.filter((f) => kind.ids.test(f.id)));
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
								<strong>{f.title}</strong> <Sentence text={f.text} name={f.function} />{' '}
								{f.lens && (
									<button type="button" class="link" onClick={() => follow(f.lens, 'flame')}>
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
