// SPDX-License-Identifier: MIT
import { useState } from 'preact/hooks';
import { change, isServed, isWhole, lens, profile, searched, view, views } from '../state.ts';
import { GROUPS } from '../data/lens.ts';
import { ALLOCATIONS, lacks, TIME } from '../data/missing.ts';
import { isTree } from '../data/processes.ts';
import { saveAddress } from '../load.ts';
import { count, date, duration } from './format.ts';
import { copyText } from './copy.ts';
import { canSave, savePage } from '../save.ts';
import { address, currentLink } from '../url.ts';
import { isHelpOpen } from './help.tsx';
import { Pill, Select } from './pill.tsx';
import { useRead, useValue } from './signals.ts';
import { cycleTheme, theme } from './theme.ts';
import { commitSearch, prepareSearch, searchInfo, stepSearch } from './search.ts';

function Title() {
	const p = profile.value;
	const { program, summary, processes, commands } = p.facts;
	const { verdict } = p.facts.quality;
	const command = program.command.join(' ');
	const { name, called } = program;
	const title = called === name ? name : `${called} (${name})`;
	return (
		<div class="title">
			<h1 title={title}>{title || 'unknown program'}</h1>
			{verdict && (
				<span class={`verdict ${/^incomplete/.test(verdict) ? 'broken' : 'dim'}`}>
					{verdict}
				</span>
			)}
			<span class="dim facts" title={command}>
				{isTree(p) && (
					<span>
						<button class="link" onClick={() => (view.value = 'threads')}>
							{count(processes.length)} processes
						</button>
					</span>
				)}
				{!lacks(p, TIME) && <span>{duration(summary.duration_ns)}</span>}
				{!lacks(p, ALLOCATIONS) && <span>{count(summary.allocations)} allocations</span>}
				{program.started_ns > 0 && <span>recorded {date(program.started_ns)}</span>}
				{isTree(p) && <span>of {commands.map((own) => own.name).join(', ')}</span>}
				{command && command !== name && <span>{command}</span>}
			</span>
		</div>
	);
}

function Search() {
	const text = useValue(searched);
	const info = useValue(searchInfo);
	return (
		<div class="search" role="search">
			<input
				id="search"
				type="search"
				placeholder="Filter functions…  ( / )"
				aria-label="Filter functions, files and modules"
				value={text}
				onFocus={prepareSearch}
				onInput={(e) => (searched.value = e.currentTarget.value)}
				onKeyDown={(e) => {
					if (e.key === 'Enter') {
						commitSearch();
						e.currentTarget.blur();
					} else if (e.key === 'Escape') {
						searched.value = '';
						e.currentTarget.blur();
					} else {
						return;
					}
					e.preventDefault();
				}}
			/>
			{text && (
				<span class="matches" role="status">
					<span>{info}</span>
					<button
						aria-label="Previous match"
						onClick={() => stepSearch(-1)}
					>
						↑
					</button>
					<button aria-label="Next match" onClick={() => stepSearch(1)}>
						↓
					</button>
				</span>
			)}
		</div>
	);
}

export function Header() {
	const now = useValue(view);
	const isUnfolded = useRead(() => lens.value.isUnfolded);
	const group = useRead(() => lens.value.group);
	const served = useValue(isServed);
	const shade = useValue(theme);
	const isRead = useValue(isWhole);
	const [hasCopied, setCopied] = useState(false);
	return (
		<header>
			<div class="top-bar">
				<Title />
				<Search />
				<Select
					label="Group frames"
					of={GROUPS.map((name) => [name, `by ${name}`])}
					now={group}
					onChoose={(group) => change({ group })}
				/>
				<Pill
					isOn={!isUnfolded}
					title="Fold library frames into one box (l)"
					onClick={() => change({ isUnfolded: !isUnfolded })}
				>
					Library frames {isUnfolded ? 'shown' : 'folded'}
				</Pill>
				{location.protocol === 'file:' || canSave() ? (
					isRead &&
					canSave() && (
						<button
							class="pill"
							title="It opens with this view (Y)"
							onClick={() => savePage(address())}
						>
							Save as one file
						</button>
					)
				) : (
					<button
						class="pill"
						title="Copy a link to this view (Y)"
						onClick={async () => {
							await copyText(currentLink());
							setCopied(true);
							setTimeout(() => setCopied(false), 1500);
						}}
					>
						{hasCopied ? 'Copied' : 'Copy link'}
					</button>
				)}
				{served && (
					<a class="pill" href={saveAddress} download>
						Save as one file
					</a>
				)}
				<button
					class="pill round"
					aria-label={`Theme: ${shade}`}
					title={`Theme: ${shade}`}
					onClick={cycleTheme}
				>
					{shade === 'dark' ? '☾' : shade === 'light' ? '☀' : '◐'}
				</button>
				<button
					class="pill round"
					aria-label="Keys and terms"
					title="Keys and terms (?)"
					onClick={() => (isHelpOpen.value = true)}
				>
					?
				</button>
			</div>
			<nav aria-label="Views">
				{views.value.map(({ id, name, hint }, i) => (
					<button
						key={id}
						title={`${hint} (${i + 1})`}
						aria-current={now === id ? 'page' : undefined}
						onClick={() => (view.value = id)}
					>
						{name}
					</button>
				))}
			</nav>
		</header>
	);
}
