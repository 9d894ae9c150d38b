// SPDX-License-Identifier: MIT
// Watched values (web/src/signal.ts): node signal.mjs MODULE. Prints what ran, and what it saw, as JSON.

const { signal, computed, effect, batch } = await import(process.argv[2]);
const seen = {};

const [a, b] = [signal(1), signal(10)];
let runs = 0;
const isOdd = computed(() => (runs++, a.value % 2 === 1));
const words = computed(() => (isOdd.value ? `odd ${b.value}` : 'even'));
seen.unasked = runs;
const said = [];
const end = effect(() => said.push(words.value));
a.value = 3; // odd still
b.value = 20;
a.value = 2;
b.value = 30; // nobody reads it now
batch(() => {
	a.value = 4;
	a.value = 5;
	b.value = 40;
});
seen.said = [...said];
seen.runs = runs;
end();
a.value = 6;
seen.ended = said.length;
seen.asked = words.value;

// An effect that changes what another reads
const [from, to] = [signal(0), signal(0)];
const copies = [];
effect(() => (to.value = from.value * 2));
effect(() => copies.push([from.value, to.value]));
from.value = 1;
seen.copies = copies;

// What fails is tried again
const bad = signal(true);
const risky = computed(() => {
	if (bad.value) {
		throw new Error('bad');
	}
	return 'good';
});
try {
	risky.value;
} catch ({ message }) {
	seen.failed = message;
}
bad.value = false;
seen.recovered = risky.value;
process.stdout.write(JSON.stringify(seen));
