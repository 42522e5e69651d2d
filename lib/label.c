// SPDX-License-Identifier: GPL-2.0-only
/* Writing labels. Pure. */
#include "label.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"

static bool is_word(const char *word, const char *forbidden)
{
	if (!*word)
		return false;
	for (; *word; word++)
		if (iscntrl((unsigned char)*word) || strchr(forbidden, *word))
			return false;
	return true;
}

/* Append `length` bytes, with a `;` in front unless it is the first word. */
static int append(char *label, size_t *used, const char *word, size_t length)
{
	size_t need = length + (*used ? 1 : 0);

	if (*used + need >= TIER_LABEL_SIZE)
		return -ENOSPC;
	if (*used)
		label[(*used)++] = ';';
	memcpy(label + *used, word, length);
	*used += length;
	label[*used] = '\0';
	return 0;
}

int tier_label_set(const char *label, const char *key, const char *value,
		   char *ret_label, size_t size)
{
	char result[TIER_LABEL_SIZE] = "", word[TIER_LABEL_SIZE];
	size_t key_length = strlen(key), used = 0;
	bool is_set = false;
	int r = 0;

	if (!is_word(key, ";=") || (value && !is_word(value, ";")))
		return -EINVAL;
	if (value) {
		int length = snprintf(word, sizeof(word), "%s=%s", key, value);

		if (length < 0 || (size_t)length >= sizeof(word))
			return -ENOSPC;
	}

	/* Words keep their place; the key's first one is replaced, others of it go. */
	while (*label && !r) {
		size_t length = strcspn(label, ";");
		bool is_key = length > key_length && label[key_length] == '=' &&
			      !memcmp(label, key, key_length);

		if (!is_key) {
			if (length)
				r = append(result, &used, label, length);
		} else if (value && !is_set) {
			r = append(result, &used, word, strlen(word));
			is_set = true;
		}
		label += length;
		label += *label == ';';
	}
	if (!r && value && !is_set)
		r = append(result, &used, word, strlen(word));
	if (r)
		return r;
	if (used >= size)
		return -ENOSPC;
	memcpy(ret_label, result, used + 1);
	return 0;
}
