// SPDX-License-Identifier: MIT
import { useState } from 'preact/hooks';
import { isImported, NOT_IN_FILE } from '../data/missing.ts';
import type { Arena, Look, MemoryPart, MemoryRow, Profile } from '../data/profile.ts';
import * as state from '../state.ts';
import {
	baseName,
	bytes,
	count,
	moment,
	namesApart,
	percent,
	shortName,
	unbroken,
} from '../ui/format.ts';
import { Name } from '../ui/name.tsx';
import { Panel } from '../ui/panel.tsx';
import { Pills, Select } from '../ui/pill.tsx';
import { useRead } from '../ui/signals.ts';
import { Table } from '../ui/table.tsx';
import { Held } from './held.tsx';
import { layerOf, MemoryChart } from './memorychart.tsx';

const AT: Record<Look['at'], string> = {
	end: 'the end',
	'rss-peak': 'a peak of RSS',
	detach: 'the detach',
	request: '', // by a person, or by heaptrack --leaks-every
	timer: '',
	trigger: 'a trigger',
	sizes: 'a reading of sizes',
};

/** "a peak of RSS, 1.20 s"; of the past the moment alone. */
function nameOf(look: Look): string {
	return `${AT[look.at]}${AT[look.at] && ', '}${moment(look.time_ns)}`;
}

/** As in the report: those of the lens's time. */
function looksOf(p: Profile, range: { from: number; to: number } | null): Look[] {
	const end = (edge: number) => p.edges.timeNs[edge] ?? p.facts.summary.duration_ns;
	return p.facts.looks.filter(
		(look) => !range || (look.time_ns >= end(range.from) && look.time_ns <= end(range.to)),
	);
}

/** Of looks with pages, else of all, the newest of the largest: the one that the report shows. */
function highest(looks: Look[]): Look | undefined {
	const withPages = looks.filter((look) => look.has_pages);
	const among = withPages.length ? withPages : looks;
	return among.reduce(
		(best, look) => (look.rss_bytes >= (best?.rss_bytes ?? 0) ? look : best),
		among[0],
	);
}

function wordsOf(part: MemoryPart): string {
	return state.profile.value.facts.page.parts[part.id]!;
}

/** Something is known of who owns it. */
function hasOwners(part: MemoryPart): boolean {
	return part.rows.some((row) => row.function || row.name);
}

function placeOf(row: { file?: string; line?: number }): string {
	return row.file ? baseName(row.file) + (row.line ? `:${row.line}` : '') : '';
}

function Owner({ row }: { row: MemoryRow }) {
	if (row.function === undefined) {
		return <>{row.name || 'others'}</>;
	}
	return (
		<>
			<Name text={shortName(row.function)} />
			{row.via && (
				<>
					{' via '}
					<Name text={shortName(row.via)} />
				</>
			)}
		</>
	);
}

/** From left to right the parts add up to RSS. */
function Waterfall({
	look,
	chosen,
	onChoose,
}: {
	look: Look;
	chosen: string;
	onChoose: (id: string) => void;
}) {
	let before = 0;
	const rows = look.parts.map((part) => {
		before += part.bytes;
		return { part, before: before - part.bytes };
	});
	return (
		<Table
			id="parts"
			class="bars waterfall"
			rows={rows}
			columns={[
				[
					'part',
					({ part }) => wordsOf(part),
					(words, { part }) => (
						<th scope="row">
							{hasOwners(part) ? (
								<button
									class="link"
									aria-pressed={part.id === chosen}
									onClick={() => onChoose(part.id)}
								>
									{words}
								</button>
							) : (
								words
							)}
						</th>
					),
				],
				[
					<span class="sr">bytes as a bar that begins where the last one ended</span>,
					null,
					(_, { part, before }) => (
						<td>
							<i
								style={{
									marginLeft: `${(100 * before) / look.rss_bytes}%`,
									width: `${(100 * part.bytes) / look.rss_bytes}%`,
									background: `var(--series-${layerOf(part)})`,
								}}
							/>
						</td>
					),
				],
				['bytes', ({ part }) => part.bytes, bytes],
				['% of RSS', ({ part }) => part.bytes, (n) => percent(n, look.rss_bytes)],
			]}
		/>
	);
}

function Remarks({ look }: { look: Look }) {
	const lazy = look.parts
		.flatMap((part) => part.rows)
		.reduce((sum, row) => sum + row.lazy_free_bytes, 0);
	const live = look.parts.find((part) => part.id === 'heap_live');
	const remarks = [
		live && bytes(look.asked_bytes) !== bytes(live.bytes) && look.asked_bytes > live.bytes
			? `${bytes(look.asked_bytes)} of live blocks were requested; ` +
				'what is not resident was never touched or is swapped out.'
			: '',
		lazy > 0
			? `${bytes(lazy)} were given back (MADV_FREE); the kernel has not taken them yet.`
			: '',
		look.limit_used ? `The control group used ${unbroken(look.limit_used)}.` : '',
		look.swap_bytes > 0 ? `${bytes(look.swap_bytes)} more are swapped out.` : '',
		look.has_pages
			? ''
			: 'Resident pages could not be read: what has several owners is not known.',
		look.changed_bytes > look.rss_bytes / 50
			? `About ${bytes(look.changed_bytes)} came or went while it was read.`
			: '',
	].filter((text) => text);
	return remarks.length ? <p class="dim">{remarks.join(' ')}</p> : null;
}

function Rows({ part, look }: { part: MemoryPart; look: Look }) {
	const hasPlaces = part.rows.some((row) => row.file);
	return (
		<Panel title={`Who owns: ${wordsOf(part)}`}>
			<Table
				id="owners"
				rows={part.rows}
				columns={[
					[
						'owner',
						(row) => row.name ?? row.function!,
						(_, row) => (
							<th scope="row">
								<Owner row={row} />
							</th>
						),
					],
					hasPlaces && ['place', placeOf, (place) => <td class="dim">{place}</td>],
					['bytes', (row) => row.bytes, bytes],
					['% of RSS', (row) => row.bytes, (n) => percent(n, look.rss_bytes)],
				]}
			/>
		</Panel>
	);
}

function sizeOf(arena: Arena): number {
	return arena.bytes_by_fullness.reduce((sum, n) => sum + n);
}

/** A strip for each arena: as long as it has pages in memory, the fuller the darker. */
function Arenas({ look }: { look: Look }) {
	const most = Math.max(...look.arenas.map(sizeOf));
	return (
		<Panel title="How full the heap's pages are">
			<Table
				id="arenas"
				class="bars arenas"
				rows={look.arenas}
				columns={[
					['arena', (arena) => arena.name, (name) => <th scope="row">{name}</th>],
					[
						'empty to full',
						null,
						(_, arena) => (
							<td class="fullness">
								{arena.bytes_by_fullness.map((n, tenths) => (
									<i
										style={{
											width: `${(100 * n) / most}%`,
											opacity: 0.1 + 0.09 * tenths,
										}}
										title={`${bytes(n)}, up to ${10 * tenths} % live`}
									/>
								))}
							</td>
						),
						'wide',
					],
					['bytes', sizeOf, bytes],
					['live', (arena) => arena.live_bytes, (n, arena) => percent(n, sizeOf(arena))],
				]}
			/>
		</Panel>
	);
}

const UNTOUCHED_MOST = 20;
const LEAST_ABSENT = 4096; // else the row tells of what is free beside its blocks

type Site = Look['untouched'][number] & { function: string };

const missingOf = (u: Site) => u.asked_bytes - u.resident_bytes;

/** By function and place. */
function absentOf(look: Look): Site[] {
	const sums = new Map<string, Site>();
	for (const u of look.untouched.filter((u): u is Site => u.function !== undefined)) {
		const key = u.function + placeOf(u);
		const sum = sums.get(key) ?? { ...u, blocks: 0, asked_bytes: 0, resident_bytes: 0 };
		sum.blocks += u.blocks;
		sum.asked_bytes += u.asked_bytes;
		sum.resident_bytes += u.resident_bytes;
		sums.set(key, sum);
	}
	return [...sums.values()].filter((u) => missingOf(u) >= LEAST_ABSENT);
}

function Untouched({ sites }: { sites: Site[] }) {
	const told = namesApart(sites.map((site) => site.function));
	return (
		<Panel title="Live blocks that are not in memory">
			<Table
				id="untouched"
				class="data lines"
				rows={sites}
				columns={[
					[
						'function',
						(site) => told(site.function),
						(name, site) => (
							<th scope="row">
								<Name text={name} /> <span class="dim place">{placeOf(site)}</span>
							</th>
						),
					],
					['blocks', (site) => site.blocks, count],
					['requested', (site) => site.asked_bytes, bytes],
					['in memory', (site) => site.resident_bytes, bytes],
					['not in memory', missingOf, bytes],
				]}
				most={UNTOUCHED_MOST}
			/>
		</Panel>
	);
}

const PILLS_MOST = 5;

function LookChoice({
	looks,
	look,
	onChoose,
}: {
	looks: Look[];
	look: Look;
	onChoose: (look: Look) => void;
}) {
	const Choice = looks.length > PILLS_MOST ? Select<number> : Pills<number>;
	return (
		<Choice
			label="Look"
			of={looks.map((each, i) => [i, nameOf(each)])}
			now={looks.indexOf(look)}
			onChoose={(i) => onChoose(looks[i]!)}
		/>
	);
}

export function MemoryView() {
	const p = state.profile.value;
	const range = useRead(() => state.lens.value.range);
	const looks = looksOf(p, range);
	const [picked, setPicked] = useState<Look | null>(null);
	const [part, setPart] = useState<string | null>(null);
	const look = looks.find((each) => each === picked) ?? highest(looks);
	const history = p.facts.looks.length > 2 && (
		<MemoryChart chosen={look} onChoose={setPicked} />
	);
	if (!look) {
		return (
			<>
				{history}
				<Panel title="No look at the program's memory" class="empty">
					<p>
						{p.facts.looks.length
							? 'None was taken in the selected range.'
							: isImported(p)
								? `RSS is ${NOT_IN_FILE}.`
								: 'Recorded with --children or --no-memory, or ended too early.'}
					</p>
				</Panel>
			</>
		);
	}
	const absent = absentOf(look);
	const withRows = look.parts.filter(hasOwners);
	const shown =
		withRows.find((each) => each.id === part) ??
		withRows.find((each) => each.id === 'mapped') ??
		withRows[0];
	return (
		<>
			{history}
			<Panel
				title={`RSS was ${bytes(look.rss_bytes)} at ${nameOf(look)}`}
				head={
					looks.length > 1 && (
						<LookChoice looks={looks} look={look} onChoose={setPicked} />
					)
				}
			>
				<Waterfall look={look} chosen={shown?.id ?? ''} onChoose={setPart} />
				<Remarks look={look} />
			</Panel>
			{shown && <Rows part={shown} look={look} />}
			{look.arenas.length > 0 && <Arenas look={look} />}
			{absent.length > 0 && <Untouched sites={absent} />}
			{p.facts.leaks.looks.length > 0 && <Held leaks={p.facts.leaks} />}
		</>
	);
}
