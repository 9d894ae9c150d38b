// SPDX-License-Identifier: MIT

// Before anything is drawn: the theme, and whether this browser can show more than the text.

const root = document.documentElement;
try {
	const theme = localStorage.getItem('heaptrack-theme');
	if (theme === 'light' || theme === 'dark') {
		root.dataset['theme'] = theme;
	}
} catch {
	// no storage: the system's theme
}
if (typeof DecompressionStream === 'function') {
	root.classList.add('js');
}
