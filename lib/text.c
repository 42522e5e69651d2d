// SPDX-License-Identifier: GPL-2.0-only
/* Percent-encoding, over kernel/dm-tier-args.c. Pure. */
#include "dm-tier-args.h"

#include "backend.h"
#include "text.h"

#include <errno.h>
#include <string.h>

_Static_assert(TIER_ENCODED_SIZE == DM_TIER_ENCODED_CHARS, "the kernel's limit changed");
_Static_assert(TIER_LABEL_SIZE == DM_TIER_MAX_LABEL + 1, "the kernel's limit changed");

int tier_text_encode(const char *text, char *ret_word)
{
	size_t bytes = strlen(text);

	if (bytes > DM_TIER_MAX_LABEL)
		return -ENAMETOOLONG;
	dm_tier_encode_text(text, (u8)bytes, ret_word);
	return 0;
}

int tier_text_decode(const char *word, char *ret_text)
{
	char text[DM_TIER_MAX_LABEL];
	u8 bytes;

	if (dm_tier_args_text(word, text, &bytes))
		return -EINVAL;
	memcpy(ret_text, text, bytes);
	ret_text[bytes] = '\0';
	return 0;
}
