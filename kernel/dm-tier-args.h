/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words into numbers: table lines and messages (grammar: dm-tier.h).  Pure;
 * also compiled in user space.  Nothing here blocks or allocates.
 */
#ifndef DM_TIER_ARGS_H
#define DM_TIER_ARGS_H

#include <linux/types.h>
#include "dm-tier.h"

/* Whole-string decimal number in [min, max]: 0, -EINVAL or -ERANGE. */
int dm_tier_args_u64(const char *word, u64 min, u64 max, u64 *ret_value);

/* 8-4-4-4-12 hex digits: 0 or -EINVAL.  format writes 36 characters and a NUL. */
int dm_tier_args_uuid(const char *word, u8 *ret_uuid);
#define DM_TIER_UUID_CHARS 37
void dm_tier_format_uuid(const u8 *uuid, char *ret_text);

/*
 * Percent-encoding, "-" for the empty text.  decode: 0, -EINVAL (bad escape,
 * byte that must be escaped, NUL) or -ENAMETOOLONG (> DM_TIER_MAX_LABEL).
 * encode writes at most DM_TIER_ENCODED_CHARS bytes with the NUL.
 */
int dm_tier_args_text(const char *word, char *ret_text, u8 *ret_bytes);
#define DM_TIER_ENCODED_CHARS (3 * DM_TIER_MAX_LABEL + 1)
void dm_tier_encode_text(const char *text, u8 bytes, char *ret_word);

/* "auto" (*ret_tiers = 0) or "<tier>[,<tier>...]", each once: 0 or -EINVAL. */
int dm_tier_args_placement(const char *word, u8 *ret_tiers, u8 *ret_placement);

/* "<tier>" or "dev:<idx>": 0 or -EINVAL; the other one is set to -1. */
int dm_tier_args_target(const char *word, int *ret_tier, int *ret_device);

/* Feature arguments of a tier-pool line, after the count. */
struct dm_tier_features {
	bool read_only;
	bool partial;
	bool error_if_no_space;
	u32 no_space_timeout_s;		/* 0 = for ever */
};

#define DM_TIER_NO_SPACE_TIMEOUT_S 60

/* Starts from the defaults; 0 or -EINVAL with *ret_error = a constant text. */
int dm_tier_args_features(unsigned int argc, char **argv,
			  struct dm_tier_features *ret_features,
			  const char **ret_error);

/*
 * Picks a row of a message table by name and number of words (@argc counts the
 * name).  Returns its index, -ENOENT (no such name) or -EINVAL (number).
 */
struct dm_tier_verb {
	const char *name;
	u8 min_argc, max_argc;
};

int dm_tier_args_verb(const struct dm_tier_verb *verbs, size_t stride,
		      size_t count, unsigned int argc, char **argv);

#endif /* DM_TIER_ARGS_H */
