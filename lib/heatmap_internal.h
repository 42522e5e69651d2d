/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two kinds of picture share: cells, levels, output. Pure. */
#ifndef TIER_HEATMAP_INTERNAL_H
#define TIER_HEATMAP_INTERNAL_H

#include "heatmap.h"

/* Level 0 is an extent without heat; each one above is 4 times hotter than the one below. */
#define HEATMAP_LEVELS	9

/* Neighbouring extents that share a sign or a square. */
struct heatmap_cell {
	uint8_t tier;		/* that most of them are on; TIER_HEATMAP_NO_TIER: none has a slot */
	uint8_t level;		/* of their mean heat */
};

struct heatmap_tier_sum {
	uint64_t extents;
	double heat;
};

__attribute__((format(printf, 2, 3))) void
tier_heatmap_print(const struct tier_heatmap_output *output, const char *format, ...);

/* The hottest extent of all maps, on which the levels are based. */
float tier_heatmap_hottest(const struct tier_heatmap *maps, size_t nr_maps);

struct heatmap_cell tier_heatmap_cell(const struct tier_heatmap_volume *volume, uint64_t first,
				      uint64_t count, float hottest);

void tier_heatmap_sum(const struct tier_heatmap *map, struct heatmap_tier_sum *ret_tiers,
		      struct heatmap_tier_sum *ret_total);

/* The least of 1, 2, 5, 10, 20, 50, ... that is not below `value`. */
uint64_t tier_heatmap_round_up(uint64_t value);

/* Extents of all volumes. */
uint64_t tier_heatmap_extents(const struct tier_heatmap *map);

const char *tier_heatmap_tier_name(const struct tier_heatmap *map, uint32_t tier);

#endif
