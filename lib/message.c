// SPDX-License-Identifier: GPL-2.0-only
/* Messages. Pure. */
#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

__attribute__((format(printf, 3, 4)))
static int build(char *ret_message, size_t size, const char *format, ...)
{
	char message[TIER_MESSAGE_SIZE];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(message) || (size_t)length >= size)
		return -ENOSPC;
	memcpy(ret_message, message, length + 1);
	return 0;
}

int tier_message_create_volume(uint32_t id, uint64_t sectors, const char *uuid, const char *label,
			       char *ret_message, size_t size)
{
	char word[TIER_ENCODED_SIZE];
	int r = tier_text_encode(label, word);

	if (r)
		return r;
	return build(ret_message, size, "create_volume %u %" PRIu64 " %s %s", id, sectors, uuid,
		     word);
}

int tier_message_resize_volume(uint32_t id, uint64_t sectors, char *ret_message, size_t size)
{
	return build(ret_message, size, "resize_volume %u %" PRIu64, id, sectors);
}

int tier_message_delete_volume(uint32_t id, char *ret_message, size_t size)
{
	return build(ret_message, size, "delete_volume %u", id);
}

int tier_message_set_label(uint32_t id, const char *label, char *ret_message, size_t size)
{
	char word[TIER_ENCODED_SIZE];
	int r = tier_text_encode(label, word);

	return r ? r : build(ret_message, size, "set_label %u %s", id, word);
}

int tier_message_set_pool_label(const char *label, char *ret_message, size_t size)
{
	char word[TIER_ENCODED_SIZE];
	int r = tier_text_encode(label, word);

	return r ? r : build(ret_message, size, "set_pool_label %s", word);
}

void tier_placement_word(const struct tier_placement *placement, char *ret_word)
{
	size_t used = 0;

	snprintf(ret_word, TIER_PLACEMENT_SIZE, placement->is_auto ? "auto" : "");
	for (uint32_t i = 0; !placement->is_auto && i < placement->nr_tiers; i++)
		used += snprintf(ret_word + used, TIER_PLACEMENT_SIZE - used, "%s%u",
				 i ? "," : "", placement->tiers[i]);
}

int tier_message_set_placement(uint32_t id, const struct tier_placement *placement,
			       char *ret_message, size_t size)
{
	char word[TIER_PLACEMENT_SIZE];

	if (!placement->is_auto &&
	    (!placement->nr_tiers || placement->nr_tiers > TIER_MAX_TIERS))
		return -EINVAL;
	tier_placement_word(placement, word);
	return build(ret_message, size, "set_placement %u %s", id, word);
}

int tier_message_migrate(uint32_t id, uint64_t extent, struct tier_target to, bool force,
			 char *ret_message, size_t size)
{
	return build(ret_message, size, "migrate %u %" PRIu64 " %s%u%s", id, extent,
		     to.is_device ? "dev:" : "", to.index, force ? " force" : "");
}

int tier_message_cancel(uint32_t id, uint64_t extent, char *ret_message, size_t size)
{
	return build(ret_message, size, "cancel %u %" PRIu64, id, extent);
}

int tier_message_set_rate(uint64_t bytes_per_s, char *ret_message, size_t size)
{
	return build(ret_message, size, "set_rate %" PRIu64, bytes_per_s);
}

int tier_message_set_moves(uint32_t count, char *ret_message, size_t size)
{
	return build(ret_message, size, "set_moves %u", count);
}

int tier_message_add_device(const char *uuid, uint32_t tier, uint64_t slots,
			    char *ret_message, size_t size)
{
	return build(ret_message, size, "add_device %s %u %" PRIu64, uuid, tier, slots);
}

int tier_message_grow_device(uint32_t idx, uint64_t slots, char *ret_message, size_t size)
{
	return build(ret_message, size, "grow_device %u %" PRIu64, idx, slots);
}

int tier_message_set_device(uint32_t idx, bool draining, char *ret_message, size_t size)
{
	return build(ret_message, size, "set_device %u %s", idx, draining ? "draining" : "online");
}

int tier_message_forget_device(uint32_t idx, bool lost, char *ret_message, size_t size)
{
	return build(ret_message, size, "forget_device %u%s", idx, lost ? " lost" : "");
}

int tier_message_set_reserve(uint32_t idx, uint64_t slots, char *ret_message, size_t size)
{
	return build(ret_message, size, "set_reserve %u %" PRIu64, idx, slots);
}

int tier_message_moves_since(uint64_t seq, char *ret_message, size_t size)
{
	return build(ret_message, size, "moves since %" PRIu64, seq);
}

int tier_message_map(uint32_t id, uint64_t first, uint64_t count, char *ret_message, size_t size)
{
	return build(ret_message, size, "map %u %" PRIu64 " %" PRIu64, id, first, count);
}

int tier_message_counters(uint32_t id, uint64_t first, uint64_t count, uint64_t since,
			  char *ret_message, size_t size)
{
	if (!since)
		return build(ret_message, size, "counters %u %" PRIu64 " %" PRIu64, id, first,
			     count);
	return build(ret_message, size, "counters %u %" PRIu64 " %" PRIu64 " since %" PRIu64, id,
		     first, count, since);
}
