/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside the simulated pool: sim.c is the pool, sim_backend.c its messages and moves. */
#ifndef TIER_SIM_INTERNAL_H
#define TIER_SIM_INTERNAL_H

#include "sim.h"

enum sim_slot {
	SIM_SLOT_FREE,
	SIM_SLOT_USED,
	SIM_SLOT_RESERVED,
	SIM_SLOT_QUARANTINED
};

struct sim_device {
	struct tier_device_info info;	/* counts of used, reserved, quarantined are exact */
	uint64_t reserve_slots;
	uint8_t *slots;			/* enum sim_slot */
	uint64_t next_slot;		/* where to look for a free one */
	enum tier_reason fail_reason;
	unsigned int fail_count;
};

struct sim_extent {
	uint32_t device;		/* TIER_SIM_NOWHERE */
	uint32_t slot;
	uint32_t valid_regions;
	uint64_t stamp;			/* counter generation of its last change; 0 = never */
	struct tier_counter counter;
};

struct sim_volume {
	bool is_used;
	struct tier_volume_info info;
	uint64_t nr_extents;
	struct sim_extent *extents;
};

struct sim_move {
	uint64_t id;
	uint32_t volume;
	uint64_t extent;
	struct tier_target to;
	bool is_active;
	bool is_cancelled;
	uint32_t from_device;
	uint32_t to_device;		/* once active */
	uint32_t slot;
	double bytes_left;
	uint64_t bytes;
};

struct tier_sim {
	uint64_t extent_sectors;
	uint64_t region_sectors;
	enum tier_pool_mode mode;
	int64_t now_ns;
	uint64_t instance;
	uint64_t next_generation;
	uint64_t counter_generation;
	struct sim_device devices[TIER_MAX_DEVICES];
	uint32_t nr_devices;
	struct sim_volume volumes[TIER_MAX_VOLUMES];
	uint32_t nr_volumes;		/* highest id in use + 1 */

	struct sim_move moves[TIER_SIM_QUEUE + 64];	/* oldest first */
	uint32_t nr_moves;
	uint32_t at_once;
	uint64_t rate_bytes_per_s;
	uint64_t speed_bytes_per_s;
	uint64_t next_move_id;
	uint64_t nr_migrates;
	struct tier_finished_move ring[TIER_SIM_RING];	/* seq % TIER_SIM_RING */
	uint64_t last_seq;
};

extern const struct tier_backend_ops tier_sim_ops;

struct sim_volume *sim_volume(struct tier_sim *sim, uint32_t volume);
/* Take a free slot for `as`; false: none. */
bool sim_take_slot(struct sim_device *device, enum sim_slot as, uint32_t *ret_slot);
/* Any state to any other, counts kept. */
void sim_set_slot(struct sim_device *device, uint32_t slot, enum sim_slot state);
/* Free slots of an online device, 0 of others. */
uint64_t sim_free_slots(const struct sim_device *device);
/* The online device of a tier with most free slots; NULL: none has one. */
struct sim_device *sim_emptiest(struct tier_sim *sim, uint32_t tier, bool is_first_write);
uint64_t sim_extent_bytes(const struct tier_sim *sim, const struct sim_extent *extent);
void sim_cancel_moves(struct tier_sim *sim, uint32_t volume, int64_t extent);
void sim_drop_slot(struct tier_sim *sim, struct sim_volume *volume, struct sim_extent *extent);

#endif
