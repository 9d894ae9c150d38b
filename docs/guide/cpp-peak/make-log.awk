# A log of 150,000 visits: address, page, status.
BEGIN {
	for (i = 0; i < 150000; i++) {
		printf "2001:db8::%x:%x /articles/%d/how-to-read-a-heap-profile %d\n",
			i % 9973, i % 7919, i % 500 + i % 7, i % 50 ? 200 : 404
	}
}
