/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moves all extents off devices that are draining, and shows how far it is.
 *
 * It sends the moves itself rather than have tierd do it: a disk has to be taken
 * out also where tierd does not run, outside of its windows, and now. With a tierd
 * that runs it does not fight: both only ever move extents *off* these devices, to
 * tiers and not to certain slots, and whoever comes second is told by the kernel
 * that the move is made already (EALREADY) or under way (EBUSY). It leaves the
 * rate and the number of moves at once as they are, which are tierd's, so a rate
 * that tierd has set holds here, too. Where an extent goes is decided without its
 * heat (lib/reduce.h); tierd puts that right at its next relocation.
 *
 * Nothing is kept outside of the pool: whoever is interrupted begins with what is
 * still there.
 */
#ifndef CLI_DRAIN_H
#define CLI_DRAIN_H

#include "cli.h"
#include "system.h"

struct drain_request {
	const struct cli_pool *pool;
	bool leaving[TIER_MAX_DEVICES];	/* by idx: draining, to be emptied */
	const char *what;		/* to call them: "/dev/vg/lv", or several with ", " */
	const char *next;		/* how to go on, and how to go back, when it ends too early */
	const char *next_unreadable;	/* the same if it ends because what is left cannot be read */
};

/*
 * Until they are empty. Without the lock of cli_lock(), as it takes long, and with
 * signals held, which it looks at itself. CLI_FAILED: interrupted, taken back by
 * someone else, or extents are left that cannot be moved; that has been said.
 */
enum cli_exit drain_devices(struct cli *cli, const struct drain_request *request);

/*
 * The extents of a volume that lie on the device: "3-7,12", at most `max_runs` runs
 * and then "...". Returns how many there are, or -errno. `ret_text` may be NULL.
 */
int64_t drain_list_extents(const struct cli_pool *pool, const struct tier_volume_info *volume,
			   uint32_t idx, unsigned int max_runs, char *ret_text, size_t size);

#endif
