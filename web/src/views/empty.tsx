// SPDX-License-Identifier: MIT
import { metricOf } from '../data/metrics.ts';
import { NOT_IN_FILE } from '../data/missing.ts';
import { isTree } from '../data/processes.ts';
import { ownFindings } from '../data/profile.ts';
import { change, lens, profile, resetLens } from '../state.ts';
import { unbroken } from '../ui/format.ts';
import { metricName, rangeWords } from '../ui/labels.ts';
import { Panel } from '../ui/panel.tsx';
import { useValue } from '../ui/signals.ts';
import { MemoryView } from './memory.tsx';

/** A recording without an allocation, and what is known of the program's memory all the same. */
export function Empty() {
	const { facts } = profile.value;
	const { looks } = facts;
	const hasLooks = looks.some((look) => look.parts.some((part) => part.id === 'mapped'));
	return (
		<>
			<Panel title="The recorder saw no allocation" class="empty">
				<p>
					The program ended before its first, or it maps memory itself, as Go and some
					runtimes do; or it left the work to programs that it executed or started.
				</p>
				{hasLooks &&
					ownFindings(facts).map((f) => (
						<p key={f.text}>
							<strong>{f.title}</strong> {unbroken(f.text)}
						</p>
					))}
			</Panel>
			{looks.length > 0 && <MemoryView />}
		</>
	);
}

/** Stands for a part of a view whose numbers the file does not have. */
export function Absent({ title }: { title: string }) {
	return (
		<Panel title={title}>
			<p class="dim">{NOT_IN_FILE}</p>
		</Panel>
	);
}

/** A function that no box of the tree stands for, or one without weight. */
export function Unseen({ name }: { name: string }) {
	return (
		<p class="nothing">
			<code>{name}</code> is folded into other library frames, or has nothing under this
			lens.{' '}
			<button class="link" onClick={() => change({ isUnfolded: true })}>
				Show library frames (l)
			</button>
		</p>
	);
}

/** A lens under which nothing is left. */
export function Nothing() {
	const l = useValue(lens);
	const p = profile.value;
	const where = l.range ? ` in ${rangeWords(p, l.range)}` : '';
	const rules = [...l.texts.map((t) => t.text), ...l.focus, ...l.threads, ...l.processes];
	return (
		<p class="nothing">
			{metricName(l.metric)}: nothing{where}
			{rules.length ? ` with ${rules.join(', ')}` : ''}
			{l.range && isTree(p) && metricOf(l.metric).rule === 'never-freed' &&
				'; what ended with its process is not in it'}
			{!metricOf(l.metric).of_blocks && l.threads.length + l.processes.length > 0 &&
				'; which thread mapped it is not known'}
			.{' '}
			{l.range && (
				<button class="link" onClick={() => change({ range: null })}>
					reset time
				</button>
			)}{' '}
			{rules.length > 0 && (
				<button
					class="link"
					onClick={() => change({ texts: [], focus: [], threads: [], processes: [] })}
				>
					reset filter
				</button>
			)}{' '}
			{(l.range || rules.length > 0) && (
				<button class="link" onClick={resetLens}>
					reset all
				</button>
			)}
		</p>
	);
}
