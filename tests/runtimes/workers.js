'use strict';
// As frames.js, which it runs in one worker after another: each has an isolate of its own, with the
// same numbers for other functions.
const {Worker} = require('worker_threads');
const scripts = ['frames.js', 'module.mjs', 'frames.js', 'module.mjs'];
function next() {
	const script = scripts.shift();
	if (script) { new Worker(require('path').join(__dirname, script)).on('exit', next); }
}
next();
