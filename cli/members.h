/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices of an active pool that come and go: what tpextend and tpreduce share.
 *
 * Functions that return an exit code have said what is wrong.
 */
#ifndef CLI_MEMBERS_H
#define CLI_MEMBERS_H

#include "cli.h"
#include "scan.h"
#include "system.h"
#include "table.h"

/* The live table. */
enum cli_exit cli_read_table(struct cli *cli, const struct cli_pool *pool,
			     struct tier_pool_table *ret_table);

/* The pool's volumes, after its own table, so that their limits follow. */
enum cli_exit cli_reload_volumes(struct cli *cli, const struct cli_system *system,
				 const struct cli_pool *pool);

/* Policies that name tiers have to name those that there are now. Looks at the system anew. */
enum cli_exit cli_renew_placements(struct cli *cli, const char *pool_uuid);

/* In RAM; durable after a commit. `lost`: gives up a dead one and what is on it. */
enum cli_exit cli_forget_device(struct cli *cli, const struct cli_pool *pool, uint32_t idx,
				bool lost);

/* A device that is, or was, one of a pool. */
struct cli_member {
	uint32_t idx;
	char uuid[TIER_UUID_SIZE];
	bool is_recorded;		/* else the pool has forgotten it, and only its label is left */
	enum tier_device_state state;	/* if so, and: */
	uint32_t tier;
	uint64_t used_slots;		/* those of moves that have just ended, too */
	bool has_devno;			/* else it is not there */
	struct tier_devno devno;
	char path[256];			/* or "device <idx>" if it is not there */
	bool is_in_table;
};

/*
 * `word` is a path (/dev/vg/lv or vg/lv), an idx or the UUID of a device. One that
 * cannot be read any more is found in the table by ruling out the others, if it is
 * the only one.
 */
enum cli_exit cli_find_member(struct cli *cli, const struct cli_pool *pool,
			      const struct tier_scan *scan, const char *word,
			      struct cli_member *ret_member);

/*
 * Takes them, and whatever is no member any more, out of the table of the pool;
 * `partial`: although they are still recorded. Then they are not in use.
 */
enum cli_exit cli_drop_members(struct cli *cli, const struct cli_system *system,
			       const struct cli_pool *pool, const struct tier_scan *scan,
			       const struct cli_member *members, size_t nr_members, bool partial);

/* Its label, so that it is not found any more; nothing else on it. It is in no table. */
enum cli_exit cli_wipe_member(struct cli *cli, const struct cli_member *member);

#endif
