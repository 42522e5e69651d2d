/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm devices of pools and volumes: making, reloading and removing them. The
 * names and UUIDs of dm.h are built here and nowhere else.
 *
 * Functions that return an exit code have said what is wrong.
 */
#ifndef CLI_ACTIVATE_H
#define CLI_ACTIVATE_H

#include "cli.h"
#include "system.h"
#include "table.h"

/* Makes the device of a pool; *ret_dm_name is its name. */
enum cli_exit cli_activate_pool(struct cli *cli, const char *pool_name, const char *pool_uuid,
				uint64_t extent_sectors, const struct tier_pool_table *table,
				char ret_dm_name[TIER_NAME_SIZE]);

/* Gives the device of an active pool another table. */
enum cli_exit cli_reload_pool(struct cli *cli, const struct cli_pool *pool,
			      const struct tier_pool_table *table);

/* Makes the device of a volume that has none. */
enum cli_exit cli_activate_volume(struct cli *cli, const struct cli_pool *pool,
				  const struct tier_volume_info *volume);

/* Gives the device of an active volume a table of `sectors`; limits follow the pool's. */
enum cli_exit cli_reload_volume(struct cli *cli, const struct cli_pool *pool,
				const struct tier_dm_device *device, uint64_t sectors);

/*
 * Makes the device of an active volume what the metadata say, if a command that was
 * cut short had not come to that: its name, its size, and that it runs. Says what it
 * did, or with -t would do.
 */
enum cli_exit cli_finish_volume(struct cli *cli, const struct cli_pool *pool,
				const struct tier_volume_info *volume,
				const struct tier_dm_device *device);

/*
 * Fails if someone uses the volume: it is mounted, held by another device, or
 * stays open for some seconds (udev and scanners look into a new device and
 * close it again).
 */
enum cli_exit cli_need_unused(struct cli *cli, const struct tier_dm_device *device,
			      const char *what);

enum cli_exit cli_deactivate_volume(struct cli *cli, const struct tier_dm_device *device,
				    const char *what);

/* tier_dm_batch_end() for what ended with `code`: that, or why udev could not be waited for. */
enum cli_exit cli_batch_end(struct cli *cli, enum cli_exit code);

/* All active volumes of the pool, then the pool; none if one of them is in use. */
enum cli_exit cli_deactivate_pool(struct cli *cli, const struct cli_system *system,
				  const struct cli_pool *pool);

/* Sends a message built before (`r` is what building it returned); `what` is what cannot be done. */
__attribute__((format(printf, 6, 7)))
enum cli_exit cli_tell(struct cli *cli, const struct cli_pool *pool, int r, const char *message,
		       char **ret_answer, const char *what, ...);

#endif
