/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pools as their metadata and labels say, active or not: what lib/scan.c finds.
 *
 * Functions that return an exit code have said what is wrong.
 */
#ifndef CLI_OFFLINE_H
#define CLI_OFFLINE_H

#include "cli.h"
#include "scan.h"
#include "table.h"

struct cli_offline {
	struct tier_scan scan;
	struct tier_scan_pool *pools;
	size_t nr_pools;
};

enum cli_exit cli_offline_read(struct cli *cli, struct cli_offline *ret_offline);
void cli_offline_clear(struct cli_offline *offline);

/*
 * By name or uuid. Fails if there is none, or if two pools have the name (disks
 * of another machine): then only the uuid will do.
 */
enum cli_exit cli_offline_pool(struct cli *cli, const struct cli_offline *offline,
			       const char *name, const struct tier_scan_pool **ret_pool);

/* What to call it: its name, or the uuid of one whose metadata cannot be read. */
const char *cli_offline_name(const struct tier_scan_pool *pool, char ret_name[TIER_NAME_SIZE]);

/* A host is its /etc/machine-id, and shown as there. */
#define CLI_HOST_TEXT	33
const char *cli_format_host(const uint8_t host[16], char ret_text[CLI_HOST_TEXT]);

/* This one; false: it has none. */
bool cli_host(uint8_t ret_host[16]);

bool cli_is_any_host(const uint8_t host[16]);

/* The pool belongs to another host. One whose metadata cannot be read does not say so. */
bool cli_offline_is_foreign(const struct tier_scan_pool *pool);

/* Fails for a foreign pool, and names both hosts. */
enum cli_exit cli_offline_need_host(struct cli *cli, const struct tier_scan_pool *pool);

/*
 * The table of a pool with all devices that were found, but those that are only
 * recorded (state new). Fails, and says which
 * devices are missing, doubled or too many, unless `partial` allows missing ones.
 */
enum cli_exit cli_offline_table(struct cli *cli, const struct tier_scan_pool *pool, bool partial,
				struct tier_pool_table *ret_table);

#endif
