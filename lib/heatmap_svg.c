// SPDX-License-Identifier: GPL-2.0-only
/*
 * The heat map as SVG. A panel is a title, a block of squares for each volume, and
 * a bar and a line of text for each tier. Squares of one colour are one path, so a
 * picture of a million extents is as small as one of four thousand.
 */
#include "heatmap.h"

#include <math.h>

#include "heatmap_internal.h"

#define MAX_CELLS	4096	/* of a panel, more or less: see per_cell */
#define MAX_COLUMNS	64
#define MAX_TIERS	8
#define PANEL_WIDTH	512.0
#define MARGIN		24.0
#define TEXT_HEIGHT	20.0
#define LEGEND_SWATCH	14.0

/* Hue in degrees; saturation. The slowest tiers are the bluest. */
static const double hues[MAX_TIERS] = { 6, 38, 150, 205, 235, 270, 305, 0 };
static const double saturations[MAX_TIERS] = { 0.85, 0.90, 0.55, 0.70, 0.60, 0.55, 0.55, 0 };

struct svg {
	const struct tier_heatmap_output *output;
	const struct tier_heatmap *map;
	float hottest;
	uint64_t per_cell;
	unsigned int columns;
	double cell;			/* width and height of a square */
	double x;			/* left edge of the panel */
	double y;			/* where the next thing goes */
};

/* One of red (n = 0), green (8), blue (4) of a colour given by hue, saturation, lightness. */
static unsigned int channel(double hue, double saturation, double lightness, double n)
{
	double k = n + hue / 30 < 12 ? n + hue / 30 : n + hue / 30 - 12;
	double a = saturation * fmin(lightness, 1 - lightness);

	return (unsigned int)lround(255 * (lightness -
					   a * fmax(-1, fmin(fmin(k - 3, 9 - k), 1))));
}

/* Light when cold, dark when hot. */
static void print_color(const struct svg *svg, uint32_t tier, uint8_t level)
{
	double lightness = 0.90 - 0.55 * level / (HEATMAP_LEVELS - 1);

	tier_heatmap_print(svg->output, "#%02x%02x%02x",
			   channel(hues[tier], saturations[tier], lightness, 0),
			   channel(hues[tier], saturations[tier], lightness, 8),
			   channel(hues[tier], saturations[tier], lightness, 4));
}

static void print_escaped(const struct tier_heatmap_output *output, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			tier_heatmap_print(output, "&amp;");
			break;
		case '<':
			tier_heatmap_print(output, "&lt;");
			break;
		case '>':
			tier_heatmap_print(output, "&gt;");
			break;
		case '"':
			tier_heatmap_print(output, "&quot;");
			break;
		default:
			/* Control characters are not allowed in XML at all. */
			tier_heatmap_print(output, "%c", (unsigned char)*text < ' ' ? ' ' : *text);
		}
	}
}

static void print_text(struct svg *svg, const char *class, const char *text)
{
	svg->y += TEXT_HEIGHT;
	tier_heatmap_print(svg->output, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, svg->x,
			   svg->y - 5);
	print_escaped(svg->output, text);
	tier_heatmap_print(svg->output, "</text>\n");
}

static uint64_t nr_cells(const struct svg *svg, const struct tier_heatmap_volume *volume)
{
	return (volume->nr_extents + svg->per_cell - 1) / svg->per_cell;
}

/* The squares of a volume that look like this one, as one path of horizontal runs. */
static void print_path(const struct svg *svg, const struct heatmap_cell *cells, uint64_t count,
		       struct heatmap_cell like)
{
	bool is_open = false;

	for (uint64_t i = 0; i < count;) {
		uint64_t run = 0, column = i % svg->columns;

		while (i + run < count && column + run < svg->columns &&
		       cells[i + run].tier == like.tier && cells[i + run].level == like.level)
			run++;
		if (!run) {
			i++;
			continue;
		}
		if (!is_open) {
			tier_heatmap_print(svg->output, "<path fill=\"");
			if (like.tier == TIER_HEATMAP_NO_TIER)
				tier_heatmap_print(svg->output, "#eeeeee");
			else
				print_color(svg, like.tier, like.level);
			tier_heatmap_print(svg->output, "\" d=\"");
			is_open = true;
		}
		tier_heatmap_print(svg->output, "M%.2f %.2fh%.2fv%.2fh-%.2fz",
				   svg->x + (double)column * svg->cell,
				   svg->y + (double)(i / svg->columns) * svg->cell,
				   (double)run * svg->cell, svg->cell, (double)run * svg->cell);
		i += run;
	}
	if (is_open)
		tier_heatmap_print(svg->output, "\"/>\n");
}

static void print_volume(struct svg *svg, const struct tier_heatmap_volume *volume)
{
	/* One more for each volume, whose last square may stand for fewer extents. */
	struct heatmap_cell cells[MAX_CELLS + 1];
	struct heatmap_cell none = { .tier = TIER_HEATMAP_NO_TIER };
	uint64_t count = nr_cells(svg, volume);

	for (uint64_t i = 0; i < count; i++)
		cells[i] = tier_heatmap_cell(volume, i * svg->per_cell, svg->per_cell,
					     svg->hottest);
	print_text(svg, "volume", volume->name);
	print_path(svg, cells, count, none);
	for (uint8_t tier = 0; tier < MAX_TIERS; tier++)
		for (uint8_t level = 0; level < HEATMAP_LEVELS; level++)
			print_path(svg, cells, count, (struct heatmap_cell) { tier, level });
	svg->y += ceil((double)count / svg->columns) * svg->cell + 4;
}

static void print_legend(struct svg *svg)
{
	struct heatmap_tier_sum tiers[MAX_TIERS], total;

	tier_heatmap_sum(svg->map, tiers, &total);
	for (uint32_t t = 0; t < svg->map->nr_tiers && t < MAX_TIERS; t++) {
		svg->y += TEXT_HEIGHT;
		for (uint8_t level = 0; level < HEATMAP_LEVELS; level++) {
			tier_heatmap_print(svg->output,
					   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" "
					   "height=\"%.0f\" fill=\"",
					   svg->x + level * LEGEND_SWATCH,
					   svg->y - LEGEND_SWATCH - 2, LEGEND_SWATCH,
					   LEGEND_SWATCH);
			print_color(svg, t, level);
			tier_heatmap_print(svg->output, "\"/>\n");
		}
		tier_heatmap_print(svg->output, "<text x=\"%.1f\" y=\"%.1f\">tier ",
				   svg->x + HEATMAP_LEVELS * LEGEND_SWATCH + 8, svg->y - 5);
		print_escaped(svg->output, tier_heatmap_tier_name(svg->map, t));
		tier_heatmap_print(svg->output, ": %llu extent%s, %.1f %% of the heat</text>\n",
				   (unsigned long long)tiers[t].extents,
				   tiers[t].extents == 1 ? "" : "s",
				   total.heat > 0 ? 100 * tiers[t].heat / total.heat : 0);
	}
	svg->y += TEXT_HEIGHT;
	tier_heatmap_print(svg->output,
			   "<text class=\"note\" x=\"%.1f\" y=\"%.1f\">one square = %llu "
			   "extent%s; each shade is 4 times hotter; grey: no slot</text>\n",
			   svg->x, svg->y - 5, (unsigned long long)svg->per_cell,
			   svg->per_cell == 1 ? "" : "s");
	svg->y += TEXT_HEIGHT;
	tier_heatmap_print(svg->output,
			   "<text class=\"note\" x=\"%.1f\" y=\"%.1f\">the darkest shade is up to "
			   "%.4g ", svg->x, svg->y - 5, (double)svg->hottest);
	print_escaped(svg->output, svg->map->heat_unit ? svg->map->heat_unit :
		      "weighted I/Os a day");
	tier_heatmap_print(svg->output, "</text>\n");
}

/* Sizes that follow from the map; the same arithmetic measures and draws. */
static void prepare(struct svg *svg, const struct tier_heatmap *map)
{
	uint64_t extents = tier_heatmap_extents(map), cells;

	svg->map = map;
	svg->per_cell = tier_heatmap_round_up((extents + MAX_CELLS - 1) / MAX_CELLS);
	cells = (extents + svg->per_cell - 1) / svg->per_cell;
	/* Twice as wide as high, until the squares are as small as they get. */
	svg->columns = (unsigned int)ceil(sqrt(2.0 * (double)cells));
	if (svg->columns < 8)
		svg->columns = 8;
	if (svg->columns > MAX_COLUMNS)
		svg->columns = MAX_COLUMNS;
	svg->cell = PANEL_WIDTH / svg->columns;
}

static double panel_height(const struct svg *svg)
{
	double height = 2 * MARGIN + TEXT_HEIGHT * (3 + svg->map->nr_tiers);

	for (size_t v = 0; v < svg->map->nr_volumes; v++)
		height += TEXT_HEIGHT + 4 + svg->cell *
			  ceil((double)nr_cells(svg, &svg->map->volumes[v]) / svg->columns);
	return height;
}

void tier_heatmap_svg(const struct tier_heatmap *maps, size_t nr_maps,
		      const struct tier_heatmap_output *output)
{
	struct svg svg = { .output = output, .hottest = tier_heatmap_hottest(maps, nr_maps) };
	double width = MARGIN + (double)nr_maps * (PANEL_WIDTH + MARGIN), height = 2 * MARGIN;

	for (size_t m = 0; m < nr_maps; m++) {
		prepare(&svg, &maps[m]);
		height = fmax(height, panel_height(&svg));
	}
	tier_heatmap_print(output,
			   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
			   "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
			   width, height, width, height);
	tier_heatmap_print(output,
			   "<style>text{font:13px sans-serif;fill:#222}.title{font-size:16px;"
			   "font-weight:bold}.note{fill:#666}</style>\n"
			   "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n");
	for (size_t m = 0; m < nr_maps; m++) {
		prepare(&svg, &maps[m]);
		svg.x = MARGIN + (double)m * (PANEL_WIDTH + MARGIN);
		svg.y = MARGIN;
		print_text(&svg, "title", maps[m].title ? maps[m].title : "");
		for (size_t v = 0; v < maps[m].nr_volumes; v++)
			print_volume(&svg, &maps[m].volumes[v]);
		print_legend(&svg);
	}
	tier_heatmap_print(output, "</svg>\n");
}
