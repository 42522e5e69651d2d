/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The contract between dm-tier.ko and user space: limits, the on-disk format,
 * and the words and grammar of table lines, messages and status lines.
 *
 * Everything on disk is little-endian.  Both sides include this file, so it
 * needs <linux/types.h> and nothing else.  dm-tier(7) explains the terms.
 */
#ifndef DM_TIER_H
#define DM_TIER_H

#include <linux/types.h>

/* Limits -------------------------------------------------------------------*/

#define DM_TIER_MAX_DEVICES		64
#define DM_TIER_MAX_TIERS		8
#define DM_TIER_MAX_VOLUMES		4096		/* ids 0 .. 4095 */
#define DM_TIER_MAX_VOLUME_EXTENTS	(1U << 24)
#define DM_TIER_MAX_DEVICE_SLOTS	(1U << 24)
#define DM_TIER_MAX_MOVES		32		/* running at once */
#define DM_TIER_MAX_QUEUED_MOVES	4096		/* more: -EAGAIN */
#define DM_TIER_MAX_LABEL		200		/* bytes, decoded */

#define DM_TIER_SECTOR_SHIFT		9
#define DM_TIER_MIN_EXTENT_SECTORS	(1U << 11)	/* 1 MiB */
#define DM_TIER_MAX_EXTENT_SECTORS	(1U << 25)	/* 16 GiB */
#define DM_TIER_MIN_REGION_SECTORS	(1U << 3)	/* 4 KiB */
#define DM_TIER_DEFAULT_REGION_SECTORS	(1U << 7)	/* 64 KiB, or extent / 1024 */
#define DM_TIER_MAX_REGION_SECTORS	(1U << 21)	/* 1 GiB */
#define DM_TIER_MAX_REGIONS		1024		/* regions of one extent */
#define DM_TIER_BITMAP_WORDS		(DM_TIER_MAX_REGIONS / 64)

/* The metadata device, in blocks of 4 KiB ----------------------------------*/

#define DM_TIER_BLOCK_BYTES		4096
#define DM_TIER_BLOCK_SECTORS		(DM_TIER_BLOCK_BYTES >> DM_TIER_SECTOR_SHIFT)

/* The two superblock places lie 1 MiB apart, so one bad track costs one. */
#define DM_TIER_SUPER_BLOCK_0		0
#define DM_TIER_SUPER_BLOCK_1		256
/* Checkpoint area 0, checkpoint area 1 and the log ring follow each other. */
#define DM_TIER_AREA_BLOCK		512

/* The most blocks that one commit takes, and the smallest and largest ring. */
#define DM_TIER_COMMIT_BLOCKS		256
#define DM_TIER_MIN_LOG_BLOCKS		(8 * DM_TIER_COMMIT_BLOCKS)
#define DM_TIER_DEFAULT_LOG_BLOCKS	16384		/* 64 MiB */
#define DM_TIER_MAX_LOG_BLOCKS		262144		/* 1 GiB */

#define DM_TIER_SUPER_MAGIC		0x7265507265695464ULL
#define DM_TIER_LOG_MAGIC		0x676f4c7265695464ULL
#define DM_TIER_CKPT_MAGIC		0x74704b7265695464ULL
#define DM_TIER_LABEL_MAGIC		0x6c624c7265695464ULL

#define DM_TIER_FORMAT_VERSION		1

/* Feature bits; a reader refuses a superblock with an unknown incompat bit. */
#define DM_TIER_INCOMPAT_KNOWN		0ULL
#define DM_TIER_COMPAT_KNOWN		0ULL

/* dm_tier_super_disk.flags */
#define DM_TIER_SUPER_CLEAN		(1U << 0)	/* deactivated cleanly */

/*
 * One checkpoint: a full copy of all records as of commit @seq or later
 * (records are after-images, so replaying from @seq + 1 is exact).
 */
struct dm_tier_ckpt_ref_disk {
	__le64 id;		/* never reused; 0 = there is none */
	__le32 area;		/* 0 or 1 */
	__le32 prev_crc;	/* crc of the last block of commit @seq */
	__le64 blocks;		/* blocks used in the area */
	__le64 seq;		/* replay starts at commit seq + 1 ... */
	__le64 position;	/* ... whose first block is this one of the ring */
};

struct dm_tier_super_disk {
	__le64 magic;
	__le32 crc;		/* crc32c of the block with this field zero */
	__le32 format;		/* DM_TIER_FORMAT_VERSION */
	__u8   uuid[16];	/* of the pool */
	__le64 version;		/* the higher valid one of the two places wins */
	__le64 incompat;
	__le64 compat;
	__le32 flags;
	__le32 extent_sectors;
	__le32 region_sectors;
	__le32 logical_block_bytes;
	__le64 area_blocks;	/* size of each checkpoint area */
	__le64 log_blocks;	/* size of the ring */
	__le64 final_seq;	/* commits up to here were durable: a lower bound */
	__u8   system_id[16];	/* host that may activate; zero = any */
	/*
	 * DM_TIER_SUPER_BLOCK_0 or _1, where it lies: the second place is at 1 MiB,
	 * where the first partition of a disk or the first LV of a PV begins, and
	 * with it perhaps a metadata device.
	 */
	__le32 block;
	__le32 reserved;
	struct dm_tier_ckpt_ref_disk ckpt[2];	/* newest first */
};

/*
 * A commit is 1 .. DM_TIER_COMMIT_BLOCKS consecutive blocks of the ring
 * (wrapping), each with this head and then @bytes bytes of records.
 */
struct dm_tier_log_head_disk {
	__le64 magic;
	__le32 crc;		/* crc32c of the block with this field zero */
	__le32 prev_crc;	/* crc of the block before this one in the log */
	__u8   uuid[16];
	__le64 incarnation;	/* one more at every read-write activation */
	__le64 commit;		/* counts up by one */
	__le16 index;		/* of this block in its commit ... */
	__le16 count;		/* ... of so many */
	__le32 bytes;
	__le32 flags;		/* DM_TIER_LOG_* */
	__le32 reserved;
};

/* The first commit of an activation: only it may raise the incarnation. */
#define DM_TIER_LOG_ACTIVATE		(1U << 0)

struct dm_tier_ckpt_head_disk {
	__le64 magic;
	__le32 crc;
	__le32 bytes;
	__u8   uuid[16];
	__le64 id;
	__le64 index;
	__le64 reserved[2];
};

#define DM_TIER_BLOCK_HEAD_BYTES	64		/* of a log or checkpoint block */
#define DM_TIER_BLOCK_PAYLOAD		(DM_TIER_BLOCK_BYTES - DM_TIER_BLOCK_HEAD_BYTES)

/*
 * Records: full after-images, 8-byte aligned, never cut by a block's end.
 * The first byte is the type, the second the flags.
 */
#define DM_TIER_REC_SLOT		1
#define DM_TIER_REC_VOLUME		2
#define DM_TIER_REC_DEVICE		3
#define DM_TIER_REC_POOL		4

#define DM_TIER_REC_TOMBSTONE		(1U << 0)	/* the key is gone */
#define DM_TIER_REC_SLOT_FULL		(1U << 1)	/* every region is valid */
#define DM_TIER_REC_SLOT_QUARANTINE	(1U << 2)	/* not to be allocated */

struct dm_tier_slot_disk {
	__u8   type;
	__u8   flags;
	__u8   device;
	__u8   words;		/* words of the valid bitmap that follow; the rest is zero */
	__le32 slot;
	__le64 generation;	/* of the owning volume; 0 = free */
	__le32 extent;		/* of that volume */
	__le32 reserved;
	/* __le64 valid[words]: bit r = region r holds data; none if full or free */
};

struct dm_tier_volume_disk {
	__u8   type;
	__u8   flags;
	__le16 id;
	__le32 extents;		/* size of the volume */
	__le64 generation;	/* 1, 2, ...; never used twice in a pool */
	__u8   uuid[16];
	__u8   tiers;		/* entries of placement[]; 0 = auto */
	__u8   label_bytes;
	__u8   reserved[6];
	__u8   placement[DM_TIER_MAX_TIERS];
	/* label, padded with zeros to a multiple of 8 bytes */
};

struct dm_tier_device_disk {
	__u8   type;
	__u8   flags;
	__u8   idx;
	__u8   tier;
	__le32 slots;
	__u8   uuid[16];
	__u8   state;		/* DM_TIER_DEV_* */
	__u8   reserved[3];
	__le32 reserve_slots;	/* that first writes may not take */
};

struct dm_tier_pool_disk {
	__u8   type;
	__u8   flags;
	__u8   label_bytes;
	__u8   reserved[5];
	__le64 next_generation;
	/* label, padded as above */
};

/* Stored device states; `missing` and `failed` are found, never stored. */
#define DM_TIER_DEV_NEW			0	/* recorded; may be absent from the table */
#define DM_TIER_DEV_ONLINE		1
#define DM_TIER_DEV_DRAINING		2	/* takes no allocation and no move */
#define DM_TIER_DEV_LOST		3	/* given up; its extents answer EIO */

/* The data devices ---------------------------------------------------------*/

/* Slot n of a device starts at DM_TIER_DATA_SECTOR + n * extent_sectors. */
#define DM_TIER_DATA_SECTOR		2048U

/* The first sector of a data device; the rest of the first MiB is zero. */
struct dm_tier_label_disk {
	__le64 magic;
	__le32 crc;		/* crc32c of the 512-byte sector with this zero */
	__le32 idx;
	__u8   pool_uuid[16];
	__u8   device_uuid[16];
};

#define DM_TIER_LABEL_BYTES		512

/*
 * Table lines ---------------------------------------------------------------
 *
 * 0 <extent sectors> tier-pool <metadata dev> <#devs> <dev>...
 *                              [<#feature args> <arg>...]
 *   features: read_only | partial | error_if_no_space |
 *             no_space_timeout <seconds, default 60, 0 = for ever>
 * 0 <sectors> tier <pool dev> <volume id>
 *
 * Status of a tier-pool, one line (here folded):
 *   <mode> <commit> <log used>/<log blocks> <needs_check: 0|1>
 *   <extent sectors> <region sectors>
 *   <#devices> (<idx> <tier> <state> <slots> <used> <reserved> <quarantined>
 *               <parked> <ios> <sectors> <errors>)...
 *   <moves queued> <active> <done> <cancelled> <failed> <bytes moved>
 *   <#pairs> (<key> <value>)...
 * with the pairs `uuid`, `instance`, `label` (encoded, - if none), `rate`
 * (bytes/s), `moves` (at once).  New pairs come after these.
 *
 * A pool that could not be loaded says `fail` and nothing else.
 *
 * Status of a tier:
 *   <mode> <generation> <allocated>/<total extents> <#tiers> <extents>...
 *
 * mode:  rw | out_of_space | meta_ro | fail; out_of_space: of this volume, or of any
 * state: new | online | draining | missing | failed | lost
 *
 * Messages (to the pool) ----------------------------------------------------
 *
 * Text (<label>, <text>) is percent-encoded: every byte but A-Z a-z 0-9 and
 * _ . , : ; = + - / @ is %XX.  An empty text is written as -.
 *
 * create_volume <id> <sectors> <uuid> [<label>]
 * resize_volume <id> <sectors>          delete_volume <id>
 * set_label <id> <text>                 set_pool_label <text>
 * set_placement <id> auto|<tier>[,<tier>...]
 * migrate <id> <extent> <tier>|dev:<idx> [force]      answers: <move id>
 * cancel <id> <extent>                  cancel_all
 * set_rate <bytes/s>                    set_moves <n>
 * add_device <uuid> <tier> <slots>      answers: <idx>
 * grow_device <idx> <slots>             set_device <idx> online|draining
 * forget_device <idx> [lost]            clear_quarantine <idx>
 * set_low_water <tier> <slots>          set_reserve <idx> <slots>
 * commit                                checkpoint
 *
 * Questions; an answer is lines, each ended by \n:
 * volumes    <id> <uuid> <generation> <sectors> <placement> <allocated> <label>
 * devices    <idx> <uuid> <tier> <state> <slots> <used> <reserved>
 *            <quarantined> <parked>
 * moves      <id> <volume> <extent> <from idx> <to idx> <state> <pass>
 *            <regions left>            state: queued copy freeze commit retire
 *            an idx that is not chosen yet is -
 * moves since <seq>
 *            first line <oldest seq kept> <next seq>; then those >= <seq>:
 *            <seq> <id> <volume> <extent> <from idx> <to idx> <result>
 *            <reason> <bytes copied> <passes> <freeze us>
 *            result: done cancelled failed; reason: - if done, else below;
 *            an idx is - if the move ended before it was chosen
 * map <id> <first> <count>
 *            <first> <count> <tier> <idx> <slot> <valid regions>; a run of
 *            extents with consecutive slots and equal numbers is one line;
 *            unallocated: <first> <count> - - - 0
 * counters <id> <first> <count> [since <generation>]
 *            first line <instance> <volume generation> <counter generation>;
 *            then of extents that ever counted (or, with since, changed):
 *            <extent> <reads> <writes> <read sectors> <write sectors>
 *            <sequential ios> <large ios>
 *            Pass the counter generation of one answer as `since` of the next.
 */

/* An I/O of more than this is `large`. */
#define DM_TIER_LARGE_SECTORS		128U		/* 64 KiB */

/* Why a move did not end as done. */
#define DM_TIER_MOVE_REASONS(X)					\
	X(OK,			"-")				\
	X(SRC_READ_ERROR,	"src_read_error")		\
	X(DST_WRITE_ERROR,	"dst_write_error")		\
	X(NOT_CONVERGING,	"not_converging")		\
	X(DEADLINE,		"deadline")			\
	X(CANCELLED,		"cancelled")			\
	X(NO_SPACE,		"no_space")			\
	X(META_ERROR,		"meta_error")			\
	X(SUSPENDED,		"suspended")			\
	X(GONE,			"gone")		/* discarded or deleted meanwhile */

#endif /* DM_TIER_H */
