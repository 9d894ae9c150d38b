// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import type { Profile, Thread } from '../data/profile.ts';
import { change, lens, profile } from '../state.ts';
import { bytes, count, duration, percent } from '../ui/format.ts';
import { useValue } from '../ui/signals.ts';

function nameOf(t: Thread): string {
	const name = t.name || 'thread';
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
			type="button"
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
	const most = Math.max(1, ...p.handovers.map((h) => h.bytes));
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label="Blocks handed over">
			<table class="heat">
				<thead>
					<tr>
						<th>allocated by \ freed by</th>
						{top.map((t) => (
							<th key={t.id}>{nameOf(t)}</th>
						))}
					</tr>
				</thead>
				<tbody>
					{top.map((from) => (
						<tr key={from.id}>
							<th scope="row">{nameOf(from)}</th>
							{top.map((to) => {
								const h = p.handovers.find(
									(x) => x.from === from.id && x.to === to.id,
								);
								const share = h
									? 0.12 + (0.88 * Math.log1p(h.bytes)) / Math.log1p(most)
									: 0;
								return (
									<td
										key={to.id}
										class={share > 0.6 ? 'hot' : ''}
										style={h ? { '--heat': share.toFixed(2) } : {}}
										title={h ? `${count(h.blocks)} blocks` : ''}
									>
										{h ? bytes(h.bytes) : ''}
									</td>
								);
							})}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

export function ThreadsView() {
	const p = useValue(() => profile.value);
	const threads = useMemo(
		() =>
			p.threads
				.filter((t) => t.id > 0 && (t.allocations > 0 || t.frees > 0))
				.sort((a, b) => b.allocatedBytes - a.allocatedBytes),
		[p],
	);
	const total = threads.reduce((sum, t) => sum + t.allocatedBytes, 0);
	return (
		<>
			<section class="panel" aria-labelledby="threads-title">
				<div class="panel-head">
					<h2 id="threads-title">Threads</h2>
					<span class="dim hint">of the whole run</span>
				</div>
				<table class="data">
					<thead>
						<tr>
							<th>thread</th>
							<th class="num">allocated</th>
							<th class="num">% of allocated</th>
							<th class="num">allocations</th>
							<th class="num">temporary</th>
							<th class="num">frees</th>
							<th class="num">at the peak</th>
							<th class="num">never freed</th>
							<th class="num">freed by others</th>
							<th>from – to</th>
						</tr>
					</thead>
					<tbody>
						{threads.slice(0, 500).map((t) => (
							<tr key={t.id}>
								<th scope="row">
									<ThreadName t={t} />
								</th>
								<td class="num">{bytes(t.allocatedBytes)}</td>
								<td class="num">{percent(t.allocatedBytes, total)}</td>
								<td class="num">{count(t.allocations)}</td>
								<td class="num">{count(t.temporary)}</td>
								<td class="num">{count(t.frees)}</td>
								<td class="num">{bytes(t.peakBytes)}</td>
								<td class="num">{bytes(t.liveBytes)}</td>
								<td class="num">{count(t.foreignFrees)}</td>
								<td class="dim">
									{duration(t.firstNs)} – {duration(t.lastNs)}
								</td>
							</tr>
						))}
					</tbody>
				</table>
			</section>
			<section class="panel" aria-labelledby="matrix-title">
				<h2 id="matrix-title">Allocated by one thread, freed by another</h2>
				<Matrix p={p} />
			</section>
		</>
	);
}
