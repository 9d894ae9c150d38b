// SPDX-License-Identifier: MIT
import { change, lens } from '../state.ts';
import { useRead } from './signals.ts';

interface LensLinkProps {
	of: 'threads' | 'processes';
	word: string;
	text: string;
}

/** A click puts it into the lens, or takes it out; several may be in it. */
export function LensLink({ of, word, text }: LensLinkProps) {
	const chosen = useRead(() => lens.value[of]);
	const isOn = chosen.includes(word);
	return (
		<button
			class="link"
			aria-pressed={isOn}
			title={`Show only ${of} of this name`}
			onClick={() =>
				change({ [of]: isOn ? chosen.filter((each) => each !== word) : [...chosen, word] })
			}
		>
			{text}
		</button>
	);
}
