// SPDX-License-Identifier: MIT
#pragma once

/** What the build made of web/. Private to this folder; empty if it was told to make nothing. */

extern const char page_bundle[], page_bundle_end[];
extern const char page_engine[], page_engine_end[]; // of the viewer: the engine and its worker
