# SPDX-License-Identifier: GPL-2.0-only
"""What in a guest's console means that the kernel found a bug. Any of it fails the run.

tests/vm/harness_test.sh proves those that Debian's kernels can show, with modules bad on purpose.
"""
import re

DETECTORS = {
    "panic": r"Kernel panic",
    "bug": r"BUG: |kernel BUG at",
    "oops": r"Oops: |general protection fault|Unable to handle|stack-protector",
    "warning": r"WARNING: ",
    "hung_task": r"INFO: task .* blocked for more than",
    "lockup": r"soft lockup|hard LOCKUP",
    "rcu": r"rcu:? INFO|rcu: .*stall|suspicious RCU",
    "atomic": r"sleeping function called|scheduling while atomic",
    "lockdep": r"possible circular locking|possible recursive locking|inconsistent lock state|bad unlock balance"
               r"|lock held when returning",
    "refcount": r"refcount_t: ",
    "list": r"list_(?:add|del) corruption",
    "memory": r"KASAN: |KFENCE: |slab-out-of-bounds|use-after-free|double-free|Object already free",
    "ubsan": r"UBSAN: ",
    "race": r"KCSAN: |data-race in",
    "leak": r"kmemleak: +unreferenced|kmemleak: .* new suspected memory leaks",
    "slab": r"Objects remaining .* on __kmem_cache_shutdown|kmem_cache_destroy .*: Slab cache still has objects",
}
ANY = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in DETECTORS.items()))
EXCERPT_LINES = 40


def find(console):
    """(name of the detector, excerpt from its first line on) or None."""
    lines = console.splitlines()
    for number, line in enumerate(lines):
        match = ANY.search(line)
        if match:
            return match.lastgroup, lines[max(0, number - 2):number + EXCERPT_LINES]
    return None
