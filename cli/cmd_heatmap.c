// SPDX-License-Identifier: GPL-2.0-only
/*
 * tierctl heatmap: a picture of a pool, which extent lies on which tier and how
 * hot it is. The heat is tierd's; without tierd the I/Os counted since the pool
 * was activated stand in for it, and the title says so.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "heatmap.h"
#include "system.h"
#include "util.h"

enum { OPTION_SVG = CLI_LONG_ONLY };

static const struct cli_option options[] = {
	{ OPTION_SVG, "svg", "FILE", "write it as SVG; - is the standard output" },
	{ 0 }
};

#define EXTENTS_AT_ONCE	16384
#define BUS_EXTENTS	65536

/* The picture's data of one pool. */
struct picture {
	struct tier_heatmap_volume *volumes;
	char (*names)[TIER_NAME_SIZE];
	size_t nr_volumes;
};

static void picture_clear(struct picture *picture)
{
	for (size_t i = 0; i < picture->nr_volumes; i++) {
		free((void *)picture->volumes[i].tier);
		free((void *)picture->volumes[i].heat);
	}
	free(picture->volumes);
	free(picture->names);
}

static int read_tiers(const struct cli_pool *pool, uint32_t volume, uint64_t extents, uint8_t *tiers)
{
	_cleanup_free_ struct tier_map_run *runs = calloc(EXTENTS_AT_ONCE, sizeof(*runs));
	uint64_t next = 0;
	size_t nr;

	if (!runs)
		return -ENOMEM;
	while (next < extents) {
		int r = pool->backend.ops->read_map(pool->backend.ctx, volume, next, extents - next,
						    runs, EXTENTS_AT_ONCE, &nr, &next);

		if (r)
			return r;
		for (size_t i = 0; i < nr; i++)
			memset(tiers + runs[i].first,
			       runs[i].device == TIER_NO_DEVICE ? TIER_HEATMAP_NO_TIER :
								  (int)runs[i].tier,
			       runs[i].count);
	}
	return 0;
}

static int read_counts(const struct cli_pool *pool, uint32_t volume, uint64_t extents, float *heat)
{
	_cleanup_free_ struct tier_counter *counters = calloc(EXTENTS_AT_ONCE, sizeof(*counters));
	struct tier_counter_head head;
	uint64_t next = 0;
	size_t nr;

	if (!counters)
		return -ENOMEM;
	while (next < extents) {
		int r = pool->backend.ops->read_counters(pool->backend.ctx, volume, next,
							 extents - next, 0, &head, counters,
							 EXTENTS_AT_ONCE, &nr, &next);

		if (r)
			return r;
		for (size_t i = 0; i < nr; i++)
			heat[counters[i].extent] = (float)(counters[i].reads + counters[i].writes);
	}
	return 0;
}

static enum cli_exit read_heat(struct cli *cli, struct client *client, const char *volume,
			       uint64_t extents, float *heat)
{
	uint64_t first = 0;

	while (first < extents) {
		_cleanup_(client_extents_clear) struct client_extents answer = { 0 };
		uint64_t count = extents - first < BUS_EXTENTS ? extents - first : BUS_EXTENTS;
		enum cli_exit code = client_extents(cli, client, volume, first, count, &answer);

		if (code)
			return code;
		for (size_t i = 0; i < answer.nr_extents; i++)
			if (answer.extents[i].extent < extents)
				heat[answer.extents[i].extent] = (float)answer.extents[i].heat;
		if (answer.next <= first)
			break;		/* the volume got smaller */
		first = answer.next;
	}
	return CLI_OK;
}

static enum cli_exit read_volume(struct cli *cli, const struct cli_pool *pool,
				 const struct tier_volume_info *info, struct client *client,
				 char *name, struct tier_heatmap_volume *ret_volume)
{
	uint64_t extents = info->sectors / pool->info.extent_sectors;
	_cleanup_free_ uint8_t *tiers = malloc(extents + 1);
	_cleanup_free_ float *heat = calloc(extents + 1, sizeof(*heat));
	char full_name[2 * TIER_NAME_SIZE];
	enum cli_exit code;
	int r;

	if (!tiers || !heat)
		return cli_failed(cli, NULL, "out of memory");
	cli_volume_name(info, name);
	snprintf(full_name, sizeof(full_name), "%s/%s", pool->info.name, name);
	r = read_tiers(pool, info->id, extents, tiers);
	if (!r && !client)
		r = read_counts(pool, info->id, extents, heat);
	if (r)
		return cli_failed(cli, "Try again if the volume has just been changed.",
				  "volume %s: cannot read its extents: %s", full_name, cli_reason(r));
	if (client) {
		code = read_heat(cli, client, full_name, extents, heat);
		if (code)
			return code;
	}
	*ret_volume = (struct tier_heatmap_volume){
		.name = name,
		.nr_extents = extents,
		.tier = tiers,
		.heat = heat,
	};
	tiers = NULL;
	heat = NULL;
	return CLI_OK;
}

static enum cli_exit read_picture(struct cli *cli, const struct cli_pool *pool,
				  struct client *client, struct picture *picture)
{
	size_t nr = pool->info.nr_volumes;

	picture->volumes = calloc(nr + 1, sizeof(*picture->volumes));
	picture->names = calloc(nr + 1, sizeof(*picture->names));
	if (!picture->volumes || !picture->names)
		return cli_failed(cli, NULL, "out of memory");
	for (size_t i = 0; i < nr; i++) {
		enum cli_exit code = read_volume(cli, pool, &pool->info.volumes[i], client,
						 picture->names[i], &picture->volumes[i]);

		if (code)
			return code;
		picture->nr_volumes++;
	}
	return CLI_OK;
}

static uint32_t count_tiers(const struct cli_pool *pool)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < pool->info.nr_devices; i++)
		if (pool->info.devices[i].tier >= nr)
			nr = pool->info.devices[i].tier + 1;
	return nr;
}

static void write_file(void *file, const char *text, size_t length)
{
	fwrite(text, 1, length, file);	/* ferror() tells */
}

static void draw(const struct tier_heatmap *map, FILE *file, bool is_svg)
{
	struct tier_heatmap_output output = { .write = write_file, .ctx = file };
	struct tier_heatmap_text_options text = { .columns = 80, .rows = 16 };
	struct winsize window;

	if (is_svg) {
		tier_heatmap_svg(map, 1, &output);
		return;
	}
	if (isatty(fileno(file))) {
		text.color = !getenv("NO_COLOR");
		if (!ioctl(fileno(file), TIOCGWINSZ, &window)) {
			text.columns = window.ws_col >= 40 ? window.ws_col : 40;
			text.rows = window.ws_row > 20 ? window.ws_row - 12U : 8;
		}
	}
	tier_heatmap_text(map, &text, &output);
}

static enum cli_exit draw_to(struct cli *cli, const struct tier_heatmap *map, const char *svg)
{
	FILE *file = stdout;
	bool is_good;

	if (svg && strcmp(svg, "-")) {
		if (cli->test) {
			cli_say(cli, "Would write %s.", svg);
			return CLI_OK;
		}
		file = fopen(svg, "we");
		if (!file)
			return cli_failed(cli, NULL, "cannot write %s: %s", svg, strerror(errno));
	}
	draw(map, file, svg != NULL);
	is_good = !ferror(file);
	if (file != stdout && fclose(file))
		is_good = false;
	return is_good ? CLI_OK : cli_failed(cli, NULL, "cannot write %s", svg ? svg : "the output");
}

/* tierd, if it is there; its absence is no failure here. */
static void try_tierd(const struct cli *cli, const struct cli_pool *pool,
		      struct client **ret_client)
{
	_cleanup_(client_state_clear) struct client_state state = { 0 };
	struct cli silent = *cli;

	silent.is_silent = true;
	if (!client_open(&silent, ret_client) && !client_read_state(&silent, *ret_client, &state) &&
	    client_find_pool(&state, pool->info.uuid))
		return;
	client_close(ret_client);
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	_cleanup_(picture_clear) struct picture picture = { 0 };
	_cleanup_(client_close) struct client *client = NULL;
	struct tier_heatmap map = { 0 };
	struct cli_pool *pool = NULL;
	const char *svg = NULL;
	struct tm tm;
	time_t now;
	char title[256], drawn[32];
	enum cli_exit code;
	int id;

	while ((id = cli_next_option(cli)) > 0)
		svg = cli->value;
	if (id < 0)
		return cli->exit;
	code = cli_system_read(cli, &system);
	if (!code)
		code = cli_need_pool(cli, &system, cli->words[0], &pool);
	if (code)
		return code;
	try_tierd(cli, pool, &client);
	code = read_picture(cli, pool, client, &picture);
	if (code)
		return code;
	now = time(NULL);
	if (!localtime_r(&now, &tm) || !strftime(drawn, sizeof(drawn), "%Y-%m-%d %H:%M", &tm))
		*drawn = '\0';
	snprintf(title, sizeof(title), "pool %s, %s%s", pool->info.name, drawn,
		 client ? "" : " (tierd is not there: I/Os since activation instead of heat)");
	map.title = title;
	map.heat_unit = client ? NULL : "I/Os since activation";
	map.volumes = picture.volumes;
	map.nr_volumes = picture.nr_volumes;
	map.nr_tiers = count_tiers(pool);
	return draw_to(cli, &map, svg);
}

const struct cli_command cmd_heatmap = {
	.name = "heatmap",
	.summary = "draw which extents lie on which tier, and how hot they are",
	.words = "POOL",
	.min_words = 1,
	.max_words = 1,
	.options = options,
	.run = run,
};
