// SPDX-License-Identifier: GPL-2.0-only
/* What is told of a pool whenever it was read: how full it is, what its devices and volumes do. */
#include <stdio.h>

#include "pool.h"
#include "units.h"

#define SECTOR_BYTES	512

#define WHAT_HELPS	"tpextend, fstrim or tvremove make space"

void pool_see_space(struct pool *pool)
{
	struct log_record record = LOG_RECORD(LOG_POOL_FILLING_EVENT, LOG_WARNING, pool->name);
	char total_text[UNITS_TEXT_SIZE], left_text[UNITS_TEXT_SIZE];
	const uint64_t extent_bytes = pool->info.extent_sectors * SECTOR_BYTES;
	enum tier_space_news news;
	struct tier_space space;

	/* Of one that has failed nothing is known that could be believed. */
	if (pool->info.mode == TIER_POOL_FAIL)
		return;
	tier_space_of(&pool->info, &space);
	news = tier_space_watch(&pool->space, &space);
	units_size_to_rough_text(space.total_slots * extent_bytes, total_text);
	units_size_to_rough_text(space.first_write_slots * extent_bytes, left_text);
	record.has_bytes = true;
	record.bytes = space.first_write_slots * extent_bytes;
	switch (news) {
	case TIER_SPACE_NO_NEWS:
		return;
	case TIER_SPACE_FILLING:
		log_write(pool->env->log, record, "%u %% of %s is used, %s is left for first writes; "
			  WHAT_HELPS, space.used_percent, total_text, left_text);
		return;
	case TIER_SPACE_FULL:
		record.event = LOG_POOL_FULL_EVENT;
		record.priority = LOG_ERR;
		log_write(pool->env->log, record, "full, %u %% of %s is used: first writes wait for "
			  "space, and fail after no_space_timeout; " WHAT_HELPS, space.used_percent,
			  total_text);
		return;
	case TIER_SPACE_BACK:
		record.event = LOG_POOL_SPACE_BACK_EVENT;
		record.priority = LOG_NOTICE;
		log_write(pool->env->log, record, "has space again: %u %% of %s is used, %s is left for "
			  "first writes", space.used_percent, total_text, left_text);
		return;
	}
}

/* Whether it has become true of the device; `*bits` has one for each. */
static bool is_news(uint64_t *bits, uint32_t idx, bool is_true)
{
	uint64_t bit = UINT64_C(1) << idx;
	bool was_true = *bits & bit;

	*bits = is_true ? *bits | bit : *bits & ~bit;
	return is_true && !was_true;
}

void pool_see_device(struct pool *pool, const struct tier_device_info *device)
{
	const unsigned long long errors = device->errors, extents = device->used_slots;

	if (is_news(&pool->with_errors, device->idx, errors))
		log_plain(pool->env->log, LOG_DEVICE_ERRORS_EVENT, LOG_WARNING, pool->name,
			  "device %u of tier %u (%s) has had %llu I/O error%s since activation; the "
			  "kernel's log has them", device->idx, device->tier,
			  tier_device_state_word(device->state), errors, errors == 1 ? "" : "s");
	if (is_news(&pool->given_up, device->idx, device->state == TIER_DEVICE_LOST && extents))
		log_plain(pool->env->log, LOG_DEVICE_GIVEN_UP_EVENT, LOG_WARNING, pool->name,
			  "device %u of tier %u was given up: %llu extent%s errors until discarded",
			  device->idx, device->tier, extents, extents == 1 ? " gives" : "s give");
}

void pool_see_volume(const struct pool *pool, const struct pool_volume *volume, bool is_gone)
{
	struct log_record record = LOG_RECORD(LOG_VOLUME_FOUND_EVENT, LOG_INFO, pool->name);
	char size_text[UNITS_TEXT_SIZE];

	record.volume = volume->name;
	if (is_gone) {
		record.event = LOG_VOLUME_GONE_EVENT;
		log_write(pool->env->log, record, "volume %s is gone", volume->name);
		return;
	}
	units_size_to_rough_text(volume->info.sectors * SECTOR_BYTES, size_text);
	record.has_bytes = true;
	record.bytes = volume->info.sectors * SECTOR_BYTES;
	log_write(pool->env->log, record, "volume %s found, %s", volume->name, size_text);
}
