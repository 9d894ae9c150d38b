// SPDX-License-Identifier: MIT

type Bytes = Uint8Array<ArrayBuffer>;

interface FromBase64 {
	fromBase64?: (text: string) => Bytes;
}

export function base64OfBytes(bytes: Uint8Array): string {
	const PIECE = 0x6000; // a multiple of 3
	let out = '';
	for (let i = 0; i < bytes.length; i += PIECE) {
		out += btoa(String.fromCharCode(...bytes.subarray(i, i + PIECE)));
	}
	return out;
}

export function bytesOfBase64(text: string): Bytes {
	const native = (Uint8Array as unknown as FromBase64).fromBase64;
	if (native) {
		return native.call(Uint8Array, text);
	}
	const binary = atob(text);
	const out = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++) {
		out[i] = binary.charCodeAt(i);
	}
	return out;
}
