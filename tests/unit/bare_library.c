// SPDX-License-Identifier: MIT

// A library without .eh_frame_hdr, for test_modules.

int bare_function(int n);

int bare_function(int n) {
	return n + 1;
}
