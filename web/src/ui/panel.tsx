// SPDX-License-Identifier: MIT
import type { ComponentChildren } from 'preact';

interface PanelProps {
	title: string;
	class?: string;
	head?: ComponentChildren; // beside the title
	hint?: ComponentChildren; // at the right of it
	children?: ComponentChildren;
}

/** A part of a view. */
export function Panel({ title, head, hint, children, class: name = '' }: PanelProps) {
	return (
		<section class={`panel ${name}`} aria-label={title}>
			<div class="panel-head">
				<h2>{title}</h2>
				{head}
				{hint && <span class="dim hint">{hint}</span>}
			</div>
			{children}
		</section>
	);
}
