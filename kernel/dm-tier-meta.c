// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commits; the header is the specification.  It knows records, not why they
 * change.
 */
#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>
#include "dm-tier-change.h"
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-volume.h"

#define COMMIT_PERIOD		HZ
/* A data device's flush is late after this; one that was late gets less. */
#define FLUSH_LATE		(5 * HZ)
#define FLUSH_LATE_AGAIN	(HZ / 10)

static void commit_work(struct work_struct *work);
static void ckpt_work(struct work_struct *work);

/* Blocks ---------------------------------------------------------------------*/

struct rw_wait {
	atomic_t left;
	struct completion done;
	blk_status_t status;
};

static void rw_put(struct rw_wait *w)
{
	if (atomic_dec_and_test(&w->left))
		complete(&w->done);
}

static void rw_endio(struct bio *bio)
{
	struct rw_wait *w = bio->bi_private;

	if (bio->bi_status)
		w->status = bio->bi_status;
	bio_put(bio);
	rw_put(w);
}

static struct page *block_page(void *p)
{
	return is_vmalloc_addr(p) ? vmalloc_to_page(p) : virt_to_page(p);
}

int dm_tier_meta_rw(struct block_device *bdev, blk_opf_t opf, u64 block, void *buffer,
		    u32 count)
{
	struct rw_wait w = { .left = ATOMIC_INIT(1) };
	u32 done = 0;

	init_completion(&w.done);
	while (done < count) {
		u32 n = min_t(u32, count - done, BIO_MAX_VECS), i;
		struct bio *bio = bio_alloc(bdev, n, opf | REQ_SYNC | REQ_META, GFP_NOIO);

		bio->bi_iter.bi_sector = (block + done) * DM_TIER_BLOCK_SECTORS;
		bio->bi_private = &w;
		bio->bi_end_io = rw_endio;
		for (i = 0; i < n; i++) {
			void *p = buffer + (size_t)(done + i) * DM_TIER_BLOCK_BYTES;

			if (bio_add_page(bio, block_page(p), DM_TIER_BLOCK_BYTES,
					 offset_in_page(p)) != DM_TIER_BLOCK_BYTES)
				break;
		}
		done += i;
		atomic_inc(&w.left);
		submit_bio(bio);
	}
	rw_put(&w);
	wait_for_completion_io(&w.done);
	return blk_status_to_errno(w.status);
}

/* Memory ---------------------------------------------------------------------*/

int dm_tier_meta_alloc(struct dm_tier_pool *pool, struct block_device *bdev)
{
	struct dm_tier_meta *meta = kzalloc(sizeof(*meta), GFP_KERNEL);

	if (!meta)
		return -ENOMEM;
	pool->meta = meta;
	meta->pool = pool;
	meta->bdev = bdev;
	mutex_init(&meta->commit_mutex);
	mutex_init(&meta->super_mutex);
	mutex_init(&meta->flush_mutex);
	INIT_LIST_HEAD(&meta->open_changes);
	INIT_LIST_HEAD(&meta->open_moves);
	INIT_LIST_HEAD(&meta->changes);
	INIT_LIST_HEAD(&meta->moves);
	INIT_DELAYED_WORK(&meta->commit_work, commit_work);
	INIT_WORK(&meta->ckpt_work, ckpt_work);
	init_waitqueue_head(&meta->wait);
	meta->stopped = true;
	meta->buffer = vmalloc(DM_TIER_COMMIT_BLOCKS * DM_TIER_BLOCK_BYTES);
	meta->ckpt_buffer = vmalloc(DM_TIER_COMMIT_BLOCKS * DM_TIER_BLOCK_BYTES);
	meta->wq = alloc_workqueue("dm-tier-meta", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!meta->buffer || !meta->ckpt_buffer || !meta->wq) {
		dm_tier_meta_free(pool);
		return -ENOMEM;
	}
	return 0;
}

static void free_changes(struct dm_tier_pool *pool, struct list_head *list, bool commit)
{
	struct dm_tier_change *change;

	while (!list_empty(list)) {
		if (commit) {
			change = list_first_entry(list, struct dm_tier_change, commit_list);
			list_del(&change->commit_list);
			if (change->open)
				continue;	/* freed with the open ones */
		} else {
			change = list_first_entry(list, struct dm_tier_change, list);
			list_del(&change->list);
		}
		dm_tier_meta_change_free(pool, change);
	}
}

void dm_tier_meta_free(struct dm_tier_pool *pool)
{
	struct dm_tier_meta *meta = pool->meta;

	if (!meta)
		return;
	if (meta->wq)
		destroy_workqueue(meta->wq);
	/* What could not be written any more (device gone, pool failed). */
	free_changes(pool, &meta->changes, true);
	free_changes(pool, &meta->open_changes, false);
	vfree(meta->buffer);
	vfree(meta->ckpt_buffer);
	kfree(meta);
	pool->meta = NULL;
}

/* Moves ----------------------------------------------------------------------*/

u64 __dm_tier_meta_add_move(struct dm_tier_pool *pool, struct dm_tier_move *m)
{
	struct dm_tier_meta *meta = pool->meta;

	lockdep_assert_held(&pool->lock);
	m->commit = COMMIT_WAITING;
	list_add_tail(&m->commit_list, &meta->open_moves);
	return meta->open_seq;
}

static bool listed(struct dm_tier_move *m, struct list_head *list)
{
	struct dm_tier_move *i;

	list_for_each_entry(i, list, commit_list)
		if (i == m)
			return true;
	return false;
}

bool __dm_tier_meta_withdraw_move(struct dm_tier_pool *pool, struct dm_tier_move *m)
{
	struct dm_tier_meta *meta = pool->meta;

	lockdep_assert_held(&pool->lock);
	if (!listed(m, &meta->open_moves) && (meta->sealed || !listed(m, &meta->moves)))
		return false;
	list_del_init(&m->commit_list);
	m->commit = COMMIT_DROPPED;
	return true;
}

/* Waiting --------------------------------------------------------------------*/

void dm_tier_meta_kick(struct dm_tier_pool *pool)
{
	struct dm_tier_meta *meta = pool->meta;

	if (!READ_ONCE(meta->stopped))
		mod_delayed_work(meta->wq, &meta->commit_work, 0);
}

static bool wait_over(struct dm_tier_pool *pool, u64 seq, int *ret_error)
{
	bool over = true;

	spin_lock(&pool->lock);
	if (pool->meta->durable_seq >= seq)
		*ret_error = 0;
	else if (pool->mode != MODE_RW || pool->read_only)
		*ret_error = -EROFS;
	else
		over = false;
	spin_unlock(&pool->lock);
	return over;
}

int dm_tier_meta_wait(struct dm_tier_pool *pool, u64 seq)
{
	int error = 0;

	dm_tier_meta_kick(pool);
	if (wait_event_killable(pool->meta->wait, wait_over(pool, seq, &error)))
		return -EINTR;
	return error;
}

static u64 last_seq(struct dm_tier_meta *meta)
{
	if (meta->nr_open || !list_empty(&meta->open_moves))
		return meta->open_seq;
	return meta->open_seq - 1;
}

u64 dm_tier_meta_last_seq(struct dm_tier_pool *pool)
{
	u64 seq;

	spin_lock(&pool->lock);
	seq = last_seq(pool->meta);
	spin_unlock(&pool->lock);
	return seq;
}

/* Commit ---------------------------------------------------------------------*/

bool __dm_tier_meta_log_full(struct dm_tier_meta *meta)
{
	lockdep_assert_held(&meta->pool->lock);
	return meta->super.log_blocks - meta->since_tail <= 2 * DM_TIER_COMMIT_BLOCKS;
}

/*
 * The volume of a slot's copy, for as long as the commit is in flight: one that
 * was deleted may be gone by then.
 */
static struct dm_tier_volume *owner_of(struct dm_tier_pool *pool, struct dm_tier_change *change)
{
	struct dm_tier_volume *v;

	if (change->type != DM_TIER_REC_SLOT || !change->copy.slot.generation)
		return NULL;
	v = pool->volume[pool->device[change->index]->slot[change->slot].volume];
	return v->deleted ? NULL : v;
}

/*
 * Takes copies of all that is open.  False: nothing to commit (or no room in
 * the log, *ret_error).  @idle: an empty commit will do.
 */
static bool take(struct dm_tier_meta *meta, bool idle, u64 *ret_deps, int *ret_error)
{
	struct dm_tier_pool *pool = meta->pool;
	struct dm_tier_change *change, *next;
	struct dm_tier_move *m;
	u64 deps = 0;

	spin_lock(&pool->lock);
	/* First, so that a checkpoint that failed is tried again whatever is open. */
	if (__dm_tier_meta_log_full(meta)) {
		spin_unlock(&pool->lock);
		*ret_error = -EAGAIN;
		return false;
	}
	if (list_empty(&meta->open_changes) && list_empty(&meta->open_moves) &&
	    !(idle && meta->idle_commit)) {
		spin_unlock(&pool->lock);
		return false;
	}
	list_for_each_entry_safe(change, next, &meta->open_changes, list) {
		__dm_tier_change_newest(pool, change, &change->copy);
		change->owner = owner_of(pool, change);
		change->copy_deps = change->deps;
		deps |= change->deps;
		change->deps = 0;
		change->open = false;
		change->inflight = true;
		list_del(&change->list);
		list_add_tail(&change->commit_list, &meta->changes);
	}
	meta->nr_open = 0;
	meta->sealed = false;
	list_splice_init(&meta->open_moves, &meta->moves);
	list_for_each_entry(m, &meta->moves, commit_list)
		deps |= 1ULL << m->to->idx;
	meta->idle_commit = !list_empty(&meta->changes) || !list_empty(&meta->moves);
	meta->seq = meta->open_seq++;
	spin_unlock(&pool->lock);
	*ret_deps = deps;
	return true;
}

/* Flushes all devices in @deps at once; returns those that failed or are late. */
static u64 flush_deps(struct dm_tier_pool *pool, u64 deps)
{
	u64 failed = 0, ticket[DM_TIER_MAX_DEVICES];
	unsigned long late = jiffies + FLUSH_LATE;
	u32 i;

	/* Of a device that was given up nothing is read again. */
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		if (!dm_tier_device_is_member(pool->device[i]))
			deps &= ~(1ULL << i);
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		if (deps & (1ULL << i))
			ticket[i] = dm_tier_device_flush_request(pool->device[i]);
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		struct dm_tier_device *dev = pool->device[i];
		long left = max_t(long, late - jiffies, 0);

		if (!(deps & (1ULL << i)))
			continue;
		if (READ_ONCE(dev->failed))
			left = FLUSH_LATE_AGAIN;
		if (dm_tier_device_flush_wait(dev, ticket[i], left)) {
			failed |= 1ULL << i;
			WRITE_ONCE(dev->failed, true);
			dm_tier_pool_device_error(dev);
		}
	}
	return failed;
}

/* What a slot's copy may say without the flush: nothing that is not durable yet. */
static void drop_bits(struct dm_tier_record *copy, const struct dm_tier_record *committed)
{
	bool same = committed->slot.generation == copy->slot.generation &&
		    committed->slot.extent == copy->slot.extent;
	u32 i;

	if (same && committed->slot.full)
		return;
	for (i = 0; i < DM_TIER_BITMAP_WORDS; i++) {
		u64 old = same ? committed->slot.valid[i] : 0;

		copy->slot.valid[i] = copy->slot.full ? old : copy->slot.valid[i] & old;
	}
	copy->slot.full = false;
}

/* Takes out of the commit what depends on failed devices. */
static void drop_failed(struct dm_tier_meta *meta, u64 failed)
{
	struct dm_tier_pool *pool = meta->pool;
	struct dm_tier_change *change;
	struct dm_tier_move *m, *next;

	spin_lock(&pool->lock);
	meta->sealed = true;
	list_for_each_entry(change, &meta->changes, commit_list) {
		struct dm_tier_extent *x;

		/* A slot without owner is a free, which depends on no flush. */
		if (!change->owner || !(change->copy_deps & failed))
			continue;
		__dm_tier_change_open(meta, change, change->copy_deps & failed);
		meta->dropped_seq = meta->seq;
		drop_bits(&change->copy, &change->committed);
		change->owner->dropped_seq = meta->seq;
		x = dm_tier_volume_extent(change->owner, change->copy.slot.extent);
		if (x->entry & ENTRY_ALLOCATED)
			__dm_tier_meta_mark(change->owner, x, meta->open_seq);
	}
	list_for_each_entry_safe(m, next, &meta->moves, commit_list) {
		if (!(failed & (1ULL << m->to->idx)) && dm_tier_device_is_member(m->to))
			continue;
		list_del_init(&m->commit_list);
		atomic_inc(&m->write_errors);
		__dm_tier_migrate_dropped(m);
	}
	spin_unlock(&pool->lock);
}

static void *commit_block(struct dm_tier_meta *meta, u32 index)
{
	return meta->buffer + (size_t)index * DM_TIER_BLOCK_BYTES;
}

static bool encode_record(struct dm_tier_meta *meta, const struct dm_tier_record *rec)
{
	if (dm_tier_block_add(commit_block(meta, meta->count - 1), rec))
		return true;
	if (meta->count == DM_TIER_COMMIT_BLOCKS)
		return false;
	dm_tier_block_begin(commit_block(meta, meta->count++));
	return dm_tier_block_add(commit_block(meta, meta->count - 1), rec);
}

static void seal(struct dm_tier_meta *meta, u32 flags)
{
	struct dm_tier_log_head head = {
		.incarnation = meta->incarnation,
		.commit = meta->seq,
		.count = meta->count,
		.prev_crc = meta->prev_crc,
		.flags = flags,
	};

	for (head.index = 0; head.index < head.count; head.index++)
		head.prev_crc = dm_tier_log_seal(commit_block(meta, head.index),
						 meta->super.uuid, &head);
	meta->crc = head.prev_crc;
}

/* False: it does not fit, which credits see to; a part of it must not be written. */
static bool encode(struct dm_tier_meta *meta)
{
	struct dm_tier_change *change;
	struct dm_tier_move *m;

	meta->count = 1;
	dm_tier_block_begin(commit_block(meta, 0));
	list_for_each_entry(change, &meta->changes, commit_list)
		if (!encode_record(meta, &change->copy))
			return false;
	/* After the changes: a move's freed slot may be among these. */
	list_for_each_entry(m, &meta->moves, commit_list)
		if (!encode_record(meta, &m->to_record) ||
		    !encode_record(meta, &m->from_record))
			return false;
	seal(meta, 0);
	return true;
}

u64 dm_tier_meta_flush_bad(struct dm_tier_meta *meta)
{
	return READ_ONCE(meta->flush_bad);
}

int dm_tier_meta_flush(struct dm_tier_meta *meta, u64 bad)
{
	int r;

	mutex_lock(&meta->flush_mutex);
	r = blkdev_issue_flush(meta->bdev);
	if (r)
		WRITE_ONCE(meta->flush_bad, meta->flush_bad + 1);
	else if (meta->flush_bad != bad)
		r = -EIO;
	mutex_unlock(&meta->flush_mutex);
	return r;
}

static int write_log(struct dm_tier_meta *meta)
{
	u64 bad = dm_tier_meta_flush_bad(meta);
	u64 start = dm_tier_log_start(&meta->super);
	u32 first = min_t(u64, meta->count, meta->super.log_blocks - meta->position);
	int r, r2 = 0;

	r = dm_tier_meta_rw(meta->bdev, REQ_OP_WRITE, start + meta->position,
			    meta->buffer, first);
	if (first < meta->count)
		r2 = dm_tier_meta_rw(meta->bdev, REQ_OP_WRITE, start,
				     commit_block(meta, first), meta->count - first);
	/* An own flush: dm drops the status of a preflush that comes with data. */
	return r ?: r2 ?: dm_tier_meta_flush(meta, bad);
}

/* pool->lock held. */
static void advance(struct dm_tier_meta *meta)
{
	meta->durable_seq = meta->seq;
	meta->position = (meta->position + meta->count) % meta->super.log_blocks;
	meta->since_tail += meta->count;
	meta->since_ckpt += meta->count;
	meta->prev_crc = meta->crc;
}

static void change_durable(struct dm_tier_meta *meta, struct dm_tier_change *change)
{
	struct dm_tier_pool *pool = meta->pool;

	list_del(&change->commit_list);
	change->inflight = false;
	if (change->owner) {
		struct dm_tier_extent *x =
			dm_tier_volume_extent(change->owner, change->copy.slot.extent);

		dm_tier_entry_update(x, ENTRY_CHANGED(meta->seq), 0);
	}
	if (change->open) {
		change->committed = change->copy;
		return;
	}
	__dm_tier_change_end(pool, change);
}

/* One that failed waits for the next second's commit. */
static void queue_checkpoint(struct dm_tier_meta *meta)
{
	unsigned long failed_at = meta->ckpt_failed_at;

	if (READ_ONCE(meta->stopped) || (failed_at && time_before(jiffies, failed_at + HZ)))
		return;
	queue_work(meta->wq, &meta->ckpt_work);
}

/* At half a log, and well before it is full. */
static bool checkpoint_due(struct dm_tier_meta *meta)
{
	u64 blocks = meta->super.log_blocks;

	return meta->since_ckpt > blocks / 2 ||
		blocks - meta->since_tail <= 4 * DM_TIER_COMMIT_BLOCKS;
}

static void durable(struct dm_tier_meta *meta)
{
	struct dm_tier_pool *pool = meta->pool;
	struct dm_tier_change *change, *next;
	struct dm_tier_move *m, *mnext;
	bool checkpoint;

	spin_lock(&pool->lock);
	list_for_each_entry_safe(change, next, &meta->changes, commit_list)
		change_durable(meta, change);
	list_for_each_entry_safe(m, mnext, &meta->moves, commit_list) {
		list_del_init(&m->commit_list);
		__dm_tier_migrate_committed(m);
	}
	advance(meta);
	meta->in_doubt = false;
	checkpoint = checkpoint_due(meta);
	spin_unlock(&pool->lock);

	if (checkpoint)
		queue_checkpoint(meta);
	dm_tier_pool_set_mode(pool, MODE_RW);
	wake_up_all(&meta->wait);
	dm_tier_io_committed(pool, meta->seq);
	if (READ_ONCE(pool->nr_reaping))
		queue_work(system_unbound_wq, &pool->reap_work);
}

/* Begins a commit: 1 (write it), 0 (there is nothing to commit), or -errno. */
static int begin_commit(struct dm_tier_meta *meta, bool idle)
{
	struct dm_tier_pool *pool = meta->pool;
	u64 deps = 0;
	int r = 0;

	if (!take(meta, idle, &deps, &r)) {
		if (r)
			queue_checkpoint(meta);
		return r;
	}
	drop_failed(meta, flush_deps(pool, deps));
	if (!encode(meta)) {
		DMERR("a commit does not fit into its blocks");
		dm_tier_pool_set_mode(pool, MODE_FAIL);
		wake_up_all(&meta->wait);
		meta->dead = true;
		return -EIO;
	}
	return 1;
}

/*
 * One commit, or one more try of the one in doubt: 1 if there was one, 0 if
 * there was nothing to commit, or the error.
 */
static int commit(struct dm_tier_meta *meta, bool idle)
{
	int r = 1, error;

	mutex_lock(&meta->commit_mutex);
	if (meta->pool->read_only || meta->dead)
		r = -EROFS;
	else if (!meta->in_doubt)
		r = begin_commit(meta, idle);
	if (r > 0) {
		error = write_log(meta);
		if (!error) {
			durable(meta);
		} else {
			DMERR_LIMIT("writing the log: error %d; trying again", error);
			meta->in_doubt = true;
			dm_tier_pool_set_mode(meta->pool, MODE_META_RO);
			wake_up_all(&meta->wait);
			r = error;
		}
	}
	mutex_unlock(&meta->commit_mutex);
	return r;
}

/*
 * A device whose flush takes too long has failed, whoever asked for it; one that
 * has failed is in use again once a flush succeeds.
 */
static void probe_devices(struct dm_tier_pool *pool)
{
	u32 i;

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		struct dm_tier_device *dev = pool->device[i];

		if (!READ_ONCE(dev->bdev))
			continue;
		if (READ_ONCE(dev->failed))
			dm_tier_device_flush_request(dev);
		else if (dm_tier_device_flush_late(dev, FLUSH_LATE))
			dm_tier_pool_device_error(dev);
	}
}

static void commit_work(struct work_struct *work)
{
	struct dm_tier_meta *meta =
		container_of(to_delayed_work(work), struct dm_tier_meta, commit_work);

	commit(meta, true);
	probe_devices(meta->pool);
	dm_tier_io_kick_credits(meta->pool);
	if (!READ_ONCE(meta->stopped))
		queue_delayed_work(meta->wq, &meta->commit_work, COMMIT_PERIOD);
}

static void ckpt_work(struct work_struct *work)
{
	struct dm_tier_meta *meta = container_of(work, struct dm_tier_meta, ckpt_work);

	struct dm_tier_pool *pool = meta->pool;
	int r = dm_tier_meta_checkpoint(pool, false);
	bool full;

	/* What fails is begun again after a later commit, or a try of one. */
	mutex_lock(&meta->commit_mutex);
	spin_lock(&pool->lock);
	full = __dm_tier_meta_log_full(meta);
	spin_unlock(&pool->lock);
	meta->ckpt_failed_at = r ? jiffies ?: 1 : 0;
	if (r && full)
		dm_tier_pool_set_mode(pool, MODE_META_RO);
	else if (!r && !meta->in_doubt)
		dm_tier_pool_set_mode(pool, MODE_RW);
	mutex_unlock(&meta->commit_mutex);
	wake_up_all(&meta->wait);
	if (!r)
		dm_tier_meta_kick(pool);
}

u64 dm_tier_meta_next_checkpoint(struct dm_tier_pool *pool)
{
	lockdep_assert_held(&pool->lock);
	return pool->meta->next_ckpt_id;
}

int dm_tier_meta_commit_once(struct dm_tier_pool *pool)
{
	struct dm_tier_meta *meta = pool->meta;
	u64 seq = dm_tier_meta_last_seq(pool);
	int r = 1;

	/* At most two: the one in doubt, and what is open. */
	while (r > 0 && READ_ONCE(meta->durable_seq) < seq) {
		r = commit(meta, false);
		if (r == -EAGAIN)
			r = dm_tier_meta_checkpoint(pool, false) ?: 1;
	}
	return min(r, 0);
}

int dm_tier_meta_activate(struct dm_tier_pool *pool)
{
	struct dm_tier_meta *meta = pool->meta;
	int r;

	meta->seq = meta->open_seq++;
	meta->count = 1;
	dm_tier_block_begin(commit_block(meta, 0));
	seal(meta, DM_TIER_LOG_ACTIVATE);
	r = write_log(meta);
	if (r)
		return r;
	spin_lock(&pool->lock);
	advance(meta);
	meta->idle_commit = true;
	spin_unlock(&pool->lock);
	return 0;
}

void dm_tier_meta_start(struct dm_tier_pool *pool)
{
	struct dm_tier_meta *meta = pool->meta;

	WRITE_ONCE(meta->stopped, false);
	if (!pool->read_only && meta->since_ckpt > meta->super.log_blocks / 2)
		queue_work(meta->wq, &meta->ckpt_work);
	queue_delayed_work(meta->wq, &meta->commit_work, COMMIT_PERIOD);
}

void dm_tier_meta_stop(struct dm_tier_pool *pool)
{
	struct dm_tier_meta *meta = pool->meta;

	WRITE_ONCE(meta->stopped, true);
	cancel_delayed_work_sync(&meta->commit_work);
	cancel_work_sync(&meta->ckpt_work);
	/* A kick may have seen `stopped` just before; nothing can follow this one. */
	cancel_delayed_work_sync(&meta->commit_work);
}

void dm_tier_meta_abandon(struct dm_tier_pool *pool)
{
	struct dm_tier_meta *meta = pool->meta;
	struct dm_tier_move *m, *next;

	mutex_lock(&meta->commit_mutex);
	mutex_lock(&meta->super_mutex);
	meta->dead = true;
	mutex_unlock(&meta->super_mutex);
	mutex_unlock(&meta->commit_mutex);
	spin_lock(&pool->lock);
	list_splice_init(&meta->open_moves, &meta->moves);
	list_for_each_entry_safe(m, next, &meta->moves, commit_list) {
		list_del_init(&m->commit_list);
		/* More than the suspend that comes before: it is in doubt. */
		WRITE_ONCE(m->stop, MOVE_META_ERROR);
		__dm_tier_migrate_dropped(m);
	}
	spin_unlock(&pool->lock);
}
