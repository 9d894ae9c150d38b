// SPDX-License-Identifier: MIT
import type { Process, Profile } from './profile.ts';

/** Processes of a tree (heaptrack --children), and the commands that they executed. */

export const isTree = ({ facts }: Profile) => facts.processes.length > 0;

export function processName({ command, pid }: Process): string {
	return `${command} (${pid})`;
}

/** What a process is called in a lens: its pid, or its row where another had the same. */
export function processWord(p: Profile, own: Process): string {
	const isAlone = p.facts.processes.every(({ pid, id }) => pid !== own.pid || id === own.id);
	return isAlone ? String(own.pid) : `#${own.id}`;
}

/** For each process and command, by its row, whether a lens names it. */
export function namedProcesses(
	{ facts }: Profile,
	words: readonly string[],
): { processes: boolean[]; commands: boolean[] } {
	return {
		processes: [
			false,
			...facts.processes.map(
				({ id, pid }) => words.includes(`#${id}`) || words.includes(String(pid)),
			),
		],
		commands: [false, ...facts.commands.map(({ name }) => words.includes(name))],
	};
}

/** The process of each stack, as its row; 0: not told apart. */
export function processOfStacks({ stacks, threads }: Profile): Uint32Array {
	return stacks.thread.map((thread) => threads[thread]!.process);
}

/** The rows of processes that are told apart from others, as the program's lens knows them. */
export function processesApart(p: Profile): Set<number> {
	const idle = p.facts.processes.filter((own) => !own.allocations);
	return new Set([...processOfStacks(p), ...idle.map(({ id }) => id)]);
}

/** Whether a word of a lens stands for any. */
export function isProcess(p: Profile, word: string): boolean {
	const { processes, commands } = namedProcesses(p, [word]);
	return commands.includes(true) || [...processesApart(p)].some((id) => processes[id]);
}

const DEEPEST = 12; // that is shown

/** All of them, each below its parent, and how deep. */
export function processTree(p: Profile): (Process & { depth: number })[] {
	const inside = new Map<number | null, Process[]>();
	for (const own of p.facts.processes) {
		const list = inside.get(own.parent) ?? [];
		list.push(own);
		inside.set(own.parent, list);
	}
	const below = (parent: number | null, depth: number): (Process & { depth: number })[] =>
		(inside.get(parent) ?? []).flatMap((own) => [
			{ ...own, depth: Math.min(depth, DEEPEST) },
			...below(own.id, depth + 1),
		]);
	return below(null, 0);
}
