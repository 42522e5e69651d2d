// SPDX-License-Identifier: GPL-2.0-only
/* Names. Pure. */
#include "name.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "backend.h"

/* With this name libdevmapper would take its own node for the device's, and remove it. */
#define CONTROL	"control"

int tier_name_check(const char *name, const char **ret_reason)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789+_.-";
	const char *reason = NULL;

	if (!*name)
		reason = "must not be empty";
	else if (*name == '-')
		reason = "must not begin with '-'";
	else if (!strcmp(name, ".") || !strcmp(name, ".."))
		reason = "must not be '.' or '..'";
	else if (!strcmp(name, CONTROL))
		reason = "is reserved: /dev/mapper/" CONTROL " is device-mapper's own";
	else if (name[strspn(name, allowed)])
		reason = "may hold only letters, digits and + _ . -";
	else if (strlen(name) >= TIER_NAME_SIZE)
		reason = "is too long (127 characters at most)";
	if (!reason)
		return 0;
	if (ret_reason)
		*ret_reason = reason;
	return -EINVAL;
}

/* Append `name` with its dashes doubled at *used. */
static int escape(const char *name, char *buffer, size_t size, size_t *used)
{
	for (; *name; name++) {
		size_t need = *name == '-' ? 2 : 1;

		if (*used + need >= size)
			return -ENAMETOOLONG;
		if (*name == '-')
			buffer[(*used)++] = '-';
		buffer[(*used)++] = *name;
	}
	buffer[*used] = '\0';
	return 0;
}

static int build(const char *pool, const char *volume, char *ret_name, size_t size)
{
	char name[2 * TIER_NAME_SIZE];
	size_t used = 0;
	int r;

	if (size > sizeof(name))
		size = sizeof(name);
	r = escape(pool, name, size, &used);
	if (!r && volume) {
		if (used + 1 >= size)
			return -ENAMETOOLONG;
		name[used++] = '-';
		r = escape(volume, name, size, &used);
	}
	if (r)
		return r;
	memcpy(ret_name, name, used + 1);
	return 0;
}

int tier_name_pool_to_dm(const char *pool, char *ret_name, size_t size)
{
	return strcmp(pool, CONTROL) ? build(pool, NULL, ret_name, size) : -EINVAL;
}

int tier_name_volume_to_dm(const char *pool, const char *volume, char *ret_name, size_t size)
{
	return build(pool, volume, ret_name, size);
}

void tier_name_dm_to_pool(const char *dm_name, char *ret_pool, size_t size)
{
	bool is_ours = true;
	size_t used = 0;

	for (const char *at = dm_name; *at && is_ours; at++) {
		if (*at == '-') {
			is_ours = at[1] == '-';
			at++;
		}
	}
	while (*dm_name && used + 1 < size) {
		ret_pool[used++] = *dm_name;
		dm_name += is_ours && *dm_name == '-' ? 2 : 1;
	}
	if (size)
		ret_pool[used] = '\0';
}

static int copy_part(const char *from, size_t length, char *ret_part, size_t size)
{
	if (!length)
		return -EINVAL;
	if (length >= size)
		return -ENAMETOOLONG;
	memcpy(ret_part, from, length);
	ret_part[length] = '\0';
	return 0;
}

int tier_name_split(const char *word, char *ret_pool, char *ret_volume, size_t size)
{
	const char *slash;
	size_t pool_length;
	int r;

	if (!strncmp(word, "/dev/tier/", 10))
		word += 10;
	pool_length = strcspn(word, "/");
	slash = word[pool_length] ? word + pool_length : NULL;
	if (slash && strchr(slash + 1, '/'))
		return -EINVAL;
	if (!pool_length || (slash && !slash[1]))
		return -EINVAL;
	if (slash) {
		r = copy_part(slash + 1, strlen(slash + 1), ret_volume, size);
		if (r)
			return r;
	}
	r = copy_part(word, pool_length, ret_pool, size);
	if (r)
		return r;
	if (!slash)
		ret_volume[0] = '\0';
	return 0;
}
