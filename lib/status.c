// SPDX-License-Identifier: GPL-2.0-only
/* Status lines. Pure. Answers are in answer.c. */
#include "status.h"

#include <errno.h>
#include <string.h>

#include "text.h"
#include "words.h"

#define U64	UINT64_MAX

/* The pairs that a status must have. */
#define PAIR_UUID	(1U << 0)
#define PAIR_INSTANCE	(1U << 1)
#define PAIR_LABEL	(1U << 2)
#define PAIR_RATE	(1U << 3)
#define PAIR_MOVES	(1U << 4)
#define PAIR_ALL	((1U << 5) - 1)

static enum tier_pool_mode take_mode(struct tier_words *words)
{
	enum tier_pool_mode mode = TIER_POOL_FAIL;
	char word[24];

	tier_words_take(words, word, sizeof(word));
	if (tier_pool_mode_from_word(word, &mode))
		words->bad = true;
	return mode;
}

static enum tier_device_state take_state(struct tier_words *words)
{
	enum tier_device_state state = TIER_DEVICE_FAILED;
	char word[24];

	tier_words_take(words, word, sizeof(word));
	if (tier_device_state_from_word(word, &state))
		words->bad = true;
	return state;
}

static void take_device(struct tier_words *words, struct tier_device_status *device)
{
	device->idx = tier_words_u32(words, TIER_MAX_DEVICES - 1);
	device->tier = tier_words_u32(words, TIER_MAX_TIERS - 1);
	device->state = take_state(words);
	device->total_slots = tier_words_u64(words, U64);
	device->used_slots = tier_words_u64(words, U64);
	device->reserved_slots = tier_words_u64(words, U64);
	device->quarantined_slots = tier_words_u64(words, U64);
	device->parked_slots = tier_words_u64(words, U64);
	device->ios = tier_words_u64(words, U64);
	device->sectors = tier_words_u64(words, U64);
	device->errors = tier_words_u64(words, U64);
}

/* Returns which of the known pairs it was, 0 for one of a newer kernel. */
static unsigned int take_pair(struct tier_words *words, struct tier_pool_status *status)
{
	char value[TIER_ENCODED_SIZE], key[32];

	if (tier_words_take_if(words, "uuid")) {
		tier_words_take(words, status->uuid, sizeof(status->uuid));
		words->bad |= strlen(status->uuid) != TIER_UUID_SIZE - 1;
		return PAIR_UUID;
	}
	if (tier_words_take_if(words, "instance")) {
		status->instance = tier_words_u64(words, U64);
		return PAIR_INSTANCE;
	}
	if (tier_words_take_if(words, "label")) {
		tier_words_take(words, value, sizeof(value));
		words->bad |= tier_text_decode(value, status->label) != 0;
		return PAIR_LABEL;
	}
	if (tier_words_take_if(words, "rate")) {
		status->rate_bytes_per_s = tier_words_u64(words, U64);
		return PAIR_RATE;
	}
	if (tier_words_take_if(words, "moves")) {
		status->moves_at_once = tier_words_u32(words, UINT32_MAX);
		return PAIR_MOVES;
	}
	tier_words_take(words, key, sizeof(key));
	tier_words_take(words, value, sizeof(value));
	return 0;
}

int tier_status_parse_pool(const char *params, struct tier_pool_status *ret_status)
{
	struct tier_words words = { .at = params };
	struct tier_pool_status status = { 0 };
	unsigned int seen = 0;
	uint32_t pairs;

	status.mode = take_mode(&words);
	if (!words.bad && status.mode == TIER_POOL_FAIL && tier_words_at_end(&words)) {
		*ret_status = status;
		return 0;
	}
	status.is_loaded = true;
	status.commit = tier_words_u64(&words, U64);
	tier_words_pair(&words, '/', U64, &status.used_log_blocks, &status.log_blocks);
	status.needs_check = tier_words_u32(&words, 1);
	status.extent_sectors = tier_words_u64(&words, U64);
	status.region_sectors = tier_words_u64(&words, U64);
	status.nr_devices = tier_words_u32(&words, TIER_MAX_DEVICES);
	for (uint32_t i = 0; i < status.nr_devices; i++)
		take_device(&words, &status.devices[i]);
	status.queued_moves = tier_words_u64(&words, U64);
	status.active_moves = tier_words_u64(&words, U64);
	status.done_moves = tier_words_u64(&words, U64);
	status.cancelled_moves = tier_words_u64(&words, U64);
	status.failed_moves = tier_words_u64(&words, U64);
	status.moved_bytes = tier_words_u64(&words, U64);
	pairs = tier_words_u32(&words, UINT32_MAX);
	while (pairs-- && !words.bad)
		seen |= take_pair(&words, &status);
	if (words.bad || !tier_words_at_end(&words) || seen != PAIR_ALL ||
	    !status.extent_sectors || !status.region_sectors)
		return -EPROTO;
	*ret_status = status;
	return 0;
}

int tier_status_parse_volume(const char *params, struct tier_volume_status *ret_status)
{
	struct tier_words words = { .at = params };
	struct tier_volume_status status = { 0 };

	status.mode = take_mode(&words);
	status.generation = tier_words_u64(&words, U64);
	tier_words_pair(&words, '/', U64, &status.allocated_extents, &status.total_extents);
	status.nr_tiers = tier_words_u32(&words, TIER_MAX_TIERS);
	for (uint32_t i = 0; i < status.nr_tiers; i++)
		status.tier_extents[i] = tier_words_u64(&words, U64);
	if (words.bad || !tier_words_at_end(&words))
		return -EPROTO;
	*ret_status = status;
	return 0;
}
