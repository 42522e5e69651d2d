// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answers to questions, line by line (status.h). Pure.
 *
 * Every taker fills a struct of its own, so that the caller's and the cursor
 * are untouched when a line does not parse.
 */
#include "status.h"

#include <errno.h>
#include <string.h>

#include "text.h"
#include "words.h"

#define U64	UINT64_MAX

/* The line has been taken: 1 and the cursor behind it, or -EPROTO. */
static int end_line(struct tier_words *words, const char **answer)
{
	tier_words_next_line(words);
	if (words->bad)
		return -EPROTO;
	*answer = words->at;
	return 1;
}

static void take_uuid(struct tier_words *words, char *ret_uuid)
{
	tier_words_take(words, ret_uuid, TIER_UUID_SIZE);
	words->bad |= strlen(ret_uuid) != TIER_UUID_SIZE - 1;
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

/* auto | <tier>[,<tier>...] */
static void take_placement(struct tier_words *words, struct tier_placement *placement)
{
	char word[2 * TIER_MAX_TIERS];
	const char *at = word;

	if (tier_words_take_if(words, "auto")) {
		placement->is_auto = true;
		return;
	}
	tier_words_take(words, word, sizeof(word));
	while (!words->bad) {
		if (*at < '0' || *at >= '0' + TIER_MAX_TIERS || (at[1] && at[1] != ',')) {
			words->bad = true;
			return;
		}
		/* The word's size bounds the number of tiers. */
		placement->tiers[placement->nr_tiers++] = *at - '0';
		if (!at[1])
			return;
		at += 2;
	}
}

int tier_answer_volume(const char **answer, struct tier_volume_info *ret_volume)
{
	struct tier_words words = { .at = *answer };
	struct tier_volume_info volume = { 0 };
	char label[TIER_ENCODED_SIZE];
	int r;

	if (!*words.at)
		return 0;
	volume.id = tier_words_u32(&words, TIER_MAX_VOLUMES - 1);
	take_uuid(&words, volume.uuid);
	volume.generation = tier_words_u64(&words, U64);
	volume.sectors = tier_words_u64(&words, U64);
	take_placement(&words, &volume.placement);
	volume.allocated_extents = tier_words_u64(&words, U64);
	tier_words_take(&words, label, sizeof(label));
	words.bad |= tier_text_decode(label, volume.label) != 0;
	r = end_line(&words, answer);
	if (r > 0)
		*ret_volume = volume;
	return r;
}

int tier_answer_device(const char **answer, struct tier_device_info *ret_device)
{
	struct tier_words words = { .at = *answer };
	struct tier_device_info device = { 0 };
	int r;

	if (!*words.at)
		return 0;
	device.idx = tier_words_u32(&words, TIER_MAX_DEVICES - 1);
	take_uuid(&words, device.uuid);
	device.tier = tier_words_u32(&words, TIER_MAX_TIERS - 1);
	device.state = take_state(&words);
	device.total_slots = tier_words_u64(&words, U64);
	device.used_slots = tier_words_u64(&words, U64);
	device.reserved_slots = tier_words_u64(&words, U64);
	device.quarantined_slots = tier_words_u64(&words, U64);
	device.parked_slots = tier_words_u64(&words, U64);
	r = end_line(&words, answer);
	if (r > 0)
		*ret_device = device;
	return r;
}

/* An idx, or "-": not known, or not chosen yet. */
static uint32_t take_device(struct tier_words *words)
{
	return tier_words_take_if(words, "-") ? TIER_NO_DEVICE :
						tier_words_u32(words, TIER_MAX_DEVICES - 1);
}

int tier_answer_active(const char **answer, struct tier_active_move *ret_move)
{
	struct tier_words words = { .at = *answer };
	struct tier_active_move move = { 0 };
	int r;

	if (!*words.at)
		return 0;
	move.id = tier_words_u64(&words, U64);
	move.volume = tier_words_u32(&words, TIER_MAX_VOLUMES - 1);
	move.extent = tier_words_u64(&words, U64);
	move.from_device = take_device(&words);
	move.to_device = take_device(&words);
	tier_words_take(&words, move.state, sizeof(move.state));
	move.pass = tier_words_u32(&words, UINT32_MAX);
	move.regions_left = tier_words_u32(&words, UINT32_MAX);
	r = end_line(&words, answer);
	if (r > 0)
		*ret_move = move;
	return r;
}

int tier_answer_finished_head(const char **answer, uint64_t *ret_oldest, uint64_t *ret_next)
{
	struct tier_words words = { .at = *answer };
	uint64_t oldest = tier_words_u64(&words, U64), next = tier_words_u64(&words, U64);
	int r;

	words.bad |= oldest > next;
	r = end_line(&words, answer);
	if (r > 0) {
		*ret_oldest = oldest;
		*ret_next = next;
	}
	return r;
}

/* The errno of a move that did not end as done. */
static int move_errno(enum tier_reason reason)
{
	if (reason == TIER_REASON_NO_SPACE)
		return -ENOSPC;
	if (reason == TIER_REASON_DEADLINE)
		return -ETIMEDOUT;
	if (reason == TIER_REASON_CANCELLED || reason == TIER_REASON_SUSPENDED)
		return -ECANCELED;
	return -EIO;
}

/* <result> <reason>: `-` for done and only for it. */
static void take_result(struct tier_words *words, struct tier_finished_move *move)
{
	bool is_done = tier_words_take_if(words, "done");
	char reason[32];

	if (!is_done && !tier_words_take_if(words, "failed") &&
	    !tier_words_take_if(words, "cancelled"))
		words->bad = true;
	tier_words_take(words, reason, sizeof(reason));
	move->reason = tier_reason_from_word(reason);
	words->bad |= is_done != (move->reason == TIER_REASON_NONE);
	move->result = is_done ? 0 : move_errno(move->reason);
}

int tier_answer_finished(const char **answer, struct tier_finished_move *ret_move)
{
	struct tier_words words = { .at = *answer };
	struct tier_finished_move move = { 0 };
	int r;

	if (!*words.at)
		return 0;
	move.seq = tier_words_u64(&words, U64);
	move.id = tier_words_u64(&words, U64);
	move.volume = tier_words_u32(&words, TIER_MAX_VOLUMES - 1);
	move.extent = tier_words_u64(&words, U64);
	move.from_device = take_device(&words);
	move.to_device = take_device(&words);
	take_result(&words, &move);
	move.copied_bytes = tier_words_u64(&words, U64);
	move.passes = tier_words_u32(&words, UINT32_MAX);
	move.freeze_us = tier_words_u64(&words, U64);
	r = end_line(&words, answer);
	if (r > 0)
		*ret_move = move;
	return r;
}

int tier_answer_map(const char **answer, struct tier_map_run *ret_run)
{
	struct tier_words words = { .at = *answer };
	struct tier_map_run run = { 0 };
	int r;

	if (!*words.at)
		return 0;
	run.first = tier_words_u64(&words, UINT32_MAX);
	run.count = tier_words_u64(&words, UINT32_MAX);
	words.bad |= !run.count;
	if (tier_words_take_if(&words, "-")) {
		/* tier, idx and slot of an extent without a slot are all - */
		words.bad |= !tier_words_take_if(&words, "-") || !tier_words_take_if(&words, "-");
		run.device = TIER_NO_DEVICE;
		run.valid_regions = tier_words_u32(&words, 0);
	} else {
		run.tier = tier_words_u32(&words, TIER_MAX_TIERS - 1);
		run.device = tier_words_u32(&words, TIER_MAX_DEVICES - 1);
		run.slot = tier_words_u64(&words, U64);
		run.valid_regions = tier_words_u32(&words, UINT32_MAX);
	}
	r = end_line(&words, answer);
	if (r > 0)
		*ret_run = run;
	return r;
}

int tier_answer_counters_head(const char **answer, struct tier_counter_head *ret_head)
{
	struct tier_words words = { .at = *answer };
	struct tier_counter_head head;
	int r;

	head.instance = tier_words_u64(&words, U64);
	head.volume_generation = tier_words_u64(&words, U64);
	head.counter_generation = tier_words_u64(&words, U64);
	r = end_line(&words, answer);
	if (r > 0)
		*ret_head = head;
	return r;
}

int tier_answer_counter(const char **answer, struct tier_counter *ret_counter)
{
	struct tier_words words = { .at = *answer };
	struct tier_counter counter;
	int r;

	if (!*words.at)
		return 0;
	counter.extent = tier_words_u64(&words, UINT32_MAX);
	counter.reads = tier_words_u64(&words, U64);
	counter.writes = tier_words_u64(&words, U64);
	counter.read_sectors = tier_words_u64(&words, U64);
	counter.write_sectors = tier_words_u64(&words, U64);
	counter.sequential_ios = tier_words_u64(&words, U64);
	counter.large_ios = tier_words_u64(&words, U64);
	r = end_line(&words, answer);
	if (r > 0)
		*ret_counter = counter;
	return r;
}

int tier_answer_number(const char *answer, uint64_t *ret_number)
{
	struct tier_words words = { .at = answer };
	uint64_t number = tier_words_u64(&words, U64);

	tier_words_next_line(&words);
	if (words.bad || *words.at)
		return -EPROTO;
	*ret_number = number;
	return 0;
}
