// SPDX-License-Identifier: MIT
#pragma once
/** Of libzstd what trace/file/pack.c calls: unpacking is done outside of the module (zstd.c). */

#include <stddef.h>

typedef struct ZSTD_CCtx ZSTD_CCtx;
enum { ZSTD_c_compressionLevel, ZSTD_c_checksumFlag };

// Of the writer, which the module does not hold
size_t ZSTD_compressBound(size_t n);
ZSTD_CCtx *ZSTD_createCCtx(void);
size_t ZSTD_freeCCtx(ZSTD_CCtx *c);
size_t ZSTD_CCtx_setParameter(ZSTD_CCtx *c, int what, int value);
size_t ZSTD_compress2(ZSTD_CCtx *c, void *out, size_t room, const void *in, size_t n);

unsigned long long ZSTD_getFrameContentSize(const void *in, size_t n);
size_t ZSTD_findFrameCompressedSize(const void *in, size_t n);
size_t ZSTD_decompress(void *out, size_t room, const void *in, size_t n);
unsigned ZSTD_isError(size_t n);
const char *ZSTD_getErrorName(size_t n);
