/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is active on this machine: pools with their volumes and dm devices, read
 * once, a snapshot. Pools that are not active are known by their labels only
 * (offline.h).
 *
 * Functions that return an exit code have said what is wrong.
 */
#ifndef CLI_SYSTEM_H
#define CLI_SYSTEM_H

#include "backend.h"
#include "cli.h"
#include "dm.h"
#include "policy.h"
#include "status.h"

/*
 * One that the kernel could not load has no backend, and its info only mode,
 * name and, if that can be found out, uuid.
 */
struct cli_pool {
	struct tier_dm_device device;
	bool is_loaded;
	struct tier_backend backend;
	struct tier_pool_status status;
	struct tier_pool_info info;	/* info.name is what users call it */
};

struct cli_system {
	struct tier_dm_device *devices;
	size_t nr_devices;
	struct cli_pool *pools;		/* in order of name */
	size_t nr_pools;
};

/* A pool that cannot be read is warned about and left out. */
enum cli_exit cli_system_read(struct cli *cli, struct cli_system *ret_system);
void cli_system_clear(struct cli_system *system);

/*
 * How a command that changes something begins: one at a time, as root, and without
 * the half made devices of one that was killed.
 */
enum cli_exit cli_begin(struct cli *cli, struct cli_system *ret_system);

/* By the name of its device, its uuid, or the name in its label; NULL: no such pool is active. */
struct cli_pool *cli_system_pool(const struct cli_system *system, const char *name);

/* Fails for a pool that is not loaded, with what to do. */
enum cli_exit cli_not_loaded(struct cli *cli, const struct cli_pool *pool);

/* cli_system_pool() for a command that needs the pool, loaded. */
enum cli_exit cli_need_pool(struct cli *cli, const struct cli_system *system, const char *name,
			    struct cli_pool **ret_pool);

/* `word` is <pool>/<volume>, the volume by name or uuid. */
enum cli_exit cli_need_volume(struct cli *cli, const struct cli_system *system, const char *word,
			      struct cli_pool **ret_pool,
			      const struct tier_volume_info **ret_volume);

/* By name or uuid, NULL: there is none. */
const struct tier_volume_info *cli_pool_volume(const struct cli_pool *pool, const char *name);

/* The dm device of a volume, NULL: it is not active. */
const struct tier_dm_device *cli_volume_device(const struct cli_system *system,
					       const struct cli_pool *pool, uint32_t volume);

/* The name in the label, or the uuid. Returns ret_name. */
const char *cli_volume_name(const struct tier_volume_info *volume, char ret_name[TIER_NAME_SIZE]);

#endif
