// SPDX-License-Identifier: MIT
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface DialogProps {
	label: string;
	onClose: () => void;
	children: ComponentChildren;
}

/** Over the page, until Escape or a click beside it. */
export function Dialog({ label, onClose, children }: DialogProps) {
	const box = useRef<HTMLDialogElement>(null);
	useEffect(() => {
		const before = document.activeElement as HTMLElement | null;
		box.current!.showModal();
		return () => before?.focus();
	}, []);
	return (
		<dialog
			ref={box}
			aria-label={label}
			onClose={onClose}
			onClick={(e) => {
				if (e.target === box.current) {
					box.current!.close();
				}
			}}
		>
			{children}
		</dialog>
	);
}
