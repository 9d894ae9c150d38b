// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { keepsAll } from '../data/lens.ts';
import {
	processesApart,
	processName,
	processOfStacks,
	processTree,
	processWord,
} from '../data/processes.ts';
import { sumsUnder } from '../data/sums.ts';
import { lens, profile } from '../state.ts';
import { bytes, count, duration, moment } from '../ui/format.ts';
import { LensLink } from '../ui/lenslink.tsx';
import { Panel } from '../ui/panel.tsx';
import { useValue } from '../ui/signals.ts';
import { useCurves } from '../ui/sparkline.tsx';
import { Table, useOrder, type Column } from '../ui/table.tsx';

const MOST = 500;

/** The processes of a tree, and what they executed: a click on one shows only what it has. */
export function Processes() {
	const p = profile.value;
	const l = useValue(lens);
	const isOrdered = useOrder('processes') !== 0; // else each stands below its parent
	const { range, texts, focus, threads } = l;
	const { processes, commands } = p.facts;
	const under = { ...l, processes: [] }; // those that are not chosen can be
	const isWhole = !range && keepsAll(under);
	const [ofCommands, ofProcesses] = useMemo(
		() => [
			sumsUnder(p, under, p.stacks.command, commands.length + 1),
			sumsUnder(p, under, processOfStacks(p), processes.length + 1),
		],
		[range, texts, focus, threads],
	);
	const apart = useMemo(() => processesApart(p), [p]);
	const rows = useMemo(
		() =>
			processTree(p).filter(({ id }) => isWhole || apart.has(id)).map((own) => {
				const sums = ofProcesses![own.id]!;
				return {
					...own,
					...sums,
					peakBytes: apart.has(own.id) ? sums.peakBytes : null,
					ns: (own.ended_ns ?? p.facts.summary.duration_ns) - own.started_ns,
					...(isWhole && {
						allocations: own.allocations,
						liveBytes: own.never_freed_bytes,
					}),
				};
			}),
		[ofProcesses],
	);
	const curves = useCurves(p, under, processOfStacks(p), rows, MOST);
	const hint = isWhole ? 'of the whole run' : 'under the lens';
	const shared = ofProcesses![0]!.allocations;
	return (
		<>
			<Panel title="Commands" hint={hint}>
				<Table
					id="commands"
					class="data lines"
					rows={commands
						.map((own, i) => ({ ...own, ...ofCommands![i + 1]! }))
						.sort((a, b) => b.allocatedBytes - a.allocatedBytes)}
					columns={[
						[
							'command',
							(c) => c.name,
							(name) => (
								<th scope="row">
									<LensLink of="processes" word={name} text={name} />
								</th>
							),
						],
						['processes', (c) => c.processes, count],
						['allocations', (c) => c.allocations, count],
						['allocated', (c) => c.allocatedBytes, bytes],
						['at the peak', (c) => c.peakBytes, bytes],
						!range && ['never freed', (c) => c.liveBytes, bytes],
					]}
				/>
			</Panel>
			<Panel
				title={`${count(processes.length)} processes`}
				hint={
					hint +
					(!isWhole && shared
						? `; in no row: ${count(shared)} allocations, by threads of several`
						: '')
				}
			>
				<Table
					id="processes"
					class="data lines"
					rows={rows}
					columns={[
						[
							'process',
							processName,
							(name, { depth, ...own }) => (
								<th
									scope="row"
									style={{ paddingLeft: `${6 + (isOrdered ? 0 : 14 * depth)}px` }}
								>
									{apart.has(own.id) ? (
										<LensLink
											of="processes"
											word={processWord(p, own)}
											text={name}
										/>
									) : (
										name
									)}
								</th>
							),
						],
						curves,
						['started', (own) => own.started_ns, (ns) => moment(ns)],
						['ran for', (own) => own.ns, duration],
						[
							'exit status',
							(own) => own.exit_status,
							(status, own) =>
								own.ended_ns === null ? 'still running' : status ?? 'unknown',
						],
						['allocations', (own) => own.allocations, count],
						[
							'at the peak',
							(own) => own.peakBytes,
							(n) => (n === null ? 'not told apart' : bytes(n)),
						],
						!range && ['never freed', (own) => own.liveBytes, bytes],
						isWhole && ['own peak', (own) => own.peak_bytes, bytes],
						...(isWhole
							? (
									[
										['inherited', 'inherited_bytes'],
										['no longer shared', 'dirtied_bytes'],
										['most RSS seen', 'peak_rss_bytes'],
										['last PSS', 'pss_bytes'],
									] as const
								).map(
									([head, key]): Column<(typeof rows)[0]> | false =>
										rows.some((own) => own[key]) && [
											head,
											(own) => own[key],
											(n) => (n === null ? 'not seen' : bytes(n)),
										],
								)
							: []),
					]}
					most={MOST}
				/>
			</Panel>
		</>
	);
}
