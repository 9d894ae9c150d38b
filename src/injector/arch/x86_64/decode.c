// SPDX-License-Identifier: MIT
/* Intel's manual, volume 2A, sections 2.1 (ModR/M, SIB) and 2.7 (EVEX). */
#include "injector/arch/x86_64/decode.h"

enum { EVEX = 0x62, EVEX_BYTES = 4, MAP_0F = 1, MAP_0F3A = 3 };

/** The length of a ModR/M byte with the SIB and displacement that it announces. */
static size_t operand_bytes(const uint8_t *modrm, size_t n) {
	unsigned mod = modrm[0] >> 6, rm = modrm[0] & 7;
	bool has_sib = mod != 3 && rm == 4;
	if (mod == 3) {
		return 1;
	}
	if (has_sib && n < 2) {
		return 2;
	}
	unsigned base = has_sib ? modrm[1] & 7 : rm;
	size_t distance = mod == 1 ? 1 : mod == 2 || base == 5 ? 4 : 0;
	return 1 + has_sib + distance;
}

size_t evex_bytes(const uint8_t *bytes, size_t n) {
	size_t at = 0;
	while (at < n && memchr("\x2e\x36\x3e\x26\x64\x65\x67", bytes[at], 7)) {
		at++; // another segment, short addresses
	}
	const uint8_t *evex = bytes + at;
	if (n - at < EVEX_BYTES + 2 || evex[0] != EVEX || (evex[1] & 8) != 0 || (evex[2] & 4) == 0) {
		return 0;
	}
	unsigned map = evex[1] & 7, opcode = evex[4];
	bool has_number = map == MAP_0F3A ||
			(map == MAP_0F &&
					((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
							(opcode >= 0xc4 && opcode <= 0xc6)));
	at += EVEX_BYTES + 1;
	at += operand_bytes(bytes + at, n - at) + has_number;
	return at <= n && map != 0 && map != 4 && map != 7 ? at : 0;
}
