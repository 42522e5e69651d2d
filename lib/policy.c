// SPDX-License-Identifier: GPL-2.0-only
/* Policies and the labels that name them. Pure. */
#include "policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[TIER_POLICY_COUNT] = {
	[TIER_POLICY_AUTO] = "auto",
	[TIER_POLICY_START_HIGHEST] = "start-highest",
	[TIER_POLICY_HIGHEST] = "highest",
	[TIER_POLICY_LOWEST] = "lowest",
	[TIER_POLICY_NONE] = "none",
};

const char *tier_policy_word(enum tier_policy policy)
{
	if ((unsigned int)policy >= TIER_POLICY_COUNT)
		return "unknown";
	return words[policy];
}

int tier_policy_from_word(const char *word, enum tier_policy *ret_policy)
{
	for (int i = 0; i < TIER_POLICY_COUNT; i++) {
		if (!strcmp(words[i], word)) {
			*ret_policy = i;
			return 0;
		}
	}
	return -EINVAL;
}

int tier_label_value(const char *label, const char *key, char *ret_value, size_t size)
{
	size_t key_length = strlen(key);

	while (*label) {
		size_t length = strcspn(label, ";");

		if (length > key_length && label[key_length] == '=' &&
		    !memcmp(label, key, key_length)) {
			size_t value_length = length - key_length - 1;

			if (value_length >= size)
				return -ENOSPC;
			memcpy(ret_value, label + key_length + 1, value_length);
			ret_value[value_length] = '\0';
			return (int)value_length;
		}
		label += length;
		if (*label == ';')
			label++;
	}
	return -ENOENT;
}

/* "<policy>:<seconds since 1970>" */
static int parse_pin(char *pin, enum tier_policy *ret_policy, int64_t *ret_until_s)
{
	char *colon = strchr(pin, ':'), *end;
	enum tier_policy policy;
	long long until;

	if (!colon || colon[1] < '0' || colon[1] > '9')
		return -EINVAL;
	*colon = '\0';
	if (tier_policy_from_word(pin, &policy))
		return -EINVAL;
	errno = 0;
	until = strtoll(colon + 1, &end, 10);
	if (errno || *end)
		return -EINVAL;
	*ret_policy = policy;
	*ret_until_s = until;
	return 0;
}

int tier_label_policy(const char *label, int64_t now_s, struct tier_label_policy *ret_policy)
{
	struct tier_label_policy result = { .policy = TIER_POLICY_AUTO };
	enum tier_policy pin_policy;
	int64_t until_s;
	char value[64];
	int r;

	r = tier_label_value(label, "policy", value, sizeof(value));
	if (r >= 0) {
		if (tier_policy_from_word(value, &result.policy))
			return -EINVAL;
		result.is_set = true;
	} else if (r != -ENOENT) {
		return -EINVAL;
	}

	r = tier_label_value(label, "pin", value, sizeof(value));
	if (r >= 0) {
		if (parse_pin(value, &pin_policy, &until_s))
			return -EINVAL;
		if (now_s < until_s) {
			result.policy = pin_policy;
			result.is_set = true;
			result.pinned = true;
			result.pin_until_s = until_s;
		}
	} else if (r != -ENOENT) {
		return -EINVAL;
	}
	*ret_policy = result;
	return 0;
}
