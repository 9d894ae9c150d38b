// SPDX-License-Identifier: MIT
/*
 * The horizon of a round, and epochs (wire/segment.h) as the collector sees them.
 *
 * Once the header names an epoch, every event of an earlier epoch has its entry reserved, because a
 * thread reserves first and then reads the epoch there. The earlier epochs are complete as soon as
 * what a processor has stored is seen by all others. Epochs are seen, waited for and completed one
 * after the other; those that came and went in between do not matter.
 *
 *   complete:  E - - - - - - E+4      of epoch E: if it is all threads', events with stamps older
 *   seen:        E+4 .slack. E+7      than the horizon; if it is one thread's, all it has reserved
 *
 * An epoch of all threads becomes one thread's when all events came from that one for a while.
 */
#include "collector/order/parts.h"

static const uint64_t slack_ns = 50 * 1000; // where no clock is common to all processors
static const uint64_t alone_ns = 1000 * 1000;
static const uint64_t counted_pause_ns = 1000 * 1000; // until nobody reads the clock any more
enum { ALONE_EVENTS = 256 };

static bool is_seen_by_all(struct order *o, uint64_t stamp) {
	// The first round that began after it was seen
	if (o->next.later_round_ns == 0 && o->now_ns > o->next.round_ns) {
		o->next.later_round_ns = o->now_ns;
	}
	return (stamp > o->next.stamp && stamp - o->next.stamp >= ORDER_SLACK) ||
			(o->next.later_round_ns != 0 && o->now_ns - o->next.later_round_ns >= slack_ns);
}

uint64_t order_take_horizon(struct order *o) {
	uint64_t clock = 0, newest = UINT64_MAX;
	// A clock that went back, as over a suspend, cannot order events
	if (!o->is_last && o->counted_ns == 0 && atomic_load(&o->common->stamps) == STAMPS_CLOCK &&
			clock_stamp() < o->settled) {
		atomic_store(&o->common->stamps, STAMPS_COUNTED);
	}
	o->horizon = o->limit = ORDER_KEY_MAX;
	if (o->is_last) {
		return newest;
	}
	if (o->counted_ns == 0 &&
			atomic_load_explicit(&o->common->stamps, memory_order_relaxed) == STAMPS_CLOCK) {
		newest = clock = clock_stamp();
		o->settled = clock - ORDER_SLACK;
	} else if (o->counted_ns == 0) {
		o->counted_ns = o->settled == 0 ? 1 : o->now_ns;
	}
	if (o->counted_ns != 0 && o->now_ns - o->counted_ns >= counted_pause_ns) {
		newest = atomic_load(&o->common->stamp);
		o->settled = newest - 1;
	}
	if (o->next.epoch != o->epoch && is_seen_by_all(o, clock)) {
		o->epoch = o->next.epoch;
	}
	bool is_of_all = wire_epoch_owner(o->epoch) == 0;
	o->horizon = order_key_of(o->epoch, is_of_all ? o->settled : UINT64_MAX);
	o->limit = o->horizon;
	return newest;
}

/** The epoch in the header. An impossible value was overwritten, and is corrected. */
static uint64_t look(struct order *o) {
	_Atomic uint64_t *at = &o->common->epoch;
	uint64_t epoch = atomic_load(at);
	if (epoch < o->newest_epoch || wire_epoch_number(epoch) > o->epoch_most) {
		o->counts.bad_entries++;
		epoch = wire_epoch(++o->epoch_most, 0);
		atomic_store(at, epoch);
	}
	o->newest_epoch = epoch;
	return epoch;
}

static bool is_alone(const struct order *o) {
	const struct reader *r = o->busy;
	return r && !o->is_last && o->n_held == 0 &&
			(o->n_turns == 0 || (o->n_turns == 1 && o->turns[0].reader == r)) &&
			o->now_ns - o->busy_since_ns >= alone_ns &&
			r->at[RING_SMALL] + r->at[RING_BIG] - o->busy_from >= ALONE_EVENTS;
}

static void give(struct order *o, uint64_t epoch) {
	uint64_t number = wire_epoch_number(epoch) + 1, given = wire_epoch(number, o->busy->owner);
	if (atomic_compare_exchange_strong(&o->common->epoch, &epoch, given)) {
		o->newest_epoch = given;
		o->epoch_most = number + 1;
	}
}

void order_see_epoch(struct order *o) {
	uint64_t epoch = look(o);
	if (epoch == o->epoch && wire_epoch_owner(epoch) == 0 && is_alone(o)) {
		give(o, epoch);
		epoch = look(o);
	}
	if (o->next.epoch == o->epoch && epoch != o->epoch) {
		o->next.epoch = epoch;
		o->next.stamp = o->counted_ns == 0 ? clock_stamp() : UINT64_MAX;
		o->next.round_ns = o->now_ns;
		o->next.later_round_ns = 0;
	}
}

void order_end_epoch_of(struct order *o, const struct reader *r) {
	uint64_t epoch = look(o);
	if (wire_epoch_owner(epoch) == r->owner) {
		(void)atomic_compare_exchange_strong(&o->common->epoch, &epoch, wire_epoch_of_all(epoch));
	}
	if (o->busy == r) {
		o->busy = NULL;
	}
}
