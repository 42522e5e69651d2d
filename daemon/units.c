// SPDX-License-Identifier: GPL-2.0-only
/* Text to numbers and back. See units.h. */
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

struct unit {
	const char *word;
	uint64_t value;
};

#define NS_PER_S	UINT64_C(1000000000)

/* Ascending; to_text takes the last one that divides. */
static const struct unit time_units[] = {
	{ "s", NS_PER_S },
	{ "min", 60 * NS_PER_S },
	{ "h", 3600 * NS_PER_S },
	{ "d", 24 * 3600 * NS_PER_S },
	{ "w", 7 * 24 * 3600 * NS_PER_S },
};

static const struct unit size_units[] = {
	{ "B", 1 },
	{ "KiB", UINT64_C(1) << 10 },
	{ "MiB", UINT64_C(1) << 20 },
	{ "GiB", UINT64_C(1) << 30 },
	{ "TiB", UINT64_C(1) << 40 },
	{ "kB", 1000 },
	{ "MB", 1000000 },
	{ "GB", 1000000000 },
	{ "TB", UINT64_C(1000000000000) },
};

#define BINARY_SIZE_UNITS	5	/* of size_units: the ones to_text writes */

#define MAX_TIME_NS	(100.0 * 365 * 24 * 3600 * NS_PER_S)
#define MAX_SIZE	9223372036854774784.0	/* the largest double below 2^63 */

/* Digits, optionally a point and digits. Sets *text behind them. No sign, exponent or locale. */
static int take_number(const char **text, double *ret_number)
{
	const char *at = *text;
	double number = 0, scale = 1;

	if (*at < '0' || *at > '9')
		return -EINVAL;
	for (; *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (*at - '0');
	if (*at == '.') {
		at++;
		if (*at < '0' || *at > '9')
			return -EINVAL;
		for (; *at >= '0' && *at <= '9'; at++) {
			scale /= 10;
			number += (*at - '0') * scale;
		}
	}
	*text = at;
	*ret_number = number;
	return 0;
}

/* The letters at *text have to be a unit. */
static int take_unit(const char **text, const struct unit *units, size_t nr_units,
		     uint64_t *ret_value)
{
	size_t length = 0;

	while (((*text)[length] | 0x20) >= 'a' && ((*text)[length] | 0x20) <= 'z')
		length++;
	for (size_t i = 0; i < nr_units; i++) {
		if (strlen(units[i].word) == length && !memcmp(units[i].word, *text, length)) {
			*text += length;
			*ret_value = units[i].value;
			return 0;
		}
	}
	return -EINVAL;
}

int units_time_from_text(const char *text, int64_t *ret_ns)
{
	double sum = 0, number;
	uint64_t unit;

	do {
		while (*text == ' ')
			text++;
		if (take_number(&text, &number))
			return -EINVAL;
		while (*text == ' ')
			text++;
		if (take_unit(&text, time_units, TIER_NR(time_units), &unit))
			return -EINVAL;
		sum += number * (double)unit;
		if (sum > MAX_TIME_NS)
			return -ERANGE;
	} while (*text);
	*ret_ns = llround(sum);
	return 0;
}

/* A size at *text; what follows it is the caller's. */
static int take_size(const char **text, uint64_t *ret_bytes)
{
	uint64_t unit = 1;
	double number;

	if (take_number(text, &number))
		return -EINVAL;
	while (**text == ' ')
		(*text)++;
	if (**text && **text != '/' &&
	    take_unit(text, size_units, TIER_NR(size_units), &unit))
		return -EINVAL;
	number *= (double)unit;
	if (number > MAX_SIZE)
		return -ERANGE;
	*ret_bytes = (uint64_t)(number + 0.5);
	return 0;
}

int units_size_from_text(const char *text, uint64_t *ret_bytes)
{
	uint64_t bytes;
	int r;

	r = take_size(&text, &bytes);
	if (!r && *text)
		r = -EINVAL;
	if (!r)
		*ret_bytes = bytes;
	return r;
}

int units_rate_from_text(const char *text, struct tier_rate *ret_rate)
{
	uint64_t bytes;
	int r;

	if (!tier_rate_from_word(text, ret_rate))
		return 0;
	r = take_size(&text, &bytes);
	if (r)
		return r;
	if (*text && strcmp(text, "/s"))
		return -EINVAL;
	if (!bytes)
		return -ERANGE;
	*ret_rate = (struct tier_rate) { .kind = TIER_RATE_BYTES, .bytes_per_s = bytes };
	return 0;
}

static void number_to_text(uint64_t number, const struct unit *units, size_t nr_units,
			   char *ret_text, size_t text_size)
{
	size_t best = 0;

	for (size_t i = 0; i < nr_units; i++)
		if (number && number % units[i].value == 0)
			best = i;
	snprintf(ret_text, text_size, "%llu%s",
		 (unsigned long long)(number / units[best].value), units[best].word);
}

void units_time_to_text(int64_t ns, char *ret_text)
{
	if (ns % (int64_t)NS_PER_S)
		snprintf(ret_text, UNITS_TEXT_SIZE, "%.3fs", (double)ns / NS_PER_S);
	else
		number_to_text(ns, time_units, TIER_NR(time_units) - 1, ret_text,
			       UNITS_TEXT_SIZE);
}

void units_size_to_text(uint64_t bytes, char *ret_text)
{
	number_to_text(bytes, size_units, BINARY_SIZE_UNITS, ret_text, UNITS_TEXT_SIZE);
}

void units_size_to_rough_text(uint64_t bytes, char *ret_text)
{
	size_t unit = 0;

	/* Nothing has no unit, as in the reports of the CLI. */
	if (!bytes) {
		snprintf(ret_text, UNITS_TEXT_SIZE, "0");
		return;
	}
	while (unit + 1 < BINARY_SIZE_UNITS && bytes >= size_units[unit + 1].value)
		unit++;
	if (bytes % size_units[unit].value)
		snprintf(ret_text, UNITS_TEXT_SIZE, "%.1f%s",
			 (double)bytes / (double)size_units[unit].value, size_units[unit].word);
	else
		units_size_to_text(bytes, ret_text);
}

void units_rate_to_text(const struct tier_rate *rate, char *ret_text)
{
	char size[UNITS_TEXT_SIZE - 2];

	if (rate->kind == TIER_RATE_BYTES) {
		number_to_text(rate->bytes_per_s, size_units, BINARY_SIZE_UNITS, size, sizeof(size));
		snprintf(ret_text, UNITS_TEXT_SIZE, "%s/s", size);
	} else {
		snprintf(ret_text, UNITS_TEXT_SIZE, "%s", tier_rate_word(rate->kind));
	}
}

/* Levenshtein's distance; words are short, longer ones are compared in part. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[65], length = strnlen(b, 64);

	for (unsigned int j = 0; j <= length; j++)
		row[j] = j;
	for (unsigned int i = 0; i < 64 && a[i]; i++) {
		unsigned int diagonal = row[0];

		row[0] = i + 1;
		for (unsigned int j = 1; j <= length; j++) {
			unsigned int change = diagonal + (a[i] != b[j - 1]);

			diagonal = row[j];
			row[j] = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
			if (change < row[j])
				row[j] = change;
		}
	}
	return row[length];
}

size_t units_nearest_word(const char *const *words, size_t nr_words, const char *word)
{
	unsigned int least = UINT32_MAX;
	size_t nearest = 0;

	for (size_t i = 0; i < nr_words; i++) {
		unsigned int d = distance(word, words[i]);

		if (d < least) {
			least = d;
			nearest = i;
		}
	}
	return nearest;
}
