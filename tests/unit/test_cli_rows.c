// SPDX-License-Identifier: GPL-2.0-only
// link: libsystemd devmapper
/*
 * Every column of fields.h against the value that it must have, of a made-up machine
 * in which no two numbers are the same. The commands are the real ones; what they ask
 * the kernel, tierd and the disks is answered here. A column that is not in `values`
 * below fails.
 */
#include <errno.h>
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "activate.h"
#include "disks.h"
#include "rows.h"
#include "util.h"

#define POOL_UUID	"00000000-0000-0000-0000-0000000000a0"
#define FOREIGN_UUID	"00000000-0000-0000-0000-0000000000b0"
#define LOST_UUID	"00000000-0000-0000-0000-0000000000c0"
#define DEVICE_UUID	"00000000-0000-0000-0000-0000000000d"	/* and its place */
#define HOST		"000102030405060708090a0b0c0d0e0f"
#define E		2048				/* sectors of an extent */
#define B(sectors)	((sectors) * 512ULL)		/* what tierd says of them */

/* The machine ----------------------------------------------------------------*/

static struct tier_device_info devices[] = {
	{ .idx = 0, .uuid = DEVICE_UUID "0", .tier = 0, .state = TIER_DEVICE_ONLINE, .total_slots = 100,
	  .used_slots = 31, .reserved_slots = 7, .quarantined_slots = 3, .parked_slots = 5 },
	{ .idx = 2, .uuid = DEVICE_UUID "2", .tier = 1, .state = TIER_DEVICE_ONLINE, .total_slots = 200,
	  .used_slots = 53, .reserved_slots = 1 },
	{ .idx = 5, .uuid = DEVICE_UUID "5", .tier = 1, .state = TIER_DEVICE_DRAINING, .total_slots = 50,
	  .used_slots = 20 },
};

static struct tier_volume_info volumes[] = {
	{ .id = 3, .uuid = "volume-uuid-3", .generation = 77, .sectors = 10 * E, .allocated_extents = 6,
	  .placement = { .nr_tiers = 2, .tiers = { 1, 0 } },
	  .label = "name=vol;policy=highest;pin=lowest:4102444800" },	/* 2100-01-01 UTC */
	{ .id = 8, .uuid = "volume-uuid-8", .generation = 78, .sectors = 4 * E, .allocated_extents = 1,
	  .placement = { .is_auto = true }, .label = "name=plain" },
};

static int read_map(void *ctx, uint32_t volume, uint64_t first, uint64_t count,
		    struct tier_map_run *ret_runs, size_t max_runs, size_t *ret_nr_runs,
		    uint64_t *ret_next)
{
	static const struct tier_map_run vol[] = {
		{ .first = 0, .count = 1, .tier = 0, .device = 0, .slot = 41, .valid_regions = 15 },
		{ .first = 1, .count = 1, .tier = 1, .device = 2, .slot = 92, .valid_regions = 7 },
		{ .first = 2, .count = 8, .device = TIER_NO_DEVICE },
	}, plain[] = {
		{ .first = 0, .count = 3, .device = TIER_NO_DEVICE },
		{ .first = 3, .count = 1, .tier = 1, .device = 5, .slot = 9, .valid_regions = 16 },
	};

	assert_int_equal(first, 0);
	*ret_nr_runs = volume == 3 ? TIER_NR(vol) : TIER_NR(plain);
	memcpy(ret_runs, volume == 3 ? vol : plain, *ret_nr_runs * sizeof(*ret_runs));
	*ret_next = first + count;
	return 0;
}

static int read_counters(void *ctx, uint32_t volume, uint64_t first, uint64_t count, uint64_t since,
			 struct tier_counter_head *ret_head, struct tier_counter *ret_counters,
			 size_t max_counters, size_t *ret_nr_counters, uint64_t *ret_next)
{
	ret_counters[0] = (struct tier_counter){
		.extent = 1, .reads = 201, .writes = 202, .read_sectors = 203, .write_sectors = 204,
		.sequential_ios = 205, .large_ios = 206,
	};
	*ret_nr_counters = 1;
	*ret_next = first + count;
	return 0;
}

static const struct tier_backend_ops ops = { .read_map = read_map, .read_counters = read_counters };

static struct cli_pool pool = {
	.device = { .kind = TIER_DM_POOL, .name = "pool0", .major = 253, .minor = 9 },
	.is_loaded = true,
	.backend = { .ops = &ops },
	.status = {
		.commit = 11, .used_log_blocks = 13, .log_blocks = 17, .queued_moves = 19,
		.active_moves = 23, .done_moves = 29, .cancelled_moves = 31, .failed_moves = 37,
		.moved_bytes = B(41), .rate_bytes_per_s = B(43), .nr_devices = 2,
		.devices = {
			{ .idx = 2, .ios = 104, .sectors = 105, .errors = 106 },
			{ .idx = 0, .ios = 101, .sectors = 102, .errors = 103 },
		},
	},
	.info = {
		.uuid = POOL_UUID, .name = "pool0", .extent_sectors = E, .region_sectors = 128,
		.mode = TIER_POOL_RW, .needs_check = true, .devices = devices, .nr_devices = 3,
		.volumes = volumes, .nr_volumes = 2,
	},
};

static struct tier_dm_device volume_device = {
	.kind = TIER_DM_VOLUME, .name = "pool0-vol", .open_count = 1, .volume = 3,
};

static bool is_active;		/* pool0 is */

enum cli_exit cli_system_read(struct cli *cli, struct cli_system *ret_system)
{
	*ret_system = (struct cli_system){ .pools = &pool, .nr_pools = is_active };
	return CLI_OK;
}

void cli_system_clear(struct cli_system *system)
{
}

struct cli_pool *cli_system_pool(const struct cli_system *system, const char *name)
{
	return system->nr_pools && (!strcmp(name, "pool0") || !strcmp(name, POOL_UUID)) ? &pool : NULL;
}

enum cli_exit cli_need_pool(struct cli *cli, const struct cli_system *system, const char *name,
			    struct cli_pool **ret_pool)
{
	*ret_pool = &pool;
	return CLI_OK;
}

enum cli_exit cli_need_volume(struct cli *cli, const struct cli_system *system, const char *word,
			      struct cli_pool **ret_pool, const struct tier_volume_info **ret_volume)
{
	assert_string_equal(word, "pool0/vol");
	*ret_pool = &pool;
	*ret_volume = &volumes[0];
	return CLI_OK;
}

const struct tier_dm_device *cli_volume_device(const struct cli_system *system,
					       const struct cli_pool *of, uint32_t volume)
{
	return volume == volume_device.volume ? &volume_device : NULL;
}

const char *cli_volume_name(const struct tier_volume_info *volume, char ret_name[TIER_NAME_SIZE])
{
	return strcpy(ret_name, volume == &volumes[0] ? "vol" : "plain");
}

enum cli_exit cli_tell(struct cli *cli, const struct cli_pool *of, int r, const char *message,
		       char **ret_answer, const char *what, ...)
{
	fail_msg("a report changes nothing");
	return CLI_FAILED;
}

void cli_devno_path(uint32_t major, uint32_t minor, char *ret_path, size_t size)
{
	snprintf(ret_path, size, "/dev/%u/%u", major, minor);
}

int tier_dm_table(enum tier_dm_kind kind, const char *name, char **ret_params)
{
	assert_int_equal(kind, TIER_DM_POOL);
	*ret_params = strdup("7:1 3 7:2 7:3 7:4");
	return 0;
}

int tier_dm_status(enum tier_dm_kind kind, const char *name, char **ret_params)
{
	assert_string_equal(name, "pool0-vol");
	*ret_params = strdup("rw 77 6/10 2 4 2");
	return 0;
}

/* The disks ------------------------------------------------------------------*/

static struct tier_scan_device disks[] = {
	{ .path = "/dev/disk0", .identity = { .kind = TIER_FORMAT_DATA, .device_uuid = { [15] = 0xd0 } } },
	{ .path = "/dev/disk2", .identity = { .kind = TIER_FORMAT_DATA, .device_uuid = { [15] = 0xd2 } } },
	{ .path = "/dev/disk5", .identity = { .kind = TIER_FORMAT_DATA, .device_uuid = { [15] = 0xd5 } } },
	{ .path = "/dev/meta", .identity = { .kind = TIER_FORMAT_METADATA } },
};

/* pool0, which is active, unless `is_active` is false; one of another host; one without metadata. */
static struct tier_scan_pool scan_pools[3];

int tier_scan_system(struct tier_scan *ret_scan)
{
	*ret_scan = (struct tier_scan){ .devices = disks, .nr_devices = TIER_NR(disks) };
	return 0;
}

int tier_scan_pools(const struct tier_scan *scan, struct tier_scan_pool **ret_pools,
		    size_t *ret_nr_pools)
{
	*ret_pools = scan_pools;
	*ret_nr_pools = TIER_NR(scan_pools);
	return 0;
}

void tier_scan_clear(struct tier_scan *scan)
{
}

void tier_scan_free_pools(struct tier_scan_pool *pools, size_t nr_pools)
{
}

static void make_scan(void)
{
	memset(scan_pools, 0, sizeof(scan_pools));
	scan_pools[0].uuid[15] = 0xa0;
	scan_pools[0].metadata = &disks[3];
	scan_pools[0].info = pool.info;
	for (uint8_t i = 0; i < 16; i++)
		scan_pools[0].facts.system_id[i] = i;
	for (size_t i = 0; i < 3; i++)
		scan_pools[0].members[i].device = &disks[i];
	scan_pools[1] = scan_pools[0];
	scan_pools[1].uuid[15] = 0xb0;
	memcpy(scan_pools[1].info.uuid, FOREIGN_UUID, TIER_UUID_SIZE);
	memcpy(scan_pools[1].info.name, "pool1", 6);
	scan_pools[2].uuid[15] = 0xc0;
	scan_pools[2].error = -ENOENT;
	snprintf(scan_pools[2].cause, sizeof(scan_pools[2].cause), "no metadata device");
}

/* tierd ----------------------------------------------------------------------*/

static char text_pool[] = "pool0", text_uuid[] = POOL_UUID, text_state[] = "relocating";
static char text_reason[] = "policy_lowest", text_window[] = "daily 01:00 2h", text_rate[] = "slow";
static char text_tier0[] = "ssd", text_tier1[] = "disk", text_volume3[] = "volume-uuid-3";
static char text_volume8[] = "volume-uuid-8", text_policy[] = "start-highest", text_from[] = "config";
static char text_lowest[] = "lowest", text_label[] = "pin", text_vol[] = "vol";

static struct client_pool tierd_pools[] = { {
	.name = text_pool, .uuid = text_uuid, .state = text_state, .reason = text_reason,
	.window = text_window, .rate = text_rate, .pending_up_bytes = B(301),
	.pending_down_bytes = B(302), .pending_side_bytes = B(303), .up_bytes = B(304),
	.down_bytes = B(305), .side_bytes = B(306),
} };

static struct client_tier tierd_tiers[] = {
	{ .pool = text_pool, .tier = 0, .name = text_tier0, .heat = 311.25, .up_bytes = B(312),
	  .down_bytes = B(313), .in_bytes = B(314), .headroom_bytes = B(315) },
	{ .pool = text_pool, .tier = 1, .name = text_tier1, .heat = 321, .up_bytes = B(322),
	  .down_bytes = B(323), .in_bytes = B(324), .headroom_bytes = B(325) },
};

static struct client_volume tierd_volumes[] = {
	{ .pool = text_pool, .uuid = text_volume3, .policy = text_lowest, .policy_from = text_label,
	  .heat = 331.5 },
	{ .pool = text_pool, .uuid = text_volume8, .policy = text_policy, .policy_from = text_from,
	  .heat = 332 },
};

static struct client_extent tierd_extents[] = { { .extent = 1, .heat = 341.5, .reason = text_reason } };

static struct client_move tierd_moves[] = {
	{ .volume = text_vol, .extent = 351, .from_tier = 1, .to_tier = 0, .to_device = UINT32_MAX,
	  .heat = 352.5, .threshold = 353, .reason = text_reason },
	{ .volume = text_vol, .extent = 361, .from_tier = 2, .to_tier = 3, .to_device = 4, .heat = 362,
	  .threshold = 363.5, .reason = text_lowest },
};

static bool runs_tierd;

static void fill_state(struct client_state *ret_state)
{
	*ret_state = (struct client_state){
		.pools = tierd_pools, .nr_pools = TIER_NR(tierd_pools),
		.tiers = tierd_tiers, .nr_tiers = TIER_NR(tierd_tiers),
		.volumes = tierd_volumes, .nr_volumes = TIER_NR(tierd_volumes),
	};
}

enum cli_exit client_open(struct cli *cli, struct client **ret_client)
{
	*ret_client = (struct client *)tierd_pools;	/* never looked into */
	return runs_tierd ? CLI_OK : CLI_FAILED;
}

void client_close(struct client **client)
{
}

enum cli_exit client_read_state(struct cli *cli, struct client *client, struct client_state *ret_state)
{
	fill_state(ret_state);
	return CLI_OK;
}

bool client_try_state(const char *name, struct client_state *ret_state)
{
	if (runs_tierd)
		fill_state(ret_state);
	return runs_tierd;
}

void client_state_clear(struct client_state *state)
{
}

const struct client_pool *client_find_pool(const struct client_state *state, const char *uuid)
{
	return state->nr_pools && !strcmp(uuid, POOL_UUID) ? &state->pools[0] : NULL;
}

const struct client_tier *client_find_tier(const struct client_state *state, const char *name,
					   uint32_t tier)
{
	return tier < state->nr_tiers && !strcmp(name, "pool0") ? &state->tiers[tier] : NULL;
}

const struct client_volume *client_find_volume(const struct client_state *state, const char *uuid)
{
	for (size_t i = 0; i < state->nr_volumes; i++)
		if (!strcmp(state->volumes[i].uuid, uuid))
			return &state->volumes[i];
	return NULL;
}

enum cli_exit client_plan(struct cli *cli, struct client *client, const char *name, uint32_t max,
			  struct client_plan *ret_plan)
{
	*ret_plan = (struct client_plan){ .moves = tierd_moves, .nr_moves = 2, .total_moves = 2 };
	return CLI_OK;
}

void client_plan_clear(struct client_plan *plan)
{
}

enum cli_exit client_extents(struct cli *cli, struct client *client, const char *volume,
			     uint64_t first, uint64_t count, struct client_extents *ret_extents)
{
	*ret_extents = (struct client_extents){
		.extents = tierd_extents, .nr_extents = 1, .next = first + count,
	};
	return CLI_OK;
}

void client_extents_clear(struct client_extents *extents)
{
}

/* The tests ------------------------------------------------------------------*/

#define MAX_ARGUMENTS	16

/* What a command prints, without spaces at the ends of lines; the caller frees it. */
static char *output_of(const char *line)
{
	static const struct cli_command *const commands[] = { &cmd_tps, &cmd_tvs, &cmd_tes, &cmd_plan };
	_cleanup_free_ char *words = strdup(line);
	char *argv[MAX_ARGUMENTS + 1] = { NULL }, *text = NULL, *rest = words;
	FILE *real = stdout, *file;
	struct cli cli = { .argv = argv };
	size_t size;
	enum cli_exit code;

	while (cli.argc < MAX_ARGUMENTS && (argv[cli.argc] = strtok_r(rest, " ", &rest)))
		cli.argc++;
	for (size_t i = 0; i < TIER_NR(commands); i++)
		if (!strcmp(commands[i]->name, argv[0]))
			cli.command = commands[i];
	assert_non_null(cli.command);
	file = open_memstream(&text, &size);
	assert_non_null(file);
	optind = 0;
	fflush(real);
	stdout = file;
	code = cli.command->run(&cli);
	stdout = real;
	assert_int_equal(fclose(file), 0);
	if (code)
		fail_msg("%s: exit code %d", line, code);
	return text;
}

static void assert_output(const char *line, const char *expected)
{
	_cleanup_free_ char *text = output_of(line);

	if (strcmp(text, expected))
		fail_msg("%s\nexpected:\n%sgot:\n%s", line, expected, text);
}

#define FORMAT	" --noheadings --nosuffix --units s --separator | -o "

/* By type of fields.h: where its columns belong. */
static const struct {
	uint32_t type;
	const char *command;
} reports[] = {
	{ REPORT_POOL, "tps pool0" },
	{ REPORT_POOL_DISK, "tps pool0" },
	{ REPORT_TIERD_POOL, "tps pool0" },
	{ REPORT_TIER, "tps --tiers pool0" },
	{ REPORT_TIERD_TIER, "tps --tiers pool0" },
	{ REPORT_DEVICE, "tps --devices pool0" },
	{ REPORT_VOLUME, "tvs" },			/* plain, vol */
	{ REPORT_TIERD_VOLUME, "tvs" },
	{ REPORT_EXTENT, "tes pool0/vol" },		/* 0, 1 */
	{ REPORT_TIERD_EXTENT, "tes pool0/vol" },
	{ REPORT_MOVE, "plan pool0" },
};

static const struct {
	const char *column;
	const char *rows;
} values[] = {
	{ "pool_name", "pool0\n" },
	{ "pool_uuid", POOL_UUID "\n" },
	{ "pool_state", "active\n" },
	{ "pool_health", "the metadata is damaged\n" },
	{ "pool_mode", "rw\n" },
	{ "pool_path", "/dev/mapper/pool0\n" },
	{ "pool_metadata", "/dev/7/1\n" },
	{ "pool_size", "716800\n" },			/* 350 extents */
	{ "pool_used", "212992\n" },			/* 104 */
	{ "pool_free", "409600\n" },			/* 54 + 146; what is drained gets nothing */
	{ "pool_used_percent", "29.71\n" },
	{ "extent_size", "2048\n" },
	{ "region_size", "128\n" },
	{ "tier_count", "2\n" },
	{ "dev_count", "3\n" },
	{ "missing_count", "0\n" },
	{ "vol_count", "2\n" },
	{ "needs_check", "needs_check\n" },
	{ "pool_commit", "11\n" },
	{ "log_used", "104\n" },			/* 13 blocks */
	{ "log_size", "136\n" },
	{ "moves_queued", "19\n" },
	{ "moves_active", "23\n" },
	{ "moves_done", "29\n" },
	{ "moves_cancelled", "31\n" },
	{ "moves_failed", "37\n" },
	{ "moved", "41\n" },
	{ "move_rate", "43\n" },
	{ "pool_system_id", HOST "\n" },

	{ "tier", "0\n1\n" },
	{ "tier_size", "204800\n512000\n" },
	{ "tier_used", "63488\n149504\n" },		/* 31; 53 + 20 */
	{ "tier_free", "110592\n299008\n" },		/* 54; 146 */
	{ "tier_used_percent", "31.00\n29.20\n" },
	{ "tier_dev_count", "1\n2\n" },
	{ "tier_online_count", "1\n1\n" },

	{ "dev_idx", "0\n2\n5\n" },
	{ "dev_path", "/dev/disk0\n/dev/disk2\n/dev/disk5\n" },
	{ "dev_uuid", DEVICE_UUID "0\n" DEVICE_UUID "2\n" DEVICE_UUID "5\n" },
	{ "dev_state", "online\nonline\ndraining\n" },
	{ "dev_size", "204800\n409600\n102400\n" },
	{ "dev_used", "63488\n108544\n40960\n" },
	{ "dev_free", "110592\n299008\n0\n" },
	{ "dev_used_percent", "31.00\n26.50\n40.00\n" },
	{ "dev_reserved", "14336\n2048\n0\n" },
	{ "dev_quarantined", "6144\n0\n0\n" },
	{ "dev_parked", "10240\n0\n0\n" },
	{ "dev_ios", "101\n104\n\n" },
	{ "dev_io_size", "102\n105\n\n" },
	{ "dev_errors", "103\n106\n\n" },

	{ "vol_name", "plain\nvol\n" },
	{ "vol_full_name", "pool0/plain\npool0/vol\n" },
	{ "vol_uuid", "volume-uuid-8\nvolume-uuid-3\n" },
	{ "vol_state", "inactive\nopen\n" },
	{ "vol_path", "\n/dev/mapper/pool0-vol\n" },
	{ "vol_policy", "start-highest\nlowest\n" },
	{ "vol_policy_from", "config\npin\n" },
	{ "vol_pin_until", "\n2100-01-01 00:00\n" },
	{ "vol_placement", "auto\n1,0\n" },
	{ "vol_size", "8192\n20480\n" },
	{ "vol_used", "2048\n12288\n" },
	{ "vol_used_percent", "25.00\n60.00\n" },
	{ "vol_tier_extents", "0,1\n4,2\n" },
	{ "vol_extents", "4\n10\n" },
	{ "vol_used_extents", "1\n6\n" },
	{ "vol_id", "8\n3\n" },
	{ "vol_generation", "78\n77\n" },
	{ "vol_label", "name=plain\nname=vol;policy=highest;pin=lowest:4102444800\n" },

	{ "extent", "0\n1\n" },
	{ "ext_tier", "0\n1\n" },
	{ "ext_dev", "0\n2\n" },
	{ "ext_slot", "41\n92\n" },
	{ "ext_valid", "15\n7\n" },
	{ "ext_reads", "0\n201\n" },
	{ "ext_writes", "0\n202\n" },
	{ "ext_read_size", "0\n203\n" },
	{ "ext_write_size", "0\n204\n" },
	{ "ext_sequential", "0\n205\n" },
	{ "ext_large", "0\n206\n" },

	{ "relocation", "relocating\n" },
	{ "relocation_reason", "policy_lowest\n" },
	{ "window", "daily 01:00 2h\n" },
	{ "window_rate", "slow\n" },
	{ "pending_up", "301\n" },
	{ "pending_down", "302\n" },
	{ "pending_side", "303\n" },
	{ "moved_up", "304\n" },
	{ "moved_down", "305\n" },
	{ "moved_side", "306\n" },

	{ "tier_name", "ssd\ndisk\n" },
	{ "tier_heat", "311.2\n321.0\n" },
	{ "tier_headroom", "315\n325\n" },
	{ "tier_up", "312\n322\n" },
	{ "tier_down", "313\n323\n" },
	{ "tier_in", "314\n324\n" },
	{ "vol_heat", "332.0\n331.5\n" },
	{ "ext_heat", "0.0\n341.5\n" },
	{ "ext_reason", "-\npolicy_lowest\n" },

	{ "move_number", "0\n1\n" },
	{ "move_pool", "pool0\npool0\n" },
	{ "move_volume", "vol\nvol\n" },
	{ "move_extent", "351\n361\n" },
	{ "move_from", "1\n2\n" },
	{ "move_to", "0\n3\n" },
	{ "move_to_dev", "\n4\n" },
	{ "move_heat", "352.5\n362.0\n" },
	{ "move_threshold", "353.0\n363.5\n" },
	{ "move_reason", "policy_lowest\nlowest\n" },
};

static void check_column(uint32_t type, const char *column)
{
	char line[256];

	for (size_t i = 0; i < TIER_NR(values); i++) {
		if (strcmp(values[i].column, column))
			continue;
		for (size_t j = 0; j < TIER_NR(reports); j++) {
			if (reports[j].type != type)
				continue;
			snprintf(line, sizeof(line), "%s" FORMAT "%s", reports[j].command, column);
			assert_output(line, values[i].rows);
			return;
		}
		fail_msg("the type of column %s is of no report here", column);
	}
	fail_msg("column %s of fields.h has no value here", column);
}

static void test_columns(void **state)
{
	size_t nr = 0;

	runs_tierd = true;
#define F(TYPE, type, member, kind, column, heading, width, description)	\
	check_column(REPORT_##TYPE, column);					\
	nr++;
#include "fields.h"
#undef F
	/* None that there is not, either. */
	assert_int_equal(nr, TIER_NR(values));
}

static void test_without_tierd(void **state)
{
	assert_output("tvs" FORMAT "vol_policy,vol_policy_from", "default|default\nlowest|pin\n");
	assert_output("tes -a" FORMAT "vol_policy,vol_policy_from -S extent=0 pool0/vol", "lowest|pin\n");
	/* tierd has not seen yet that the label lost its policy. */
	runs_tierd = true;
	tierd_volumes[1].policy_from = text_label;
	assert_output("tvs" FORMAT "vol_policy,vol_policy_from", "default|default\nlowest|pin\n");
	tierd_volumes[1].policy_from = text_from;
}

static void test_label_that_cannot_be_read(void **state)
{
	const struct tier_volume_info good = volumes[1];

	strcpy(volumes[1].label, "name=plain;policy=hihgest");
	assert_output("tvs" FORMAT "vol_policy,vol_policy_from", "none|error\nlowest|pin\n");
	volumes[1] = good;
}

static void test_states_of_active_pools(void **state)
{
	const char *const line = "tps" FORMAT "pool_state,pool_health,missing_count,pool_free pool0";

	pool.device.read_only = true;
	assert_output(line, "read-only|the metadata is damaged|0|409600\n");
	devices[1].state = TIER_DEVICE_MISSING;
	assert_output(line, "partial|1 device is missing|1|110592\n");
	devices[0].state = TIER_DEVICE_FAILED;
	assert_output(line, "partial|2 devices are missing|2|0\n");
	assert_output("tps --tiers" FORMAT "tier_free,tier_size pool0", "0|204800\n0|512000\n");
	assert_output("tps --devices" FORMAT "dev_state,dev_free pool0", "failed|0\nmissing|0\ndraining|0\n");
	pool.device.suspended = true;
	assert_output(line, "suspended|2 devices are missing|2|0\n");
	pool.device.suspended = pool.device.read_only = false;
	/* Given up: not missing, and not as it should be either, as long as there are extents. */
	devices[0].state = TIER_DEVICE_ONLINE;
	devices[1].state = TIER_DEVICE_LOST;
	pool.info.needs_check = false;
	assert_output(line, "active|device 2 was given up: 53 extents give errors|0|110592\n");
	devices[2].state = TIER_DEVICE_LOST;
	assert_output(line, "active|2 devices were given up: 73 extents give errors|0|110592\n");
	devices[1].used_slots = devices[2].used_slots = 0;
	assert_output(line, "active||0|110592\n");
	devices[1].used_slots = 53;
	devices[2].used_slots = 20;
	pool.info.needs_check = true;
	devices[1].state = TIER_DEVICE_ONLINE;
	devices[2].state = TIER_DEVICE_DRAINING;
}

static void test_pools_that_are_not_active(void **state)
{
	const char *const line = "tps" FORMAT "pool_name,pool_state,pool_health,missing_count,"
				 "pool_system_id,pool_free,pool_used_percent";

	/* pool1 is of a host that this one is not; the third has nothing but a label. */
	assert_output(line, LOST_UUID "|no metadata|no metadata device|0||0|\n"
			    "pool0|active|the metadata is damaged|0|" HOST "|409600|29.71\n"
			    "pool1|foreign||0|" HOST "|409600|29.71\n");
	/* Of another host, and in the way of the one that is active. */
	memcpy(scan_pools[1].info.name, "pool0", 6);
	assert_output("tps" FORMAT "pool_state,pool_health " FOREIGN_UUID, "foreign|another active pool has this name\n");
	is_active = false;
	assert_output("tps" FORMAT "pool_state,pool_health " FOREIGN_UUID, "foreign|another pool has this name\n");
	memcpy(scan_pools[1].info.name, "pool1", 6);
	memset(scan_pools[1].facts.system_id, 0, 16);
	assert_output("tps" FORMAT "pool_state,pool_system_id pool1", "inactive|\n");
	scan_pools[1].nr_doubled = 1;
	assert_output("tps" FORMAT "pool_state pool1", "doubled\n");
	scan_pools[1].nr_doubled = 0;
	scan_pools[1].members[1].device = NULL;
	scan_pools[1].nr_missing = 1;
	assert_output("tps" FORMAT "pool_state,pool_health,missing_count,pool_free pool1",
		      "incomplete|1 device is missing|1|110592\n");
	assert_output("tps --devices" FORMAT "dev_state,dev_free pool1", "online|110592\nmissing|0\ndraining|0\n");
	devices[1].state = TIER_DEVICE_ONLINE;		/* the scan's, shared here */
	scan_pools[1].error = -EUCLEAN;
	assert_output("tps" FORMAT "pool_state " FOREIGN_UUID, "unreadable\n");
}

static int setup(void **state)
{
	setenv("TZ", "UTC", 1);
	tzset();
	is_active = true;
	runs_tierd = false;
	make_scan();
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_columns, setup),
		cmocka_unit_test_setup(test_without_tierd, setup),
		cmocka_unit_test_setup(test_label_that_cannot_be_read, setup),
		cmocka_unit_test_setup(test_states_of_active_pools, setup),
		cmocka_unit_test_setup(test_pools_that_are_not_active, setup),
	};

	return cmocka_run_group_tests_name("cli_rows", tests, NULL, NULL);
}
