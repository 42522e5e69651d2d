/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The offline tools: checking a pool's metadata, writing them as text and back,
 * and saving what can be saved of damaged ones. All of it is over the same code
 * as the kernel's (format.h); nothing here knows the format a second time.
 *
 * Rules for every call: 0 or -errno, `ret_` outputs only on success (but
 * `ret_cause`, see cause.h). They block for I/O. Any bytes on a device are fine:
 * they are judged, never trusted.
 */
#ifndef TIER_FORMAT_TOOLS_H
#define TIER_FORMAT_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "backend.h"
#include "cause.h"
#include "format.h"

/* Findings -----------------------------------------------------------------*/

enum tier_finding_kind {
	TIER_FOUND_SUPER,		/* one of the superblock places is not valid */
	TIER_FOUND_NO_SUPER,		/* neither is */
	TIER_FOUND_SUPERS_DIFFER,	/* both are, but do not belong together */
	TIER_FOUND_SIZE,		/* the device is smaller than its metadata */
	TIER_FOUND_UNREADABLE,		/* blocks that give read errors */
	TIER_FOUND_CHECKPOINT,		/* of the newest checkpoint */
	TIER_FOUND_OLD_CHECKPOINT,	/* of the one before, which is there in case */
	TIER_FOUND_RECORD,		/* a record that cannot be, in a valid block */
	TIER_FOUND_HOLE,		/* commits are missing in the log */
	TIER_FOUND_TAIL,		/* the last commit is not as a crash leaves it */
	TIER_FOUND_TORN,		/* the last commit is as a crash leaves it */
	TIER_FOUND_NO_POOL,		/* no record of the pool itself */
	TIER_FOUND_OWNERS,		/* an extent has more than one slot */
	TIER_FOUND_SLOT_RANGE,		/* a slot beyond its device */
	TIER_FOUND_NO_DEVICE,		/* a slot of a device without a record */
	TIER_FOUND_GENERATION,		/* of a volume, or of a slot, that cannot be */
	TIER_FOUND_UUID,		/* two devices or two volumes have the same */
	TIER_FOUND_DROPPED,		/* a device went with extents in use */
	TIER_FOUND_AREA,		/* a checkpoint might not fit its area */
	/* What only tier_repair() says: */
	TIER_FOUND_USED,		/* what the state was put together from */
	TIER_FOUND_MENDED,		/* what was decided, and why */
	TIER_FOUND_DOUBT,		/* what may be old, or may be missing */
	TIER_FOUND_LOST			/* what is not there any more */
};

struct tier_finding {
	enum tier_finding_kind kind;
	/*
	 * Damage is what no crash leaves behind. What is not, is a note: the pool
	 * needs nothing to be done.
	 */
	bool is_damage;
	char text[TIER_CAUSE_SIZE];
};

#define TIER_MAX_FINDINGS	1000

struct tier_findings {
	struct tier_finding *list;
	size_t nr;			/* at most TIER_MAX_FINDINGS */
	uint64_t nr_damages;		/* also those beyond the list */
	uint64_t nr_notes;
	bool no_memory;			/* to keep them: the call fails with -ENOMEM */
};

/* For the cleanup attribute too. */
void tier_findings_clear(struct tier_findings *findings);

/* Checking -----------------------------------------------------------------*/

struct tier_check_facts {
	bool is_pool;			/* there is a superblock; else the rest is 0 */
	bool is_loaded;			/* the state could be put together, see below */
	uint8_t uuid[16];
	char name[TIER_NAME_SIZE];	/* of the label, may be "" */
	uint64_t commit;		/* the last one */
	uint32_t nr_devices;
	uint32_t nr_volumes;
	uint64_t slots;
	uint64_t owned;
	uint64_t stale;			/* owned by nobody any more; a load frees them */
};

/*
 * Judge everything on a metadata device or image. What is in no use (free blocks
 * of the areas, commits that a checkpoint covers) is not looked at. Of a live
 * pool it is a state that was committed a moment ago: it is read again until it
 * holds still. Failures: -EBADMSG there is nothing of dm-tier; -EPROTONOSUPPORT;
 * -EAGAIN a live pool wrote too fast; -ENOMEM.
 */
int tier_check(int fd, struct tier_findings *ret_findings, struct tier_check_facts *ret_facts,
	       char *ret_cause);

/* Metadata in memory -------------------------------------------------------*/

/* All that counts of a pool's metadata: what the text form says. */
struct tier_content;

void tier_content_free(struct tier_content *content);

/* What the metadata of a pool hold, damaged or not; `meta` may go then. */
int tier_content_of_meta(const struct tier_meta *meta, struct tier_content **ret_content);

/* As text, the form is in tpdump(8). */
int tier_content_print(const struct tier_content *content, FILE *to, char *ret_cause);

/*
 * From text. -EINVAL: it is not what print writes, or contradicts itself; the
 * cause names the line of `name`.
 */
int tier_content_parse(FILE *from, const char *name, struct tier_content **ret_content,
		       char *ret_cause);

void tier_content_uuid(const struct tier_content *content, uint8_t *ret_uuid);

/* -EINVAL: out of range. */
int tier_content_set_log_bytes(struct tier_content *content, uint64_t bytes, char *ret_cause);

/* Bytes that a metadata device needs for it, and for all that tpcreate leaves room for. */
void tier_content_bytes(const struct tier_content *content, uint64_t *ret_needed,
			uint64_t *ret_roomy);

/*
 * Make it the metadata of a device. What was there is gone: first the
 * superblocks, and the new ones come last, so an interrupted call leaves none.
 * -ENOSPC: it does not fit.
 */
int tier_content_write(const struct tier_content *content, const struct tier_format_device *to,
		       char *ret_cause);

/* Repair -------------------------------------------------------------------*/

/* A data device as its label and its size tell, for one whose record is lost. */
struct tier_repair_device {
	uint8_t pool_uuid[16];
	uint8_t uuid[16];
	uint32_t idx;
	uint32_t tier;			/* the user's word */
	uint64_t bytes;
	uint32_t logical_block_bytes;
};

struct tier_repair_options {
	/* Only the superblock has them: asked for when both are lost; 0 = not known. */
	uint64_t extent_sectors;
	uint64_t region_sectors;
	const struct tier_repair_device *devices;
	size_t nr_devices;
};

/*
 * Put together what is left: the newest whole checkpoint (or what is left of the
 * two), then every commit that can be read, also beyond a hole. What was used,
 * decided, and what is in doubt or lost are the findings. Nothing is written.
 * -EBADMSG: nothing is left; -EINVAL: the superblocks are lost and the options
 * do not have what they had; -EUCLEAN: what is left contradicts itself.
 */
int tier_repair(int fd, const struct tier_repair_options *options,
		struct tier_findings *ret_findings, struct tier_content **ret_content,
		char *ret_cause);

#endif
