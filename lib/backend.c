// SPDX-License-Identifier: GPL-2.0-only
/* Words and memory of the backend interface's own types. */
#include "backend.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dm-tier.h"

static_assert(TIER_MAX_TIERS == DM_TIER_MAX_TIERS, "tiers");
static_assert(TIER_MAX_DEVICES == DM_TIER_MAX_DEVICES, "devices");
static_assert(TIER_MAX_VOLUMES == DM_TIER_MAX_VOLUMES, "volumes");
static_assert(TIER_LABEL_SIZE == DM_TIER_MAX_LABEL + 1, "label");

static const char *const mode_words[] = {
	[TIER_POOL_RW] = "rw",
	[TIER_POOL_OUT_OF_SPACE] = "out_of_space",
	[TIER_POOL_META_RO] = "meta_ro",
	[TIER_POOL_FAIL] = "fail",
};

static const char *const state_words[] = {
	[TIER_DEVICE_NEW] = "new",
	[TIER_DEVICE_ONLINE] = "online",
	[TIER_DEVICE_DRAINING] = "draining",
	[TIER_DEVICE_MISSING] = "missing",
	[TIER_DEVICE_FAILED] = "failed",
	[TIER_DEVICE_LOST] = "lost",
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static int find_word(const char *const *words, size_t nr_words, const char *word)
{
	for (size_t i = 0; i < nr_words; i++)
		if (!strcmp(words[i], word))
			return (int)i;
	return -EINVAL;
}

const char *tier_pool_mode_word(enum tier_pool_mode mode)
{
	return (size_t)mode < NR(mode_words) ? mode_words[mode] : "unknown";
}

const char *tier_device_state_word(enum tier_device_state state)
{
	return (size_t)state < NR(state_words) ? state_words[state] : "unknown";
}

int tier_pool_mode_from_word(const char *word, enum tier_pool_mode *ret_mode)
{
	int r = find_word(mode_words, NR(mode_words), word);

	if (r < 0)
		return r;
	*ret_mode = r;
	return 0;
}

int tier_device_state_from_word(const char *word, enum tier_device_state *ret_state)
{
	int r = find_word(state_words, NR(state_words), word);

	if (r < 0)
		return r;
	*ret_state = r;
	return 0;
}

void tier_pool_info_clear(struct tier_pool_info *info)
{
	if (!info)
		return;
	free(info->devices);
	free(info->volumes);
	memset(info, 0, sizeof(*info));
}
