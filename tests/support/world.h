/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A world for tierd: a simulated pool whose calls can be made to fail, a clock that
 * only the test turns, a folder for the state, and a list of what is logged.
 *
 * What cannot go wrong in a right test abort()s. Link with libconfig.
 */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

#include "sim.h"
#include "tierd.h"

#define WORLD_EXTENT_SECTORS	2048
#define WORLD_HOUR_S		3600
#define WORLD_NOON_S		INT64_C(1709294400)	/* 2024-03-01 12:00:00 UTC */
#define WORLD_MIDNIGHT_S	(WORLD_NOON_S + 12 * WORLD_HOUR_S)

struct world {
	struct tier_sim *sim;
	struct tier_backend sim_backend;
	struct tier_backend backend;	/* the same, with faults */
	int read_error;			/* -errno of read_pool and the others, 0 = none */
	int message_error;		/* of cancel, set_rate and what reads moves */
	int migrate_error;
	unsigned int reads;		/* calls of read_pool */
	struct tierd *tierd;
	struct tierd_setup setup;
	const char *config;
	char path[64];
	int64_t real_offset_s;		/* of real time to the simulator's */
	int64_t boot_offset_ns;
	char boot_id[40];
	struct tierd_next next;
	unsigned int ticks;

	unsigned int events[LOG_EVENT_COUNT];
	unsigned int priorities[8];	/* by syslog's numbers */
	struct log_record last[LOG_EVENT_COUNT];	/* its pointers are not to be followed */
	char last_text[LOG_EVENT_COUNT][512];
};

/*
 * Three tiers with room for 10, 20 and 100 extents, `config` (text that lives as
 * long) in force, at noon.
 */
struct world *world_new(const char *config);
void world_free(struct world *w);

/* What main() and discover.c do: a tierd from the configuration, with the pool. */
void world_start_tierd(struct world *w);
void world_add_pool(struct world *w);

struct clock_time world_now(const struct world *w);
struct config *world_config(const char *text);

/* As the loop does it: tick, sleep until the time that it asked for. */
void world_tick(struct world *w);
void world_run_until(struct world *w, int64_t until_s);
void world_run_for(struct world *w, int64_t seconds);

#endif
