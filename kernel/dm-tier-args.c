// SPDX-License-Identifier: GPL-2.0-only
/*
 * Words into numbers and back: table lines and messages (contract in the header,
 * grammar in dm-tier.h).  Pure; also compiled in user space.
 *
 * Strict on purpose: what is accepted here is an interface for ever, and a typo
 * that half parses moves or deletes somebody's data.
 */
#include <linux/types.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/string.h>

#include "dm-tier-args.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -EINVAL;
}

int dm_tier_args_u64(const char *word, u64 min, u64 max, u64 *ret_value)
{
	bool overflow = false;
	u64 value = 0;

	if (!*word)
		return -EINVAL;
	for (; *word; word++) {
		if (!is_digit(*word))
			return -EINVAL;
		if (value > (U64_MAX - (*word - '0')) / 10)
			overflow = true;
		else
			value = value * 10 + (*word - '0');
	}
	if (overflow || value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

/* A dash stands before these bytes of a UUID. */
static bool uuid_dash_before(unsigned int byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

int dm_tier_args_uuid(const char *word, u8 *ret_uuid)
{
	unsigned int i;
	u8 uuid[16];

	for (i = 0; i < sizeof(uuid); i++) {
		int high, low;

		if (uuid_dash_before(i) && *word++ != '-')
			return -EINVAL;
		high = hex_value(*word);
		if (high < 0)
			return -EINVAL;
		low = hex_value(word[1]);
		if (low < 0)
			return -EINVAL;
		uuid[i] = high << 4 | low;
		word += 2;
	}
	if (*word)
		return -EINVAL;
	memcpy(ret_uuid, uuid, sizeof(uuid));
	return 0;
}

void dm_tier_format_uuid(const u8 *uuid, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";
	unsigned int i;

	for (i = 0; i < 16; i++) {
		if (uuid_dash_before(i))
			*ret_text++ = '-';
		*ret_text++ = digits[uuid[i] >> 4];
		*ret_text++ = digits[uuid[i] & 15];
	}
	*ret_text = '\0';
}

/* Bytes of a text that stand for themselves. */
static bool is_plain(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || is_digit(c) ||
	       (c && strchr("_.,:;=+-/@", c));
}

/* The next byte of an encoded text, or -EINVAL; *word moves on. */
static int decode_byte(const char **word)
{
	const char *at = *word;
	int high, low;

	if (*at != '%') {
		if (!is_plain(*at))
			return -EINVAL;
		*word = at + 1;
		return (u8)*at;
	}
	high = hex_value(at[1]);
	if (high < 0)
		return -EINVAL;
	low = hex_value(at[2]);
	if (low < 0 || (!high && !low))
		return -EINVAL;
	*word = at + 3;
	return high << 4 | low;
}

int dm_tier_args_text(const char *word, char *ret_text, u8 *ret_bytes)
{
	const char *at;
	unsigned int bytes = 0;
	int c;

	if (!*word)
		return -EINVAL;
	if (!strcmp(word, "-")) {
		*ret_bytes = 0;
		return 0;
	}
	/* Twice, so that nothing is written unless all of it is good. */
	for (at = word; *at; bytes++) {
		c = decode_byte(&at);
		if (c < 0)
			return c;
	}
	if (bytes > DM_TIER_MAX_LABEL)
		return -ENAMETOOLONG;
	for (at = word; *at;)
		*ret_text++ = decode_byte(&at);
	*ret_bytes = bytes;
	return 0;
}

void dm_tier_encode_text(const char *text, u8 bytes, char *ret_word)
{
	static const char digits[] = "0123456789ABCDEF";
	/* A lone dash means the empty text, so the text "-" is escaped. */
	const bool escape_all = bytes == 1 && *text == '-';
	unsigned int i;

	if (!bytes)
		*ret_word++ = '-';
	for (i = 0; i < bytes; i++) {
		if (is_plain(text[i]) && !escape_all) {
			*ret_word++ = text[i];
			continue;
		}
		*ret_word++ = '%';
		*ret_word++ = digits[(u8)text[i] >> 4];
		*ret_word++ = digits[(u8)text[i] & 15];
	}
	*ret_word = '\0';
}

int dm_tier_args_placement(const char *word, u8 *ret_tiers, u8 *ret_placement)
{
	u8 placement[DM_TIER_MAX_TIERS];
	unsigned int tiers = 0, seen = 0;

	/* Tiers have one digit. */
	static_assert(DM_TIER_MAX_TIERS <= 10);

	if (!strcmp(word, "auto")) {
		*ret_tiers = 0;
		return 0;
	}
	for (;;) {
		const unsigned int tier = *word - '0';

		if (!is_digit(*word) || tier >= DM_TIER_MAX_TIERS || (seen & 1U << tier))
			return -EINVAL;
		seen |= 1U << tier;
		placement[tiers++] = tier;
		word++;
		if (!*word)
			break;
		if (*word++ != ',')
			return -EINVAL;
	}
	memcpy(ret_placement, placement, tiers);
	*ret_tiers = tiers;
	return 0;
}

int dm_tier_args_target(const char *word, int *ret_tier, int *ret_device)
{
	const bool device = !strncmp(word, "dev:", 4);
	u64 value;

	if (dm_tier_args_u64(device ? word + 4 : word, 0,
			     (device ? DM_TIER_MAX_DEVICES : DM_TIER_MAX_TIERS) - 1, &value))
		return -EINVAL;
	*ret_tier = device ? -1 : (int)value;
	*ret_device = device ? (int)value : -1;
	return 0;
}

int dm_tier_args_features(unsigned int argc, char **argv,
			  struct dm_tier_features *ret_features,
			  const char **ret_error)
{
	struct dm_tier_features features = {
		.no_space_timeout_s = DM_TIER_NO_SPACE_TIMEOUT_S,
	};
	unsigned int i;
	u64 value;

	for (i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "read_only")) {
			features.read_only = true;
		} else if (!strcmp(argv[i], "partial")) {
			features.partial = true;
		} else if (!strcmp(argv[i], "error_if_no_space")) {
			features.error_if_no_space = true;
		} else if (!strcmp(argv[i], "no_space_timeout")) {
			if (++i == argc || dm_tier_args_u64(argv[i], 0, U32_MAX, &value)) {
				*ret_error = "no_space_timeout needs a number of seconds";
				return -EINVAL;
			}
			features.no_space_timeout_s = value;
		} else {
			*ret_error = "Unknown feature argument";
			return -EINVAL;
		}
	}
	*ret_features = features;
	return 0;
}

int dm_tier_args_verb(const struct dm_tier_verb *verbs, size_t stride,
		      size_t count, unsigned int argc, char **argv)
{
	int r = -ENOENT;
	size_t i;

	if (!argc)
		return -EINVAL;
	for (i = 0; i < count; i++) {
		const struct dm_tier_verb *verb = (const void *)((const u8 *)verbs + i * stride);

		if (strcmp(verb->name, argv[0]))
			continue;
		if (argc >= verb->min_argc && argc <= verb->max_argc)
			return i;
		r = -EINVAL;
	}
	return r;
}
