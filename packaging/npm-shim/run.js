// SPDX-License-Identifier: MIT
// Starts one of heaptrack's commands, which lie in the package of this machine, and is otherwise not there:
// terminal, signals and exit status are the command's.
'use strict';
const { spawn } = require('child_process');
const { constants } = require('os');
const path = require('path');

function program() {
	const name = `@heaptrack/${process.platform}-${process.arch}`;
	if (process.platform !== 'linux' || process.arch !== 'x64') {
		throw new Error(`it runs on Linux on x64, and this is ${process.platform} on ${process.arch}`);
	}
	try {
		return path.join(path.dirname(require.resolve(`${name}/package.json`)), 'bin', 'heaptrack');
	} catch {
		throw new Error(`the package ${name} is missing; install without --omit=optional`);
	}
}

module.exports = (command) => {
	// What the terminal sends has reached the command already; what another process sends, only this one.
	// Set before the command starts: it may be fast
	const fromTerminal = process.stdin.isTTY ? ['SIGINT', 'SIGQUIT', 'SIGHUP'] : [];
	const signals = ['SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGTERM', 'SIGUSR1', 'SIGUSR2'];
	let child;
	for (const signal of signals) {
		process.on(signal, () => fromTerminal.includes(signal) || child.kill(signal));
	}
	try {
		child = spawn(program(), process.argv.slice(2), { argv0: command, stdio: 'inherit' });
	} catch (error) {
		console.error(`${command}: ${error.message}`);
		process.exit(1);
	}
	child.on('error', (error) => {
		console.error(`${command}: ${error.message}`);
		process.exitCode = 1;
	});
	child.on('exit', (code, signal) => {
		if (signal) {
			for (const each of signals) {
				process.removeAllListeners(each);
			}
			process.exitCode = 128 + constants.signals[signal];
			process.kill(process.pid, signal);
		} else {
			process.exitCode = code;
		}
	});
};
