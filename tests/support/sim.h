/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A simulated pool: devices, thin volumes, counters and moves behind the same
 * interface as the kernel's (backend.h), with a clock that only the test turns.
 *
 * It keeps the kernel's promises (one slot per extent, first writes by placement,
 * a bounded queue, a ring of finished moves that can lose entries) and can be told
 * to break devices and moves. It holds no data: only where extents lie.
 *
 * One thread. Errors that only a wrong test can make abort().
 */
#ifndef TIER_SIM_H
#define TIER_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "backend.h"

#define TIER_SIM_QUEUE	256	/* moves that wait; more: -EAGAIN */
#define TIER_SIM_RING	128	/* finished moves that are kept */

struct tier_sim;

/* region_sectors divides extent_sectors. Never fails (aborts without memory). */
struct tier_sim *tier_sim_new(uint64_t extent_sectors, uint64_t region_sectors);
void tier_sim_free(struct tier_sim *sim);

/* The backend of this pool; valid as long as the sim. */
struct tier_backend tier_sim_backend(struct tier_sim *sim);

/* ---- what an administrator does ---- */

/* The idx of the new online device. */
uint32_t tier_sim_add_device(struct tier_sim *sim, uint32_t tier, uint64_t slots);
void tier_sim_set_device_state(struct tier_sim *sim, uint32_t idx, enum tier_device_state state);
/* Since the last reload. */
void tier_sim_set_device_errors(struct tier_sim *sim, uint32_t idx, uint64_t errors);
/* Lowest free id; placement by the label's policy, like tvcreate's. */
uint32_t tier_sim_add_volume(struct tier_sim *sim, uint64_t extents, const char *label);
void tier_sim_remove_volume(struct tier_sim *sim, uint32_t volume);
/* New label *and* the placement that goes with its policy, like tvchange --policy. */
void tier_sim_set_policy(struct tier_sim *sim, uint32_t volume, const char *label);
void tier_sim_set_mode(struct tier_sim *sim, enum tier_pool_mode mode);
/* The pool is loaded anew: counters, ring, queue and error counts start again. */
void tier_sim_reload(struct tier_sim *sim);

/* ---- what users do ---- */

/* Counted as the kernel counts; `ios` are split into `sequential` and others. */
struct tier_sim_io {
	uint64_t reads;
	uint64_t writes;
	uint32_t sectors;	/* of each I/O */
	uint64_t sequential;	/* of reads + writes */
};

/* -ENOSPC: a first write found no slot (and is not counted). */
int tier_sim_io(struct tier_sim *sim, uint32_t volume, uint64_t extent,
		const struct tier_sim_io *io);
void tier_sim_discard(struct tier_sim *sim, uint32_t volume, uint64_t extent);

/* ---- time and faults ---- */

int64_t tier_sim_now_ns(const struct tier_sim *sim);
/* Moves go on and end as time passes. */
void tier_sim_advance(struct tier_sim *sim, int64_t ns);
/* Let time pass until no move is queued or active. */
void tier_sim_settle(struct tier_sim *sim);
/* How fast all moves together copy when no rate is set; default 500 MB/s. */
void tier_sim_set_speed(struct tier_sim *sim, uint64_t bytes_per_s);
/* The next `count` moves to this device end with this reason. */
void tier_sim_fail_moves(struct tier_sim *sim, uint32_t idx, enum tier_reason reason,
			 unsigned int count);

/* ---- looking inside ---- */

#define TIER_SIM_NOWHERE	UINT32_MAX

/* Device or tier of an extent; TIER_SIM_NOWHERE without a slot. */
uint32_t tier_sim_device_of(const struct tier_sim *sim, uint32_t volume, uint64_t extent);
uint32_t tier_sim_tier_of(const struct tier_sim *sim, uint32_t volume, uint64_t extent);
/* Extents of first .. first + count - 1 on a tier. */
uint64_t tier_sim_count_on(const struct tier_sim *sim, uint32_t volume, uint64_t first,
			   uint64_t count, uint32_t tier);
/* How many messages of the kind that change something the pool has got. */
uint64_t tier_sim_nr_migrates(const struct tier_sim *sim);
/* Checks every invariant; NULL or what is broken. */
const char *tier_sim_check(const struct tier_sim *sim);

/* ---- randomness for tests: splitmix64, the same everywhere ---- */

struct tier_rng {
	uint64_t state;
};

uint64_t tier_rng_next(struct tier_rng *rng);
/* Below `limit`, which is > 0. */
uint64_t tier_rng_below(struct tier_rng *rng, uint64_t limit);
/* In (0, 1). */
double tier_rng_unit(struct tier_rng *rng);

#endif
