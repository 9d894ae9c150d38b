// SPDX-License-Identifier: MIT
/** Whether this build has an engine: without one, what opens files is left out of the page. */
declare const VIEWER: boolean;
