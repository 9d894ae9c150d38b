// SPDX-License-Identifier: MIT

export function Loading({ title, what }: { title: string; what: string }) {
	return (
		<main class="loading">
			<h1>{title}</h1>
			<p role="status">{what}…</p>
		</main>
	);
}

/** In place of what needs all of the recording. */
export function Reading() {
	return (
		<p class="nothing" role="status">
			Reading when each block lived, and its size…
		</p>
	);
}

export function Failed({ why }: { why: string }) {
	return (
		<div class="failed" role="alert">
			<strong>The page cannot show this profile.</strong> {why}. What follows is its report as
			text.
		</div>
	);
}
