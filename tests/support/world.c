// SPDX-License-Identifier: GPL-2.0-only
/* A world for tierd. See world.h. */
#include "world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* ---------------------------------------------------------------- the surroundings */

static int64_t utc(void *ctx, int64_t utc_s)
{
	return 0;
}

static const struct tier_time_zone zone = { .offset_s = utc };

static void take_log(void *ctx, const struct log_record *record)
{
	struct world *w = ctx;

	w->events[record->event]++;
	w->priorities[record->priority]++;
	w->last[record->event] = *record;
	snprintf(w->last_text[record->event], sizeof(w->last_text[0]), "%s", record->text);
}

/* The simulator with a switch that breaks calls. */
static struct world *world_of(void *ctx)
{
	return ctx;
}

static int read_pool(void *ctx, struct tier_pool_info *ret_info)
{
	struct world *w = world_of(ctx);

	w->reads++;
	return w->read_error ? w->read_error : w->sim_backend.ops->read_pool(w->sim, ret_info);
}

static int read_map(void *ctx, uint32_t volume, uint64_t first, uint64_t count,
		    struct tier_map_run *ret_runs, size_t max_runs, size_t *ret_nr_runs,
		    uint64_t *ret_next)
{
	/* Small answers, as a big volume's are. */
	return world_of(ctx)->sim_backend.ops->read_map(world_of(ctx)->sim, volume, first, count,
							ret_runs, max_runs > 3 ? 3 : max_runs,
							ret_nr_runs, ret_next);
}

static int read_counters(void *ctx, uint32_t volume, uint64_t first, uint64_t count,
			 uint64_t since, struct tier_counter_head *ret_head,
			 struct tier_counter *ret_counters, size_t max_counters,
			 size_t *ret_nr_counters, uint64_t *ret_next)
{
	struct world *w = world_of(ctx);

	return w->sim_backend.ops->read_counters(w->sim, volume, first, count, since, ret_head,
						 ret_counters, max_counters > 7 ? 7 : max_counters,
						 ret_nr_counters, ret_next);
}

static int migrate(void *ctx, uint32_t volume, uint64_t extent, struct tier_target to, bool force,
		   uint64_t *ret_id)
{
	struct world *w = world_of(ctx);

	return w->migrate_error ? w->migrate_error :
	       w->sim_backend.ops->migrate(w->sim, volume, extent, to, force, ret_id);
}

static int cancel(void *ctx, uint32_t volume, uint64_t extent)
{
	struct world *w = world_of(ctx);

	return w->message_error ? w->message_error :
				  w->sim_backend.ops->cancel(w->sim, volume, extent);
}

static int set_rate(void *ctx, uint64_t bytes_per_s)
{
	struct world *w = world_of(ctx);

	return w->message_error ? w->message_error :
				  w->sim_backend.ops->set_rate(w->sim, bytes_per_s);
}

static int set_moves(void *ctx, uint32_t count)
{
	return world_of(ctx)->sim_backend.ops->set_moves(world_of(ctx)->sim, count);
}

static int read_active(void *ctx, struct tier_active_move *ret_moves, size_t max_moves,
		       size_t *ret_nr_moves, size_t *ret_total)
{
	struct world *w = world_of(ctx);

	return w->message_error ? w->message_error :
	       w->sim_backend.ops->read_active(w->sim, ret_moves, max_moves, ret_nr_moves,
					       ret_total);
}

static int read_finished(void *ctx, uint64_t since_seq, struct tier_finished_head *ret_head,
			 struct tier_finished_move *ret_moves, size_t max_moves,
			 size_t *ret_nr_moves)
{
	struct world *w = world_of(ctx);

	return w->message_error ? w->message_error :
	       w->sim_backend.ops->read_finished(w->sim, since_seq, ret_head, ret_moves, max_moves,
						 ret_nr_moves);
}

static int set_placement(void *ctx, uint32_t volume, const struct tier_placement *placement)
{
	return world_of(ctx)->sim_backend.ops->set_placement(world_of(ctx)->sim, volume, placement);
}

static const struct tier_backend_ops world_ops = {
	.read_pool = read_pool,
	.read_map = read_map,
	.read_counters = read_counters,
	.migrate = migrate,
	.cancel = cancel,
	.set_rate = set_rate,
	.set_moves = set_moves,
	.read_active = read_active,
	.read_finished = read_finished,
	.set_placement = set_placement,
};

/* ---------------------------------------------------------------- the world */

struct clock_time world_now(const struct world *w)
{
	return (struct clock_time) {
		.boot_ns = tier_sim_now_ns(w->sim) + w->boot_offset_ns,
		.real_s = w->real_offset_s + tier_sim_now_ns(w->sim) / CLOCK_NS_PER_S,
	};
}

struct config *world_config(const char *text)
{
	struct config_error error;
	struct config *config;

	if (config_parse("t", text, &config, &error)) {
		fprintf(stderr, "%s\n", error.text);
		abort();
	}
	return config;
}

void world_add_pool(struct world *w)
{
	const struct clock_time now = world_now(w);
	char name[TIER_NAME_SIZE];

	must(!tierd_add_pool(w->tierd, &w->backend, &now, name));
	must(!strcmp(name, "sim"));
}

void world_start_tierd(struct world *w)
{
	w->setup.config = world_config(w->config);
	w->setup.boot_id = w->boot_id;
	must(!tierd_new(&w->setup, &w->tierd));
	world_add_pool(w);
}

struct world *world_new(const char *config)
{
	static struct log_sink sink;
	struct world *w = calloc(1, sizeof(*w));

	w->config = config;
	w->real_offset_s = WORLD_NOON_S;
	snprintf(w->boot_id, sizeof(w->boot_id), "boot 1");
	snprintf(w->path, sizeof(w->path), "/tmp/test_daemon_tierd.XXXXXX");
	must(mkdtemp(w->path));
	w->sim = tier_sim_new(WORLD_EXTENT_SECTORS, 128);
	tier_sim_add_device(w->sim, 0, 10);
	tier_sim_add_device(w->sim, 1, 20);
	tier_sim_add_device(w->sim, 2, 100);
	w->sim_backend = tier_sim_backend(w->sim);
	w->backend = (struct tier_backend) { .ops = &world_ops, .ctx = w };
	sink = (struct log_sink) { .write = take_log, .ctx = w };
	w->setup = (struct tierd_setup) {
		.state_dirfd = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.store_ops = &store_system_ops,
		.log = &sink,
		.zone = &zone,
	};
	world_start_tierd(w);
	return w;
}

void world_free(struct world *w)
{
	DIR *dir = fdopendir(w->setup.state_dirfd);
	struct dirent *entry;

	must(!tier_sim_check(w->sim));
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	rmdir(w->path);
	tierd_free(w->tierd);
	tier_sim_free(w->sim);
	free(w);
}

void world_tick(struct world *w)
{
	const struct clock_time now = world_now(w);

	tierd_tick(w->tierd, &now, &w->next);
	w->ticks++;
}

void world_run_until(struct world *w, int64_t until_s)
{
	unsigned int spins = 0;

	while (world_now(w).real_s < until_s) {
		int64_t left_ns = (until_s - world_now(w).real_s) * CLOCK_NS_PER_S, sleep_ns;

		world_tick(w);
		sleep_ns = w->next.at_ns == CLOCK_NEVER ? left_ns :
			   w->next.at_ns - world_now(w).boot_ns;
		/* A tick may want another one at once, but not for ever. */
		spins = sleep_ns > 0 ? 0 : spins + 1;
		must(spins < 10);
		tier_sim_advance(w->sim, sleep_ns < left_ns ? sleep_ns : left_ns);
	}
	world_tick(w);
	must(!tier_sim_check(w->sim));
}

void world_run_for(struct world *w, int64_t seconds)
{
	world_run_until(w, world_now(w).real_s + seconds);
}
