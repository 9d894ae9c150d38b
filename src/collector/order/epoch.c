// SPDX-License-Identifier: MIT
/*
 * Epochs (wire/segment.h), as the collector sees them.
 *
 * When the header names an epoch, all events of those before have read another word, so their entries were
 * reserved: they are complete, once what a processor has stored is seen by all. One epoch after the
 * other is seen, waited for, and then complete; which ones came in between does not matter.
 *
 *   complete:  E - - - - - - E+4      of the epoch E, if it is all threads', there is what has an older stamp
 *   seen:        E+4 .slack. E+7      than the horizon; if it is a thread's, all that it has reserved
 *
 * An epoch that is all threads' becomes a thread's when for a while all events were its.
 */
#include "collector/order/parts.h"
#include "sys/clock.h"

static const uint64_t slack_ns = 50 * 1000; // where there is no clock of all processors
static const uint64_t alone_ns = 1000 * 1000;
enum { ALONE_EVENTS = 256 };

static bool is_seen_by_all(struct order *o, uint64_t stamp) {
	// The first round that began when it had been seen
	if (o->next.later_round_ns == 0 && o->now_ns > o->next.round_ns) {
		o->next.later_round_ns = o->now_ns;
	}
	return (stamp > o->next.stamp && stamp - o->next.stamp >= ORDER_SLACK) ||
			(o->next.later_round_ns != 0 && o->now_ns - o->next.later_round_ns >= slack_ns);
}

void order_complete_epochs(struct order *o, uint64_t stamp) {
	if (o->next.epoch != o->epoch && is_seen_by_all(o, stamp)) {
		o->epoch = o->next.epoch;
	}
}

/** What the header says. What it cannot say is nonsense of somebody's, and is put right. */
static uint64_t look(struct order *o) {
	_Atomic uint64_t *at = &o->segment->header->epoch;
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
	uint64_t number = wire_epoch_number(epoch) + 1;
	uint64_t given = wire_epoch(number, o->busy->slot_index + 1);
	if (atomic_compare_exchange_strong(&o->segment->header->epoch, &epoch, given)) {
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
	if (wire_epoch_owner(epoch) == r->slot_index + 1) {
		(void)atomic_compare_exchange_strong(&o->segment->header->epoch, &epoch,
				wire_epoch_of_all(epoch));
	}
	if (o->busy == r) {
		o->busy = NULL;
	}
}
