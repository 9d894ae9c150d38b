// Forward a stream of messages to an archive, which takes fewer of them than there are.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct message {
	struct message *next;
	char text[1000];
};

static struct {
	struct message *first, **end;
	size_t n;
} queue = {.end = &queue.first};

static void send_first(void) {
	struct message *m = queue.first;
	queue.first = m->next;
	if (!queue.first) {
		queue.end = &queue.first;
	}
	queue.n--;
	free(m);
}

static void enqueue(const char *text) {
	struct message *m = malloc(sizeof(*m));
	memset(m, 0, sizeof(*m));
	strcpy(m->text, text);
	*queue.end = m;
	queue.end = &m->next;
	queue.n++;
}

int main(void) {
	for (int second = 0; second < 150; second++) {
		char text[100];
		for (int i = 0; i < 1000; i++) {
			snprintf(text, sizeof(text), "second %d: message %d", second, i);
			enqueue(text);
		}
		for (int i = 0; i < 100; i++) {
			send_first();
		}
		usleep(10000); // a second of the real thing
	}
	printf("%zu messages wait\n", queue.n);
	return 0;
}
