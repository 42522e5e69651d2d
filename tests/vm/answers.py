#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Answers and status lines of a pool, by the grammar of include/dm-tier.h.

  answers.py check POOL     every field of every answer; and that they agree with each other
"""
import re
import subprocess
import sys

MODES = ("rw", "out_of_space", "meta_ro", "fail")
STATES = ("new", "online", "draining", "missing", "failed", "lost")
MOVE_STATES = ("queued", "copy", "freeze", "commit", "retire")
REASONS = ("src_read_error", "dst_write_error", "not_converging", "deadline", "cancelled", "no_space", "meta_error",
           "suspended", "gone")
DEVICE_FIELDS = ("idx", "tier", "state", "slots", "used", "reserved", "quarantined", "parked", "ios", "sectors", "errors")
PAIRS = ("uuid", "instance", "label", "rate", "moves")
UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
TEXT = r"(-|([A-Za-z0-9_.,:;=+/@-]|%[0-9A-F]{2})+)"
PLACEMENT = r"(auto|[0-7](,[0-7])*)"


class Wrong(Exception):
    pass


def dmsetup(*words):
    return subprocess.run(["dmsetup", *words], check=True, capture_output=True, text=True).stdout


def lines(pool, *message):
    """An answer is lines, each ended by \\n; dmsetup ends the last one itself if it is not."""
    text = dmsetup("message", pool, "0", " ".join(message))
    return [line.split(" ") for line in text.splitlines()]


def need(condition, what):
    if not condition:
        raise Wrong(what)


def number(word, low=0, high=2 ** 64 - 1):
    need(re.fullmatch(r"0|[1-9][0-9]*", word), f"'{word}' is not a number")
    need(low <= int(word) <= high, f"{word} is not in {low}..{high}")
    return int(word)


def one_of(word, words):
    need(word in words, f"'{word}' is none of {', '.join(words)}")
    return word


def match(word, expression):
    need(re.fullmatch(expression, word), f"'{word}' does not match {expression}")
    return word


def power_of_two(word):
    value = number(word, 1)
    need(value & (value - 1) == 0, f"{word} is no power of two")
    return value


class Words:
    """The words of a line, taken from the left."""
    def __init__(self, words):
        self.words, self.at = words, 0

    def next(self):
        need(self.at < len(self.words), "the line is too short: " + " ".join(self.words))
        self.at += 1
        return self.words[self.at - 1]

    def end(self):
        need(self.at == len(self.words), "more at the end of: " + " ".join(self.words))


def device_status(words):
    d = {"idx": number(words.next(), 0, 63), "tier": number(words.next(), 0, 7), "state": one_of(words.next(), STATES)}
    for name in DEVICE_FIELDS[3:]:
        d[name] = number(words.next())
    need(d["used"] + d["reserved"] + d["parked"] <= d["slots"], f"device {d['idx']}: more slots taken than there are")
    need(d["quarantined"] <= d["slots"], f"device {d['idx']}: more slots in quarantine than there are")
    return d


def pool_status(pool):
    line = dmsetup("status", pool).strip("\n").split(" ")
    need(line[0] == "0" and line[2] == "tier-pool", "no tier-pool status")
    words = Words(line[3:])
    s = {"mode": one_of(words.next(), MODES), "commit": number(words.next())}
    used, _, blocks = words.next().partition("/")
    s |= {"log_used": number(used), "log_blocks": number(blocks, 2048), "needs_check": number(words.next(), 0, 1)}
    need(s["log_used"] <= s["log_blocks"], "more log used than there is")
    s |= {"extent_sectors": power_of_two(words.next()), "region_sectors": power_of_two(words.next())}
    need(number(line[1]) == s["extent_sectors"], "the pool's length is one extent")
    s["devices"] = [device_status(words) for _ in range(number(words.next(), 1, 64))]
    idx = [d["idx"] for d in s["devices"]]
    need(idx == sorted(set(idx)), "devices in ascending order")
    for name in ("queued", "active", "done", "cancelled", "failed", "bytes"):
        s[name] = number(words.next())
    count = number(words.next(), len(PAIRS))
    for i in range(count):
        key, value = words.next(), words.next()
        if i < len(PAIRS):
            need(key == PAIRS[i], f"pair {i} is {key} instead of {PAIRS[i]}")
            s[key] = value
    words.end()
    match(s["uuid"], UUID)
    number(s["instance"], 1)
    match(s["label"], TEXT)
    number(s["rate"])
    number(s["moves"], 1, 32)
    return s


def volumes(pool, status):
    found = []
    for line in lines(pool, "volumes"):
        words = Words(line)
        v = {"id": number(words.next(), 0, 4095), "uuid": match(words.next(), UUID), "generation": number(words.next(), 1),
             "sectors": number(words.next(), 1), "placement": match(words.next(), PLACEMENT),
             "allocated": number(words.next()), "label": match(words.next(), TEXT)}
        words.end()
        need(v["sectors"] % status["extent_sectors"] == 0, "a volume's size is a multiple of the extent")
        found.append(v)
    for key in ("uuid", "generation"):
        need(len({v[key] for v in found}) == len(found), f"two volumes have one {key}")
    need([v["id"] for v in found] == sorted({v["id"] for v in found}), "volumes in ascending order")
    return found


def devices(pool, status):
    """As in the status, with uuids."""
    answer = lines(pool, "devices")
    need(len(answer) == len(status["devices"]), "status and `devices` list the same devices")
    for line, d in zip(answer, status["devices"]):
        words = Words(line)
        need(number(words.next()) == d["idx"], "status and `devices` agree on idx")
        match(words.next(), UUID)
        for name in ("tier", "state", "slots", "used", "reserved", "quarantined", "parked"):
            word = words.next()
            need(word == str(d[name]), f"device {d['idx']}: {name} is {word} in `devices`, {d[name]} in the status")
        words.end()


def device_or_none(words):
    """The idx of a device, - if it was not chosen yet"""
    word = words.next()
    return None if word == "-" else number(word, 0, 63)


def moves(pool):
    for line in lines(pool, "moves"):
        words = Words(line)
        number(words.next(), 1), number(words.next(), 0, 4095), number(words.next(), 0, 2 ** 24 - 1)
        for _ in range(2):
            device_or_none(words)
        one_of(words.next(), MOVE_STATES), number(words.next()), number(words.next(), 0, 1024)
        words.end()


def finished(pool, status):
    head, *rest = lines(pool, "moves", "since", "0")
    need(len(head) == 2, "`moves since` begins with two numbers")
    oldest, next_seq = (number(word, 1) for word in head)
    need(oldest <= next_seq, "the oldest is not newer than the next")
    need(len(rest) == next_seq - oldest, "all from the oldest to the next are there")
    ids = set()
    for seq, line in zip(range(oldest, next_seq), rest):
        words = Words(line)
        need(number(words.next()) == seq, "seqs count up by one")
        ids.add(number(words.next(), 1))
        number(words.next(), 0, 4095), number(words.next(), 0, 2 ** 24 - 1)
        places = [device_or_none(words), device_or_none(words)]
        result, reason = one_of(words.next(), ("done", "cancelled", "failed")), words.next()
        if result == "done":
            need(reason == "-" and None not in places, "a move that is done has no reason, and both places")
        else:
            one_of(reason, REASONS)
            need((result == "cancelled") == (reason in ("cancelled", "suspended")), f"{result} with reason {reason}")
        need(number(words.next()) % (512 * status["region_sectors"]) == 0, "whole regions are copied")
        number(words.next()), number(words.next())
        words.end()
    need(len(ids) == len(rest), "an id ends once")
    need(status["done"] + status["cancelled"] + status["failed"] == next_seq - 1, "status and ring count the same ends")


def map_runs(pool, volume, status):
    extents = volume["sectors"] // status["extent_sectors"]
    regions = status["extent_sectors"] // status["region_sectors"]
    next_extent, before = 0, None
    for line in lines(pool, "map", str(volume["id"]), "0", str(extents)):
        words = Words(line)
        first, count = number(words.next()), number(words.next(), 1)
        need(first == next_extent, f"the map goes on at {next_extent}, not {first}")
        next_extent += count
        if line[2] == "-":
            need(line[2:] == ["-", "-", "-", "0"], "an unallocated run is `- - - 0`")
            run = None
        else:
            run = [number(words.next(), 0, 7), number(words.next(), 0, 63), number(words.next()), number(words.next(), 0, regions)]
            words.end()
            yield first, count, *run
        # What can be one run is one run.
        need(before is None or before[0] != run, "two runs that are one")
        before = ([run[0], run[1], run[2] + count, run[3]] if run else None,)
    need(next_extent == extents, "the map ends with the volume")


def tier_status(name, volume, status):
    """The status of an active volume's device, if it is active."""
    line = dmsetup("status", name).strip("\n").split(" ")
    words = Words(line[3:])
    need(one_of(words.next(), MODES) == status["mode"], "volume and pool have one mode")
    need(number(words.next()) == volume["generation"], "volume's status and `volumes` have one generation")
    allocated, _, total = words.next().partition("/")
    need(number(allocated) == volume["allocated"], "status and `volumes` count the same extents")
    need(number(total) * status["extent_sectors"] == volume["sectors"], "total extents are the volume's size")
    tiers = [number(words.next()) for _ in range(number(words.next(), 1, 8))]
    words.end()
    need(len(tiers) == 1 + max(d["tier"] for d in status["devices"]), "tiers up to the slowest device's")
    return tiers


def active_volumes(pool):
    """{id: dm name} of the tier targets on this pool"""
    minor = dmsetup("info", "-c", "--noheadings", "-o", "major,minor", pool).strip()
    found = {}
    for line in dmsetup("table", "--target", "tier").splitlines():
        words = re.fullmatch(r"([^:]+): 0 \d+ tier (\S+) (\d+)", line)
        if words and words[2] == minor:
            found[int(words[3])] = words[1]
    return found


def counters(pool, volume, status):
    extents = volume["sectors"] // status["extent_sectors"]
    head, *rest = lines(pool, "counters", str(volume["id"]), "0", str(extents))
    need(len(head) == 3, "`counters` begins with three numbers")
    need(head[0] == status["instance"], "the instance is that of the status")
    need(number(head[1]) == volume["generation"], "the generation is the volume's")
    number(head[2], 1)
    before = -1
    for line in rest:
        words = Words(line)
        extent = number(words.next(), 0, extents - 1)
        need(extent > before, "extents in ascending order")
        before = extent
        reads, writes, read_sectors, write_sectors, sequential, large = (number(words.next()) for _ in range(6))
        words.end()
        need(sequential <= reads + writes and large <= reads + writes, "sequential and large ios are ios")
        need(bool(reads) == bool(read_sectors) and bool(writes) == bool(write_sectors), "ios have sectors")


def check(pool):
    """Nothing may change meanwhile: no I/O, no moves."""
    status = pool_status(pool)
    devices(pool, status)
    moves(pool)
    finished(pool, status)
    owners, tiers = {}, {d["idx"]: d for d in status["devices"]}
    active = active_volumes(pool)
    for volume in volumes(pool, status):
        per_tier, allocated = [0] * 8, 0
        for first, count, tier, idx, slot, _ in map_runs(pool, volume, status):
            need(idx in tiers and tiers[idx]["tier"] == tier, f"extent {first}: device {idx} is of tier {tier}")
            need(slot + count <= tiers[idx]["slots"], f"extent {first}: slot {slot} of device {idx} is beyond its end")
            for i in range(count):
                need((idx, slot + i) not in owners, f"slot {slot + i} of device {idx} has two owners")
                owners[idx, slot + i] = (volume["id"], first + i)
            per_tier[tier] += count
            allocated += count
        need(allocated == volume["allocated"], f"volume {volume['id']}: map and `volumes` count the same extents")
        if volume["id"] in active:
            on_tier = tier_status(active[volume["id"]], volume, status)
            need(on_tier == per_tier[:len(on_tier)], f"volume {volume['id']}: status {on_tier} and map {per_tier} agree")
        counters(pool, volume, status)
    for d in status["devices"]:
        used = sum(1 for idx, _ in owners if idx == d["idx"])
        need(used == d["used"], f"device {d['idx']}: {d['used']} used, {used} in the maps")
    need(dmsetup("table", pool).split(" ")[2] == "tier-pool", "the table")


def main():
    what, pool = sys.argv[1:]
    try:
        need(what == "check", f"what is '{what}'?")
        check(pool)
    except Wrong as wrong:
        print(f"{what}: {wrong}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"{' '.join(error.cmd)}: {error.stderr}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
