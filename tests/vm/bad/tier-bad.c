// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that is bad on purpose: modprobe tier-bad bug=<name> makes the kernel find that bug, so that the
 * harness can show that each of its detectors (tests/vm/harness/splat.py) bites. Never for a real machine.
 */
#include <linux/ktime.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *bug = "";
module_param(bug, charp, 0444);

static DEFINE_SPINLOCK(lock);

static int sleep_forever(void *unused)
{
	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule();
	return 0;
}

static void bad_hung_task(void)
{
	kthread_run(sleep_forever, NULL, "tier-bad-hung");
}

/* By the clock: where a busy host spoils the calibration, mdelay() is too short. */
static void spin(unsigned int seconds)
{
	ktime_t end = ktime_add_ms(ktime_get(), seconds * 1000);

	spin_lock(&lock);
	while (ktime_before(ktime_get(), end))
		cpu_relax();
	spin_unlock(&lock);
}

static void bad_bug(void)
{
	BUG();
}

static void bad_warning(void)
{
	WARN_ON(1);
}

static void bad_panic(void)
{
	panic("tier-bad: on purpose");
}

static void bad_oops(void)
{
	int *pointer = (int *)0xdead000000000000;

	OPTIMIZER_HIDE_VAR(pointer);
	*pointer = 1;
}

static void bad_lockup(void)
{
	spin(8);
}

static void bad_rcu(void)
{
	spin(8);
}

static void bad_atomic(void)
{
	spin_lock(&lock);
	schedule_timeout_uninterruptible(1);
	spin_unlock(&lock);
}

static void bad_refcount(void)
{
	refcount_t count = REFCOUNT_INIT(1);

	refcount_dec(&count);
	refcount_dec(&count);
}

static void bad_list(void)
{
	LIST_HEAD(head);
	struct list_head *entry = kzalloc(sizeof(*entry), GFP_KERNEL);

	if (!entry)
		return;
	list_add(entry, &head);
	head.next = NULL;
	list_del(entry);
	kfree(entry);
}

/* One byte past an object; slub_debug=Z or KFENCE see it when the object is freed. */
static void bad_memory(void)
{
	char *object = kmalloc(64, GFP_KERNEL);

	if (!object)
		return;
	OPTIMIZER_HIDE_VAR(object);
	object[64] = 1;
	kfree(object);
}

static void bad_slab(void)
{
	struct kmem_cache *cache = kmem_cache_create("tier-bad", 128, 0, SLAB_POISON, NULL);

	if (!cache)
		return;
	if (!kmem_cache_alloc(cache, GFP_KERNEL))
		pr_err("tier-bad: no memory\n");
	kmem_cache_destroy(cache);
}

static const struct {
	const char *name;
	void (*act)(void);
} bugs[] = {
	{ "bug", bad_bug },
	{ "warning", bad_warning },
	{ "panic", bad_panic },
	{ "oops", bad_oops },
	{ "hung_task", bad_hung_task },
	{ "lockup", bad_lockup },
	{ "rcu", bad_rcu },
	{ "atomic", bad_atomic },
	{ "refcount", bad_refcount },
	{ "list", bad_list },
	{ "memory", bad_memory },
	{ "slab", bad_slab },
};

static int __init bad_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bugs); i++) {
		if (!strcmp(bug, bugs[i].name)) {
			bugs[i].act();
			return 0;
		}
	}
	return -EINVAL;
}

static void __exit bad_exit(void)
{
}

module_init(bad_init);
module_exit(bad_exit);
MODULE_DESCRIPTION("dm-tier: kernel bugs on purpose, for the test harness");
MODULE_LICENSE("GPL");
