// SPDX-License-Identifier: MIT
/* The batch in which events leave for the sink, and the first failure. */
#include "collector/order/parts.h"

void order_fail(struct order *o, const struct err *err) {
	if (!o->has_failed) {
		o->err = *err;
		o->has_failed = true;
	}
}

void order_flush(struct order *o) {
	uint32_t n = o->n_batch;
	o->n_batch = 0;
	if (n == 0 || o->has_failed) {
		return;
	}
	struct err err = {0};
	if (!(o->is_late ? o->sink.late_events : o->sink.events)(o->sink.user, o->batch, n, &err)) {
		order_fail(o, &err);
		return;
	}
	o->counts.events += n;
	o->n_round += n;
}

void order_hand_mapping(struct order *o, const struct trace_event *event) {
	order_flush(o);
	struct err err = {0};
	if (!o->has_failed && !o->sink.mapping(o->sink.user, event, &err)) {
		order_fail(o, &err);
	}
	o->counts.mappings++;
	o->n_round++;
}

void order_set_late(struct order *o, bool is_late) {
	if (o->is_late != is_late) {
		order_flush(o);
		o->is_late = is_late;
	}
}
