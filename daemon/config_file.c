// SPDX-License-Identifier: GPL-2.0-only
/* The configuration as an object: defaults, reading the file, look-ups. See config.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "plan.h"
#include "text.h"
#include "util.h"

#define NS_PER_S	INT64_C(1000000000)
#define MAX_FILE_BYTES	(4 << 20)

static void set_defaults(struct config_settings *settings)
{
	struct tier_plan_config plan;

	tier_plan_config_init(&plan, 1, 1);
	tier_heat_config_init(&settings->heat);
	tier_rate_table_init(&settings->rates);
	settings->windows[0] = tier_window_default;
	settings->nr_windows = 1;
	settings->hysteresis = plan.hysteresis;
	settings->headroom_percent = plan.headroom_percent;
	settings->benefit = plan.benefit;
	settings->rebalance = plan.rebalance;
	settings->policy = TIER_POLICY_AUTO;
	settings->moves_per_device = 2;
	settings->collect_ns = 300 * NS_PER_S;
	settings->plan_ns = 3600 * NS_PER_S;
}

int config_new(const char *path, struct config **ret_config)
{
	struct config *config = calloc(1, sizeof(*config));

	if (!config)
		return -ENOMEM;
	config->path = strdup(path);
	if (!config->path) {
		free(config);
		return -ENOMEM;
	}
	set_defaults(&config->settings);
	*ret_config = config;
	return 0;
}

void config_free(struct config *config)
{
	if (!config)
		return;
	for (size_t i = 0; i < config->nr_pools; i++)
		free(config->pools[i].settings.volumes);
	free(config->pools);
	free(config->path);
	free(config);
}

void config_cleanup(struct config **config)
{
	config_free(*config);
}

/* The whole file as a string; a zero byte in it is an error, not its end. */
static int read_file(const char *path, char **ret_text, size_t *ret_size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	text = malloc(MAX_FILE_BYTES + 1);
	if (!text)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, text + size, MAX_FILE_BYTES - size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		size += n;
		if (size == MAX_FILE_BYTES)
			return -EFBIG;
	}
	text[size] = '\0';
	*ret_text = text;
	*ret_size = size;
	text = NULL;
	return 0;
}

static int load(const char *path, struct config **ret_config, struct config_error *ret_error)
{
	_cleanup_free_ char *text = NULL;
	const char *what;
	unsigned int line;
	size_t size = 0;
	int r;

	r = read_file(path, &text, &size);
	if (r) {
		snprintf(ret_error->text, sizeof(ret_error->text), "%s: cannot be read: %s", path,
			 strerror(-r));
		return r;
	}
	r = config_scan(text, size, &line, &what);
	if (r) {
		snprintf(ret_error->text, sizeof(ret_error->text), "%s:%u: %s", path, line, what);
		return r;
	}
	return config_parse(path, text, ret_config, ret_error);
}

int config_load(const char *path, struct config **ret_config, struct config_error *ret_error)
{
	int r = load(path, ret_config, ret_error);

	/* It quotes the file, cut where it gets too long, and goes to terminals and the bus. */
	if (r)
		tier_text_clean(ret_error->text);
	return r;
}

const struct config_settings *config_for_pool(const struct config *config, const char *pool)
{
	for (size_t i = 0; i < config->nr_pools; i++)
		if (!strcmp(config->pools[i].name, pool))
			return &config->pools[i].settings;
	return &config->settings;
}

bool config_volume_policy(const struct config_settings *settings, const char *volume,
			  enum tier_policy *ret_policy)
{
	for (size_t i = 0; i < settings->nr_volumes; i++) {
		if (!strcmp(settings->volumes[i].name, volume)) {
			*ret_policy = settings->volumes[i].policy;
			return true;
		}
	}
	*ret_policy = settings->policy;
	return false;
}
