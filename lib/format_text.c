// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metadata as text and back, the form of tpdump(8): a record a line, always the
 * same words in the same order, so that the same metadata are the same bytes.
 *
 * The parser takes nothing that it does not understand, and nothing twice: a
 * typo in an edited dump must not become a pool.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/limits.h>

#include "dm-tier-args.h"
#include "format_survey.h"
#include "util.h"

#define HEADING	"dm-tier-dump 1"

static const char *const states[] = {
	[DM_TIER_DEV_NEW] = "new",
	[DM_TIER_DEV_ONLINE] = "online",
	[DM_TIER_DEV_DRAINING] = "draining",
	[DM_TIER_DEV_LOST] = "lost",
};

/* Printing ---------------------------------------------------------------------*/

static void print_label(const char *label, u8 bytes, FILE *to)
{
	char word[DM_TIER_ENCODED_CHARS];

	dm_tier_encode_text(label, bytes, word);
	fprintf(to, " label=%s\n", word);
}

static void print_pool(const struct tier_content *content, FILE *to)
{
	const struct dm_tier_super *super = &content->super;
	char uuid[DM_TIER_UUID_CHARS], system_id[DM_TIER_UUID_CHARS];

	dm_tier_format_uuid(super->uuid, uuid);
	dm_tier_format_uuid(super->system_id, system_id);
	fprintf(to, "pool uuid=%s extent_sectors=%u region_sectors=%u logical_block_bytes=%u log_blocks=%llu incompat=%llu compat=%llu system_id=%s next_generation=%llu",
		uuid, super->extent_sectors, super->region_sectors, super->logical_block_bytes,
		super->log_blocks, super->incompat, super->compat, system_id,
		content->image->next_generation);
	print_label(content->image->pool_label, content->image->pool_label_bytes, to);
}

static void print_device(const struct dm_tier_image_device *device, u32 idx, FILE *to)
{
	char uuid[DM_TIER_UUID_CHARS];

	dm_tier_format_uuid(device->uuid, uuid);
	fprintf(to, "device idx=%u uuid=%s tier=%u slots=%u state=%s reserve_slots=%u\n", idx,
		uuid, device->tier, device->slots, states[device->state], device->reserve_slots);
}

static void print_volume(const struct dm_tier_record *rec, FILE *to)
{
	char uuid[DM_TIER_UUID_CHARS];

	dm_tier_format_uuid(rec->volume.uuid, uuid);
	fprintf(to, "volume id=%u uuid=%s generation=%llu extents=%u placement=%s", rec->volume.id,
		uuid, rec->volume.generation, rec->volume.extents,
		rec->volume.tiers ? "" : "auto");
	for (u32 i = 0; i < rec->volume.tiers; i++)
		fprintf(to, "%s%u", i ? "," : "", rec->volume.placement[i]);
	print_label(rec->volume.label, rec->volume.label_bytes, to);
}

static bool is_valid(const u64 *valid, u32 region)
{
	return valid[region / 64] >> region % 64 & 1;
}

/* "0-3,7": the regions that hold data. */
static void print_regions(const u64 *valid, u32 regions, FILE *to)
{
	const char *separator = "";

	for (u32 first = 0, next; first < regions; first = next) {
		next = first + 1;
		if (!is_valid(valid, first))
			continue;
		while (next < regions && is_valid(valid, next))
			next++;
		fprintf(to, next - first > 1 ? "%s%u-%u" : "%s%u", separator, first, next - 1);
		separator = ",";
	}
	if (!*separator)
		fputc('-', to);
}

static void print_slot(const struct dm_tier_image_slot *slot, u32 device, u32 nr, u32 regions,
		       FILE *to)
{
	fprintf(to, "slot device=%u slot=%u", device, nr);
	if (slot->generation) {
		fprintf(to, " generation=%llu extent=%u valid=", (u64)slot->generation,
			slot->extent);
		if (slot->full)
			fputs("full", to);
		else
			print_regions(slot->valid, regions, to);
	}
	fputs(slot->quarantine ? " quarantine\n" : "\n", to);
}

int tier_content_print(const struct tier_content *content, FILE *to, char *ret_cause)
{
	const struct dm_tier_image *image = content->image;

	fputs(HEADING "\n", to);
	print_pool(content, to);
	for (u32 i = 0; i < DM_TIER_MAX_DEVICES; i++)
		if (image->device[i].present)
			print_device(&image->device[i], i, to);
	for (u32 i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		if (image->volume[i])
			print_volume(image->volume[i], to);
	for (u32 d = 0; d < DM_TIER_MAX_DEVICES; d++)
		for (u32 s = 0; s < image->device[d].nr_slot; s++)
			if (image->device[d].slot[s].generation ||
			    image->device[d].slot[s].quarantine)
				print_slot(&image->device[d].slot[s], d, s, image->regions, to);
	fputs("end\n", to);
	if (fflush(to) || ferror(to))
		return tier_cause(ret_cause, -EIO, "cannot write the text: %s", strerror(errno));
	return 0;
}

/* Parsing ----------------------------------------------------------------------*/

struct parser {
	const char *name;
	u64 line;
	char *at;			/* rest of the line */
	bool bad;			/* and the cause says why */
	char *cause;
	struct tier_content *content;
};

__attribute__((format(printf, 2, 3)))
static void complain(struct parser *p, const char *format, ...)
{
	char what[TIER_CAUSE_SIZE / 2];
	va_list args;

	if (p->bad)
		return;
	p->bad = true;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	tier_cause(p->cause, 0, "%.100s:%llu: %s", p->name, p->line, what);
}

/* The next word; "" at the end. */
static char *take_word(struct parser *p)
{
	char *word = p->at, *end = word + strcspn(word, " ");

	p->at = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

/* Of the next word "key=value" the value; "" and a complaint if it is another one. */
static char *take(struct parser *p, const char *key)
{
	char *word = take_word(p);
	const size_t length = strlen(key);

	if (strncmp(word, key, length) || word[length] != '=') {
		complain(p, "%s= should be here, not '%.40s'", key, word);
		return p->at + strlen(p->at);
	}
	return word + length + 1;
}

static u64 take_number(struct parser *p, const char *key, u64 min, u64 max)
{
	char *word = take(p, key);
	u64 value = 0;

	if (!p->bad && dm_tier_args_u64(word, min, max, &value))
		complain(p, "%s=%.40s is not a number from %llu to %llu", key, word, min, max);
	return value;
}

static void take_uuid(struct parser *p, const char *key, u8 *uuid)
{
	const char *word = take(p, key);

	if (!p->bad && dm_tier_args_uuid(word, uuid))
		complain(p, "%s=%.40s is not a UUID", key, word);
}

static void take_label(struct parser *p, char *label, u8 *bytes)
{
	const char *word = take(p, "label");

	if (!p->bad && dm_tier_args_text(word, label, bytes))
		complain(p, "label=%.40s is not a label, percent-encoded", word);
}

static void end_line(struct parser *p)
{
	if (*p->at)
		complain(p, "'%.40s' is too much", p->at);
}

/* A record of this kind with its key is new? Then into the image. */
static int add(struct parser *p, const struct dm_tier_record *rec, bool is_there)
{
	int r;

	end_line(p);
	if (is_there)
		complain(p, "this is here twice");
	if (p->bad)
		return -EINVAL;
	r = dm_tier_image_apply(p->content->image, rec);
	if (r == -EBADMSG)
		complain(p, "this cannot be: out of range");
	return r == -EBADMSG ? -EINVAL : r;
}

/* By the format's own rules: as the kernel would read it. */
static bool super_ok(const struct dm_tier_super *super)
{
	struct dm_tier_super copy = *super, decoded;
	u64 block[DM_TIER_BLOCK_BYTES / 8];

	copy.area_blocks = 1;
	copy.ckpt[0] = (struct dm_tier_ckpt_ref){ .id = 1, .blocks = 1 };
	dm_tier_super_encode(&copy, block);
	return !dm_tier_super_decode(block, &decoded);
}

static int parse_pool(struct parser *p)
{
	struct dm_tier_record rec = { .type = DM_TIER_REC_POOL };
	struct dm_tier_super super = { 0 };

	take_uuid(p, "uuid", super.uuid);
	super.extent_sectors = take_number(p, "extent_sectors", DM_TIER_MIN_EXTENT_SECTORS,
					   DM_TIER_MAX_EXTENT_SECTORS);
	super.region_sectors = take_number(p, "region_sectors", DM_TIER_MIN_REGION_SECTORS,
					   DM_TIER_MAX_EXTENT_SECTORS);
	super.logical_block_bytes = take_number(p, "logical_block_bytes", 512, U32_MAX);
	super.log_blocks = take_number(p, "log_blocks", DM_TIER_MIN_LOG_BLOCKS,
				       DM_TIER_MAX_LOG_BLOCKS);
	super.incompat = take_number(p, "incompat", 0, DM_TIER_INCOMPAT_KNOWN);
	super.compat = take_number(p, "compat", 0, U64_MAX);
	take_uuid(p, "system_id", super.system_id);
	rec.pool.next_generation = take_number(p, "next_generation", 0, U64_MAX);
	take_label(p, rec.pool.label, &rec.pool.label_bytes);
	if (!p->bad && !super_ok(&super))
		complain(p, "these sizes do not fit each other");
	if (p->bad)
		return -EINVAL;
	p->content = tier_content_new(&super);
	return p->content ? add(p, &rec, false) : -ENOMEM;
}

static u32 take_state(struct parser *p)
{
	const char *word = take(p, "state");

	for (u32 i = 0; i < TIER_NR(states); i++)
		if (!strcmp(word, states[i]))
			return i;
	complain(p, "state=%.40s is not a state of a device", word);
	return 0;
}

static int parse_device(struct parser *p)
{
	struct dm_tier_record rec = { .type = DM_TIER_REC_DEVICE };

	rec.device.idx = take_number(p, "idx", 0, DM_TIER_MAX_DEVICES - 1);
	take_uuid(p, "uuid", rec.device.uuid);
	rec.device.tier = take_number(p, "tier", 0, DM_TIER_MAX_TIERS - 1);
	rec.device.slots = take_number(p, "slots", 0, DM_TIER_MAX_DEVICE_SLOTS);
	rec.device.state = take_state(p);
	rec.device.reserve_slots = take_number(p, "reserve_slots", 0, U32_MAX);
	return add(p, &rec, p->content->image->device[rec.device.idx].present);
}

/* "auto" or tiers with commas, as print writes them. */
static void take_placement(struct parser *p, struct dm_tier_record *rec)
{
	char *word = take(p, "placement"), *save = NULL;
	u64 tier;

	if (p->bad || !strcmp(word, "auto"))
		return;
	for (char *part = strtok_r(word, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		if (rec->volume.tiers == DM_TIER_MAX_TIERS ||
		    dm_tier_args_u64(part, 0, DM_TIER_MAX_TIERS - 1, &tier)) {
			complain(p, "placement= is auto or up to %d tiers", DM_TIER_MAX_TIERS);
			return;
		}
		rec->volume.placement[rec->volume.tiers++] = tier;
	}
	if (!rec->volume.tiers)
		complain(p, "placement= is auto or up to %d tiers", DM_TIER_MAX_TIERS);
}

static int parse_volume(struct parser *p)
{
	struct dm_tier_record rec = { .type = DM_TIER_REC_VOLUME };

	rec.volume.id = take_number(p, "id", 0, DM_TIER_MAX_VOLUMES - 1);
	take_uuid(p, "uuid", rec.volume.uuid);
	rec.volume.generation = take_number(p, "generation", 1, U64_MAX);
	rec.volume.extents = take_number(p, "extents", 0, DM_TIER_MAX_VOLUME_EXTENTS);
	take_placement(p, &rec);
	take_label(p, rec.volume.label, &rec.volume.label_bytes);
	return add(p, &rec, p->content->image->volume[rec.volume.id]);
}

/* "3" or "3-7" up to a comma; false: it is neither, or goes on from where it was. */
static bool take_range(char **at, u32 regions, u32 *next, u64 *valid)
{
	char *end = *at + strcspn(*at, ","), *dash;
	u64 first, last;

	if (*end)
		*end++ = '\0';
	dash = strchr(*at, '-');
	if (dash)
		*dash++ = '\0';
	if (dm_tier_args_u64(*at, *next, regions - 1, &first) ||
	    dm_tier_args_u64(dash ? dash : *at, first, regions - 1, &last))
		return false;
	for (u32 region = first; region <= last; region++)
		valid[region / 64] |= 1ULL << region % 64;
	*next = last + 1;
	*at = end;
	return true;
}

static void take_valid(struct parser *p, struct dm_tier_record *rec)
{
	char *word = take(p, "valid");
	u32 next = 0;

	if (p->bad || !strcmp(word, "-"))
		return;
	if (!strcmp(word, "full")) {
		rec->slot.full = true;
		return;
	}
	do {
		if (take_range(&word, p->content->image->regions, &next, rec->slot.valid))
			continue;
		complain(p, "valid= is full, - or regions from 0 to %u, in order",
			 p->content->image->regions - 1);
		return;
	} while (*word);
}

static int parse_slot(struct parser *p)
{
	struct dm_tier_record rec = { .type = DM_TIER_REC_SLOT };
	const struct dm_tier_image_device *device;

	rec.slot.device = take_number(p, "device", 0, DM_TIER_MAX_DEVICES - 1);
	rec.slot.slot = take_number(p, "slot", 0, DM_TIER_MAX_DEVICE_SLOTS - 1);
	if (strcmp(p->at, "quarantine")) {
		rec.slot.generation = take_number(p, "generation", 1, U64_MAX);
		rec.slot.extent = take_number(p, "extent", 0, DM_TIER_MAX_VOLUME_EXTENTS - 1);
		take_valid(p, &rec);
	}
	if (!strcmp(p->at, "quarantine")) {
		rec.slot.quarantine = true;
		take_word(p);
	}
	device = &p->content->image->device[rec.slot.device];
	if (!p->bad && rec.slot.slot >= device->slots)
		complain(p, "device %u has %u slots", rec.slot.device, device->slots);
	return add(p, &rec, rec.slot.slot < device->nr_slot &&
		   (device->slot[rec.slot.slot].generation ||
		    device->slot[rec.slot.slot].quarantine));
}

static int parse_line(struct parser *p)
{
	const char *word = take_word(p);

	if (!p->content) {
		if (!strcmp(word, "pool"))
			return parse_pool(p);
		complain(p, "the line 'pool ...' should be here, not '%.40s'", word);
		return -EINVAL;
	}
	if (!strcmp(word, "device"))
		return parse_device(p);
	if (!strcmp(word, "volume"))
		return parse_volume(p);
	if (!strcmp(word, "slot"))
		return parse_slot(p);
	complain(p, "there is no record '%.40s'", word);
	return -EINVAL;
}

static void on_stale(void *ctx, u32 device, u32 slot)
{
	complain(ctx, "slot %u of device %u is of no volume, or beyond its end", slot, device);
}

static void on_fault(void *ctx, enum dm_tier_fault fault, u32 device, u32 slot)
{
	switch (fault) {
	case DM_TIER_FAULT_TWO_OWNERS:
		complain(ctx, "the extent of slot %u of device %u has another slot too", slot,
			 device);
		return;
	case DM_TIER_FAULT_SLOT_RANGE:
	case DM_TIER_FAULT_NO_DEVICE:
		complain(ctx, "slot %u of device %u is not there", slot, device);
		return;
	case DM_TIER_FAULT_GENERATION:
		complain(ctx, "the generation of volume %u is another one's, or not below next_generation",
			 slot);
		return;
	}
}

static void check_uuids(struct parser *p)
{
	const struct dm_tier_image *image = p->content->image;

	for (u32 i = 0; i < DM_TIER_MAX_DEVICES; i++)
		for (u32 k = 0; k < i && image->device[i].present; k++)
			if (image->device[k].present &&
			    !memcmp(image->device[i].uuid, image->device[k].uuid, 16))
				complain(p, "devices %u and %u have the same UUID", k, i);
	for (u32 i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		for (u32 k = 0; k < i && image->volume[i]; k++)
			if (image->volume[k] && !memcmp(image->volume[i]->volume.uuid,
							image->volume[k]->volume.uuid, 16))
				complain(p, "volumes %u and %u have the same UUID", k, i);
}

/* "end" was there: the whole is judged. */
static int finish(struct parser *p)
{
	int r;

	if (!p->content) {
		complain(p, "the line 'pool ...' is missing");
		return -EINVAL;
	}
	r = dm_tier_image_check(p->content->image, on_stale, on_fault, p);
	if (r < 0)
		return r;
	check_uuids(p);
	return p->bad ? -EINVAL : 0;
}

/* The next line that is not a comment; without its end. -ENODATA: there is none. */
static int next_line(struct parser *p, FILE *from, char **line, size_t *capacity)
{
	ssize_t length;

	do {
		length = getline(line, capacity, from);
		if (length < 0)
			return ferror(from) || errno == ENOMEM ? -EIO : -ENODATA;
		p->line++;
		if ((*line)[length - 1] == '\n')
			(*line)[--length] = '\0';
		if (strlen(*line) != (size_t)length) {
			complain(p, "a zero byte");
			return -EINVAL;
		}
	} while (**line == '#' || !length);
	p->at = *line;
	return 0;
}

static int parse(struct parser *p, FILE *from)
{
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0;
	bool is_first = true;
	int r;

	errno = 0;
	while (!(r = next_line(p, from, &line, &capacity))) {
		if (is_first && strcmp(line, HEADING)) {
			complain(p, strncmp(line, "dm-tier-dump ", 13) ?
				 "this is not a dump of tpdump" :
				 "a dump of a form that only a newer dm-tier knows");
			return -EINVAL;
		}
		if (!is_first && !strcmp(line, "end"))
			return finish(p);
		if (!is_first)
			r = parse_line(p);
		if (r)
			return r;
		is_first = false;
	}
	if (r == -ENODATA) {
		complain(p, is_first ? "there is nothing" : "the text ends before the line 'end'");
		return -EINVAL;
	}
	return r;
}

int tier_content_parse(FILE *from, const char *name, struct tier_content **ret_content,
		       char *ret_cause)
{
	struct parser p = { .name = name, .cause = ret_cause };
	int r = parse(&p, from);

	if (r) {
		tier_content_free(p.content);
		return p.bad ? r : tier_cause(ret_cause, r, "cannot read %s: %s", name,
					      strerror(-r));
	}
	*ret_content = p.content;
	return 0;
}
