/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The five policies of a volume, their words, and how the label of a volume
 * (`name=..;policy=..;pin=<policy>:<until>`) decides which one is in force.
 *
 * Pure.
 */
#ifndef TIER_POLICY_H
#define TIER_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tier_policy {
	TIER_POLICY_AUTO,		/* where there is space, then by heat */
	TIER_POLICY_START_HIGHEST,	/* highest tier with space, then by heat */
	TIER_POLICY_HIGHEST,		/* before all others, as high as it fits */
	TIER_POLICY_LOWEST,		/* stays in the lowest tier */
	TIER_POLICY_NONE,		/* never crosses tiers */
	TIER_POLICY_COUNT
};

/* "auto", "start-highest", "highest", "lowest", "none". Never NULL. */
const char *tier_policy_word(enum tier_policy policy);

/* 0 or -EINVAL. */
int tier_policy_from_word(const char *word, enum tier_policy *ret_policy);

/*
 * Copy the value of `key` out of a label; the label is the decoded text that
 * struct tier_volume_info carries. Values hold no `;`. Returns the length of
 * the value, -ENOENT without such a key, -ENOSPC if `size` is too small (a
 * value of size - 1 bytes fits).
 */
int tier_label_value(const char *label, const char *key, char *ret_value, size_t size);

/*
 * What a label says about the policy. `is_set` is false when it names none (the
 * defaults of tierd.conf apply then). A pin that has not ended at `now_s`
 * (seconds of real time) wins over the policy and sets `pinned`; `pin_until_s`
 * is then its end. -EINVAL for a word or number that does not parse: the caller
 * reports it and treats the volume as policy none, so nothing moves by mistake.
 */
struct tier_label_policy {
	enum tier_policy policy;
	bool is_set;
	bool pinned;
	int64_t pin_until_s;
};

int tier_label_policy(const char *label, int64_t now_s, struct tier_label_policy *ret_policy);

#endif
