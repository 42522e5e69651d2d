# SPDX-License-Identifier: GPL-2.0-only
"""What in a guest's console means that the kernel found a bug. Any of it fails the run.

tests/vm/h_harness.sh proves those that Debian's kernels can show, with modules bad on purpose.
"""
import re

DETECTORS = {
    "panic": r"Kernel panic",
    "bug": r"kernel BUG at|BUG: ",
    "oops": r"Oops: |general protection fault|Unable to handle|stack-protector",
    "warning": r"WARNING: ",
    "hung_task": r"INFO: task .* blocked for more than",
    "lockup": r"soft lockup|hard LOCKUP",
    "rcu": r"rcu:? INFO|rcu: .*(?:stall|self-detected)|suspicious RCU",
    "atomic": r"sleeping function called|scheduling while atomic",
    "lockdep": r"possible circular locking|possible recursive locking|inconsistent lock state|bad unlock balance"
               r"|lock held when returning|lock freed!",
    "refcount": r"refcount_t: ",
    "list": r"list_(?:add|del) corruption|list_(?:add|del).* (?:next|prev)->",
    "memory": r"KASAN: |KFENCE: |BUG \S+ \((?:Not t|T)ainted|slab-out-of-bounds|use-after-free|double-free",
    "ubsan": r"UBSAN: ",
    "race": r"KCSAN: |data-race in",
    "leak": r"kmemleak: +unreferenced|kmemleak: .* new suspected memory leaks",
    "slab": r"Objects remaining .*on __kmem_cache_shutdown|Slab cache still has objects",
}
PATTERNS = {name: re.compile(pattern) for name, pattern in DETECTORS.items()}
EXCERPT_LINES = 40


def find(console):
    """(detectors that the first splat's first lines trip, excerpt) or None."""
    lines = console.splitlines()
    for number, line in enumerate(lines):
        if any(pattern.search(line) for pattern in PATTERNS.values()):
            excerpt = lines[max(0, number - 2):number + EXCERPT_LINES]
            # One bug often has a line of its own and a generic WARNING or BUG one beside it.
            names = [name for name, pattern in PATTERNS.items() if any(pattern.search(text) for text in excerpt)]
            return names, excerpt
    return None
