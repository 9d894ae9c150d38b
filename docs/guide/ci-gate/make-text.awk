# A text of 50,000 words, of 2,000 different ones.
BEGIN {
	for (i = 0; i < 50000; i++) {
		printf "%s%dth", i % 3 ? "unforgettable-" : "The-most-memorable-", i * 7919 % 1000
		printf i % 12 ? " " : ".\n"
	}
}
