/* SPDX-License-Identifier: GPL-2.0-only */
/* tpreduce --lost: a dead device is given up, and with it what was on it. */
#ifndef CLI_REDUCE_LOST_H
#define CLI_REDUCE_LOST_H

#include "cli.h"
#include "members.h"
#include "scan.h"
#include "system.h"

/*
 * Names what is lost, asks, gives it up. One that was given up already is forgotten
 * when nothing of it is left. The device itself is not written to.
 */
enum cli_exit reduce_lost(struct cli *cli, const struct cli_system *system,
			  const struct cli_pool *pool, const struct tier_scan *scan,
			  const struct cli_member *member);

#endif
