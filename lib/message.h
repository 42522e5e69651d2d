/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages to a pool as text (grammar and meaning: dm-tier.h). Pure.
 *
 * Texts are given plain and percent-encoded here. Every message fits into
 * TIER_MESSAGE_SIZE. What the kernel checks (ids, sizes) is not checked again.
 * 0, or -ENAMETOOLONG for a text above the limit of a label, -EINVAL for an
 * empty list of tiers; -ENOSPC if `size` is too small.
 */
#ifndef TIER_MESSAGE_H
#define TIER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"

#define TIER_MESSAGE_SIZE	1024

/* Messages without arguments. */
#define TIER_MESSAGE_VOLUMES	"volumes"
#define TIER_MESSAGE_DEVICES	"devices"
#define TIER_MESSAGE_MOVES	"moves"
#define TIER_MESSAGE_CANCEL_ALL	"cancel_all"
#define TIER_MESSAGE_COMMIT	"commit"
#define TIER_MESSAGE_CHECKPOINT	"checkpoint"

int tier_message_create_volume(uint32_t id, uint64_t sectors, const char *uuid, const char *label,
			       char *ret_message, size_t size);
int tier_message_resize_volume(uint32_t id, uint64_t sectors, char *ret_message, size_t size);
int tier_message_delete_volume(uint32_t id, char *ret_message, size_t size);
int tier_message_set_label(uint32_t id, const char *label, char *ret_message, size_t size);
int tier_message_set_pool_label(const char *label, char *ret_message, size_t size);
int tier_message_set_placement(uint32_t id, const struct tier_placement *placement,
			       char *ret_message, size_t size);
int tier_message_migrate(uint32_t id, uint64_t extent, struct tier_target to, bool force,
			 char *ret_message, size_t size);
int tier_message_cancel(uint32_t id, uint64_t extent, char *ret_message, size_t size);
int tier_message_set_rate(uint64_t bytes_per_s, char *ret_message, size_t size);
int tier_message_set_moves(uint32_t count, char *ret_message, size_t size);
int tier_message_add_device(const char *uuid, uint32_t tier, uint64_t slots,
			    char *ret_message, size_t size);
int tier_message_grow_device(uint32_t idx, uint64_t slots, char *ret_message, size_t size);
int tier_message_set_device(uint32_t idx, bool draining, char *ret_message, size_t size);
int tier_message_forget_device(uint32_t idx, bool lost, char *ret_message, size_t size);
int tier_message_set_reserve(uint32_t idx, uint64_t slots, char *ret_message, size_t size);
int tier_message_moves_since(uint64_t seq, char *ret_message, size_t size);
int tier_message_map(uint32_t id, uint64_t first, uint64_t count, char *ret_message, size_t size);
/* since 0 = all that ever counted. */
int tier_message_counters(uint32_t id, uint64_t first, uint64_t count, uint64_t since,
			  char *ret_message, size_t size);

#define TIER_PLACEMENT_SIZE	(4 * TIER_MAX_TIERS + 1)

/* A placement as in messages and answers: auto or 0,1,2. `ret_word`: TIER_PLACEMENT_SIZE. */
void tier_placement_word(const struct tier_placement *placement, char *ret_word);

#endif
