/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Status lines and answers of the kernel as data (grammar: dm-tier.h). Pure.
 *
 * -EPROTO for anything that does not follow the grammar, and the outputs are
 * untouched then; a status of a newer kernel may have more pairs at its end,
 * nothing else is skipped.
 */
#ifndef TIER_STATUS_H
#define TIER_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"

/* What a device is and holds, without its uuid; and what it did since activation. */
struct tier_device_status {
	uint32_t idx;
	uint32_t tier;
	enum tier_device_state state;
	uint64_t total_slots;
	uint64_t used_slots;
	uint64_t reserved_slots;
	uint64_t quarantined_slots;
	uint64_t parked_slots;
	uint64_t ios;
	uint64_t sectors;
	uint64_t errors;
};

/*
 * A pool that the kernel could not load, or that it is just loading, says `fail`
 * and nothing else: is_loaded is false and the rest zero but for the mode. One
 * that failed later still tells all.
 */
struct tier_pool_status {
	enum tier_pool_mode mode;
	bool is_loaded;
	uint64_t commit;		/* number of the last one */
	uint64_t used_log_blocks;
	uint64_t log_blocks;
	bool needs_check;
	uint64_t extent_sectors;
	uint64_t region_sectors;
	uint32_t nr_devices;
	struct tier_device_status devices[TIER_MAX_DEVICES];
	uint64_t queued_moves;
	uint64_t active_moves;
	uint64_t done_moves;
	uint64_t cancelled_moves;
	uint64_t failed_moves;
	uint64_t moved_bytes;
	char uuid[TIER_UUID_SIZE];
	uint64_t instance;		/* another one: the pool was loaded anew */
	char label[TIER_LABEL_SIZE];	/* decoded */
	uint64_t rate_bytes_per_s;	/* of all moves, 0 = no limit */
	uint32_t moves_at_once;
};

struct tier_volume_status {
	enum tier_pool_mode mode;
	uint64_t generation;
	uint64_t allocated_extents;
	uint64_t total_extents;
	uint32_t nr_tiers;
	uint64_t tier_extents[TIER_MAX_TIERS];
};

int tier_status_parse_pool(const char *params, struct tier_pool_status *ret_status);
int tier_status_parse_volume(const char *params, struct tier_volume_status *ret_status);

/*
 * Answers: one line a call. 1 = a line was taken and *answer moved behind it,
 * 0 = there are none left. An answer with a first line of its own has a _head,
 * to be taken (it returns 1) before the lines.
 */
int tier_answer_volume(const char **answer, struct tier_volume_info *ret_volume);
/* errors stays 0: it is in the status. */
int tier_answer_device(const char **answer, struct tier_device_info *ret_device);
int tier_answer_active(const char **answer, struct tier_active_move *ret_move);
/* The seqs of `moves since`: the oldest that is kept and the next to be given out. */
int tier_answer_finished_head(const char **answer, uint64_t *ret_oldest, uint64_t *ret_next);
int tier_answer_finished(const char **answer, struct tier_finished_move *ret_move);
int tier_answer_map(const char **answer, struct tier_map_run *ret_run);
int tier_answer_counters_head(const char **answer, struct tier_counter_head *ret_head);
int tier_answer_counter(const char **answer, struct tier_counter *ret_counter);
/* An answer that is one number: a move id, a device idx. 0 or -EPROTO. */
int tier_answer_number(const char *answer, uint64_t *ret_number);

#endif
