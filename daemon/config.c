// SPDX-License-Identifier: GPL-2.0-only
/*
 * tierd.conf(5) to numbers: tables of keys on top of libconfig. See config.h.
 *
 * A group is parsed by a table: name, parser of the value, where it goes, range.
 * To add a key: a row here; its member in config.h and its default in config_file.c;
 * who reads the member; tierd.conf(5) and conf/tierd.conf; and tests/unit/test_daemon_defaults.c,
 * which walks these tables and says what is left out.
 */
#include "config.h"

#include <errno.h>
#include <libconfig.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "name.h"
#include "units.h"
#include "util.h"

#define NS_PER_S	INT64_C(1000000000)
#define HOUR_S		3600.0
#define DAY_S		(24 * HOUR_S)
#define MAX_KEYS	32

#define MODE_FORM	"\"relocate\" or \"measure\""
#define POLICY_FORM	"\"auto\", \"start-highest\", \"highest\", \"lowest\" or \"none\""

struct parser {
	const char *path;
	struct config_error *error;
};

struct key;

/* Parse `value` into `target`, the struct that the key's offset is in. 0 or -errno. */
struct key {
	const char *name;
	int (*parse)(struct parser *parser, const struct key *key, const config_setting_t *value,
		     void *target);
	size_t offset;
	double min;		/* numbers; times in seconds */
	double max;
	int (*convert)(const char *text, void *ret_value);	/* for parse_text: 0 or -errno */
	const char *form;	/* ... and what it takes */
};

static int fail(struct parser *parser, const config_setting_t *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct parser *parser, const config_setting_t *at, const char *format, ...)
{
	char what[384];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(parser->error->text, sizeof(parser->error->text), "%s:%u: %s", parser->path,
		 config_setting_source_line(at), what);
	return -EINVAL;
}

static int out_of_memory(struct parser *parser)
{
	snprintf(parser->error->text, sizeof(parser->error->text), "%s: out of memory",
		 parser->path);
	return -ENOMEM;
}

/* ---------------------------------------------------------------- groups and lists */

static int unknown_key(struct parser *parser, const struct key *keys, size_t nr_keys,
		       const config_setting_t *at)
{
	const char *names[MAX_KEYS];

	for (size_t i = 0; i < nr_keys; i++)
		names[i] = keys[i].name;
	return fail(parser, at, "there is no key \"%s\" here; did you mean \"%s\"?",
		    config_setting_name(at),
		    names[units_nearest_word(names, nr_keys, config_setting_name(at))]);
}

/* `what` names the group in messages, with an article. */
static int parse_group(struct parser *parser, const struct key *keys, size_t nr_keys,
		       const char *what, const config_setting_t *group, void *target)
{
	if (!config_setting_is_group(group))
		return fail(parser, group, "%s is a group: { key = value; ... }", what);

	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *setting = config_setting_get_elem(group, i);
		size_t k = 0;
		int r;

		while (k < nr_keys && strcmp(keys[k].name, config_setting_name(setting)))
			k++;
		if (k == nr_keys)
			return unknown_key(parser, keys, nr_keys, setting);
		r = keys[k].parse(parser, &keys[k], setting, target);
		if (r)
			return r;
	}
	return 0;
}

static bool has_key(const config_setting_t *group, const char *name)
{
	return config_setting_get_member((config_setting_t *)group, name);
}

static int check_list(struct parser *parser, const struct key *key, const config_setting_t *value,
		      int max)
{
	if (!config_setting_is_list(value))
		return fail(parser, value, "\"%s\" is a list: ( { ... }, { ... } )", key->name);
	if (config_setting_length(value) > max)
		return fail(parser, value, "\"%s\" has more than %d entries", key->name, max);
	return 0;
}

/* ---------------------------------------------------------------- single values */

static void *target_of(const struct key *key, void *target)
{
	return (char *)target + key->offset;
}

static int take_number(struct parser *parser, const struct key *key,
		       const config_setting_t *value, double *ret_number)
{
	double number;

	switch (config_setting_type(value)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		number = (double)config_setting_get_int64(value);
		break;
	case CONFIG_TYPE_FLOAT:
		number = config_setting_get_float(value);
		break;
	default:
		return fail(parser, value, "\"%s\" is a number, without quotes", key->name);
	}
	if (!(number >= key->min && number <= key->max))
		return fail(parser, value, "\"%s\" is %g; it must be between %g and %g", key->name,
			    number, key->min, key->max);
	*ret_number = number;
	return 0;
}

static int parse_number(struct parser *parser, const struct key *key,
			const config_setting_t *value, void *target)
{
	return take_number(parser, key, value, target_of(key, target));
}

static int parse_count(struct parser *parser, const struct key *key,
		       const config_setting_t *value, void *target)
{
	double number;
	int r;

	r = take_number(parser, key, value, &number);
	if (r)
		return r;
	if (number != floor(number))
		return fail(parser, value, "\"%s\" is %g; it must be a whole number", key->name,
			    number);
	*(uint32_t *)target_of(key, target) = (uint32_t)number;
	return 0;
}

/* A string that key->convert understands. */
static int parse_text(struct parser *parser, const struct key *key, const config_setting_t *value,
		      void *target)
{
	const char *text = config_setting_get_string(value);

	if (!text)
		return fail(parser, value, "\"%s\" must be %s, in quotes", key->name, key->form);
	if (key->convert(text, target_of(key, target)))
		return fail(parser, value, "\"%s\" is \"%s\"; it must be %s", key->name, text,
			    key->form);
	return 0;
}

static int take_time(struct parser *parser, const struct key *key, const config_setting_t *value,
		     int64_t *ret_ns)
{
	char least[UNITS_TEXT_SIZE], most[UNITS_TEXT_SIZE];
	const char *text;
	int64_t ns;
	int r;

	text = config_setting_get_string(value);
	if (!text)
		return fail(parser, value, "\"%s\" must be a time like \"30min\", in quotes",
			    key->name);
	r = units_time_from_text(text, &ns);
	if (r == -EINVAL)
		return fail(parser, value,
			    "\"%s\" is \"%s\"; it must be a time like \"90s\", \"30min\", \"8h\" or "
			    "\"2d\"", key->name, text);
	if (r || (double)ns < key->min * NS_PER_S || (double)ns > key->max * NS_PER_S) {
		units_time_to_text((int64_t)key->min * NS_PER_S, least);
		units_time_to_text((int64_t)key->max * NS_PER_S, most);
		return fail(parser, value, "\"%s\" is \"%s\"; it must be between %s and %s",
			    key->name, text, least, most);
	}
	*ret_ns = ns;
	return 0;
}

static int parse_time(struct parser *parser, const struct key *key, const config_setting_t *value,
		      void *target)
{
	return take_time(parser, key, value, target_of(key, target));
}

static int parse_time_s(struct parser *parser, const struct key *key,
			const config_setting_t *value, void *target)
{
	int64_t ns;
	int r;

	r = take_time(parser, key, value, &ns);
	if (!r)
		*(uint32_t *)target_of(key, target) = (uint32_t)(ns / NS_PER_S);
	return r;
}

/* One half-life, or a list of up to TIER_HEAT_TERMS. */
static int parse_half_life(struct parser *parser, const struct key *key,
			   const config_setting_t *value, void *target)
{
	struct tier_heat_config *heat = &((struct config_settings *)target)->heat;
	int n, r;

	if (!config_setting_is_list(value) && !config_setting_is_array(value)) {
		heat->nr_terms = 1;
		return take_time(parser, key, value, &heat->half_life_ns[0]);
	}
	n = config_setting_length(value);
	if (n < 1 || n > TIER_HEAT_TERMS)
		return fail(parser, value, "\"%s\" has %d times; one to %d are possible", key->name,
			    n, TIER_HEAT_TERMS);
	for (int i = 0; i < n; i++) {
		r = take_time(parser, key, config_setting_get_elem(value, i),
			      &heat->half_life_ns[i]);
		if (r)
			return r;
	}
	heat->nr_terms = n;
	return 0;
}

static int convert_mode(const char *text, void *ret_measure_only)
{
	bool is_measure = !strcmp(text, "measure");

	if (!is_measure && strcmp(text, "relocate"))
		return -EINVAL;
	*(bool *)ret_measure_only = is_measure;
	return 0;
}

static int convert_policy(const char *text, void *ret_policy)
{
	return tier_policy_from_word(text, ret_policy);
}

/* A name in LVM's character set, of at most key->max bytes. */
static int parse_name(struct parser *parser, const struct key *key, const config_setting_t *value,
		      void *target)
{
	const char *text = config_setting_get_string(value), *reason;

	if (!text)
		return fail(parser, value, "\"%s\" must be a name, in quotes", key->name);
	if (tier_name_check(text, &reason))
		return fail(parser, value, "\"%s\" is \"%s\"; a name %s", key->name, text, reason);
	if (strlen(text) > key->max)
		return fail(parser, value, "\"%s\" is longer than %g bytes", key->name, key->max);
	memcpy(target_of(key, target), text, strlen(text) + 1);
	return 0;
}

/* ---------------------------------------------------------------- weights and rates */

static const struct key weight_keys[] = {
	{ "read", parse_number, offsetof(struct tier_heat_config, read_weight), 0, 1000 },
	{ "write", parse_number, offsetof(struct tier_heat_config, write_weight), 0, 1000 },
	{ "sequential", parse_number,
	  offsetof(struct tier_heat_config, sequential_weight), 0, 1000 },
	{ "large", parse_number, offsetof(struct tier_heat_config, large_weight), 0, 1000 },
};

static int parse_weights(struct parser *parser, const struct key *key,
			 const config_setting_t *value, void *target)
{
	return parse_group(parser, weight_keys, TIER_NR(weight_keys), "\"weights\"", value,
			   &((struct config_settings *)target)->heat);
}

static int convert_rate_limit(const char *text, void *ret_bytes_per_s)
{
	struct tier_rate rate = { .bytes_per_s = 0 };

	if (strcmp(text, "unlimited") &&
	    (units_rate_from_text(text, &rate) || rate.kind != TIER_RATE_BYTES))
		return -EINVAL;
	*(uint64_t *)ret_bytes_per_s = rate.bytes_per_s;
	return 0;
}

#define RATE_LIMIT(name, field)							\
	{ name, parse_text, offsetof(struct tier_rate_table, field), 0, 0,	\
	  convert_rate_limit, "a rate like \"160MiB/s\" (not 0), or \"unlimited\"" }

static const struct key rate_keys[] = {
	RATE_LIMIT("fast", fast),
	RATE_LIMIT("medium", medium),
	RATE_LIMIT("slow", slow),
};

static int parse_rates(struct parser *parser, const struct key *key,
		       const config_setting_t *value, void *target)
{
	return parse_group(parser, rate_keys, TIER_NR(rate_keys), "\"rates\"", value,
			   &((struct config_settings *)target)->rates);
}

/* ---------------------------------------------------------------- windows */

static int convert_days(const char *text, void *ret_days)
{
	return tier_days_from_text(text, ret_days);
}

static int convert_start(const char *text, void *ret_start_s)
{
	return tier_time_of_day_from_text(text, ret_start_s);
}

static int convert_rate(const char *text, void *ret_rate)
{
	return units_rate_from_text(text, ret_rate);
}

/* The rate comes last: a window of `measure` has none. */
static const struct key window_keys[] = {
	{ "days", parse_text, offsetof(struct tier_window, days), 0, 0, convert_days,
	  "\"daily\", \"weekdays\", \"weekend\" or days like \"mon,wed\" or \"fri-mon\"" },
	{ "start", parse_text, offsetof(struct tier_window, start_s), 0, 0, convert_start,
	  "a time of day from \"00:00\" to \"23:59\"" },
	{ "duration", parse_time_s, offsetof(struct tier_window, duration_s), 60, DAY_S },
	{ "rate", parse_text, offsetof(struct tier_window, rate), 0, 0, convert_rate,
	  "\"fast\", \"medium\", \"slow\" or a rate like \"100MiB/s\"" },
};

static int parse_windows(struct parser *parser, const struct key *key,
			 const config_setting_t *value, bool has_rate,
			 struct tier_window *ret_windows, size_t *ret_nr_windows)
{
	size_t nr_keys = TIER_NR(window_keys) - !has_rate, first, second;
	struct tier_schedule schedule = { .windows = ret_windows };
	int n, r;

	r = check_list(parser, key, value, CONFIG_MAX_WINDOWS);
	if (r)
		return r;
	n = config_setting_length(value);
	for (int i = 0; i < n; i++) {
		const config_setting_t *entry = config_setting_get_elem(value, i);

		ret_windows[i] = tier_window_default;
		r = parse_group(parser, window_keys, nr_keys, "a window", entry, &ret_windows[i]);
		if (r)
			return r;
		for (size_t k = 0; k < 3; k++)
			if (!has_key(entry, window_keys[k].name))
				return fail(parser, entry, "this window has no \"%s\"",
					    window_keys[k].name);
	}
	schedule.nr_windows = n;
	if (tier_schedule_check_overlap(&schedule, &first, &second)) {
		const config_setting_t *other = config_setting_get_elem(value, first);

		return fail(parser, config_setting_get_elem(value, second),
			    "this window overlaps with the one in line %u",
			    config_setting_source_line(other));
	}
	*ret_nr_windows = n;
	return 0;
}

static int parse_schedule(struct parser *parser, const struct key *key,
			  const config_setting_t *value, void *target)
{
	struct config_settings *settings = target;

	return parse_windows(parser, key, value, true, settings->windows, &settings->nr_windows);
}

static int parse_measure(struct parser *parser, const struct key *key,
			 const config_setting_t *value, void *target)
{
	struct config_settings *settings = target;

	return parse_windows(parser, key, value, false, settings->measure, &settings->nr_measure);
}

/* ---------------------------------------------------------------- pools */

struct tier_entry {
	uint32_t tier;
	struct config_tier values;
};

static const struct key tier_keys[] = {
	{ "tier", parse_count, offsetof(struct tier_entry, tier), 0, TIER_MAX_TIERS - 1 },
	{ "name", parse_name, offsetof(struct tier_entry, values.name), 0,
	  CONFIG_TIER_NAME_SIZE - 1 },
	{ "max_iops", parse_number, offsetof(struct tier_entry, values.max_iops), 0, 1e9 },
};

static int parse_tiers(struct parser *parser, const struct key *key,
		       const config_setting_t *value, void *target)
{
	struct config_settings *settings = target;
	bool seen[TIER_MAX_TIERS] = { false };
	int r;

	r = check_list(parser, key, value, TIER_MAX_TIERS);
	if (r)
		return r;
	for (int i = 0; i < config_setting_length(value); i++) {
		const config_setting_t *entry = config_setting_get_elem(value, i);
		struct tier_entry tier = { 0 };

		r = parse_group(parser, tier_keys, TIER_NR(tier_keys), "a tier", entry, &tier);
		if (r)
			return r;
		if (!has_key(entry, "tier"))
			return fail(parser, entry, "this entry has no \"tier\" (a number)");
		if (seen[tier.tier])
			return fail(parser, entry, "tier %u is there twice", tier.tier);
		seen[tier.tier] = true;
		settings->tiers[tier.tier] = tier.values;
	}
	return 0;
}

static const struct key volume_keys[] = {
	{ "name", parse_name, offsetof(struct config_volume, name), 0, TIER_NAME_SIZE - 1 },
	{ "policy", parse_text, offsetof(struct config_volume, policy), 0, 0,
	  convert_policy, POLICY_FORM },
};

static int parse_volumes(struct parser *parser, const struct key *key,
			 const config_setting_t *value, void *target)
{
	struct config_settings *settings = target;
	int n, r;

	r = check_list(parser, key, value, TIER_MAX_VOLUMES);
	if (r)
		return r;
	n = config_setting_length(value);
	settings->volumes = calloc(n ? n : 1, sizeof(*settings->volumes));
	if (!settings->volumes)
		return out_of_memory(parser);
	for (int i = 0; i < n; i++) {
		const config_setting_t *entry = config_setting_get_elem(value, i);
		struct config_volume *volume = &settings->volumes[i];

		r = parse_group(parser, volume_keys, TIER_NR(volume_keys), "a volume", entry, volume);
		if (r)
			return r;
		for (size_t k = 0; k < TIER_NR(volume_keys); k++)
			if (!has_key(entry, volume_keys[k].name))
				return fail(parser, entry, "this volume has no \"%s\"",
					    volume_keys[k].name);
		for (int other = 0; other < i; other++)
			if (!strcmp(settings->volumes[other].name, volume->name))
				return fail(parser, entry, "volume \"%s\" is there twice",
					    volume->name);
		settings->nr_volumes = i + 1;
	}
	return 0;
}

/* The pools are parsed after everything else: they start from the global settings. */
static int skip_pools(struct parser *parser, const struct key *key, const config_setting_t *value,
		      void *target)
{
	return 0;
}

#define SETTING(name, parse, field, min, max) \
	{ name, parse, offsetof(struct config_settings, field), min, max }
#define TEXT_SETTING(name, field, convert, form) \
	{ name, parse_text, offsetof(struct config_settings, field), 0, 0, convert, form }

/* Everywhere; then `pools` at the top, or the keys of a pool. */
#define COMMON_KEYS							\
	TEXT_SETTING("mode", measure_only, convert_mode, MODE_FORM),	\
	SETTING("half_life", parse_half_life, heat, HOUR_S, 365 * DAY_S), \
	SETTING("weights", parse_weights, heat, 0, 0),			\
	SETTING("schedule", parse_schedule, windows, 0, 0),		\
	SETTING("measure", parse_measure, measure, 0, 0),		\
	SETTING("rates", parse_rates, rates, 0, 0),			\
	SETTING("hysteresis", parse_number, hysteresis, 1, 1000),	\
	SETTING("headroom_percent", parse_number, headroom_percent, 0, 90), \
	SETTING("benefit", parse_number, benefit, 0, 1000),		\
	SETTING("rebalance", parse_number, rebalance, 1, 1000),		\
	TEXT_SETTING("policy", policy, convert_policy, POLICY_FORM),	\
	SETTING("moves_per_device", parse_count, moves_per_device, 1, 16), \
	SETTING("collect_interval", parse_time, collect_ns, 1, DAY_S),	\
	SETTING("fold_interval", parse_time, heat.fold_ns, 1, 7 * DAY_S), \
	SETTING("plan_interval", parse_time, plan_ns, 1, 7 * DAY_S),	\
	SETTING("plan_moves", parse_count, plan_moves, 0, 999999999)

static const struct key global_keys[] = {
	COMMON_KEYS,
	{ "pools", skip_pools },
};

/* The name is not a setting: it is the struct around the settings that has it. */
static int parse_pool_name(struct parser *parser, const struct key *key,
			   const config_setting_t *value, void *target)
{
	static const struct key name_key = {
		.name = "name", .offset = offsetof(struct config_pool, name),
		.max = TIER_NAME_SIZE - 1,
	};
	char *pool = (char *)target - offsetof(struct config_pool, settings);

	return parse_name(parser, &name_key, value, pool);
}

static const struct key pool_keys[] = {
	COMMON_KEYS,
	{ "name", parse_pool_name },
	{ "tiers", parse_tiers },
	{ "volumes", parse_volumes },
};

static int parse_pools(struct parser *parser, const config_setting_t *value,
		       struct config *config)
{
	static const struct key key = { "pools" };
	int n, r;

	r = check_list(parser, &key, value, 10000);
	if (r)
		return r;
	n = config_setting_length(value);
	config->pools = calloc(n ? n : 1, sizeof(*config->pools));
	if (!config->pools)
		return out_of_memory(parser);
	for (int i = 0; i < n; i++) {
		const config_setting_t *entry = config_setting_get_elem(value, i);
		struct config_pool *pool = &config->pools[i];

		pool->settings = config->settings;
		config->nr_pools = i + 1;
		r = parse_group(parser, pool_keys, TIER_NR(pool_keys), "a pool", entry,
				&pool->settings);
		if (r)
			return r;
		if (!has_key(entry, "name"))
			return fail(parser, entry, "this pool has no \"name\"");
		for (int other = 0; other < i; other++)
			if (!strcmp(config->pools[other].name, pool->name))
				return fail(parser, entry, "pool \"%s\" is there twice", pool->name);
	}
	return 0;
}

/* ---------------------------------------------------------------- what there is */

/* Could the file have brought the value that `target` has? */
static bool is_in_range(const struct key *key, const void *target)
{
	const void *value = (const char *)target + key->offset;
	double number;

	if (key->parse == parse_number)
		number = *(const double *)value;
	else if (key->parse == parse_count)
		number = *(const uint32_t *)value;
	else if (key->parse == parse_time)
		number = (double)*(const int64_t *)value / NS_PER_S;
	else if (key->parse == parse_time_s)
		number = *(const uint32_t *)value;
	else if (key->parse == parse_half_life)
		number = (double)((const struct tier_heat_config *)value)->half_life_ns[0] / NS_PER_S;
	else
		return true;
	return number >= key->min && number <= key->max;
}

void config_each_key(const struct config_settings *settings,
		     void (*visit)(void *ctx, const char *group, const char *name, bool in_range),
		     void *ctx)
{
	const struct config_pool pool = { .settings = *settings };
	const struct config_volume volume = { .policy = settings->policy };
	const struct tier_entry tier = { .values = settings->tiers[0] };
	const struct {
		const char *name;
		const struct key *keys;
		size_t nr_keys;
		const void *target;
	} groups[] = {
		{ "", global_keys, TIER_NR(global_keys), settings },
		{ "weights", weight_keys, TIER_NR(weight_keys), &settings->heat },
		{ "rates", rate_keys, TIER_NR(rate_keys), &settings->rates },
		{ "schedule", window_keys, TIER_NR(window_keys), &settings->windows[0] },
		{ "pools", pool_keys, TIER_NR(pool_keys), &pool.settings },
		{ "tiers", tier_keys, TIER_NR(tier_keys), &tier },
		{ "volumes", volume_keys, TIER_NR(volume_keys), &volume },
	};

	for (size_t g = 0; g < TIER_NR(groups); g++)
		for (size_t k = 0; k < groups[g].nr_keys; k++)
			visit(ctx, groups[g].name, groups[g].keys[k].name,
			      is_in_range(&groups[g].keys[k], groups[g].target));
}

/* ---------------------------------------------------------------- the whole */

/* libconfig's own words, with the line itself: it does not say which key it means. */
static int syntax_error(struct parser *parser, const config_t *libconfig, const char *text)
{
	unsigned int line = config_error_line(libconfig);
	int length;

	for (unsigned int i = 1; i < line && strchr(text, '\n'); i++)
		text = strchr(text, '\n') + 1;
	text += strspn(text, " \t");
	length = strcspn(text, "\n");
	snprintf(parser->error->text, sizeof(parser->error->text), "%s:%u: %s: %.*s", parser->path,
		 line, config_error_text(libconfig), length < 80 ? length : 80, text);
	return -EINVAL;
}

static int parse_root(struct parser *parser, config_t *libconfig, struct config *config)
{
	const config_setting_t *root = config_root_setting(libconfig);
	const config_setting_t *pools = config_lookup(libconfig, "pools");
	int r;

	r = parse_group(parser, global_keys, TIER_NR(global_keys), "the file", root,
			&config->settings);
	if (!r && pools)
		r = parse_pools(parser, pools, config);
	return r;
}

int config_parse(const char *path, const char *text, struct config **ret_config,
		 struct config_error *ret_error)
{
	struct parser parser = { .path = path, .error = ret_error };
	_cleanup_(config_cleanup) struct config *config = NULL;
	_cleanup_(config_destroy) config_t libconfig;
	const char *what;
	unsigned int line;
	int r;

	config_init(&libconfig);
	r = config_new(path, &config);
	if (r)
		return out_of_memory(&parser);
	r = config_scan(text, strlen(text), &line, &what);
	if (r) {
		snprintf(ret_error->text, sizeof(ret_error->text), "%s:%u: %s", path, line, what);
		return r;
	}
	if (!config_read_string(&libconfig, text))
		return syntax_error(&parser, &libconfig, text);
	r = parse_root(&parser, &libconfig, config);
	if (r)
		return r;
	*ret_config = config;
	config = NULL;
	return 0;
}
