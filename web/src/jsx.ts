// SPDX-License-Identifier: MIT
// What JSX is made of: a call for each element is shorter than the object that jsx() takes.
export { createElement, Fragment } from 'preact';
