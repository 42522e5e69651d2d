/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tierd.conf(5): what the administrator wants. config.c is the only file that
 * knows libconfig; everything else sees numbers in the units of their names.
 *
 * Strict: an unknown or doubled key, a wrong type or unit, a number out of its
 * range, overlapping windows are errors, with file, line and a hint. There is no
 * such thing as a half-valid configuration: either all of a file holds or none.
 */
#ifndef TIERD_CONFIG_H
#define TIERD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "heat.h"
#include "policy.h"
#include "schedule.h"
#include "throttle.h"

#define CONFIG_MAX_WINDOWS	64
#define CONFIG_TIER_NAME_SIZE	32

struct config_tier {
	char name[CONFIG_TIER_NAME_SIZE];	/* "" = none given */
	double max_iops;			/* 0 = no limit */
};

struct config_volume {
	char name[TIER_NAME_SIZE];
	enum tier_policy policy;
};

/* All that is in force for one pool. */
struct config_settings {
	bool measure_only;			/* mode = "measure" */
	struct tier_heat_config heat;		/* half_life, weights, fold_interval */
	struct tier_rate_table rates;
	struct tier_window windows[CONFIG_MAX_WINDOWS];	/* schedule */
	size_t nr_windows;
	struct tier_window measure[CONFIG_MAX_WINDOWS];	/* when I/O counts; none = always */
	size_t nr_measure;
	double hysteresis;
	double headroom_percent;
	double benefit;
	double rebalance;
	int64_t collect_ns;			/* collect_interval */
	int64_t plan_ns;			/* plan_interval, in an open window */
	uint32_t plan_moves;			/* at most so many a plan, 0 = no limit */
	uint32_t moves_per_device;		/* at once */
	enum tier_policy policy;		/* of volumes that say nothing */
	/* Of one pool only: */
	struct config_tier tiers[TIER_MAX_TIERS];
	struct config_volume *volumes;
	size_t nr_volumes;
};

struct config_pool {
	char name[TIER_NAME_SIZE];
	struct config_settings settings;
};

struct config {
	char *path;
	struct config_settings settings;	/* of pools that are not listed */
	struct config_pool *pools;
	size_t nr_pools;
};

/* A sentence, "<file>:<line>: <what>". */
struct config_error {
	char text[512];
};

/* The defaults, as an empty file gives them. -ENOMEM. */
int config_new(const char *path, struct config **ret_config);
void config_free(struct config *config);	/* NULL is fine */
void config_cleanup(struct config **config);	/* for the cleanup attribute */

/*
 * -EINVAL: what the file says is wrong; another -errno: it cannot be read. Both
 * fill in *ret_error, against the rule. Blocks for reading a file.
 */
int config_load(const char *path, struct config **ret_config, struct config_error *ret_error);

/* The same from text; `path` is for messages. */
int config_parse(const char *path, const char *text, struct config **ret_config,
		 struct config_error *ret_error);

/*
 * Every key that a file can have, group by group ("" is the file itself; a pool has
 * the common keys once more), and whether its value in `settings`, as a default brings
 * it there, is one that the file could have. For the test of page, file and defaults.
 */
void config_each_key(const struct config_settings *settings,
		     void (*visit)(void *ctx, const char *group, const char *name, bool in_range),
		     void *ctx);

/* What holds for the pool of that name. Never NULL. */
const struct config_settings *config_for_pool(const struct config *config, const char *pool);

/* What tierd.conf says of a volume (not its label): true if by a line of its own. */
bool config_volume_policy(const struct config_settings *settings, const char *volume,
			  enum tier_policy *ret_policy);

/*
 * config_scan.c, pure: what libconfig would let pass silently. 0, or -EINVAL with
 * the line and a constant phrase: numbers that overflow, @include, a NUL.
 */
int config_scan(const char *text, size_t size, unsigned int *ret_line, const char **ret_what);

#endif
