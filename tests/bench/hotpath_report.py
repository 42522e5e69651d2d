# SPDX-License-Identifier: GPL-2.0-only
"""hotpath_report.py FILE: medians of the result lines on stdin as JSON into FILE; the table, and the bars.

A line is: result <size> <read|write> <stack> <round> <ns per I/O>. Exit code 1 if a bar is missed.
"""
import collections
import json
import statistics
import sys

SIZES = ("4k", "64k", "128k", "1m")
KINDS = ("read", "write")
STACKS = ("raw", "linear", "tier", "tier_partial", "thin", "cache")
AT_4K_ONLY = ("thin", "cache")

MAX_OF_LINEAR = 1.03        # cost of an I/O, as a multiple of what it is through dm-linear
MAX_OF_LINEAR_ADDED = 1.15  # what dm adds to a 4 KiB I/O, as a multiple of what dm-linear adds


def medians(lines):
    runs = collections.defaultdict(list)
    for line in lines:
        words = line.split()
        if words and words[0] == "result":
            _, size, kind, stack, _, ns = words
            runs[size, kind, stack].append(int(ns))
    wanted = [(size, kind, stack) for size in SIZES for kind in KINDS for stack in STACKS
              if size == "4k" or stack not in AT_4K_ONLY]
    missing = [" ".join(key) for key in wanted if key not in runs]
    if missing or not wanted:
        sys.exit(f"hotpath: no result for {', '.join(missing)}")
    table = {size: {kind: {} for kind in KINDS} for size in SIZES}
    for size, kind, stack in wanted:
        table[size][kind][stack] = round(statistics.median(runs[size, kind, stack]))
    return table, runs


def print_table(table, runs):
    print(f"\n{'ns per I/O':12}" + "".join(f"{stack:>14}" for stack in STACKS) + "    spread of rounds")
    for size in SIZES:
        for kind in KINDS:
            row = table[size][kind]
            spread = max((max(v) - min(v)) / min(v) for key, v in runs.items() if key[:2] == (size, kind))
            print(f"{size + ' ' + kind:12}" +
                  "".join(f"{row.get(stack, '-'):>14}" for stack in STACKS) + f"{spread:14.1%}")
    print()


def bars(table):
    """(what, value, limit) of each; it holds if value <= limit, or < for other stacks' costs."""
    for size in SIZES:
        for kind in KINDS:
            row = table[size][kind]
            for stack in ("tier", "tier_partial"):
                value = row[stack] / row["linear"]
                yield f"{size} {kind}: {stack} / linear", f"{value:.4f}", f"<= {MAX_OF_LINEAR}", value <= MAX_OF_LINEAR
    for kind in KINDS:
        row = table["4k"][kind]
        value = (row["tier"] - row["raw"]) / (row["linear"] - row["raw"])
        yield (f"4k {kind}: (tier - raw) / (linear - raw)", f"{value:.4f}", f"<= {MAX_OF_LINEAR_ADDED}",
               value <= MAX_OF_LINEAR_ADDED)
        for peer in AT_4K_ONLY:
            for stack in ("tier", "tier_partial"):
                yield f"4k {kind}: {stack}", str(row[stack]), f"< {peer} {row[peer]}", row[stack] < row[peer]


def main():
    table, runs = medians(sys.stdin)
    with open(sys.argv[1], "w", encoding="ascii") as file:
        json.dump(table, file, indent=1)
        file.write("\n")
    print_table(table, runs)
    missed = 0
    for what, value, limit, holds in bars(table):
        print(f"{'ok' if holds else 'MISSED':8}{what:45}{value:>10}   {limit}")
        missed += not holds
    print(f"\nhotpath: {sys.argv[1]} is written; " + (f"{missed} bars missed" if missed else "every bar holds"))
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
