// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import type { Lens } from '../data/lens.ts';
import { stacksUnder } from '../data/match.ts';
import { lacksCurves, NOT_IN_FILE } from '../data/missing.ts';
import type { Profile, Thread } from '../data/profile.ts';
import { ask } from '../data/query.ts';
import { curvesOfGroups } from '../data/series.ts';
import { change, lens, profile } from '../state.ts';
import { bytes, count, moment, percent, plural } from '../ui/format.ts';
import { Heat } from '../ui/heat.tsx';
import { useValue } from '../ui/signals.ts';
import { Sparkline } from '../ui/sparkline.tsx';
import { Table } from '../ui/table.tsx';

function nameOf(t: Thread): string {
	const name = t.name || (t.id ? 'thread' : 'not told apart');
	return t.merged > 0
		? `${name} (${count(t.merged)} threads)`
		: t.tid
			? `${name} (${t.tid})`
			: name;
}

/** A thread's name: a click puts it into the lens, or takes it out; several may be in it. */
function ThreadName({ t }: { t: Thread }) {
	const chosen = useValue(() => lens.value.threads);
	if (!t.name) {
		return <>{nameOf(t)}</>;
	}
	const isOn = chosen.includes(t.name);
	const next = isOn ? chosen.filter((name) => name !== t.name) : [...chosen, t.name];
	return (
		<button
			class="link"
			aria-pressed={isOn}
			title="Show only threads of this name, in every view that follows the lens"
			onClick={() => change({ threads: next })}
		>
			{nameOf(t)}
		</button>
	);
}

const MATRIX_MAX = 12;

/** Who frees what another thread allocated, among those that do it most. */
function Matrix({ p }: { p: Profile }) {
	const top = useMemo(() => {
		const sums = new Map<number, number>();
		for (const h of p.handovers) {
			sums.set(h.from, (sums.get(h.from) ?? 0) + h.bytes);
			sums.set(h.to, (sums.get(h.to) ?? 0) + h.bytes);
		}
		return [...sums.entries()]
			.sort((a, b) => b[1] - a[1])
			.slice(0, MATRIX_MAX)
			.map(([id]) => p.threads[id]!);
	}, [p]);
	if (!p.handovers.length) {
		return (
			<p class="dim">No block was freed by a thread other than the one that allocated it.</p>
		);
	}
	const names = top.map(nameOf);
	const handed = top.map((from) =>
		top.map((to) => p.handovers.find((h) => h.from === from.id && h.to === to.id)),
	);
	return (
		<Heat
			label="Blocks handed over"
			corner="allocated by \ freed by"
			rows={names}
			columns={names}
			by="freed by "
			weights={handed.map((row) => row.map((h) => h?.bytes ?? 0))}
		>
			{(r, c) => (
				<span title={plural(handed[r]![c]!.blocks, 'block')}>
					{bytes(handed[r]![c]!.bytes)}
				</span>
			)}
		</Heat>
	);
}

/** What each thread has under a lens. Who frees is not known by stack. */
function threadsUnder(p: Profile, l: Lens): Thread[] {
	const kept = stacksUnder(p, l);
	const peak = ask(p, { ...l, metric: 'peak' }, kept);
	const left = ask(p, { ...l, metric: 'never-freed' }, kept);
	const none = { allocations: 0, allocatedBytes: 0, temporary: 0, peakBytes: 0, liveBytes: 0 };
	const rows = p.threads.map((t) => ({ ...t, ...none, frees: 0 }));
	for (let s = 0; s < p.stacks.n; s++) {
		const row = rows[p.stacks.thread[s]!]!;
		row.allocations += peak.allocations[s]!;
		row.allocatedBytes += peak.allocatedBytes[s]!;
		row.temporary += peak.temporary[s]!;
		row.peakBytes += peak.bytes[s]!;
		row.liveBytes += left.bytes[s]!;
	}
	return rows.filter((t) => t.allocations || t.peakBytes);
}

const FREES = [
	'frees',
	'freed by others',
] as const;

export function ThreadsView() {
	const p = useValue(() => profile.value);
	const l = useValue(() => lens.value);
	const { range, texts, focus } = l;
	const isWhole = !range && !texts.length && !focus.length;
	const threads = useMemo(
		() =>
			(isWhole
				? p.threads.filter((t) => t.id > 0 && (t.allocations > 0 || t.frees > 0))
				: threadsUnder(p, { ...l, threads: [] }) // those that are not chosen can be
			).sort((a, b) => b.allocatedBytes - a.allocatedBytes),
		[p, range, texts, focus],
	);
	const curves = useMemo(() => {
		const kept = stacksUnder(p, { ...l, threads: [] });
		const keys = Int32Array.from(p.stacks.thread, (id, s) => (!kept || kept[s] ? id : -1));
		const all = curvesOfGroups(p, keys, threads.map((t) => t.id));
		return new Map(threads.map((t, i) => [t, all[i]!]));
	}, [threads]);
	if (!p.threads.some((t) => t.id > 0 && t.allocations + t.frees > 0)) {
		return (
			<section class="panel">
				<h2>Threads</h2>
				<p class="dim">Which thread did what is {NOT_IN_FILE}.</p>
			</section>
		);
	}
	const hasCurves = !lacksCurves(p);
	const total = threads.reduce((sum, t) => sum + t.allocatedBytes, 0);
	return (
		<>
			<section class="panel" aria-labelledby="threads-title">
				<div class="panel-head">
					<h2 id="threads-title">Threads</h2>
					<span class="dim hint">
						{isWhole
							? 'of the whole run'
							: 'under the lens; who frees is known of the whole run only'}
					</span>
				</div>
				<Table
					id="threads"
					class="data lines"
					heads={[
						'thread',
						'allocated',
						'% of allocated',
						'allocations',
						'temporary',
						'at the peak',
						'never freed',
						'from – to',
						...(hasCurves ? [['alive over time'] as [string]] : []),
						...(isWhole ? FREES : []),
					]}
					rows={threads}
					values={(t) => [
						nameOf(t),
						t.allocatedBytes,
						t.allocatedBytes,
						t.allocations,
						t.temporary,
						t.peakBytes,
						t.liveBytes,
						t.firstNs,
						...(hasCurves ? [undefined] : []),
						t.frees,
						t.foreignFrees,
					]}
					most={500}
				>
					{(t) => (
						<tr key={t.id}>
							<th scope="row">
								<ThreadName t={t} />
							</th>
							<td class="num">{bytes(t.allocatedBytes)}</td>
							<td class="num">{percent(t.allocatedBytes, total)}</td>
							<td class="num">{count(t.allocations)}</td>
							<td class="num">{count(t.temporary)}</td>
							<td class="num">{bytes(t.peakBytes)}</td>
							<td class="num">{bytes(t.liveBytes)}</td>
							<td class="num dim">
								{moment(t.firstNs)} – {moment(t.lastNs)}
							</td>
							{hasCurves && (
								<td>
									<Sparkline values={curves.get(t)!} />
								</td>
							)}
							{isWhole && <td class="num">{count(t.frees)}</td>}
							{isWhole && <td class="num">{count(t.foreignFrees)}</td>}
						</tr>
					)}
				</Table>
			</section>
			<section class="panel" aria-labelledby="matrix-title">
				<div class="panel-head">
					<h2 id="matrix-title">Allocated by one thread, freed by another</h2>
					{!isWhole && <span class="dim hint">of the whole run</span>}
				</div>
				<Matrix p={p} />
			</section>
		</>
	);
}
