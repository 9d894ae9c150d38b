// SPDX-License-Identifier: MIT
import { copyPng, copySvg } from './copy.ts';

const FORMS = [
	['PNG', copyPng],
	['SVG', copySvg],
] as const;

/** Takes the pictures of the section in which it stands elsewhere. */
export function CopyAs() {
	return (
		<span class="copy-as">
			Copy as{' '}
			{FORMS.map(([form, copy]) => (
				<button
					class="link"
					aria-label={`Copy the picture as ${form}`}
					onClick={(e) => void copy(e.currentTarget.closest('section')!)}
				>
					{form}
				</button>
			))}
		</span>
	);
}
