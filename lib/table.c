// SPDX-License-Identifier: GPL-2.0-only
/* Table lines. Pure. */
#include "table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "words.h"

/* A text that grows in the caller's buffer and remembers when it did not fit. */
struct line {
	char *text;
	size_t size;
	size_t length;
};

__attribute__((format(printf, 2, 3)))
static void append(struct line *line, const char *format, ...)
{
	va_list arguments;
	int length;

	if (line->length >= line->size)
		return;
	va_start(arguments, format);
	length = vsnprintf(line->text + line->length, line->size - line->length, format,
			   arguments);
	va_end(arguments);
	line->length += length;
}

int tier_table_build_pool(const struct tier_pool_table *table, char *ret_params, size_t size)
{
	bool has_timeout = table->no_space_timeout_s != TIER_NO_SPACE_TIMEOUT_S;
	unsigned int words = table->read_only + table->partial + table->error_if_no_space +
			     2 * has_timeout;
	char params[TIER_TABLE_SIZE];
	struct line line = { .text = params, .size = sizeof(params) };

	append(&line, "%u:%u %u", table->metadata.major, table->metadata.minor,
	       table->nr_devices);
	for (uint32_t i = 0; i < table->nr_devices; i++)
		append(&line, " %u:%u", table->devices[i].major, table->devices[i].minor);
	if (words)
		append(&line, " %u", words);
	if (table->read_only)
		append(&line, " read_only");
	if (table->partial)
		append(&line, " partial");
	if (table->error_if_no_space)
		append(&line, " error_if_no_space");
	if (has_timeout)
		append(&line, " no_space_timeout %u", table->no_space_timeout_s);
	if (line.length >= line.size || line.length >= size)
		return -ENOSPC;
	memcpy(ret_params, params, line.length + 1);
	return 0;
}

int tier_table_build_volume(const struct tier_volume_table *table, char *ret_params, size_t size)
{
	char params[64];
	int length = snprintf(params, sizeof(params), "%u:%u %u", table->pool.major,
			      table->pool.minor, table->volume);

	if ((size_t)length >= size)
		return -ENOSPC;
	memcpy(ret_params, params, length + 1);
	return 0;
}

static struct tier_devno take_devno(struct tier_words *words)
{
	uint64_t major, minor;

	tier_words_pair(words, ':', UINT32_MAX, &major, &minor);
	return (struct tier_devno){ .major = (uint32_t)major, .minor = (uint32_t)minor };
}

/* One feature with its argument; returns the number of words. */
static uint32_t take_feature(struct tier_words *words, struct tier_pool_table *table)
{
	if (tier_words_take_if(words, "read_only")) {
		table->read_only = true;
	} else if (tier_words_take_if(words, "partial")) {
		table->partial = true;
	} else if (tier_words_take_if(words, "error_if_no_space")) {
		table->error_if_no_space = true;
	} else if (tier_words_take_if(words, "no_space_timeout")) {
		table->no_space_timeout_s = tier_words_u32(words, UINT32_MAX);
		return 2;
	} else {
		words->bad = true;
	}
	return 1;
}

int tier_table_parse_pool(const char *params, struct tier_pool_table *ret_table)
{
	struct tier_pool_table table = { .no_space_timeout_s = TIER_NO_SPACE_TIMEOUT_S };
	struct tier_words words = { .at = params };
	uint32_t features = 0, taken = 0;

	table.metadata = take_devno(&words);
	table.nr_devices = tier_words_u32(&words, TIER_MAX_DEVICES);
	for (uint32_t i = 0; i < table.nr_devices; i++)
		table.devices[i] = take_devno(&words);
	if (!tier_words_at_end(&words))
		features = tier_words_u32(&words, UINT32_MAX);
	while (taken < features && !words.bad)
		taken += take_feature(&words, &table);
	if (words.bad || taken != features || !tier_words_at_end(&words))
		return -EPROTO;
	*ret_table = table;
	return 0;
}

int tier_table_parse_volume(const char *params, struct tier_volume_table *ret_table)
{
	struct tier_words words = { .at = params };
	struct tier_volume_table table;

	table.pool = take_devno(&words);
	table.volume = tier_words_u32(&words, TIER_MAX_VOLUMES - 1);
	if (words.bad || !tier_words_at_end(&words))
		return -EPROTO;
	*ret_table = table;
	return 0;
}
