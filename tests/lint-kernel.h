/* SPDX-License-Identifier: GPL-2.0-only */
/* For cppcheck only: the kernel's macros that are no C statements or declarations without their definition. */
#define __init
#define __exit
#define __rcu
#define __percpu
#define __iomem
#define __always_inline inline
#define DEFINE_MUTEX(name) struct mutex name
#define DEFINE_SPINLOCK(name) spinlock_t name
#define LIST_HEAD(name) struct list_head name
#define DECLARE_BITMAP(name, bits) unsigned long name[((bits) + 63) / 64]
#define list_for_each_entry(p, head, member) for (p = first_entry(head); p; p = next_entry(p))
#define list_for_each_entry_safe(p, n, head, member) \
	for (p = first_entry(head), n = next_entry(p); p; p = n, n = next_entry(p))
#define list_for_each_entry_reverse(p, head, member) list_for_each_entry(p, head, member)
#define list_for_each_entry_rcu(p, head, member) list_for_each_entry(p, head, member)
#define hlist_for_each_entry(p, head, member) list_for_each_entry(p, head, member)
#define hlist_for_each_entry_safe(p, n, head, member) list_for_each_entry(p, head, member)
#define bio_list_for_each(bio, list) for (bio = (list)->head; bio; bio = bio->bi_next)
#define for_each_possible_cpu(cpu) for (cpu = 0; cpu < 8; cpu++)
#define for_each_online_cpu(cpu) for (cpu = 0; cpu < 8; cpu++)
#define for_each_set_bit(bit, addr, size) for (bit = 0; bit < (size); bit++)
#define for_each_clear_bit(bit, addr, size) for (bit = 0; bit < (size); bit++)
#define module_init(fn)
#define module_exit(fn)
#define module_param(name, type, mode)
#define MODULE_DESCRIPTION(text)
#define MODULE_AUTHOR(text)
#define MODULE_LICENSE(text)
#define MODULE_ALIAS(text)
#define MODULE_PARM_DESC(name, text)
#define EXPORT_SYMBOL_GPL(name)
