// SPDX-License-Identifier: MIT
// What is done on the page again and again. Steps of one address share a tab, in this order.

/** In the tree, open what is below the first row. */
async function openRows(tab) {
	await tab.getByRole('treegrid').focus();
	await tab.keyboard.press('*');
}

/** Where to start, the measure that says that it is drawn; how often; and a step. */
export const STEPS = {
	hover: {
		hash: '#v=flame',
		first: 'draw',
		n: 30,
		async prepare(tab) {
			return tab.getByRole('tree').first().boundingBox();
		},
		// From box to box, row after row
		step: (tab, tree, i) =>
			tab.mouse.move(tree.x + 20 + ((i * 131) % (tree.width - 60)), tree.y + 22 * (i % 14) + 8),
	},
	'select a box': {
		hash: '#v=flame',
		first: 'draw',
		n: 30,
		async prepare(tab) {
			await tab.getByRole('tree').first().focus();
			await tab.keyboard.press('ArrowDown');
		},
		step: (tab, _, i) => tab.keyboard.press(i % 3 ? 'ArrowDown' : 'ArrowRight'),
	},
	'search letter': {
		hash: '#v=flame',
		first: 'draw',
		n: 24,
		async prepare(tab) {
			await tab.keyboard.press('/');
		},
		step: (tab, _, i) => tab.keyboard.press('Component_12'[i % 12]),
	},
	'scroll the tree': {
		hash: '#v=tree',
		first: 'tree',
		n: 60,
		// 5,000 rows open, turned by a wheel: each step brings some ten new ones
		async prepare(tab) {
			await openRows(tab);
			const grid = await tab.getByRole('treegrid').boundingBox();
			await tab.mouse.move(grid.x + 300, grid.y + 200);
		},
		step: (tab) => tab.mouse.wheel(0, 240),
	},
	'fold a row': {
		hash: '#v=tree',
		first: 'tree',
		n: 30,
		async prepare(tab) {
			await openRows(tab);
			await tab.keyboard.press('ArrowRight');
		},
		step: (tab, _, i) => tab.keyboard.press(i % 2 ? 'ArrowRight' : 'ArrowLeft'),
	},
	'select a row': {
		hash: '#v=tree',
		first: 'tree',
		n: 30,
		async prepare(tab) {
			await openRows(tab);
			await tab.keyboard.press('ArrowDown');
		},
		step: (tab) => tab.keyboard.press('ArrowDown'),
	},
};
