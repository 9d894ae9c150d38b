// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { keepsAll, type Lens } from '../data/lens.ts';
import { NOT_IN_FILE } from '../data/missing.ts';
import type { Profile, Thread } from '../data/profile.ts';
import { isTree, processName } from '../data/processes.ts';
import { sumsUnder } from '../data/sums.ts';
import { lens, profile } from '../state.ts';
import { bytes, count, moment, percent, plural } from '../ui/format.ts';
import { Heat } from '../ui/heat.tsx';
import { LensLink } from '../ui/lenslink.tsx';
import { Panel } from '../ui/panel.tsx';
import { useValue } from '../ui/signals.ts';
import { useCurves } from '../ui/sparkline.tsx';
import { Table } from '../ui/table.tsx';
import { Processes } from './processes.tsx';

/** "worker (4712)"; of a tree also of which process, unless that is called the same. */
function nameOf(t: Thread): string {
	const name = t.name || (t.id ? 'thread' : 'not told apart');
	const own = profile.value.facts.processes[t.process - 1];
	const number = t.merged ? `${count(t.merged)} threads` : t.tid;
	return (
		name +
		(number ? ` (${number})` : '') +
		(own && (own.pid !== number || own.command !== name) ? ` of ${processName(own)}` : '')
	);
}

const MOST = 500;
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
	const sums = sumsUnder(p, l, p.stacks.thread, p.threads.length);
	return p.threads
		.map((t, i) => ({ ...t, ...sums[i]! }))
		.filter((t) => t.allocations || t.peakBytes);
}

export function ThreadsView() {
	const p = profile.value;
	const l = useValue(lens);
	const { range, texts, focus, processes } = l;
	const under = { ...l, threads: [] }; // those that are not chosen can be
	const isWhole = !range && keepsAll(under);
	const threads = useMemo(
		() =>
			(isWhole && !isTree(p) // of which threads are told what was left when they ended
				? p.threads.filter((t) => t.id > 0 && (t.allocations > 0 || t.frees > 0))
				: threadsUnder(p, under)
			).sort((a, b) => b.allocatedBytes - a.allocatedBytes),
		[p, range, texts, focus, processes],
	);
	const curves = useCurves(p, under, p.stacks.thread, threads, MOST);
	if (!p.threads.some((t) => t.id > 0 && t.allocations + t.frees > 0)) {
		return (
			<Panel title="Threads">
				<p class="dim">Which thread did what is {NOT_IN_FILE}.</p>
			</Panel>
		);
	}
	const total = threads.reduce((sum, t) => sum + t.allocatedBytes, 0);
	return (
		<>
			{isTree(p) && <Processes />}
			<Panel
				title="Threads"
				hint={
					isWhole
						? 'of the whole run'
						: 'under the lens; who frees is known of the whole run only'
				}
			>
				<Table
					id="threads"
					class="data lines"
					rows={threads}
					columns={[
						[
							'thread',
							nameOf,
							(name, t) => (
								<th scope="row" class={isTree(p) ? '' : 'nowrap'}>
									{t.name ? (
										<LensLink of="threads" word={t.name} text={name} />
									) : (
										name
									)}
								</th>
							),
						],
						['allocated', (t) => t.allocatedBytes, bytes],
						['% of allocated', (t) => t.allocatedBytes, (n) => percent(n, total)],
						['allocations', (t) => t.allocations, count],
						['temporary', (t) => t.temporary, count],
						['at the peak', (t) => t.peakBytes, bytes],
						// Of what processes left when they ended, not when it was allocated is told
						!(range && isTree(p)) && ['never freed', (t) => t.liveBytes, bytes],
						[
							'from – to',
							(t) => t.firstNs,
							(from, t) => (
								<td class="num dim">
									{moment(from)} – {moment(t.lastNs)}
								</td>
							),
						],
						curves,
						isWhole && ['frees', (t) => t.frees, count],
						isWhole && threads.some((t) => t.foreignFrees) && [
							'freed by others',
							(t) => t.foreignFrees,
							count,
						],
					]}
					most={MOST}
				/>
			</Panel>
			<Panel
				title="Allocated by one thread, freed by another"
				hint={!isWhole && 'of the whole run'}
			>
				<Matrix p={p} />
			</Panel>
		</>
	);
}
