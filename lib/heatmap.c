// SPDX-License-Identifier: GPL-2.0-only
/* The heat map as text, and what it shares with the SVG. heatmap.h is the contract. */
#include "heatmap.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "heatmap_internal.h"

#define MIN_COLUMNS	40
#define MAX_TIERS	8
#define MAX_LINE	512

/* By level. A slot without heat is a dot, no slot is a space. */
static const char signs[HEATMAP_LEVELS + 1] = ".:-=+*#%@";

/* 256-colour codes of tiers 0 to 7: from red over yellow and green to blue. */
static const uint8_t colors[MAX_TIERS] = { 196, 214, 71, 39, 63, 129, 201, 244 };

void tier_heatmap_print(const struct tier_heatmap_output *output, const char *format, ...)
{
	char text[MAX_LINE];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (length < 0)
		return;
	output->write(output->ctx, text,
		      (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

float tier_heatmap_hottest(const struct tier_heatmap *maps, size_t nr_maps)
{
	float hottest = 0;

	for (size_t m = 0; m < nr_maps; m++)
		for (size_t v = 0; v < maps[m].nr_volumes; v++)
			for (uint64_t e = 0; e < maps[m].volumes[v].nr_extents; e++)
				hottest = fmaxf(hottest, maps[m].volumes[v].heat[e]);
	return hottest;
}

static uint8_t level_of(double heat, float hottest)
{
	double below;

	if (heat <= 0 || hottest <= 0)
		return 0;
	below = floor(log(hottest / heat) / log(4) + 1e-6);
	if (below < 0)
		below = 0;
	return below < HEATMAP_LEVELS - 2 ? (uint8_t)(HEATMAP_LEVELS - 1 - below) : 1;
}

struct heatmap_cell tier_heatmap_cell(const struct tier_heatmap_volume *volume, uint64_t first,
				      uint64_t count, float hottest)
{
	struct heatmap_cell cell = { .tier = TIER_HEATMAP_NO_TIER };
	uint64_t on_tier[MAX_TIERS] = { 0 }, allocated = 0, most = 0;
	double heat = 0;

	if (count > volume->nr_extents - first)
		count = volume->nr_extents - first;
	for (uint64_t e = first; e < first + count; e++) {
		if (volume->tier[e] >= MAX_TIERS)
			continue;
		on_tier[volume->tier[e]]++;
		allocated++;
		heat += fmaxf(0, volume->heat[e]);
	}
	for (uint8_t tier = 0; tier < MAX_TIERS; tier++) {
		if (on_tier[tier] > most) {
			most = on_tier[tier];
			cell.tier = tier;
		}
	}
	if (allocated)
		cell.level = level_of(heat / (double)allocated, hottest);
	return cell;
}

void tier_heatmap_sum(const struct tier_heatmap *map, struct heatmap_tier_sum *ret_tiers,
		      struct heatmap_tier_sum *ret_total)
{
	struct heatmap_tier_sum total = { 0 };

	memset(ret_tiers, 0, MAX_TIERS * sizeof(*ret_tiers));
	for (size_t v = 0; v < map->nr_volumes; v++) {
		const struct tier_heatmap_volume *volume = &map->volumes[v];

		for (uint64_t e = 0; e < volume->nr_extents; e++) {
			double heat = fmaxf(0, volume->heat[e]);

			if (volume->tier[e] >= MAX_TIERS)
				continue;
			ret_tiers[volume->tier[e]].extents++;
			ret_tiers[volume->tier[e]].heat += heat;
			total.extents++;
			total.heat += heat;
		}
	}
	*ret_total = total;
}

uint64_t tier_heatmap_round_up(uint64_t value)
{
	for (uint64_t ten = 1;; ten *= 10) {
		if (value <= ten)
			return ten;
		if (value <= 2 * ten)
			return 2 * ten;
		if (value <= 5 * ten)
			return 5 * ten;
	}
}

uint64_t tier_heatmap_extents(const struct tier_heatmap *map)
{
	uint64_t extents = 0;

	for (size_t v = 0; v < map->nr_volumes; v++)
		extents += map->volumes[v].nr_extents;
	return extents;
}

const char *tier_heatmap_tier_name(const struct tier_heatmap *map, uint32_t tier)
{
	static const char numbers[MAX_TIERS][2] = { "0", "1", "2", "3", "4", "5", "6", "7" };

	if (map->tier_names && tier < map->nr_tiers && map->tier_names[tier])
		return map->tier_names[tier];
	return tier < MAX_TIERS ? numbers[tier] : "?";
}

/* ---- text ---- */

struct text {
	const struct tier_heatmap_output *output;
	unsigned int width;		/* signs of one map in a row */
	unsigned int number_width;
	uint64_t per_cell;
	float hottest;
	bool color;
};

static void print_signs(const struct text *text, const struct heatmap_cell *cells,
			unsigned int count, bool is_heat)
{
	char line[MAX_LINE];

	for (unsigned int i = 0; i < count; i++) {
		if (cells[i].tier == TIER_HEATMAP_NO_TIER)
			line[i] = ' ';
		else if (is_heat)
			line[i] = signs[cells[i].level];
		else
			line[i] = (char)('0' + cells[i].tier);
	}
	memset(line + count, ' ', text->width - count);
	text->output->write(text->output->ctx, line, text->width);
}

static void print_colored(const struct text *text, const struct heatmap_cell *cells,
			  unsigned int count)
{
	uint8_t tier = TIER_HEATMAP_NO_TIER;

	for (unsigned int i = 0; i < count; i++) {
		if (cells[i].tier == TIER_HEATMAP_NO_TIER) {
			tier_heatmap_print(text->output, " ");
			continue;
		}
		if (cells[i].tier != tier)
			tier_heatmap_print(text->output, "\033[38;5;%um", colors[cells[i].tier]);
		tier = cells[i].tier;
		tier_heatmap_print(text->output, "%c", signs[cells[i].level]);
	}
	tier_heatmap_print(text->output, "\033[0m");
}

static void print_volume(const struct text *text, const struct tier_heatmap_volume *volume)
{
	uint64_t row_extents = text->width * text->per_cell;
	struct heatmap_cell cells[MAX_LINE];

	tier_heatmap_print(text->output, "%s\n", volume->name);
	for (uint64_t first = 0; first < volume->nr_extents; first += row_extents) {
		unsigned int count = 0;

		while (count < text->width &&
		       first + count * text->per_cell < volume->nr_extents) {
			cells[count] = tier_heatmap_cell(volume, first + count * text->per_cell,
							 text->per_cell, text->hottest);
			count++;
		}
		tier_heatmap_print(text->output, "%*llu ", (int)text->number_width,
				   (unsigned long long)first);
		if (text->color) {
			print_colored(text, cells, count);
		} else {
			tier_heatmap_print(text->output, "|");
			print_signs(text, cells, count, false);
			tier_heatmap_print(text->output, "| |");
			print_signs(text, cells, count, true);
			tier_heatmap_print(text->output, "|");
		}
		tier_heatmap_print(text->output, "\n");
	}
}

static void print_legend(const struct text *text, const struct tier_heatmap *map)
{
	struct heatmap_tier_sum tiers[MAX_TIERS], total;

	tier_heatmap_sum(map, tiers, &total);
	tier_heatmap_print(text->output,
			   "one sign = %llu extent%s; heat, each 4 times the one before: %s\n",
			   (unsigned long long)text->per_cell, text->per_cell == 1 ? "" : "s",
			   signs);
	for (uint32_t t = 0; t < map->nr_tiers && t < MAX_TIERS; t++) {
		if (text->color)
			tier_heatmap_print(text->output, "\033[38;5;%um", colors[t]);
		tier_heatmap_print(text->output, "tier %u", t);
		if (text->color)
			tier_heatmap_print(text->output, "\033[0m");
		if (map->tier_names)
			tier_heatmap_print(text->output, " (%s)", tier_heatmap_tier_name(map, t));
		tier_heatmap_print(text->output, ": %llu extent%s, %.1f %% of the heat\n",
				   (unsigned long long)tiers[t].extents,
				   tiers[t].extents == 1 ? "" : "s",
				   total.heat > 0 ? 100 * tiers[t].heat / total.heat : 0);
	}
}

void tier_heatmap_text(const struct tier_heatmap *map,
		       const struct tier_heatmap_text_options *options,
		       const struct tier_heatmap_output *output)
{
	unsigned int columns = options->columns < MIN_COLUMNS ? MIN_COLUMNS : options->columns;
	unsigned int rows = options->rows ? options->rows : 1;
	uint64_t extents = tier_heatmap_extents(map), most = 0, cells;
	struct text text = {
		.output = output,
		.color = options->color,
		.hottest = tier_heatmap_hottest(map, 1),
	};

	if (columns >= MAX_LINE)
		columns = MAX_LINE - 1;
	for (size_t v = 0; v < map->nr_volumes; v++)
		if (map->volumes[v].nr_extents > most)
			most = map->volumes[v].nr_extents;
	text.number_width = (unsigned int)snprintf(NULL, 0, "%llu", (unsigned long long)most);
	/* A number, a space; then one map, or two in bars with a space between. */
	text.width = columns - text.number_width - 1;
	if (!text.color)
		text.width = (text.width - 5) / 2;
	cells = (uint64_t)text.width * rows;
	text.per_cell = tier_heatmap_round_up((extents + cells - 1) / cells);

	if (map->title)
		tier_heatmap_print(output, "%s\n", map->title);
	for (size_t v = 0; v < map->nr_volumes; v++)
		print_volume(&text, &map->volumes[v]);
	print_legend(&text, map);
}
