// SPDX-License-Identifier: MIT
#pragma once
/**
 * The parts that the page's JSON and --json have in common. The caller has opened an object or a
 * list.
 */

#include "base/json.h"
#include "engine/findings.h"

/** Raised whenever --json gains a key: tests/layers/json_keys.txt says which came with which. */
enum { DOCUMENT_SCHEMA = 4 };

/** The first members of a document: version, which stays, and schema. */
void document_put_version(struct json *j);

/** Members of an object: id, title, text, lens, function (or null) and numbers. */
void finding_put_json(struct json *j, const struct finding *f);

/** A list: id, value and text of every quality line. Their texts are made in `arena`. */
void quality_put_json(struct json *j, const char *key, const struct recording *r,
		const struct names *n, struct arena *arena);

/** A list: name and moment of every mark. */
void marks_put_json(struct json *j, const struct recording *r);

/**
 * Which allocators were hooked, and which were not; of modules their whole paths or the last part.
 */
void allocators_put_json(struct json *j, const struct recording *r, bool has_paths);
