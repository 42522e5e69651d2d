// SPDX-License-Identifier: GPL-2.0-only
/* Sizes in words. */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECTOR_BYTES	512

/* In ascending order: a letter is 1024 (or 1000) to the power of its place. */
static const char powers[] = "bkmgtpe";

static int unit_bytes(char letter, double *ret_bytes)
{
	const char *place = strchr(powers, tolower((unsigned char)letter));

	if (!letter)
		return -EINVAL;
	if (tolower((unsigned char)letter) == 's')
		*ret_bytes = SECTOR_BYTES;
	else if (place)
		*ret_bytes = pow(isupper((unsigned char)letter) ? 1000 : 1024, place - powers);
	else
		return -EINVAL;
	return 0;
}

/* <digits>[.<digits>][<letter>[iB]] */
static int parse_bytes(const char *text, double *ret_bytes)
{
	double number, factor;
	const char *digits = text;
	char *end, letter;
	int r;

	digits += strspn(digits, "0123456789.");
	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	number = strtod(text, &end);
	if (errno || end != digits)	/* two dots; strtod also takes exponents and hex */
		return -EINVAL;
	letter = *end ? *end++ : 'm';
	if (*end && (strcasecmp(end, "ib") || strchr("bBsS", letter)))
		return -EINVAL;
	r = unit_bytes((char)tolower((unsigned char)letter), &factor);
	if (r)
		return r;
	*ret_bytes = number * factor;
	return 0;
}

int cli_parse_size(const char *text, uint64_t *ret_sectors)
{
	double bytes;
	int r = parse_bytes(text, &bytes);

	if (r)
		return r;
	if (bytes <= 0 || bytes >= 0x1p63)	/* what volumes and devices may have is less */
		return -ERANGE;
	*ret_sectors = (uint64_t)ceil(bytes / SECTOR_BYTES);
	return 0;
}

bool cli_is_unit(char unit)
{
	double bytes;

	return unit == 'h' || unit == 'H' || !unit_bytes(unit, &bytes);
}

/* The largest unit of which there is at least one. */
static char fitting_unit(double bytes, bool is_si)
{
	double step = is_si ? 1000 : 1024;
	size_t place = 0;

	while (place + 2 < sizeof(powers) && bytes >= step) {
		bytes /= step;
		place++;
	}
	return is_si ? (char)toupper((unsigned char)powers[place]) : powers[place];
}

const char *cli_format_size(uint64_t sectors, char unit, bool suffix, char *ret_text)
{
	double bytes = (double)sectors * SECTOR_BYTES, factor = 1;
	char letter[2] = "";

	if (unit == 'h' || unit == 'H') {
		suffix = suffix && sectors;	/* nothing has no unit */
		unit = fitting_unit(bytes, unit == 'H');
	}
	if (suffix)
		letter[0] = unit;
	if (!sectors) {
		snprintf(ret_text, CLI_SIZE_TEXT, "0%s", letter);
	} else if (unit == 'b' || unit == 'B') {
		snprintf(ret_text, CLI_SIZE_TEXT, "%llu%s",
			 (unsigned long long)sectors * SECTOR_BYTES, letter);
	} else if (unit == 's' || unit == 'S') {
		snprintf(ret_text, CLI_SIZE_TEXT, "%llu%s", (unsigned long long)sectors, letter);
	} else {
		unit_bytes(unit, &factor);
		snprintf(ret_text, CLI_SIZE_TEXT, "%.2f%s", bytes / factor, letter);
	}
	return ret_text;
}

const char *cli_estimate(uint64_t seconds, char *ret_text)
{
	if (seconds)
		snprintf(ret_text, CLI_ESTIMATE_TEXT, ", about %llu:%02u:%02u hours",
			 (unsigned long long)seconds / 3600, (unsigned int)(seconds / 60 % 60),
			 (unsigned int)(seconds % 60));
	else
		*ret_text = '\0';
	return ret_text;
}

const char *cli_size(uint64_t sectors, char *ret_text)
{
	return cli_format_size(sectors, 'h', true, ret_text);
}
