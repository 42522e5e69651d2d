/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Table lines of tier-pool and tier as data (grammar: dm-tier.h): the target's
 * parameters, without start, length and target name. Pure.
 *
 * Devices are numbers here, never paths: that is what the kernel gives back, and
 * it holds no byte that would have to be quoted.
 */
#ifndef TIER_TABLE_H
#define TIER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"

#define TIER_TARGET_POOL		"tier-pool"
#define TIER_TARGET_VOLUME		"tier"
#define TIER_NO_SPACE_TIMEOUT_S		60	/* the kernel's default */
#define TIER_TABLE_SIZE			2048	/* enough for every line built here */

struct tier_devno {
	uint32_t major;
	uint32_t minor;
};

struct tier_pool_table {
	struct tier_devno metadata;
	uint32_t nr_devices;
	struct tier_devno devices[TIER_MAX_DEVICES];
	bool read_only;
	bool partial;			/* missing devices are allowed */
	bool error_if_no_space;
	uint32_t no_space_timeout_s;	/* 0 = for ever */
};

struct tier_volume_table {
	struct tier_devno pool;
	uint32_t volume;
};

/* Features that are the kernel's default are left out. -ENOSPC: `size` is too small. */
int tier_table_build_pool(const struct tier_pool_table *table, char *ret_params, size_t size);
int tier_table_build_volume(const struct tier_volume_table *table, char *ret_params, size_t size);

/* Of what `dmsetup table` shows. -EPROTO: not such a line. */
int tier_table_parse_pool(const char *params, struct tier_pool_table *ret_table);
int tier_table_parse_volume(const char *params, struct tier_volume_table *ret_table);

#endif
