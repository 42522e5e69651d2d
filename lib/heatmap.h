/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pictures of a pool: which extent lies on which tier and how hot it is, as text
 * for a terminal and as SVG. Readable from ten extents to millions: neighbours
 * share a cell when there are more extents than cells.
 *
 * Pure: writes through a callback, which gets pieces of text in order.
 */
#ifndef TIER_HEATMAP_H
#define TIER_HEATMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIER_HEATMAP_NO_TIER	0xff	/* the extent has no slot */

struct tier_heatmap_volume {
	const char *name;
	uint64_t nr_extents;
	const uint8_t *tier;		/* of each extent, or TIER_HEATMAP_NO_TIER */
	const float *heat;		/* of each extent, >= 0; below 0 counts as 0 */
};

/* One picture: a pool at one time. */
struct tier_heatmap {
	const char *title;
	const char *heat_unit;		/* what heat counts; NULL: "weighted I/Os a day" */
	const struct tier_heatmap_volume *volumes;
	size_t nr_volumes;
	const char *const *tier_names;	/* NULL: numbers */
	uint32_t nr_tiers;
};

struct tier_heatmap_output {
	/* `length` bytes, not terminated. Errors are the callback's to keep. */
	void (*write)(void *ctx, const char *text, size_t length);
	void *ctx;
};

/*
 * Text, at most `columns` wide (at least 40) and about `rows` lines for the map
 * of all volumes together (at least one a volume). With colour (ANSI, 256
 * colours) one map: the colour is the tier, the sign the heat. Without, two side
 * by side: tier digits, heat signs. A legend and a line per tier follow.
 */
struct tier_heatmap_text_options {
	uint32_t columns;
	uint32_t rows;
	bool color;
};

void tier_heatmap_text(const struct tier_heatmap *map,
		       const struct tier_heatmap_text_options *options,
		       const struct tier_heatmap_output *output);

/*
 * An SVG document with one panel for each map, side by side (before, after). All
 * panels share one scale of heat, so that they can be compared. Hue is the tier,
 * lightness the heat (logarithmic).
 */
void tier_heatmap_svg(const struct tier_heatmap *maps, size_t nr_maps,
		      const struct tier_heatmap_output *output);

#endif
