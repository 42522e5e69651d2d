/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports in lvm2's manner over libdevmapper's dm_report: columns, sorting,
 * selection, units, JSON. report.c is the only user of dm_report; fields.h lists
 * the columns; the commands fill the structs below and hand over rows.
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli.h"

/* What a row may be made of; a column belongs to one of these. */
enum report_type {
	REPORT_POOL = 1 << 0,
	REPORT_TIER = 1 << 1,
	REPORT_DEVICE = 1 << 2,
	REPORT_VOLUME = 1 << 3,
	REPORT_EXTENT = 1 << 4,
	/* Of tierd: asked for only if such a column is wanted. */
	REPORT_TIERD_POOL = 1 << 5,
	REPORT_TIERD_TIER = 1 << 6,
	REPORT_TIERD_VOLUME = 1 << 7,
	REPORT_TIERD_EXTENT = 1 << 8,
	REPORT_MOVE = 1 << 9,
	/* What has to be read from the metadata device. */
	REPORT_POOL_DISK = 1 << 10
};

/* A number that is not known, or makes no sense here: the column stays empty. */
#define REPORT_NO_NUMBER	UINT64_MAX

/* Strings may be NULL: empty. Sizes are sectors. */
struct report_pool {
	const char *name;
	const char *uuid;
	const char *state;		/* active, inactive, ... */
	const char *mode;
	const char *path;
	const char *metadata;		/* path of the metadata device */
	uint64_t size, used, free;
	uint64_t extent_size, region_size;
	uint64_t nr_tiers, nr_devices, nr_missing, nr_volumes;
	const char *needs_check;	/* "needs_check" or "" */
	const char *health;		/* what is wrong, or "" */
	uint64_t commit;
	uint64_t log_used, log_size;
	uint64_t moves_queued, moves_active, moves_done, moves_cancelled, moves_failed;
	uint64_t moved;
	uint64_t rate;			/* sectors/s, 0 = no limit */
};

struct report_pool_disk {
	const char *system_id;		/* of the host it belongs to, or "" */
};

struct report_tier {
	uint64_t tier;
	uint64_t size, used, free;
	uint64_t nr_devices, nr_online;
};

struct report_device {
	uint64_t idx;
	const char *path;
	const char *uuid;
	const char *state;
	uint64_t size, used, free, reserved, quarantined, parked;
	uint64_t ios, io_size, errors;
};

struct report_volume {
	const char *name;
	const char *full_name;		/* pool/volume */
	const char *uuid;
	const char *state;
	const char *path;
	const char *policy;
	const char *policy_from;
	const char *pin_until;
	const char *placement;
	const char *tier_extents;	/* of each tier, from 0 on: 10,20,30 */
	const char *label;
	uint64_t id, generation;
	uint64_t size, used;
	uint64_t nr_extents, nr_used_extents;
};

struct report_extent {
	uint64_t number;
	uint64_t tier, device, slot, valid_regions;
	uint64_t reads, writes, read_size, write_size, sequential, large;
};

struct report_tierd_pool {
	const char *state, *reason, *window, *rate;
	uint64_t pending_up, pending_down, pending_side;
	uint64_t up, down, side;
};

struct report_tierd_tier {
	const char *name;
	double heat;
	uint64_t up, down, in, headroom;
};

struct report_tierd_volume {
	double heat;
};

struct report_tierd_extent {
	double heat;
	const char *reason;
};

/* Of a plan. */
struct report_move {
	uint64_t number;
	const char *pool, *volume, *reason;
	uint64_t extent, from_tier, to_tier, to_device;
	double heat, threshold;
};

/* One row: whatever of it the report's columns need is set. */
struct report_row {
	struct report_pool *pool;
	struct report_pool_disk *pool_disk;
	struct report_tier *tier;
	struct report_device *device;
	struct report_volume *volume;
	struct report_extent *extent;
	struct report_tierd_pool *tierd_pool;
	struct report_tierd_tier *tierd_tier;
	struct report_tierd_volume *tierd_volume;
	struct report_tierd_extent *tierd_extent;
	struct report_move *move;
};

/* What a report command is, besides its cli_command. */
struct report_kind {
	const char *name;		/* of the list in JSON */
	uint32_t types;			/* columns of these may be asked for */
	uint32_t main_type;		/* always part of a row; its prefix may be left out */
	const char *columns;		/* default */
	const char *sort_keys;		/* default */
};

/* The options of every report. Commands with options of their own handle those first. */
#define REPORT_LONG	(CLI_LONG_ONLY + 500)
enum {
	REPORT_UNITS = REPORT_LONG, REPORT_NOHEADINGS, REPORT_NOSUFFIX, REPORT_SEPARATOR,
	REPORT_NAMEPREFIXES, REPORT_UNQUOTED, REPORT_ROWS, REPORT_UNBUFFERED, REPORT_FORMAT
};
/* `example` is a selection that this report can make. */
#define REPORT_OPTIONS(example)							\
	{ 'o', "options", "COLUMNS", "what to show; +COLUMNS adds; help lists them" },	\
	{ 'O', "sort", "KEYS", "columns to sort by; -COLUMN for the other way round" },	\
	{ 'S', "select", "SELECTION", "only rows that match, as '" example "'" }, \
	{ REPORT_UNITS, "units", "UNIT", "of sizes: h b s k m g t p e, capital for powers of 1000" }, \
	{ REPORT_NOHEADINGS, "noheadings", NULL, "no line of headings" },	\
	{ REPORT_NOSUFFIX, "nosuffix", NULL, "no unit behind sizes" },		\
	{ REPORT_SEPARATOR, "separator", "TEXT", "between columns, which are not aligned then" }, \
	{ REPORT_NAMEPREFIXES, "nameprefixes", NULL, "write TIER_<COLUMN>='value'" },	\
	{ REPORT_UNQUOTED, "unquoted", NULL, "with that: no quotes" },		\
	{ REPORT_ROWS, "rows", NULL, "columns as rows" },			\
	{ REPORT_UNBUFFERED, "unbuffered", NULL, "each row at once, unsorted; keeps nothing in memory" }, \
	{ REPORT_FORMAT, "reportformat", "FORMAT", "basic or json" }

struct report_options {
	const char *columns;
	const char *sort_keys;
	const char *selection;
	const char *separator;
	char unit;
	bool no_headings, no_suffix, name_prefixes, unquoted, rows, unbuffered, json;
};

/* For ids of REPORT_OPTIONS. */
enum cli_exit report_take_option(struct cli *cli, int id, struct report_options *options);

struct report;

/*
 * *ret_types says what the chosen columns, keys and selection need. CLI_DONE: the
 * list of columns was asked for and shown. CLI_BAD_LINE: it has been said why.
 */
enum cli_exit report_open(struct cli *cli, const struct report_kind *kind,
			  const struct report_options *options, struct report **ret_report,
			  uint32_t *ret_types);

/* Values are copied. */
enum cli_exit report_row(struct report *report, const struct report_row *row);

/* Sort, select, print. */
enum cli_exit report_print(struct report *report);
void report_close(struct report **report);

#endif
