// SPDX-License-Identifier: MIT

type Bytes = Uint8Array<ArrayBuffer>;

interface FromBase64 {
	fromBase64?: (text: string) => Bytes;
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
