// SPDX-License-Identifier: MIT
/**
 * Stacks whose outer callers nobody can know: 700 blocks through code that has no unwind table and
 * no frame pointer, as some JIT compilers make it; 300 directly.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// push %rbp; mov $1,%ebp; call *%rdi; pop %rbp; ret
static const uint8_t code[] = {0x55, 0xbd, 1, 0, 0, 0, 0xff, 0xd7, 0x5d, 0xc3};

static void *volatile kept;

static void from_outside(void) {
	kept = malloc(50);
}

static void directly(void) {
	kept = malloc(60);
}

int main(void) {
	uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		return 1;
	}
	memcpy(memory, code, sizeof code);
	void (*made)(void (*)(void)) = (void (*)(void (*)(void)))(uintptr_t)memory;
	for (int i = 0; i < 700; i++) {
		made(from_outside);
	}
	for (int i = 0; i < 300; i++) {
		directly();
	}
	return 0;
}
