// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports over dm_report.
 *
 * libdevmapper 1.02.185 prints a report's lines through its log callback, at the
 * level of warnings; in JSON it quotes everything but escapes only quotation
 * marks. So the callback here sends lines to stdout, keeps errors as text, and
 * in JSON texts are escaped before libdevmapper sees them.
 */
#include "report.h"

#include <libdevmapper.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define LEVEL_MASK	7
#define LEVEL_ERROR	3
#define LEVEL_PRINT	4
#define TO_STDERR	0x80

struct report {
	struct dm_report *handle;
	struct dm_report_group *group;
	struct report_options options;
	/* dm_report keeps pointers to these. */
	struct dm_report_object_type *types;
	struct dm_report_field_type *fields;
	char *columns;
};

/* What the callback has no argument for. */
static bool is_help_wanted;
static char last_error[256];

__attribute__((format(printf, 5, 6)))
static void take_line(int level, const char *file, int line, int dm_errno_or_class,
		      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if ((level & LEVEL_MASK) <= LEVEL_ERROR) {
		/* The first one is the cause, what follows is about its consequences. */
		if (!*last_error)
			vsnprintf(last_error, sizeof(last_error), format, arguments);
	} else if ((level & LEVEL_MASK) == LEVEL_PRINT && (!(level & TO_STDERR) || is_help_wanted)) {
		vprintf(format, arguments);
		putchar('\n');
	}
	va_end(arguments);
}

/* Columns --------------------------------------------------------------------*/

static int show_copy(struct dm_pool *mem, struct dm_report_field *field, const char *text,
		     const void *sort_value, size_t sort_size)
{
	char *copy = dm_pool_strdup(mem, text);
	void *sort_copy = sort_size ? dm_pool_alloc(mem, sort_size) : NULL;

	if (!copy || (sort_size && !sort_copy))
		return 0;
	if (sort_size)
		memcpy(sort_copy, sort_value, sort_size);
	dm_report_field_set_value(field, copy, sort_copy);
	return 1;
}

/* As the inside of a JSON string, but for quotation marks: those libdevmapper does. */
static char *escape_json(struct dm_pool *mem, const char *text)
{
	char *escaped = dm_pool_alloc(mem, 6 * strlen(text) + 1), *to = escaped;

	if (!escaped)
		return NULL;
	for (; *text; text++) {
		if (*text == '\\') {
			*to++ = '\\';
			*to++ = '\\';
		} else if ((unsigned char)*text < ' ' || *text == '\x7f') {
			to += snprintf(to, 7, "\\u%04x", (unsigned char)*text);
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
	return escaped;
}

static int show_text(struct dm_report *rh, struct dm_pool *mem, struct dm_report_field *field,
		     const void *data, void *private_data)
{
	const struct report *report = private_data;
	const char *text = *(const char *const *)data;
	const char *shown;

	if (!text)
		text = "";
	shown = report->options.json ? escape_json(mem, text) : dm_pool_strdup(mem, text);
	text = dm_pool_strdup(mem, text);	/* what is sorted and selected by */
	if (!shown || !text)
		return 0;
	dm_report_field_set_value(field, shown, text);
	return 1;
}

static int show_number(struct dm_report *rh, struct dm_pool *mem, struct dm_report_field *field,
		       const void *data, void *private_data)
{
	uint64_t number = *(const uint64_t *)data;
	char text[24] = "";

	if (number != REPORT_NO_NUMBER)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return show_copy(mem, field, text, &number, sizeof(number));
}

static int show_size(struct dm_report *rh, struct dm_pool *mem, struct dm_report_field *field,
		     const void *data, void *private_data)
{
	const struct report *report = private_data;
	uint64_t sectors = *(const uint64_t *)data;
	double sort_value = sectors == REPORT_NO_NUMBER ? -1 : (double)sectors;
	char text[CLI_SIZE_TEXT] = "";

	if (sectors != REPORT_NO_NUMBER)
		cli_format_size(sectors, report->options.unit, !report->options.no_suffix, text);
	return show_copy(mem, field, text, &sort_value, sizeof(sort_value));
}

static int show_heat(struct dm_report *rh, struct dm_pool *mem, struct dm_report_field *field,
		     const void *data, void *private_data)
{
	double heat = *(const double *)data;
	uint64_t sort_value = heat < 0 ? REPORT_NO_NUMBER : (uint64_t)(heat + 0.5);
	char text[32] = "";

	if (heat >= 0)
		snprintf(text, sizeof(text), "%.1f", heat);
	return show_copy(mem, field, text, &sort_value, sizeof(sort_value));
}

static int show_share(struct dm_report *rh, struct dm_pool *mem, struct dm_report_field *field,
		      uint64_t part, uint64_t whole)
{
	/* dm_make_percent() multiplies in 64 bits: whole sizes of a petabyte overflow it. */
	int shift = whole == REPORT_NO_NUMBER ? 0 : 64 - __builtin_clzll(whole | 1);
	dm_percent_t percent;

	if (part == REPORT_NO_NUMBER || whole == REPORT_NO_NUMBER || !whole)
		return show_copy(mem, field, "", &(uint64_t){ REPORT_NO_NUMBER },
				 sizeof(uint64_t));
	shift = shift > 30 ? shift - 30 : 0;
	percent = dm_make_percent(part >> shift, whole >> shift);
	return dm_report_field_percent(rh, field, &percent);
}

#define KIND_text	DM_REPORT_FIELD_TYPE_STRING
#define KIND_number	DM_REPORT_FIELD_TYPE_NUMBER
#define KIND_size	DM_REPORT_FIELD_TYPE_SIZE
#define KIND_share	DM_REPORT_FIELD_TYPE_PERCENT
#define KIND_heat	DM_REPORT_FIELD_TYPE_NUMBER

/* dm_report gives a column's function the address of its member; a share needs the struct's. */
#define SHARE(type)									\
static int show_share_##type(struct dm_report *rh, struct dm_pool *mem,			\
			     struct dm_report_field *field, const void *data,		\
			     void *private_data)					\
{											\
	const struct report_##type *object = (const void *)((const char *)data -	\
					     offsetof(struct report_##type, used));	\
											\
	return show_share(rh, mem, field, object->used, object->size);			\
}
SHARE(pool)
SHARE(tier)
SHARE(device)
SHARE(volume)

#define SHOW_text(type)		show_text
#define SHOW_number(type)	show_number
#define SHOW_size(type)		show_size
#define SHOW_heat(type)		show_heat
#define SHOW_share(type)	show_share_##type

static const struct dm_report_field_type all_fields[] = {
#define F(TYPE, type, member, kind, column, heading, width, description)		\
	{ REPORT_##TYPE, KIND_##kind, offsetof(struct report_##type, member), width,	\
	  column, heading, SHOW_##kind(type), description },
#include "fields.h"
#undef F
};

static void *row_pool(void *row) { return ((struct report_row *)row)->pool; }
static void *row_pool_disk(void *row) { return ((struct report_row *)row)->pool_disk; }
static void *row_tier(void *row) { return ((struct report_row *)row)->tier; }
static void *row_device(void *row) { return ((struct report_row *)row)->device; }
static void *row_volume(void *row) { return ((struct report_row *)row)->volume; }
static void *row_extent(void *row) { return ((struct report_row *)row)->extent; }
static void *row_tierd_pool(void *row) { return ((struct report_row *)row)->tierd_pool; }
static void *row_tierd_tier(void *row) { return ((struct report_row *)row)->tierd_tier; }
static void *row_tierd_volume(void *row) { return ((struct report_row *)row)->tierd_volume; }
static void *row_tierd_extent(void *row) { return ((struct report_row *)row)->tierd_extent; }
static void *row_move(void *row) { return ((struct report_row *)row)->move; }

/* A prefix names its section in `-o <prefix>all`, so no two are the same. */
static const struct dm_report_object_type all_types[] = {
	{ REPORT_POOL, "Pool", "pool_", row_pool },
	{ REPORT_POOL_DISK, "Pool, of its metadata device", "pool_disk_", row_pool_disk },
	{ REPORT_TIER, "Tier", "tier_", row_tier },
	{ REPORT_DEVICE, "Device", "dev_", row_device },
	{ REPORT_VOLUME, "Volume", "vol_", row_volume },
	{ REPORT_EXTENT, "Extent", "ext_", row_extent },
	{ REPORT_TIERD_POOL, "Pool, of tierd", "pool_tierd_", row_tierd_pool },
	{ REPORT_TIERD_TIER, "Tier, of tierd", "tier_tierd_", row_tierd_tier },
	{ REPORT_TIERD_VOLUME, "Volume, of tierd", "vol_tierd_", row_tierd_volume },
	{ REPORT_TIERD_EXTENT, "Extent, of tierd", "ext_tierd_", row_tierd_extent },
	{ REPORT_MOVE, "Move", "move_", row_move },
};

/* Options --------------------------------------------------------------------*/

enum cli_exit report_take_option(struct cli *cli, int id, struct report_options *options)
{
	switch (id) {
	case 'o':
		options->columns = cli->value;
		break;
	case 'O':
		options->sort_keys = cli->value;
		break;
	case 'S':
		options->selection = cli->value;
		break;
	case REPORT_UNITS:
		if (!cli_is_unit(*cli->value) || cli->value[1])
			return cli_bad_line(cli, "It is one of h b s k m g t p e, or a capital one.",
					    "there is no unit '%s'", cli->value);
		options->unit = *cli->value;
		break;
	case REPORT_NOHEADINGS:
		options->no_headings = true;
		break;
	case REPORT_NOSUFFIX:
		options->no_suffix = true;
		break;
	case REPORT_SEPARATOR:
		options->separator = cli->value;
		break;
	case REPORT_NAMEPREFIXES:
		options->name_prefixes = true;
		break;
	case REPORT_UNQUOTED:
		options->unquoted = true;
		break;
	case REPORT_ROWS:
		options->rows = true;
		break;
	case REPORT_UNBUFFERED:
		options->unbuffered = true;
		break;
	case REPORT_FORMAT:
		if (strcmp(cli->value, "basic") && strcmp(cli->value, "json"))
			return cli_bad_line(cli, "It is basic or json.",
					    "there is no report format '%s'", cli->value);
		options->json = !strcmp(cli->value, "json");
		break;
	}
	return CLI_OK;
}

static uint32_t output_flags(const struct report_options *options)
{
	uint32_t flags = options->unbuffered ? 0 : DM_REPORT_OUTPUT_BUFFERED;

	/* JSON is complete and has its own form: what shapes text does not apply. */
	if (options->json)
		return flags;
	if (!options->separator && !options->name_prefixes)
		flags |= DM_REPORT_OUTPUT_ALIGNED;
	if (!options->no_headings && !options->name_prefixes)
		flags |= DM_REPORT_OUTPUT_HEADINGS;
	if (options->name_prefixes)
		flags |= DM_REPORT_OUTPUT_FIELD_NAME_PREFIX;
	if (options->unquoted)
		flags |= DM_REPORT_OUTPUT_FIELD_UNQUOTED;
	if (options->rows)
		flags |= DM_REPORT_OUTPUT_COLUMNS_AS_ROWS;
	return flags;
}

/* The types and columns that this report may have; dm_report wants them ended by zeros. */
static bool choose(struct report *report, uint32_t types)
{
	size_t nr = 0;

	report->types = calloc(TIER_NR(all_types) + 1, sizeof(*report->types));
	report->fields = calloc(TIER_NR(all_fields) + 1, sizeof(*report->fields));
	if (!report->types || !report->fields)
		return false;
	for (size_t i = 0; i < TIER_NR(all_types); i++)
		if (all_types[i].id & types)
			report->types[nr++] = all_types[i];
	nr = 0;
	for (size_t i = 0; i < TIER_NR(all_fields); i++)
		/* Its members are const: no assignment. */
		if (all_fields[i].type & types)
			memcpy(&report->fields[nr++], &all_fields[i], sizeof(all_fields[i]));
	return true;
}

static bool is_help(const char *words)
{
	size_t length;

	for (; words && *words; words += length + (words[length] == ',')) {
		length = strcspn(words, ",");
		if ((length == 4 && !memcmp(words, "help", 4)) || (length == 1 && *words == '?'))
			return true;
	}
	return false;
}

/* "+a,b" adds to the default. */
static char *full_columns(const struct report_kind *kind, const struct report_options *options)
{
	const char *columns = options->columns ? options->columns : kind->columns;
	char *full;

	if (*columns != '+')
		return strdup(columns);
	return asprintf(&full, "%s,%s", kind->columns, columns + 1) < 0 ? NULL : full;
}

enum cli_exit report_open(struct cli *cli, const struct report_kind *kind,
			  const struct report_options *options, struct report **ret_report,
			  uint32_t *ret_types)
{
	_cleanup_(report_close) struct report *report = calloc(1, sizeof(*report));
	uint32_t types = kind->main_type;

	if (!report || !choose(report, kind->types))
		return cli_failed(cli, NULL, "out of memory");
	if (options->unbuffered && (options->json || options->rows))
		return cli_bad_line(cli, "Leave one of them out.",
				    "--unbuffered goes neither with JSON nor with --rows");
	report->options = *options;
	report->columns = full_columns(kind, options);
	if (!report->columns)
		return cli_failed(cli, NULL, "out of memory");
	if (!report->options.unit)
		report->options.unit = 'h';
	is_help_wanted = is_help(options->columns) || is_help(options->sort_keys) ||
			 is_help(options->selection);
	last_error[0] = '\0';
	dm_log_with_errno_init(take_line);
	report->handle = dm_report_init_with_selection(&types, report->types, report->fields,
			report->columns, options->separator ? options->separator : " ",
			output_flags(&report->options),
			options->sort_keys ? options->sort_keys : kind->sort_keys,
			options->selection, NULL, report);
	if (!report->handle)
		return cli_bad_line(cli, "The option `-o help` lists the columns, `-S help` how to select.",
				    "%s", *last_error ? last_error : "the report cannot be made");
	if (is_help_wanted)
		return CLI_DONE;
	if (options->name_prefixes)
		dm_report_set_output_field_name_prefix(report->handle, "tier_");
	if (report->options.json) {
		report->group = dm_report_group_create(DM_REPORT_GROUP_JSON, NULL);
		if (!report->group ||
		    !dm_report_group_push(report->group, NULL, (void *)"report") ||
		    !dm_report_group_push(report->group, report->handle, (void *)kind->name))
			return cli_failed(cli, NULL, "out of memory");
	}
	*ret_types = types;
	*ret_report = report;
	report = NULL;
	return CLI_OK;
}

enum cli_exit report_row(struct report *report, const struct report_row *row)
{
	struct report_row copy = *row;

	/* Asking the kernel in between may have changed the callback. */
	dm_log_with_errno_init(take_line);
	return dm_report_object(report->handle, &copy) ? CLI_OK : CLI_FAILED;
}

enum cli_exit report_print(struct report *report)
{
	bool is_good;

	dm_log_with_errno_init(take_line);
	is_good = dm_report_output(report->handle);
	if (report->group) {
		is_good = dm_report_group_pop(report->group) && is_good;
		is_good = dm_report_group_pop(report->group) && is_good;
		is_good = dm_report_group_destroy(report->group) && is_good;
		report->group = NULL;
	}
	return is_good ? CLI_OK : CLI_FAILED;
}

void report_close(struct report **report)
{
	if (!*report)
		return;
	dm_log_with_errno_init(take_line);
	/* After an error a half printed group would print its end. */
	is_help_wanted = false;
	if ((*report)->handle)
		dm_report_free((*report)->handle);
	free((*report)->types);
	free((*report)->fields);
	free((*report)->columns);
	free(*report);
	*report = NULL;
}
