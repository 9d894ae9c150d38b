// SPDX-License-Identifier: MIT

/** The page's arithmetic as one module: what tests run without a browser. */

export { compareSites, changeOf, diffForest, labelOf, sidesOf } from './compare.ts';
export { decode } from './decode.ts';
export { bottomUp, topDown } from './forest.ts';
export { functionsOf } from './functions.ts';
export { lensText, parseLens } from './lens.ts';
export { stacksUnder } from './match.ts';
export { aliveOverTime, ask, stacksWhere, sum } from './query.ts';
export { sitesOf } from './series.ts';
export { classesOf } from './sizes.ts';
export { buildTree, groupName, selfCosts, stacksBelow, totalCosts } from './tree.ts';
