/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of a pool in RAM, and which lock guards which field.
 *
 * pool->lock	spinlock, process context only (end_io never takes it): slots,
 *		changes, operations, moves, volumes' numbers, parked bios.
 *		Fields marked [L].
 * pool->admin	mutex of everything that changes the set of volumes and devices
 *		(messages, bind, unbind).  Fields marked [A]; they change under
 *		admin *and* lock, so either suffices to read them.
 * Entries of the map change by cmpxchg, mostly under pool->lock; the fast path
 * reads them in one preempt-disabled section (dm-tier-device.h).
 *
 * Order: admin, then pool->lock, then a volume's or device's own flush lock.
 */
#ifndef DM_TIER_CORE_H
#define DM_TIER_CORE_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/device-mapper.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mempool.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dm-tier.h"
#include "dm-tier-args.h"
#include "dm-tier-format.h"
#include "dm-tier-heat.h"
#include "dm-tier-map.h"

#define DM_MSG_PREFIX "tier"

struct dm_tier_pool;
struct dm_tier_volume;
struct dm_tier_move;
struct fold_work;

/* One extent's place ---------------------------------------------------------
 *
 * A u64: slot, device and flags.  0 = no slot.
 */
#define ENTRY_SLOT_MASK		0xffffffffULL
#define ENTRY_DEVICE_SHIFT	32
#define ENTRY_DEVICE_MASK	0x3fULL
#define ENTRY_ALLOCATED		(1ULL << 40)
#define ENTRY_FULL		(1ULL << 41)	/* every region is valid: no bitmap */
#define ENTRY_FROZEN		(1ULL << 42)	/* writes and discards are held */
#define ENTRY_MIGRATING		(1ULL << 43)	/* writes mark their regions dirty */
#define ENTRY_FORCED		(1ULL << 44)	/* writes take the slow path */
/* Changed in the open commit of this parity: FUA must wait for that commit. */
#define ENTRY_CHANGED(seq)	(1ULL << (45 + ((seq) & 1)))
#define ENTRY_NO_SUCH		(1ULL << 47)	/* never set: who wants it takes the slow path */
#define ENTRY_CHANGED_ANY	(ENTRY_CHANGED(0) | ENTRY_CHANGED(1))

static inline u64 entry_make(u32 device, u32 slot)
{
	return ENTRY_ALLOCATED | ((u64)device << ENTRY_DEVICE_SHIFT) | slot;
}

static inline u32 entry_slot(u64 entry)
{
	return entry & ENTRY_SLOT_MASK;
}

static inline u32 entry_device(u64 entry)
{
	return (entry >> ENTRY_DEVICE_SHIFT) & ENTRY_DEVICE_MASK;
}

/* Bits of regions; freed by RCU because the fast path reads and marks them. */
struct dm_tier_bits {
	struct rcu_head rcu;
	mempool_t *pool;		/* where it goes back to */
	unsigned long bits[];
};

struct dm_tier_extent {
	u64 entry;
	struct dm_tier_bits __rcu *valid;	/* NULL when full or unallocated */
};

#define CHUNK_SHIFT		6
#define CHUNK_EXTENTS		(1U << CHUNK_SHIFT)

/* Allocated when its first extent is; never moves; freed with the volume. */
struct dm_tier_chunk {
	struct dm_tier_extent extent[CHUNK_EXTENTS];
	struct dm_tier_counters counters[CHUNK_EXTENTS];
};

struct dm_tier_chunks {
	struct rcu_head rcu;
	u32 nr;
	struct dm_tier_chunk *chunk[];
};

/* Changes --------------------------------------------------------------------
 *
 * A record that differs from its durable image.  It exists from the first
 * change until a commit with the newest copy is durable.  See dm-tier-meta.h.
 */
struct dm_tier_change {
	struct list_head list;		/* meta->open_changes, while open */
	struct list_head commit_list;	/* meta->changes, while in flight */
	bool open;			/* changed since the commit in flight took its copy */
	bool inflight;			/* a copy is in the commit in flight */
	u8 type;			/* DM_TIER_REC_* */
	u32 index;			/* device or volume */
	u32 slot;
	u64 deps;			/* devices whose flush the open change needs */
	u64 copy_deps;
	struct dm_tier_volume *owner;	/* of the slot, when the copy was taken */
	struct dm_tier_record committed; /* durable; a tombstone if there is none */
	struct dm_tier_record copy;	/* in the commit in flight */
};

/* Slots and devices ----------------------------------------------------------*/

enum dm_tier_slot_state {
	SLOT_FREE,
	SLOT_OWNED,
	SLOT_RESERVED,		/* destination of a move */
	SLOT_FREEING,		/* freed; not yet durable or drained */
	SLOT_PARKED,		/* its move is over, copy jobs are not */
};

struct dm_tier_slot {
	u32 extent;
	u16 volume;
	u8 state;
	bool quarantine;
	struct dm_tier_change *change;
};

/*
 * I/O in flight, by epoch: submissions and completions are counted apart, each
 * on the CPU where it happens, so no instruction is locked and the sum of
 * submissions is the device's I/O count.
 */
struct dm_tier_inflight {
	unsigned long get[2];
	unsigned long put[2];
	unsigned long sectors;
};

struct dm_tier_device {
	/* read by every I/O */
	struct block_device *bdev;	/* NULL: no I/O possible */
	struct dm_tier_inflight __percpu *inflight;
	u32 epoch;

	u32 idx;			/* constant */
	struct dm_tier_pool *pool;	/* constant */
	bool present;			/* [A] has a record */
	u32 tier, slots, state, reserve_slots;	/* [A] the record */
	u8 uuid[16];			/* [A] */
	bool failed;			/* a flush failed or is late */
	bool left;			/* [A] a reload has taken it away */

	struct dm_tier_slot *slot;	/* [L] */
	unsigned long *free_map;	/* [L] bit set: free and not quarantined */
	u32 used, reserved, quarantined, parked, free;	/* [L] */
	u32 hint;			/* [L] where to look for a free slot */
	u32 credits;			/* [L] taken by operations on it ... */
	u32 nr_changes;			/* [L] ... and changes of its slots */
	struct list_head waiters;	/* [L] bios that wait for one of its credits */
	struct dm_tier_change *change;	/* [L] */
	atomic64_t errors;

	/* Copies, zeroing, discards and flushes by the module; 0 before dm_put_device. */
	atomic_t jobs;
	wait_queue_head_t wait;		/* jobs, drain and flush progress */

	struct work_struct drain_work;	/* see dm_tier_device_drain() */
	u64 drain_wanted, drain_done;	/* under drain_lock */
	spinlock_t drain_lock;
	bool drain_running;

	spinlock_t flush_lock;		/* irqs off; guards the flush fields */
	u64 flush_wanted, flush_started, flush_done;
	u64 flush_bad;			/* the last one that failed, 0 = none */
	bool flush_running;
	unsigned long flush_since;	/* jiffies, of the running one */
	int flush_error;		/* of flush_bad */
	int flush_status;		/* of the one that flush_failed_work is for */
	bool flush_broken;		/* the last one that ended has failed */
	struct bio flush_bio;
	struct work_struct flush_work, flush_failed_work;
};

/* Volumes --------------------------------------------------------------------*/

/* What first writes of a volume found last; in mode rw it is told as out_of_space. */
enum dm_tier_space_state { SPACE_ENOUGH, SPACE_WAITING, SPACE_FAILING, SPACE_STATES };

struct dm_tier_volume {
	/* read by every I/O */
	struct dm_tier_pool *pool;
	struct dm_tier_chunks __rcu *chunks;
	unsigned long dirty;		/* devices written since their last flush; bit ops */
	bool flush_failed;		/* latched until a FLUSH succeeds */

	u32 id;				/* constant */
	u64 generation;			/* constant */
	u8 uuid[16];			/* constant */
	u32 extents;			/* [A] */
	u8 tiers;			/* [A] placement; 0 = auto */
	u8 placement[DM_TIER_MAX_TIERS];
	u8 label_bytes;
	char label[DM_TIER_MAX_LABEL];
	struct list_head tables;	/* [A] of struct dm_tier_table */
	/* [L] Once commit reap_seq is durable, extents from reap_from on are free; 0 = none. */
	u64 reap_seq;
	u32 reap_from;
	bool deleted;			/* [L] its record is gone; reap frees it */
	/* [L] Records beyond the end are gone from disk once this checkpoint is complete. */
	u64 stale_ckpt;

	u32 allocated;			/* [L] */
	u32 on_tier[DM_TIER_MAX_TIERS];	/* [L] */
	u64 changed_seq;		/* [L] the latest commit with changes of it */
	u64 dropped_seq;		/* [L] the latest commit that lost a flush of it */
	enum dm_tier_space_state space_state; /* [L] */
	struct dm_tier_change *change;	/* [L] */

	spinlock_t flush_lock;		/* guards flushing[] against dirty, and: */
	u64 unflushed;			/* devices to flush again; that it failed was told */
	u32 flush_failures;
	u32 flush_losses;		/* times that what was not flushed may have got lost */
	u32 dirty_loss;			/* ... the last one that no FLUSH then under way covers */
	u32 flush_told, fua_told;	/* ... of which a FLUSH, a write with FUA has told */
	u16 flushing[DM_TIER_MAX_DEVICES];	/* FLUSHes under way, per device */
};

/* One loaded table of a volume: ti->private. */
struct dm_tier_table {
	struct dm_tier_volume *volume;
	struct dm_tier_pool *pool;
	struct dm_target *ti;
	struct dm_dev *pool_dev;
	u32 extents;
	bool suspending;		/* between presuspend and resume */
	struct list_head list;		/* volume->tables */
};

/* Bios -----------------------------------------------------------------------*/

enum dm_tier_bio_stage {
	BIO_FAST,		/* mapped; nothing to do at its end but to count */
	BIO_SLOW,		/* in the hands of a worker */
	BIO_FIRST_WRITE,	/* its end makes a region valid */
	BIO_FUA_DATA,		/* after its end its volume's changes must be durable */
	BIO_FUA,		/* that has come, and it waits for commit wait_seq */
	BIO_DONE,
};

/*
 * Slow operations on regions of one extent: first writes and discards.  Each
 * holds a credit on its device from begin to end.
 */
struct dm_tier_op {
	struct hlist_node node;		/* [L] pool->ops */
	struct dm_tier_volume *volume;
	u32 extent;
	u16 first, last;		/* regions */
	u32 device, slot;		/* stable while the operation lasts */
	bool cleared;			/* a discard: its regions are not valid any more */
	struct list_head waiters;	/* [L] parked bios */
};

/* Per-bio data: the first three fields are set on every path. */
struct dm_tier_bio {
	struct dm_tier_device *dev;	/* whose in-flight count it holds, or NULL */
	struct dm_tier_extent *x;	/* while dev is set */
	u8 epoch;
	u8 stage;
	u16 first, last;		/* regions, of a write */
	u32 extent;

	/* The slow path only. */
	u32 uncounted;			/* sectors that the counters do not have yet, or 0 */
	bool fua;			/* as it came: the block layer may clear REQ_FUA */
	bool committed;			/* wait_seq is fixed */
	blk_status_t status;		/* of the data write, while more is to be done */
	u64 wait_seq;
	struct dm_tier_table *table;
	struct dm_tier_op op;
	struct dm_tier_change *spare;
	struct work_struct work;
	struct list_head list;
	unsigned long parked_at;	/* jiffies: of the no-space timeout */
};

/* Moves ----------------------------------------------------------------------*/

enum dm_tier_move_reason {
#define X(name, word) MOVE_##name,
	DM_TIER_MOVE_REASONS(X)
#undef X
	MOVE_NR_REASONS
};

enum dm_tier_move_state { MOVE_QUEUED, MOVE_COPY, MOVE_FREEZE, MOVE_COMMIT, MOVE_RETIRE };

struct dm_tier_finished {
	u64 seq, id, bytes, freeze_us;
	u32 volume, extent, passes;
	int from, to;			/* -1: it ended before it was chosen */
	enum dm_tier_move_reason reason;
};

#define FINISHED_RING		1024

/* The pool -------------------------------------------------------------------*/

enum dm_tier_mode { MODE_RW, MODE_META_RO, MODE_FAIL };

#define OPS_BUCKETS		256

struct dm_tier_pool {
	/* read by every I/O; constant */
	u32 extent_shift, region_shift;	/* in sectors */
	u32 regions;			/* of an extent */
	struct dm_tier_heat __percpu *heat;
	struct dm_tier_device *device[DM_TIER_MAX_DEVICES];	/* all allocated at load */

	struct kref kref;
	struct list_head list;		/* registry */
	struct mapped_device *md;	/* the pool device; not counted */
	dev_t meta_dev;			/* key of the registry */
	u8 uuid[16];			/* constant */

	struct mutex admin;		/* see the head of this file */
	struct mutex bound_lock;	/* innermost; for bound and leaving */
	struct dm_tier_pool_table *bound; /* [A] and bound_lock: the table in force, or NULL */
	bool read_only;			/* constant */
	bool loading;			/* registry_lock: not bound yet, not to be found */
	bool leaving;			/* bound_lock: being unbound, still writing */
	struct dm_tier_features features; /* [A] */

	spinlock_t lock;		/* see the head of this file */
	enum dm_tier_mode mode;		/* [L] */
	bool needs_check;		/* constant */
	bool moves_stopped;		/* [L] suspended or unbound */
	u64 instance;			/* constant; random: counters began at 0 */

	struct dm_tier_volume *volume[DM_TIER_MAX_VOLUMES];	/* [A] */
	u64 next_generation;		/* [A] */
	u32 nr_reaping;			/* [L] volumes with reap_seq */
	u8 label_bytes;			/* [A] */
	char label[DM_TIER_MAX_LABEL];
	struct dm_tier_change *change;	/* [L] of the POOL record */
	u32 low_water[DM_TIER_MAX_TIERS]; /* [A] */
	bool low_water_sent[DM_TIER_MAX_TIERS]; /* [L] */

	struct dm_tier_meta *meta;	/* dm-tier-meta.c */

	struct workqueue_struct *dev_wq; /* drains and flushes of devices */

	/* slow path (dm-tier-io.c) */
	struct workqueue_struct *io_wq;
	struct workqueue_struct *flush_wq; /* FLUSHes, which block for the devices' */
	struct workqueue_struct *end_wq; /* ends of data writes and frees, which do not */
	struct hlist_head ops[OPS_BUCKETS];	/* [L] */
	struct list_head commit_waiters; /* [L] bios, by wait_seq */
	struct list_head credit_waiters; /* [L] for the pool's; devices have their own */
	struct list_head space_waiters;	/* [L] */
	struct dm_tier_space space[DM_TIER_MAX_DEVICES]; /* [L] scratch of a choice */
	struct delayed_work space_work;
	unsigned long space_due;	/* [L] jiffies, when it is pending */
	u32 space_volumes[SPACE_STATES];	/* [L] volumes in each state but the first */
	enum dm_tier_space_state space_state;	/* [L] the worst of all volumes */
	enum dm_tier_space_state space_told;	/* event_work: in the log */
	u32 nr_ops;			/* [L] */
	bool closing;			/* [L] being unbound: no new operations */
	wait_queue_head_t ops_wait;	/* an operation ended */
	mempool_t change_pool;
	mempool_t bits_pool;

	/* slots on their way to free */
	struct list_head freeing;	/* [L] of struct dm_tier_free */
	struct delayed_work free_work;

	/* moves (dm-tier-migrate.c) */
	struct workqueue_struct *move_wq;
	struct dm_kcopyd_client *kcopyd;
	struct list_head moves;		/* [L] all, queued and active */
	struct dm_tier_move __rcu *active[DM_TIER_MAX_MOVES]; /* [L] that track writes */
	u32 moves_at_once;		/* [L] */
	u32 nr_queued, nr_active, nr_retiring;	/* [L] */
	u64 next_move_id;		/* [L] */
	u64 moves_done, moves_cancelled, moves_failed, bytes_moved;	/* [L] */
	struct dm_tier_finished *finished;	/* [L] ring */
	u64 next_finished;		/* [L] */
	wait_queue_head_t move_wait;	/* ends, cancels, tokens */
	u64 rate;			/* [L] bytes/s, 0 = none */
	u64 tokens_ns;			/* [L] when the next copy may start */

	u64 counter_generation;		/* of what is being counted now */
	spinlock_t cuts_lock;		/* innermost */
	struct dm_tier_cuts cuts;	/* under cuts_lock */
	struct mutex counters_lock;	/* one fold at a time */
	struct workqueue_struct *fold_wq;
	struct fold_work __percpu *fold_work;

	struct work_struct event_work;
	struct work_struct reap_work;
};

/* One loaded table of a pool: ti->private (dm-tier-pool.c). */
struct dm_tier_pool_table {
	struct dm_tier_pool *pool;	/* counted; once bound, or if ctr found it active */
	struct dm_tier_pool *old_pool;	/* counted; ctr's, that was gone at the resume */
	struct dm_target *ti;
	struct dm_dev *meta_dev;
	struct dm_tier_super super;	/* as ctr read it: identity only */
	struct dm_tier_features features;
	u32 nr_devices;
	struct {
		struct dm_dev *dev;
		struct dm_tier_label label;
		bool from_ram;		/* the label: a reload's */
	} devices[DM_TIER_MAX_DEVICES];
};

static inline sector_t dm_tier_slot_sector(const struct dm_tier_pool *pool, u32 slot)
{
	return DM_TIER_DATA_SECTOR + ((sector_t)slot << pool->extent_shift);
}

static inline struct bio *dm_tier_bio_bio(struct dm_tier_bio *tb)
{
	return dm_bio_from_per_bio_data(tb, sizeof(*tb));
}

#endif /* DM_TIER_CORE_H */
