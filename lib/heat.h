/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Heat: how often an extent is used, recent use counting more. The rules are
 * POLICY RULES 1.x of tierd.conf(5).
 *
 * An I/O adds its weight (1.1) when it is counted; every half-life the sum
 * halves (1.2). Deltas of the kernel's counters are added with the weight that
 * their age will have, relative to one reference time per volume (scale_ns), so
 * adding touches only extents that changed, the result does not depend on how
 * often counters are read, and a rescale of everything is needed only now and
 * then (fold_ns). What came in over a span of time counts as if it had come
 * evenly over that span: after a suspend or a day without the daemon, old I/O is
 * not taken for new.
 *
 * Times are nanoseconds of one clock that runs on through suspend and never
 * steps (CLOCK_BOOTTIME); the caller passes them. They may be negative: who
 * restores a saved state after a reboot shifts epoch_ns, scale_ns and
 * collected_ns by the time that passed, see tier_heat_shift().
 *
 * Pure but for the memory of struct tier_heat_volume. No file knows more about
 * heat than this one: the planner gets plain arrays of numbers.
 */
#ifndef TIER_HEAT_H
#define TIER_HEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"

#define TIER_HEAT_TERMS		3	/* at most so many half-lives side by side */
#define TIER_HEAT_UNKNOWN	(-1.0f)	/* of tier_heat_rank(): counted too short a time (1.5) */

struct tier_heat_config {
	uint32_t nr_terms;			/* 1: one half-life */
	int64_t half_life_ns[TIER_HEAT_TERMS];
	double read_weight;
	double write_weight;
	double sequential_weight;		/* factor for I/O that goes on where the last ended */
	double large_weight;			/* factor for I/O above 64 KiB */
	int64_t fold_ns;			/* rescale at most so often; no effect on values */
	int64_t watch_ns;			/* after so long without I/O an extent is cold */
};

/* The product's defaults: 24 h, weights 1, 1, 0.001, 1, fold each hour, watch 24 h. */
void tier_heat_config_init(struct tier_heat_config *config);

/* What the counters of an extent stood at when they were last read. */
struct tier_heat_base {
	uint64_t reads;
	uint64_t writes;
	uint64_t sequential_ios;
	uint64_t large_ios;
};

/*
 * When an extent was born, as minutes since the volume's epoch + 1. 0: it was
 * there already when counting began, so what it did before is not known.
 */
#define TIER_HEAT_BORN_BEFORE	0
#define TIER_HEAT_UNALLOCATED	UINT32_MAX

/*
 * One volume. Plain data: state.c writes it field by field. Invariants:
 * heat[term][extent] is >= 0 and finite, in weighted I/Os as of scale_ns;
 * scale_ns <= collected_ns; arrays have nr_extents entries, of heat the first
 * nr_terms.
 */
struct tier_heat_volume {
	uint64_t instance;		/* what `base` belongs to (struct tier_counter_head) */
	uint64_t volume_generation;
	uint64_t since;			/* counter generation to read from next */
	uint64_t nr_extents;
	uint32_t nr_terms;
	bool mapped;			/* tier_heat_map() has seen the whole volume once */
	bool is_new;			/* watched since it was created: all of it is known */
	int64_t epoch_ns;		/* when counting began */
	int64_t scale_ns;
	int64_t collected_ns;		/* of the last complete round */
	float *heat[TIER_HEAT_TERMS];
	uint32_t *born;
	struct tier_heat_base *base;
};

/*
 * Start with no heat. `is_new`: the volume was created while its pool was being
 * watched, so nothing was missed; false when there is no state of the pool.
 * -ENOMEM, -EINVAL (nr_terms). Free with tier_heat_volume_clear().
 */
int tier_heat_volume_init(struct tier_heat_volume *volume, const struct tier_heat_config *config,
			  uint64_t nr_extents, bool is_new, int64_t now_ns);
void tier_heat_volume_clear(struct tier_heat_volume *volume);

/* The volume grew or shrank: new extents begin unallocated. -ENOMEM: as before. */
int tier_heat_volume_resize(struct tier_heat_volume *volume, uint64_t nr_extents);

/* The clock's zero moved by delta_ns (a saved state is used in another boot). */
void tier_heat_shift(struct tier_heat_volume *volume, int64_t delta_ns);

/*
 * A round of counters: begin, count any number of times, end. Between begin and
 * end nothing else may be done with the volume.
 *
 * begin: `head` is that of the round's first answer. Another instance: the
 * counters began at 0 again, heat stays. Another volume generation: this is
 * another volume under the same id, all is forgotten (`is_new` afterwards).
 * `is_measured` false (outside of the measure mask): the round only moves the
 * bases.
 * count: -ERANGE for an extent beyond the end (resize first; those before it
 * have been counted). A counter that went back becomes a new base and adds
 * nothing.
 */
struct tier_heat_round {
	int64_t now_ns;
	uint64_t next_since;
	bool is_measured;
	float gain[TIER_HEAT_TERMS];	/* what a weight of 1 adds to heat[term] */
};

void tier_heat_begin(struct tier_heat_volume *volume, const struct tier_heat_config *config,
		     const struct tier_counter_head *head, bool is_measured, int64_t now_ns,
		     struct tier_heat_round *ret_round);
int tier_heat_count(struct tier_heat_volume *volume, const struct tier_heat_config *config,
		    const struct tier_heat_round *round, const struct tier_counter *counters,
		    size_t nr_counters);
void tier_heat_end(struct tier_heat_volume *volume, const struct tier_heat_round *round);

/*
 * Extents first .. first + count - 1 have a slot, or have none. To be told of
 * the whole volume after each round of counters, in ascending order; the one
 * that reaches the end completes the pass. An extent that lost its slot loses
 * its heat; one that got a slot is young (1.4).
 */
void tier_heat_map(struct tier_heat_volume *volume, uint64_t first, uint64_t count,
		   bool is_allocated, int64_t now_ns);

/* Decayed sum of weighted I/Os of one extent, first half-life (1.2). */
double tier_heat_now(const struct tier_heat_volume *volume, const struct tier_heat_config *config,
		     uint64_t extent, int64_t now_ns);

/*
 * For ranking: weighted I/Os per day of each extent, start-up corrected, the
 * mean over the half-lives (1.4); TIER_HEAT_UNKNOWN where nothing is known yet
 * (1.5). ret_heat has nr_extents entries. Unallocated extents get 0.
 */
void tier_heat_rank(const struct tier_heat_volume *volume, const struct tier_heat_config *config,
		    int64_t now_ns, float *ret_heat);

/* 2^(-span / half_life); 1 for span <= 0. */
double tier_heat_decay(int64_t span_ns, int64_t half_life_ns);

#endif
