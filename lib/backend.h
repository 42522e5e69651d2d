/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pool as the daemon sees it. One struct tier_backend stands for one active
 * pool; lib/dm.c implements it with messages to the kernel, tests/support/sim.c
 * with a simulated pool. The daemon and the CLI know nothing else about pools.
 *
 * Rules for every call:
 *  - One thread at a time per backend. Nothing is called back.
 *  - 0 or -errno; `ret_` outputs are written only on success.
 *  - Unless said otherwise a call blocks for one ioctl: microseconds to a few
 *    milliseconds, longer only while the pool is being suspended or reloaded.
 *    None may be called by a process while it holds a device suspended.
 *  - All answers are snapshots. Between two calls extents get allocated, freed
 *    and moved, volumes come and go. A volume is the same one only as long as
 *    its generation is the same: ids are reused, generations never.
 *  - Any call: -ENODEV the pool is gone (deactivated); -EINTR the caller got a
 *    signal, nothing is known about whether a change took place, changes may be
 *    repeated; -ENOMEM; -EPROTO an answer that cannot be understood (a newer
 *    kernel, a bug), never guessed at.
 *
 * Units: extents and slots count extents; sectors are 512 bytes; tiers count
 * from 0, the fastest.
 */
#ifndef TIER_BACKEND_H
#define TIER_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reason.h"

#define TIER_MAX_TIERS		8
#define TIER_MAX_DEVICES	64
#define TIER_MAX_VOLUMES	4096
#define TIER_NAME_SIZE		128	/* with the NUL, as device-mapper's DM_NAME_LEN */
#define TIER_UUID_SIZE		37
#define TIER_LABEL_SIZE		201

enum tier_pool_mode {
	TIER_POOL_RW,
	TIER_POOL_OUT_OF_SPACE,	/* rw, but a volume has no slot for first writes */
	TIER_POOL_META_RO,	/* metadata cannot be written: no move can end */
	TIER_POOL_FAIL
};

enum tier_device_state {
	TIER_DEVICE_NEW,	/* recorded, not in use yet */
	TIER_DEVICE_ONLINE,	/* the only state that takes allocations and moves */
	TIER_DEVICE_DRAINING,	/* readable and writable, may only be left */
	TIER_DEVICE_MISSING,
	TIER_DEVICE_FAILED,
	TIER_DEVICE_LOST	/* given up: its extents answer EIO until discarded */
};

/* The words of the two enums as the kernel writes them. Never NULL. */
const char *tier_pool_mode_word(enum tier_pool_mode mode);
const char *tier_device_state_word(enum tier_device_state state);
/* 0 or -EINVAL. */
int tier_pool_mode_from_word(const char *word, enum tier_pool_mode *ret_mode);
int tier_device_state_from_word(const char *word, enum tier_device_state *ret_state);

struct tier_device_info {
	uint32_t idx;			/* stable as long as the device is a member */
	char uuid[TIER_UUID_SIZE];
	uint32_t tier;
	enum tier_device_state state;
	uint64_t total_slots;
	uint64_t used_slots;		/* owned by an extent */
	uint64_t reserved_slots;	/* destinations of moves under way */
	uint64_t quarantined_slots;	/* never given out: a write failed there */
	uint64_t parked_slots;		/* waiting for late copy jobs, free later */
	uint64_t errors;		/* I/O errors since activation */
};

/* Where first writes of a volume go. */
struct tier_placement {
	bool is_auto;			/* the tier with the most free slots; no list then */
	uint32_t nr_tiers;
	uint8_t tiers[TIER_MAX_TIERS];	/* in this order, the first one with space */
};

struct tier_volume_info {
	uint32_t id;
	char uuid[TIER_UUID_SIZE];
	uint64_t generation;
	uint64_t sectors;		/* a multiple of the pool's extent_sectors */
	struct tier_placement placement;
	uint64_t allocated_extents;
	char label[TIER_LABEL_SIZE];	/* decoded: name=..;policy=..;pin=.. (policy.h) */
};

struct tier_pool_info {
	char uuid[TIER_UUID_SIZE];
	char name[TIER_NAME_SIZE];	/* without "tier-pool" decoration: what the user typed */
	uint64_t extent_sectors;
	uint64_t region_sectors;
	enum tier_pool_mode mode;
	bool needs_check;
	uint64_t queued_moves;
	uint64_t active_moves;
	struct tier_device_info *devices;	/* in ascending idx */
	size_t nr_devices;
	struct tier_volume_info *volumes;	/* in ascending id */
	size_t nr_volumes;
};

/* -ENODATA of read_pool, in words. */
#define TIER_NOT_LOADED_TEXT	"the kernel could not load it; its log (dmesg) says why"

/* Release the arrays of an info and zero it; for the cleanup attribute too. NULL is fine. */
void tier_pool_info_clear(struct tier_pool_info *info);

/* Slots that a move could take now. */
static inline uint64_t tier_device_free_slots(const struct tier_device_info *device)
{
	uint64_t taken = device->used_slots + device->reserved_slots +
			 device->quarantined_slots + device->parked_slots;

	return taken < device->total_slots ? device->total_slots - taken : 0;
}

/* Slots that can be given out: none of a device that is not there, is being drained or is not in use yet. */
static inline uint64_t tier_device_usable_slots(const struct tier_device_info *device)
{
	return device->state == TIER_DEVICE_ONLINE ? tier_device_free_slots(device) : 0;
}

/*
 * A run of extents that lie on consecutive slots of one device with the same
 * number of valid regions, or of extents without a slot (`device` is
 * TIER_NO_DEVICE; tier, slot and valid_regions are 0). `valid_regions` is per
 * extent.
 */
#define TIER_NO_DEVICE		UINT32_MAX

struct tier_map_run {
	uint64_t first;
	uint64_t count;
	uint32_t tier;
	uint32_t device;
	uint64_t slot;
	uint32_t valid_regions;
};

/* Monotonic since `instance` began (struct tier_counter_head). */
struct tier_counter {
	uint64_t extent;
	uint64_t reads;
	uint64_t writes;
	uint64_t read_sectors;
	uint64_t write_sectors;
	uint64_t sequential_ios;	/* of reads + writes: began where the extent's last one ended */
	uint64_t large_ios;		/* of reads + writes: above 64 KiB */
};

/*
 * What a set of counters belongs to. Another `instance` (the pool was loaded
 * anew) or `volume_generation` (another volume under this id) means that the
 * counters began at 0 again. `counter_generation` is what to pass as `since`
 * next time.
 */
struct tier_counter_head {
	uint64_t instance;
	uint64_t volume_generation;
	uint64_t counter_generation;
};

/* Where a move goes: the emptiest online device of a tier, or one device. */
struct tier_target {
	bool is_device;
	uint32_t index;			/* tier, or device idx */
};

struct tier_active_move {
	uint64_t id;
	uint32_t volume;
	uint64_t extent;
	uint32_t from_device;		/* TIER_NO_DEVICE: it has no slot any more */
	uint32_t to_device;		/* TIER_NO_DEVICE: not chosen yet */
	char state[24];			/* the kernel's word: queued, copy, freeze, commit, ... */
	uint32_t pass;
	uint32_t regions_left;
};

struct tier_finished_move {
	uint64_t seq;			/* 1, 2, 3, ... within a pool instance */
	uint64_t id;
	uint32_t volume;
	uint64_t extent;
	uint32_t from_device;		/* TIER_NO_DEVICE, both: it ended before it began */
	uint32_t to_device;
	int result;			/* 0, or -errno: the extent stayed where it was */
	enum tier_reason reason;	/* why it did not happen; NONE when it did */
	uint64_t copied_bytes;
	uint32_t passes;
	uint64_t freeze_us;		/* how long writes to the extent were held */
};

struct tier_finished_head {
	uint64_t last_seq;	/* newest seq given out so far, 0 = none. Below the seq
				 * that was asked for: the pool was loaded anew, ask from 0. */
	uint64_t lost;		/* moves after `since` that the ring no longer holds:
				 * look at the map to see what became of them */
};

struct tier_backend_ops {
	/*
	 * State of the pool with its devices and volumes. Never waits for I/O.
	 * The caller clears *ret_info (tier_pool_info_clear). -ENODATA: its
	 * device is there, but the kernel could not load the pool, or not yet.
	 */
	int (*read_pool)(void *ctx, struct tier_pool_info *ret_info);

	/*
	 * Runs of extents first .. first + count - 1, in order, without holes,
	 * at most max_runs. *ret_next is the first extent not covered
	 * (first + count when all are): call again from there. At least one
	 * extent of progress. -ENOENT no such volume; -ERANGE beyond its end;
	 * -EINVAL count or max_runs 0.
	 */
	int (*read_map)(void *ctx, uint32_t volume, uint64_t first, uint64_t count,
			struct tier_map_run *ret_runs, size_t max_runs,
			size_t *ret_nr_runs, uint64_t *ret_next);

	/*
	 * Counters of the extents first .. first + count - 1 that changed since
	 * counter generation `since` (0 = all that were ever touched), in
	 * ascending order, at most max_counters; *ret_next as in read_map.
	 * Read in several calls, the `since` of the next round is the
	 * counter_generation of the *first* call of this one. An extent may
	 * appear again unchanged; a change is never left out. Errors as read_map.
	 */
	int (*read_counters)(void *ctx, uint32_t volume, uint64_t first, uint64_t count,
			     uint64_t since, struct tier_counter_head *ret_head,
			     struct tier_counter *ret_counters, size_t max_counters,
			     size_t *ret_nr_counters, uint64_t *ret_next);

	/*
	 * Queue the move of one extent. 0 means queued: how it ends is in
	 * read_finished. Idempotent: the same move asked for twice is one move
	 * with one id. `force` lets the kernel slow writers down so that the
	 * move ends (drains only).
	 * -EAGAIN the queue is full, later; -ENOENT no such volume; -ERANGE
	 * beyond its end; -ENODATA the extent has no slot; -EALREADY it is
	 * there; -EBUSY it is moving elsewhere; -ENOSPC no free slot there;
	 * -ENXIO no such tier or device, or none of it is online; -EROFS the
	 * pool's mode allows no moves.
	 */
	int (*migrate)(void *ctx, uint32_t volume, uint64_t extent, struct tier_target to,
		       bool force, uint64_t *ret_id);

	/*
	 * Ask for the end of one move, or of all. They end within a second, as
	 * `cancelled` or, when it was too late, done. -ENOENT no such move
	 * (cancel_all: never).
	 */
	int (*cancel)(void *ctx, uint32_t volume, uint64_t extent);
	int (*cancel_all)(void *ctx);

	/* Bandwidth of all moves together, 0 = no limit; and how many at once (>= 1). */
	int (*set_rate)(void *ctx, uint64_t bytes_per_s);
	int (*set_moves)(void *ctx, uint32_t count);

	/* Moves queued and under way, at most max_moves; *ret_total is how many there are. */
	int (*read_active)(void *ctx, struct tier_active_move *ret_moves, size_t max_moves,
			   size_t *ret_nr_moves, size_t *ret_total);

	/*
	 * Moves that ended after `since_seq`, oldest first, at most max_moves.
	 * Call again with the last seq received until none come.
	 */
	int (*read_finished)(void *ctx, uint64_t since_seq, struct tier_finished_head *ret_head,
			     struct tier_finished_move *ret_moves, size_t max_moves,
			     size_t *ret_nr_moves);

	/*
	 * Where first writes go; a volume's label (decoded text, below
	 * TIER_LABEL_SIZE); slots of a device that first writes leave free so
	 * that an exchange always has one. In force at once, durable after
	 * commit. -ENOENT no such volume or device; -EINVAL; -EROFS.
	 */
	int (*set_placement)(void *ctx, uint32_t volume, const struct tier_placement *placement);
	int (*set_label)(void *ctx, uint32_t volume, const char *label);
	int (*set_reserve)(void *ctx, uint32_t device, uint64_t slots);

	/*
	 * Everything before it is durable when it returns. Waits for I/O on the
	 * metadata device, as long as that takes. -EROFS or -EIO when it cannot.
	 */
	int (*commit)(void *ctx);
};

/* What the daemon is handed for a pool. Who made it frees it. */
struct tier_backend {
	const struct tier_backend_ops *ops;
	void *ctx;
};

#endif
