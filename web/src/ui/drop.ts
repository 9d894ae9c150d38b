// SPDX-License-Identifier: MIT
import { batch } from '../signal.ts';
import type { Profile } from '../data/profile.ts';
import { announcement, base, compared, missing, refused, view } from '../state.ts';
import { loadFile, refusal } from '../load.ts';

/** Compares with a recording, in the view for it unless the address asks for another one. */
export function takeBase(name: string, profile: Profile, wanted = 'compare'): void {
	batch(() => {
		base.value = compared.value = { name, profile };
		missing.value = '';
		view.value = wanted;
	});
}

/** Takes in a second recording: a page or a profile of heaptrack. */
export async function compareWith(file: File): Promise<void> {
	try {
		refused.value = '';
		const profile = await loadFile(file);
		takeBase(file.name, profile);
	} catch (why) {
		announcement.value = refused.value = await refusal(file, why);
	}
}

/** A file that is dropped anywhere is compared with this one. */
export function bindDrop(): void {
	addEventListener('dragover', (event) => event.preventDefault());
	addEventListener('drop', (event) => {
		event.preventDefault();
		const file = event.dataTransfer?.files[0];
		if (file) {
			void compareWith(file);
		}
	});
}
