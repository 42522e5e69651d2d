// SPDX-License-Identifier: GPL-2.0-only
/* lib/heatmap*.c: what the pictures say, and that they stay small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heatmap.h"

struct buffer {
	char *text;
	size_t length;
	size_t size;
};

static void write_buffer(void *ctx, const char *text, size_t length)
{
	struct buffer *buffer = ctx;

	if (buffer->length + length + 1 > buffer->size) {
		buffer->size = 2 * (buffer->length + length + 1);
		buffer->text = realloc(buffer->text, buffer->size);
		assert_non_null(buffer->text);
	}
	memcpy(buffer->text + buffer->length, text, length);
	buffer->length += length;
	buffer->text[buffer->length] = '\0';
}

static struct tier_heatmap_output output_to(struct buffer *buffer)
{
	return (struct tier_heatmap_output) { .write = write_buffer, .ctx = buffer };
}

static void test_text(void **state)
{
	static const uint8_t tiers[] = { 0, 0, 1, 2, TIER_HEATMAP_NO_TIER, 2 };
	static const float heats[] = { 4096, 1024, 64, 0.001f, 5, -1 };
	static const struct tier_heatmap_volume volume = {
		.name = "vol", .nr_extents = 6, .tier = tiers, .heat = heats,
	};
	static const char *const names[] = { "ssd", "sas", "nl" };
	static const struct tier_heatmap map = {
		.title = "pool0", .volumes = &volume, .nr_volumes = 1,
		.tier_names = names, .nr_tiers = 3,
	};
	struct tier_heatmap_text_options options = { .columns = 41, .rows = 10 };
	struct buffer buffer = { 0 };
	struct tier_heatmap_output output = output_to(&buffer);

	(void)state;
	tier_heatmap_text(&map, &options, &output);
	assert_string_equal(buffer.text,
		"pool0\n"
		"vol\n"
		"0 |0012 2           | |@%*: .           |\n"
		"one sign = 1 extent; heat, each 4 times the one before: .:-=+*#%@\n"
		"tier 0 (ssd): 2 extents, 98.8 % of the heat\n"
		"tier 1 (sas): 1 extent, 1.2 % of the heat\n"
		"tier 2 (nl): 2 extents, 0.0 % of the heat\n");
	assert_null(strchr(buffer.text, '\033'));
	buffer.length = 0;
	options.color = true;
	tier_heatmap_text(&map, &options, &output);
	assert_non_null(strstr(buffer.text,
			       "0 \033[38;5;196m@%\033[38;5;214m*\033[38;5;71m: .\033[0m\n"));
	free(buffer.text);
}

/* Whatever the size: no line is wider than asked for, and not many more lines than asked for. */
static void test_text_sizes(void **state)
{
	static const uint64_t sizes[] = { 1, 10, 1000, 1000000 };
	uint8_t *tiers = malloc(1000000);
	float *heats = malloc(1000000 * sizeof(*heats));

	(void)state;
	assert_true(tiers && heats);
	for (uint64_t e = 0; e < 1000000; e++) {
		tiers[e] = (uint8_t)(e % 1000 / 400);
		heats[e] = (float)(1000000 - e);
	}
	for (size_t s = 0; s < 4; s++) {
		struct tier_heatmap_volume volumes[2] = {
			{ .name = "a", .nr_extents = sizes[s], .tier = tiers, .heat = heats },
			{ .name = "b", .nr_extents = sizes[s] / 2, .tier = tiers, .heat = heats },
		};
		struct tier_heatmap map = { .volumes = volumes, .nr_volumes = 2, .nr_tiers = 3 };

		for (uint32_t columns = 0; columns <= 600; columns += 60) {
			struct tier_heatmap_text_options options = {
				.columns = columns, .rows = 20,
			};
			struct buffer buffer = { 0 };
			struct tier_heatmap_output output = output_to(&buffer);
			unsigned int lines = 0;
			char *line;

			tier_heatmap_text(&map, &options, &output);
			line = strtok(buffer.text, "\n");
			for (; line && strncmp(line, "one sign", 8); line = strtok(NULL, "\n")) {
				assert_true(strlen(line) <= (columns < 40 ? 40 : columns));
				lines++;
			}
			assert_in_range(lines, 3, 24);
			free(buffer.text);
		}
	}
	free(tiers);
	free(heats);
}

static unsigned int count(const char *text, const char *what)
{
	unsigned int found = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		found++;
	return found;
}

static void test_svg(void **state)
{
	static const uint8_t before[] = { 1, 1, 1, 1 }, after[] = { 0, 1, 1, 1 };
	static const float heats[] = { 1000, 1, 1, 1 };
	const struct tier_heatmap_volume volumes[] = {
		{ .name = "a<b&\"c\"", .nr_extents = 4, .tier = before, .heat = heats },
		{ .name = "a<b&\"c\"", .nr_extents = 4, .tier = after, .heat = heats },
	};
	const struct tier_heatmap maps[] = {
		{ .title = "before", .volumes = &volumes[0], .nr_volumes = 1, .nr_tiers = 2 },
		{ .title = "after", .heat_unit = "reads & writes", .volumes = &volumes[1], .nr_volumes = 1, .nr_tiers = 2 },
	};
	struct buffer buffer = { 0 };
	struct tier_heatmap_output output = output_to(&buffer);

	(void)state;
	tier_heatmap_svg(maps, 2, &output);
	assert_int_equal(strncmp(buffer.text, "<svg xmlns=", 11), 0);
	assert_string_equal(buffer.text + buffer.length - 7, "</svg>\n");
	assert_int_equal(count(buffer.text, "a&lt;b&amp;&quot;c&quot;"), 2);
	assert_null(strstr(buffer.text, "a<b"));
	/* A path for the hot one and one for the others, in each panel. */
	assert_int_equal(count(buffer.text, "<path"), 4);
	assert_int_equal(count(buffer.text, "of the heat"), 4);
	assert_non_null(strstr(buffer.text, "tier 0: 1 extent, 99.7 % of the heat"));
	assert_int_equal(count(buffer.text, "the darkest shade is up to 1000 weighted I/Os a day<"), 1);
	assert_int_equal(count(buffer.text, "the darkest shade is up to 1000 reads &amp; writes<"), 1);
	free(buffer.text);
}

static void test_svg_sizes(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 1000, 4096, 4097, 1000000 };
	uint8_t *tiers = malloc(1000000);
	float *heats = malloc(1000000 * sizeof(*heats));

	(void)state;
	assert_true(tiers && heats);
	for (uint64_t e = 0; e < 1000000; e++) {
		tiers[e] = (uint8_t)(e * 2654435761u % 4 == 3 ? TIER_HEATMAP_NO_TIER :
				     e * 2654435761u % 4);
		heats[e] = (float)pow((double)(e * 2654435761u % 1000000) + 1, -1.15);
	}
	for (size_t s = 0; s < 6; s++) {
		struct tier_heatmap_volume volume = {
			.name = "v", .nr_extents = sizes[s], .tier = tiers, .heat = heats,
		};
		struct tier_heatmap map = { .volumes = &volume, .nr_volumes = 1, .nr_tiers = 3 };
		struct buffer buffer = { 0 };
		struct tier_heatmap_output output = output_to(&buffer);

		tier_heatmap_svg(&map, 1, &output);
		assert_true(buffer.length < 200000);
		assert_int_equal(count(buffer.text, "<svg"), 1);
		free(buffer.text);
	}
	free(tiers);
	free(heats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_sizes),
		cmocka_unit_test(test_svg),
		cmocka_unit_test(test_svg_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
