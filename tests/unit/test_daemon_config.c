// SPDX-License-Identifier: GPL-2.0-only
// link: libconfig
/* tierd.conf: defaults, every key, and what is said of every kind of mistake. */
#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#include "units.h"
#include "util.h"

#define NS_PER_S	INT64_C(1000000000)
#define HOUR_NS		(3600 * NS_PER_S)
#define MIB		(UINT64_C(1) << 20)

static struct config *parse(const char *text)
{
	struct config_error error = { "" };
	struct config *config;

	if (config_parse("t", text, &config, &error))
		fail_msg("%s", error.text);
	return config;
}

static void test_defaults(void **state)
{
	_cleanup_(config_cleanup) struct config *config = parse("");
	const struct config_settings *settings = config_for_pool(config, "any");

	assert_false(settings->measure_only);
	assert_int_equal(settings->nr_windows, 1);
	assert_int_equal(settings->windows[0].days, TIER_DAYS_ALL);
	assert_int_equal(settings->windows[0].start_s, 0);
	assert_int_equal(settings->windows[0].duration_s, 8 * 3600);
	assert_int_equal(settings->windows[0].rate.kind, TIER_RATE_FAST);
	assert_int_equal(settings->nr_measure, 0);
	assert_int_equal(settings->heat.nr_terms, 1);
	assert_int_equal(settings->heat.half_life_ns[0], 24 * HOUR_NS);
	assert_true(settings->heat.read_weight == 1 && settings->heat.write_weight == 1);
	assert_true(settings->heat.sequential_weight == 0.001);
	assert_true(settings->heat.large_weight == 1);
	assert_int_equal(settings->heat.fold_ns, HOUR_NS);
	assert_true(settings->hysteresis == 2 && settings->headroom_percent == 10);
	assert_true(settings->benefit == 0.1 && settings->rebalance == 1.5);
	assert_int_equal(settings->collect_ns, 300 * NS_PER_S);
	assert_int_equal(settings->plan_ns, HOUR_NS);
	assert_int_equal(settings->plan_moves, 0);
	assert_int_equal(settings->moves_per_device, 2);
	assert_int_equal(settings->policy, TIER_POLICY_AUTO);
	assert_int_equal(settings->rates.fast, 0);
	assert_int_equal(settings->rates.medium, 160 * MIB);
	assert_int_equal(settings->rates.slow, 40 * MIB);
}

static const char all_keys[] =
	"# every key\n"
	"mode = \"measure\";\n"
	"half_life = (\"6h\", \"96h\");\n"
	"weights = { read = 2; write = 0; sequential = 0.5; large = 0.25; };\n"
	"schedule = ( { days = \"mon-fri\"; start = \"22:30\"; duration = \"90min\"; rate = \"slow\"; },\n"
	"             { days = \"sun\"; start = \"01:00\"; duration = \"24h\"; rate = \"100MiB/s\"; } );\n"
	"measure = ( { days = \"weekdays\"; start = \"08:00\"; duration = \"10h\"; } );\n"
	"rates = { fast = \"1GiB/s\"; medium = \"200MB/s\"; slow = \"unlimited\"; };\n"
	"hysteresis = 1.5; headroom_percent = 0; benefit = 0; rebalance = 3;\n"
	"policy = \"start-highest\";\n"
	"moves_per_device = 4;\n"
	"collect_interval = \"1min\"; fold_interval = \"30min\"; plan_interval = \"2min\"; plan_moves = 16;\n"
	"pools = ( { name = \"pool0\"; hysteresis = 4; mode = \"relocate\";\n"
	"            tiers = ( { tier = 0; name = \"ssd\"; max_iops = 50000; }, { tier = 2; name = \"nl\"; } );\n"
	"            volumes = ( { name = \"db\"; policy = \"highest\"; } ); },\n"
	"          { name = \"pool1\"; schedule = ( ); } );\n";

static void test_all_keys(void **state)
{
	_cleanup_(config_cleanup) struct config *config = parse(all_keys);
	const struct config_settings *settings = config_for_pool(config, "other");

	assert_true(settings->measure_only);
	assert_int_equal(settings->heat.nr_terms, 2);
	assert_int_equal(settings->heat.half_life_ns[0], 6 * HOUR_NS);
	assert_int_equal(settings->heat.half_life_ns[1], 96 * HOUR_NS);
	assert_true(settings->heat.read_weight == 2 && settings->heat.write_weight == 0);
	assert_true(settings->heat.sequential_weight == 0.5 && settings->heat.large_weight == 0.25);
	assert_int_equal(settings->nr_windows, 2);
	assert_int_equal(settings->windows[0].days, 0x3e);
	assert_int_equal(settings->windows[0].start_s, 22 * 3600 + 30 * 60);
	assert_int_equal(settings->windows[0].duration_s, 90 * 60);
	assert_int_equal(settings->windows[0].rate.kind, TIER_RATE_SLOW);
	assert_int_equal(settings->windows[1].duration_s, 86400);
	assert_int_equal(settings->windows[1].rate.kind, TIER_RATE_BYTES);
	assert_int_equal(settings->windows[1].rate.bytes_per_s, 100 * MIB);
	assert_int_equal(settings->nr_measure, 1);
	assert_int_equal(settings->rates.fast, UINT64_C(1) << 30);
	assert_int_equal(settings->rates.medium, 200000000);
	assert_int_equal(settings->rates.slow, 0);
	assert_true(settings->hysteresis == 1.5 && settings->headroom_percent == 0);
	assert_true(settings->benefit == 0 && settings->rebalance == 3);
	assert_int_equal(settings->policy, TIER_POLICY_START_HIGHEST);
	assert_int_equal(settings->moves_per_device, 4);
	assert_int_equal(settings->collect_ns, 60 * NS_PER_S);
	assert_int_equal(settings->heat.fold_ns, 1800 * NS_PER_S);
	assert_int_equal(settings->plan_ns, 120 * NS_PER_S);
	assert_int_equal(settings->plan_moves, 16);
}

/* A pool has the global settings, whatever stands behind it in the file, and its own over them. */
static void test_pools(void **state)
{
	_cleanup_(config_cleanup) struct config *config = parse(all_keys);
	const struct config_settings *pool0 = config_for_pool(config, "pool0");
	const struct config_settings *pool1 = config_for_pool(config, "pool1");
	enum tier_policy policy;

	assert_false(pool0->measure_only);
	assert_true(pool0->hysteresis == 4);
	assert_int_equal(pool0->plan_moves, 16);
	assert_string_equal(pool0->tiers[0].name, "ssd");
	assert_true(pool0->tiers[0].max_iops == 50000);
	assert_string_equal(pool0->tiers[1].name, "");
	assert_string_equal(pool0->tiers[2].name, "nl");
	assert_true(config_volume_policy(pool0, "db", &policy));
	assert_int_equal(policy, TIER_POLICY_HIGHEST);
	assert_false(config_volume_policy(pool0, "mail", &policy));
	assert_int_equal(policy, TIER_POLICY_START_HIGHEST);

	assert_true(pool1->measure_only && pool1->hysteresis == 1.5);
	assert_int_equal(pool1->nr_windows, 0);
	assert_false(config_volume_policy(pool1, "db", &policy));
}

#define WINDOW	"days = \"daily\"; start = \"00:00\"; duration = \"1h\";"

static const struct {
	const char *text;
	const char *message;
} mistakes[] = {
	{ "half_live = \"24h\";", "t:1: there is no key \"half_live\" here; did you mean \"half_life\"?" },
	{ "\n\nwindow = 1;", "t:3: there is no key \"window\" here; did you mean \"mode\"?" },
	{ "hysteresis = 2;\nhysteresis = 3;", "t:2: duplicate setting name: hysteresis = 3;" },
	{ "hysteresis = 0.5;", "t:1: \"hysteresis\" is 0.5; it must be between 1 and 1000" },
	{ "hysteresis = \"2\";", "t:1: \"hysteresis\" is a number, without quotes" },
	{ "hysteresis = true;", "t:1: \"hysteresis\" is a number, without quotes" },
	{ "headroom_percent = 91;", "t:1: \"headroom_percent\" is 91; it must be between 0 and 90" },
	{ "headroom_percent = -1;", "t:1: \"headroom_percent\" is -1; it must be between 0 and 90" },
	{ "plan_moves = 2.5;", "t:1: \"plan_moves\" is 2.5; it must be a whole number" },
	/* libconfig reads this as 10. */
	{ "\nheadroom_percent = 4294967306;", "t:2: number is too large; sizes and times are strings with a "
	  "unit, like \"64GiB\"" },
	{ "headroom_percent = 0x10000000a;", "t:1: number is too large; sizes and times are strings with a "
	  "unit, like \"64GiB\"" },
	{ "half_life = 24;", "t:1: \"half_life\" must be a time like \"30min\", in quotes" },
	{ "half_life = \"24\";", "t:1: \"half_life\" is \"24\"; it must be a time like \"90s\", \"30min\", "
	  "\"8h\" or \"2d\"" },
	{ "half_life = \"24 hours\";", "t:1: \"half_life\" is \"24 hours\"; it must be a time like \"90s\", "
	  "\"30min\", \"8h\" or \"2d\"" },
	{ "half_life = \"1min\";", "t:1: \"half_life\" is \"1min\"; it must be between 1h and 365d" },
	{ "half_life = \"200w\";", "t:1: \"half_life\" is \"200w\"; it must be between 1h and 365d" },
	{ "half_life = (\"1h\",\"2h\",\"3h\",\"4h\");", "t:1: \"half_life\" has 4 times; one to 3 are possible" },
	{ "collect_interval = \"0s\";", "t:1: \"collect_interval\" is \"0s\"; it must be between 1s and 1d" },
	{ "weights = 1;", "t:1: \"weights\" is a group: { key = value; ... }" },
	{ "weights = {\n  reed = 1;\n};", "t:2: there is no key \"reed\" here; did you mean \"read\"?" },
	{ "weights = { read = 1;\n read = 2; };", "t:2: duplicate setting name: read = 2; };" },
	{ "mode = \"off\";", "t:1: \"mode\" is \"off\"; it must be \"relocate\" or \"measure\"" },
	{ "mode = 1;", "t:1: \"mode\" must be \"relocate\" or \"measure\", in quotes" },
	{ "policy = \"hihgest\";", "t:1: \"policy\" is \"hihgest\"; it must be \"auto\", \"start-highest\", "
	  "\"highest\", \"lowest\" or \"none\"" },
	{ "rates = { medium = \"0\"; };", "t:1: \"medium\" is \"0\"; it must be a rate like \"160MiB/s\" "
	  "(not 0), or \"unlimited\"" },
	{ "rates = { slow = \"fast\"; };", "t:1: \"slow\" is \"fast\"; it must be a rate like \"160MiB/s\" "
	  "(not 0), or \"unlimited\"" },
	{ "schedule = { };", "t:1: \"schedule\" is a list: ( { ... }, { ... } )" },
	{ "schedule = ( 1 );", "t:1: a window is a group: { key = value; ... }" },
	{ "schedule = (\n{ start = \"00:00\"; duration = \"1h\"; } );", "t:2: this window has no \"days\"" },
	{ "schedule = ( { days = \"daily\"; start = \"00:00\"; } );", "t:1: this window has no \"duration\"" },
	{ "schedule = ( { days = \"dayly\"; start = \"00:00\"; duration = \"1h\"; } );",
	  "t:1: \"days\" is \"dayly\"; it must be \"daily\", \"weekdays\", \"weekend\" or days like \"mon,wed\" "
	  "or \"fri-mon\"" },
	{ "schedule = ( { days = \"daily\"; start = \"24:00\"; duration = \"1h\"; } );",
	  "t:1: \"start\" is \"24:00\"; it must be a time of day from \"00:00\" to \"23:59\"" },
	{ "schedule = ( { days = \"daily\"; start = \"00:00\"; duration = \"25h\"; } );",
	  "t:1: \"duration\" is \"25h\"; it must be between 1min and 1d" },
	{ "schedule = ( { " WINDOW " rate = \"quick\"; } );",
	  "t:1: \"rate\" is \"quick\"; it must be \"fast\", \"medium\", \"slow\" or a rate like \"100MiB/s\"" },
	{ "schedule = ( { " WINDOW " },\n\n { days = \"mon\"; start = \"00:30\"; duration = \"2h\"; } );",
	  "t:3: this window overlaps with the one in line 1" },
	{ "measure = ( { " WINDOW " rate = \"fast\"; } );", "t:1: there is no key \"rate\" here; did you mean "
	  "\"days\"?" },
	{ "pools = ( { hysteresis = 3; } );", "t:1: this pool has no \"name\"" },
	{ "pools = ( { name = \"a\"; },\n { name = \"a\"; } );", "t:2: pool \"a\" is there twice" },
	{ "pools = ( { name = \"a\"; pools = ( ); } );", "t:1: there is no key \"pools\" here; did you mean "
	  "\"mode\"?" },
	{ "pools = ( { name = \"a\";\n tiers = ( { name = \"ssd\"; } ); } );", "t:2: this entry has no \"tier\" "
	  "(a number)" },
	{ "pools = ( { name = \"a\"; tiers = ( { tier = 8; } ); } );", "t:1: \"tier\" is 8; it must be between "
	  "0 and 7" },
	{ "pools = ( { name = \"a\"; tiers = ( { tier = 1; }, { tier = 1; } ); } );", "t:1: tier 1 is there "
	  "twice" },
	{ "pools = ( { name = \"a\"; volumes = ( { name = \"v\"; } ); } );", "t:1: this volume has no "
	  "\"policy\"" },
	{ "pools = ( { name = \"a\"; volumes = ( { name = \"v\"; policy = \"auto\"; },\n"
	  " { name = \"v\"; policy = \"none\"; } ); } );", "t:2: volume \"v\" is there twice" },
	{ "tiers = ( );", "t:1: there is no key \"tiers\" here; did you mean \"rates\"?" },
	{ "@include \"x\"", "t:1: @include is not supported: tierd.conf is one file" },
	{ "hysteresis = ;", "t:1: syntax error: hysteresis = ;" },
	{ "/* a\n * b */ hysteresis = 2 mode", "t:2: syntax error: * b */ hysteresis = 2 mode" },
};

static void test_mistakes(void **state)
{
	for (size_t i = 0; i < TIER_NR(mistakes); i++) {
		struct config *config = NULL;
		struct config_error error = { "" };

		assert_int_equal(config_parse("t", mistakes[i].text, &config, &error), -EINVAL);
		assert_null(config);
		assert_string_equal(error.text, mistakes[i].message);
	}
}

/* What only looks like a mistake to a careless scanner. */
static void test_scan(void **state)
{
	static const char *const good[] = {
		"# 99999999999\nhysteresis = 2;",
		"// @include\nhysteresis = 2;",
		"/* 99999999999\n @include \" */ hysteresis = 2;",
		"pools = ( { name = \"a12345678901234567890\"; } );",
		"hysteresis = 1.00000000000000;",
		"hysteresis = 0x2;",
		"hysteresis : 2",
	};
	unsigned int line;
	const char *what;

	for (size_t i = 0; i < TIER_NR(good); i++)
		config_free(parse(good[i]));
	assert_int_equal(config_scan("a = 1;\n\0", 8, &line, &what), -EINVAL);
	assert_int_equal(line, 2);
	assert_string_equal(what, "not a text file (it has a zero byte)");
}

static void test_files(void **state)
{
	char path[] = "/tmp/test_daemon_config.XXXXXX", expected[128];
	int fd = mkstemp(path);
	struct config *config;
	struct config_error error;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "\nmode = 1;", 10), 10);
	assert_int_equal(config_load(path, &config, &error), -EINVAL);
	snprintf(expected, sizeof(expected),
		 "%s:2: \"mode\" must be \"relocate\" or \"measure\", in quotes", path);
	assert_string_equal(error.text, expected);
	assert_int_equal(pwrite(fd, "\nmode\x1b=\xe4", 8, 0), 8);
	assert_int_equal(config_load(path, &config, &error), -EINVAL);
	snprintf(expected, sizeof(expected), "%s:2: syntax error: mode?=?1;", path);
	assert_string_equal(error.text, expected);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(config_load(path, &config, &error), 0);
	assert_string_equal(config->path, path);
	config_free(config);
	close(fd);
	unlink(path);

	assert_int_equal(config_load(path, &config, &error), -ENOENT);
	snprintf(expected, sizeof(expected), "%s: cannot be read: No such file or directory", path);
	assert_string_equal(error.text, expected);
	assert_int_equal(config_load("/", &config, &error), -EISDIR);
}

static void test_units(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} times[] = {
		{ "1s", NS_PER_S }, { "1.5h", 5400 * NS_PER_S }, { "1h30min", 5400 * NS_PER_S },
		{ "0s", 0 }, { "2 d", 48 * HOUR_NS }, { "1w", 168 * HOUR_NS },
	};
	static const char *const bad_times[] = { "", "h", "1", "-1s", "1m", "1h 1", "1e3s", "1 h x",
						 "1.h", "nan", " " };
	struct tier_rate rate;
	uint64_t bytes;
	int64_t ns;

	for (size_t i = 0; i < TIER_NR(times); i++) {
		assert_int_equal(units_time_from_text(times[i].text, &ns), 0);
		assert_int_equal(ns, times[i].ns);
	}
	for (size_t i = 0; i < TIER_NR(bad_times); i++)
		assert_int_equal(units_time_from_text(bad_times[i], &ns), -EINVAL);
	assert_int_equal(units_time_from_text("99999999999999999999d", &ns), -ERANGE);

	assert_int_equal(units_size_from_text("1.5GiB", &bytes), 0);
	assert_int_equal(bytes, 1536 * MIB);
	assert_int_equal(units_size_from_text("123", &bytes), 0);
	assert_int_equal(bytes, 123);
	assert_int_equal(units_size_from_text("1GB/s", &bytes), -EINVAL);
	assert_int_equal(units_size_from_text("1gib", &bytes), -EINVAL);
	assert_int_equal(units_size_from_text("9223372036854775808", &bytes), -ERANGE);

	assert_int_equal(units_rate_from_text("slow", &rate), 0);
	assert_int_equal(rate.kind, TIER_RATE_SLOW);
	assert_int_equal(units_rate_from_text("40MiB/s", &rate), 0);
	assert_int_equal(rate.bytes_per_s, 40 * MIB);
	assert_int_equal(units_rate_from_text("0", &rate), -ERANGE);
	assert_int_equal(units_rate_from_text("40MiB/h", &rate), -EINVAL);
	assert_int_equal(units_rate_from_text("bytes", &rate), -EINVAL);
}

static void test_texts(void **state)
{
	char text[UNITS_TEXT_SIZE];
	const struct tier_rate rate = { TIER_RATE_BYTES, 160 * MIB };

	units_time_to_text(8 * HOUR_NS, text);
	assert_string_equal(text, "8h");
	units_time_to_text(90 * NS_PER_S, text);
	assert_string_equal(text, "90s");
	units_time_to_text(0, text);
	assert_string_equal(text, "0s");
	units_size_to_text(1536 * MIB, text);
	assert_string_equal(text, "1536MiB");
	units_size_to_text(1000, text);
	assert_string_equal(text, "1000B");
	units_size_to_rough_text(10759936 * UINT64_C(1024), text);
	assert_string_equal(text, "10.3GiB");
	units_size_to_rough_text(20 * MIB, text);
	assert_string_equal(text, "20MiB");
	/* Nothing has no unit, as in the reports. */
	units_size_to_rough_text(0, text);
	assert_string_equal(text, "0");
	units_rate_to_text(&rate, text);
	assert_string_equal(text, "160MiB/s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all_keys),
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
