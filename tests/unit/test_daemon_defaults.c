// SPDX-License-Identifier: GPL-2.0-only
// link: libconfig
/*
 * The defaults of tierd.conf stand in three places: the code, conf/tierd.conf (what
 * is commented out there), and tierd.conf(5). They are the same, key by key. Every key
 * of the code is in all three.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config.h"
#include "units.h"
#include "util.h"

#define CONF	"conf/tierd.conf"
#define PAGE	"man/tierd.conf.5"

static char *read_file(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "r");
	char *text = calloc(1, 65536);

	assert_non_null(file);
	assert_in_range(fread(text, 1, 65535, file), 100, 65000);
	return text;
}

static struct config *parse(const char *text)
{
	struct config_error error;
	struct config *config;

	if (config_parse("t", text, &config, &error))
		fail_msg("%s", error.text);
	return config;
}

/* Each key and where its value is; what a pool alone has is at the end. */
#define KEY(key, member)	{ key, offsetof(struct config_settings, member), \
				  sizeof(((struct config_settings *)NULL)->member) }

static const struct {
	const char *key;
	size_t offset;
	size_t size;
} keys[] = {
	KEY("mode", measure_only),
	KEY("half_life", heat.nr_terms),
	KEY("half_life", heat.half_life_ns),
	KEY("weights.read", heat.read_weight),
	KEY("weights.write", heat.write_weight),
	KEY("weights.sequential", heat.sequential_weight),
	KEY("weights.large", heat.large_weight),
	KEY("fold_interval", heat.fold_ns),
	KEY("rates.fast", rates.fast),
	KEY("rates.medium", rates.medium),
	KEY("rates.slow", rates.slow),
	KEY("schedule", nr_windows),
	KEY("schedule", windows),
	KEY("measure", nr_measure),
	KEY("measure", measure),
	KEY("hysteresis", hysteresis),
	KEY("headroom_percent", headroom_percent),
	KEY("benefit", benefit),
	KEY("rebalance", rebalance),
	KEY("collect_interval", collect_ns),
	KEY("plan_interval", plan_ns),
	KEY("plan_moves", plan_moves),
	KEY("moves_per_device", moves_per_device),
	KEY("policy", policy),
	KEY("pools.tiers", tiers),
	KEY("pools.volumes", nr_volumes),
};

static void assert_same(const struct config_settings *said, const struct config_settings *code)
{
	struct config_settings rest = *said;

	for (size_t i = 0; i < TIER_NR(keys); i++) {
		const char *a = (const char *)said + keys[i].offset;
		const char *b = (const char *)code + keys[i].offset;

		if (memcmp(a, b, keys[i].size))
			fail_msg(CONF ": the default of %s is not that of the code "
				 "(daemon/config_file.c, lib/plan.c, lib/heat.c)", keys[i].key);
		memcpy((char *)&rest + keys[i].offset, b, keys[i].size);
	}
	/* Nothing but what has been compared, with its name. */
	rest.volumes = code->volumes;
	for (size_t at = 0; at < sizeof(rest); at++) {
		const char *after = "";
		size_t nearest = 0;

		if (((const char *)&rest)[at] == ((const char *)code)[at])
			continue;
		for (size_t i = 0; i < TIER_NR(keys); i++)
			if (keys[i].offset <= at && keys[i].offset >= nearest) {
				nearest = keys[i].offset;
				after = keys[i].key;
			}
		fail_msg("a member of struct config_settings that follows that of %s, %zu bytes from its "
			 "begin: its key is not in keys[] of this test", after, at - nearest);
	}
}

static void test_examples_hold(void **state)
{
	static const char *const paths[] = { CONF, "conf/office-hours.conf",
					     "conf/always-on.conf", "conf/continuous.conf" };

	for (size_t i = 0; i < TIER_NR(paths); i++) {
		struct config_error error;
		struct config *config;

		if (config_load(paths[i], &config, &error))
			fail_msg("%s", error.text);
		config_free(config);
	}
}

/* A key is "name = " in the file; in the page it is bold, alone or in a list. */
struct texts {
	const char *file;
	const char *page;
};

static bool has_word(const char *text, const char *before, const char *word, const char *after)
{
	char wanted[128];

	snprintf(wanted, sizeof(wanted), "%s%s%s", before, word, after);
	return strstr(text, wanted);
}

static void assert_written(void *ctx, const char *group, const char *name, bool in_range)
{
	const struct texts *texts = ctx;
	bool is_known = *group;		/* what is in a group is compared with its group */

	if (!in_range)
		fail_msg("the default of %s%s%s is out of its range (daemon/config.c)", group,
			 *group ? "." : "", name);
	if (!has_word(texts->file, "#", name, " = ") &&
	    !has_word(texts->file, "\t", name, " = ") &&
	    !has_word(texts->file, " ", name, " = "))
		fail_msg(CONF ": there is no %s%s%s", group, *group ? "." : "", name);
	if (!has_word(texts->page, "\n\\fB", name, "\\fR (") &&
	    !has_word(texts->page, "\n.B ", name, "\n") &&
	    !has_word(texts->page, "\n.BR ", name, " ") &&
	    !has_word(texts->page, " \", \" ", name, ""))
		fail_msg(PAGE ": there is no %s%s%s", group, *group ? "." : "", name);
	for (size_t i = 0; !is_known && i < TIER_NR(keys); i++)
		is_known = !strncmp(keys[i].key, name, strlen(name)) &&
			   strchr(".", keys[i].key[strlen(name)]);
	if (!is_known)
		fail_msg("the default of %s is not compared: it is not in keys[] of this test", name);
}

static void test_every_key_is_written(void **state)
{
	_cleanup_(config_cleanup) struct config *defaults = parse("");
	_cleanup_free_ char *file = read_file(CONF), *page = read_file(PAGE);
	struct texts texts = { .file = file, .page = page };

	config_each_key(&defaults->settings, assert_written, &texts);
}

static void test_installed_file(void **state)
{
	_cleanup_(config_cleanup) struct config *defaults = parse(""), *uncommented = NULL;
	_cleanup_free_ char *text = read_file(CONF), *keys_only = calloc(1, 65536);
	size_t size = 0;

	/* "# " begins a sentence, "#" a key. */
	for (char *line = strtok(text, "\n"); line && strcmp(line, "#pools = (");
	     line = strtok(NULL, "\n"))
		if (line[0] == '#' && line[1] != ' ')
			size += snprintf(keys_only + size, 65536 - size, "%s\n", line + 1);
	assert_true(size > 400);
	uncommented = parse(keys_only);
	assert_same(&uncommented->settings, &defaults->settings);
}

/* ---------------------------------------------------------------- tierd.conf(5) */

struct page {
	char *text;
	char *checked;		/* keys whose default was found, ",a,b," */
};

/* The page has this text, made from the default of the code. */
static void expect(struct page *page, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void expect(struct page *page, const char *key, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!strstr(page->text, text))
		fail_msg(PAGE ": the default of %s is not that of the code, which makes it:\n%s", key,
			 text);
	strcat(strcat(page->checked, key), ",");
}

static void expect_time(struct page *page, const char *key, const char *range, int64_t ns)
{
	char before[128], said[32] = "";
	const char *at;
	int64_t said_ns;

	snprintf(before, sizeof(before), "\n\\fB%s\\fR (time from %s, default \"", key, range);
	at = strstr(page->text, before);
	if (!at || sscanf(at + strlen(before), "%31[0-9a-z]\")", said) != 1 ||
	    units_time_from_text(said, &said_ns) || said_ns != ns)
		fail_msg(PAGE ": the default of %s is \"%s\", that of the code is %lld s", key, said,
			 (long long)(ns / 1000000000));
	strcat(strcat(page->checked, key), ",");
}

static void expect_rules(struct page *page, const struct config_settings *code)
{
	expect(page, "weights", "(default %g, %g; 0 to 1000)", code->heat.read_weight,
	       code->heat.write_weight);
	expect(page, "weights", ".B sequential\n(%g; 0 to 1000)", code->heat.sequential_weight);
	expect(page, "weights", ".B large\n(%g; 0 to 1000)", code->heat.large_weight);
	expect(page, "weights", "times that (%g: a nightly backup", code->heat.sequential_weight);
	expect(page, "weights", ".B large\ntimes (%g).", code->heat.large_weight);
	expect(page, "half_life", ".B half_life\n(%d hours)",
	       (int)(code->heat.half_life_ns[0] / 3600000000000));
	expect(page, "headroom_percent", "of its slots free (%g, rounded down)",
	       code->headroom_percent);
	expect(page, "hysteresis", ".B hysteresis\n(%g), else", code->hysteresis);
	expect(page, "benefit", ".B benefit\n(%g) of what", code->benefit);
	expect(page, "rebalance", ".B rebalance\n(%g) times", code->rebalance);
	expect(page, "schedule", "(every day from %02d:%02d for %d hours, if it says nothing)",
	       code->windows[0].start_s / 3600, code->windows[0].start_s / 60 % 60,
	       code->windows[0].duration_s / 3600);
	expect(page, "rates", ".B fast\n(no limit),\n.B medium\n(%d MiB/s),\n.B slow\n(%d MiB/s)",
	       (int)(code->rates.medium >> 20), (int)(code->rates.slow >> 20));
}

static void expect_keys(struct page *page, const struct config_settings *code)
{
	const struct tier_window *window = &code->windows[0];

	assert_int_equal(code->nr_windows, 1);
	assert_int_equal(window->days, TIER_DAYS_ALL);
	assert_int_equal(window->rate.kind, TIER_RATE_FAST);
	expect(page, "schedule", "\\fBschedule\\fR (list, default: daily from %02d:%02d for %d hours, "
	       "fast)", window->start_s / 3600, window->start_s / 60 % 60,
	       window->duration_s / 3600);
	assert_int_equal(code->rates.fast, 0);
	expect(page, "rates", "Default: unlimited, %d MiB/s, %d MiB/s.",
	       (int)(code->rates.medium >> 20), (int)(code->rates.slow >> 20));
	expect(page, "mode", "\\fBmode\\fR (\"relocate\" or \"measure\", default \"%s\")",
	       code->measure_only ? "measure" : "relocate");
	assert_int_equal(code->nr_measure, 0);
	expect(page, "measure", "\\fBmeasure\\fR (list, default: always)");
	assert_int_equal(code->heat.nr_terms, 1);
	expect_time(page, "half_life", "1 hour to 365 days", code->heat.half_life_ns[0]);
	expect(page, "headroom_percent", "\\fBheadroom_percent\\fR (0 to 90, default %g)",
	       code->headroom_percent);
	expect(page, "hysteresis", "\\fBhysteresis\\fR (1 to 1000, default %g)", code->hysteresis);
	expect(page, "benefit", "\\fBbenefit\\fR (0 to 1000, default %g)", code->benefit);
	expect(page, "rebalance", "\\fBrebalance\\fR (1 to 1000, default %g)", code->rebalance);
	expect(page, "policy", "\\fBpolicy\\fR (\"auto\", \"start-highest\", \"highest\", \"lowest\" or "
	       "\"none\", default \"%s\")", tier_policy_word(code->policy));
	expect(page, "moves_per_device", "\\fBmoves_per_device\\fR (1 to 16, default %u)",
	       code->moves_per_device);
	expect_time(page, "collect_interval", "1 second to 1 day", code->collect_ns);
	expect_time(page, "fold_interval", "1 second to 7 days", code->heat.fold_ns);
	expect_time(page, "plan_interval", "1 second to 7 days", code->plan_ns);
	expect(page, "plan_moves", "\\fBplan_moves\\fR (0 to 999999999, default %u)",
	       code->plan_moves);
}

static void test_man_page(void **state)
{
	_cleanup_(config_cleanup) struct config *defaults = parse("");
	struct page page = { .text = read_file(PAGE), .checked = calloc(1, 4096) };
	const char *end = strstr(page.text, "\n.SS pools\n"), *at = page.text;

	strcpy(page.checked, ",");
	expect_keys(&page, &defaults->settings);
	expect_rules(&page, &defaults->settings);
	/* No key of the page is without. */
	assert_non_null(end);
	while ((at = strstr(at, "\n.TP\n\\fB")) && at < end) {
		char key[64];

		assert_int_equal(sscanf(at, "\n.TP\n\\fB%60[a-z_]", key + 1), 1);
		key[0] = ',';
		strcat(key, ",");
		if (!strstr(page.checked, key))
			fail_msg("the default of%s is not checked here", key);
		at++;
	}
	free(page.text);
	free(page.checked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples_hold),
		cmocka_unit_test(test_every_key_is_written),
		cmocka_unit_test(test_installed_file),
		cmocka_unit_test(test_man_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
