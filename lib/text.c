// SPDX-License-Identifier: GPL-2.0-only
/* Percent-encoding, over kernel/dm-tier-args.c, and cleaning. Pure. */
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

/* Bytes of the character that begins here, 0: it is none, or one of those that never are. */
static size_t character(const unsigned char *text)
{
	/* The lowest number that needs as many bytes. */
	static const unsigned int lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t bytes = *text < 0x80 ? 1 : *text >> 5 == 6 ? 2 : *text >> 4 == 14 ? 3 :
		       *text >> 3 == 30 ? 4 : 0;
	unsigned int code = *text & (0x7f >> (bytes == 1 ? 0 : bytes));

	for (size_t i = 1; i < bytes; i++) {
		if (text[i] >> 6 != 2)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (!bytes || code < lowest[bytes] || code > 0x10ffff || code < ' ' ||
	    (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code < 0xe000) ||
	    (code >= 0xfdd0 && code < 0xfdf0) || (code & 0xfffe) == 0xfffe)
		return 0;
	return bytes;
}

void tier_text_clean(char *text)
{
	while (*text) {
		size_t bytes = character((const unsigned char *)text);

		if (!bytes)
			*text = '?';
		text += bytes ? bytes : 1;
	}
}
