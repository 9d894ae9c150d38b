// SPDX-License-Identifier: MIT
import { announcement, compared, view } from '../state.ts';
import { loadFile } from '../load.ts';

/** Takes in a second recording: a page or a profile of heaptrack. */
export async function compareWith(file: File): Promise<void> {
	try {
		compared.value = { name: file.name, profile: await loadFile(file) };
		view.value = 'compare';
	} catch (why) {
		announcement.value = `${file.name}: ${why instanceof Error ? why.message : String(why)}`;
	}
}

/** A file that is dropped anywhere is compared with this one. */
export function bindDrop(): () => void {
	const over = (event: DragEvent) => event.preventDefault();
	const drop = (event: DragEvent) => {
		event.preventDefault();
		const file = event.dataTransfer?.files[0];
		if (file) {
			void compareWith(file);
		}
	};
	addEventListener('dragover', over);
	addEventListener('drop', drop);
	return () => {
		removeEventListener('dragover', over);
		removeEventListener('drop', drop);
	};
}
