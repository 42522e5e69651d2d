# SPDX-License-Identifier: GPL-2.0-only
"""What the demonstration does in its guest; tests/demo/demo.sh starts it and report.py judges.

Three throttled disks (ssd, sas, nl) become logical volumes, a pool, one volume with policy auto. Eight fio jobs
write to it at random, as eight virtual machines would; then job 1 works alone; tierd relocates while it goes on; then
all eight again.
At the end every byte of the volume is compared. Leaves /host/result.json (all but the time) and the heat maps.

Everything is done with the commands that an administrator has. A command that fails ends the demonstration.
"""
import json
import mmap
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

MIB = 1 << 20
EXTENT = 16 * MIB
TIERS = (("ssd", 40), ("sas", 90), ("nl", 240))     # disk, slots
AREAS = (10, 10, 10, 10, 20, 20, 20, 20)            # extents that jobs 1 ... 8 write to, side by side
SIZE = 128 * EXTENT                                 # of the volume
BLOCK = 256 << 10
POOL, VOLUME = "pool0", "vms"
DEVICE = f"/dev/tier/{POOL}/{VOLUME}"
HOST = pathlib.Path("/host")
LOGS = pathlib.Path("/run/demo")                    # fio's logs of what was written

RAW_S, ALL_S, ALONE_S, AFTER_S = 8, 40, 30, 10
FOREVER_S = 3600                                    # of a job that is stopped
DURING_BYTES_PER_S = 8_000_000                      # of job 1 during relocation: it has its share of the slow disk
PROGRESS_S = 5
START = time.monotonic()


def say(text=""):
    print(text, flush=True)


def run(*argv):
    """The command's output; its errors appear on ours."""
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def show(*argv):
    """Print the command as typed at a shell, and what it says."""
    say("  # " + " ".join(argv))
    for line in run(*argv).splitlines():
        say("  " + line)


def heading(text):
    say(f"\n== [{time.monotonic() - START:3.0f} s] {text}")


# ---------------------------------------------------------------- I/O

def area(job):
    """(first extent, number of extents) of a job, from 1 on"""
    return sum(AREAS[:job - 1]), AREAS[job - 1]


def written_bytes(device):
    name = os.path.basename(os.path.realpath(device))
    return int(pathlib.Path(f"/sys/class/block/{name}/stat").read_text(encoding="ascii").split()[6]) * 512


class Fio:
    """Jobs {number: (offset, size)} at work, for a time or until stop().

    Every block is filled with its own offset, so that anyone can tell later whether it is where it belongs.
    """

    def __init__(self, device, jobs, phase, *options, seconds=FOREVER_S):
        self.output = LOGS / f"fio.{phase}.json"
        argv = ["fio", "--output-format=json", f"--output={self.output}", "--ioengine=libaio", "--direct=1",
                "--rw=randwrite", f"--bs={BLOCK}", "--iodepth=8", "--norandommap", "--time_based",
                f"--runtime={seconds}", "--verify=pattern", "--verify_pattern=%o", "--do_verify=0",
                f"--filename={device}", *options]
        for number, (offset, size) in jobs.items():
            argv += [f"--name=job{number}", f"--offset={offset}", f"--size={size}", f"--randseed={phase * 100 + number}",
                     f"--write_iolog={LOGS}/{phase}.{number}"]
        self.code = 0
        self.process = subprocess.Popen(argv)   # pylint: disable=consider-using-with

    def stop(self):
        """End the jobs; what is under way completes first."""
        self.process.send_signal(signal.SIGINT)
        self.code = 128     # fio's word for that

    def results(self):
        """Wait for the end; fio's figures of the writes {number: {...}}."""
        code = self.process.wait()
        text = self.output.read_text(encoding="utf-8")
        done = json.loads(text[text.index("{"):])["jobs"]   # fio puts a line of a signal in front
        errors = [job["jobname"] for job in done if job["error"]]
        if code != self.code or errors:
            sys.exit(f"fio ended with {code}; errors of: {', '.join(errors)}")
        return {int(job["jobname"][3:]): job["write"] for job in done}


def fio(device, jobs, seconds, phase):
    """Run jobs {number: (offset, size)} for a time, with progress; returns {number: MB/s}."""
    start, last = time.monotonic(), written_bytes(device)
    work = Fio(device, jobs, phase, seconds=seconds)
    while True:
        before = time.monotonic()
        try:
            work.process.wait(timeout=PROGRESS_S)
            break
        except subprocess.TimeoutExpired:
            now = written_bytes(device)
            rate = (now - last) / (time.monotonic() - before) / 1e6
            last = now
            say(f"  after {time.monotonic() - start:2.0f} s: {rate:6.1f} MB/s")
    return {number: round(write["bw_bytes"] / 1e6, 2) for number, write in work.results().items()}


def all_jobs(phase):
    jobs = {}
    for number in range(1, len(AREAS) + 1):
        first, count = area(number)
        jobs[number] = (first * EXTENT, count * EXTENT)
    rates = fio(DEVICE, jobs, ALL_S, phase)
    say("  MB/s of jobs 1 to 8: " + ", ".join(f"{rates[number]:.1f}" for number in sorted(rates)))
    return rates


def area_of_job1():
    first, count = area(1)
    return {1: (first * EXTENT, count * EXTENT)}


def job1(seconds, phase):
    rate = fio(DEVICE, area_of_job1(), seconds, phase)[1]
    say(f"  job 1: {rate:.1f} MB/s")
    return rate


def written_blocks(last_phase):
    """Offsets of all blocks that a job wrote in phases 1 ... last_phase; a log's line is [time] file write offset size."""
    blocks = set()
    for log in LOGS.glob("*.*"):
        if re.fullmatch(r"[1-9]", log.stem) and int(log.stem) <= last_phase:
            for line in log.read_text(encoding="ascii").splitlines():
                words = line.split()
                if len(words) >= 4 and words[-3] == "write":
                    if int(words[-2]) % BLOCK or int(words[-1]) != BLOCK:
                        sys.exit(f"{log}: not one of our blocks: {line}")
                    blocks.add(int(words[-2]))
    if not blocks:
        sys.exit("fio's logs have no writes")
    return blocks


def verify(blocks):
    """Compare every byte: a written block holds its offset, any other zeros. Returns the number of wrong blocks."""
    size, piece = SIZE, 16 * BLOCK
    buffer = mmap.mmap(-1, piece)       # aligned, for direct I/O
    zeros, wrong, told = bytes(BLOCK), [], time.monotonic()
    fd = os.open(DEVICE, os.O_RDONLY | os.O_DIRECT)
    try:
        for start in range(0, size, piece):
            if os.preadv(fd, [buffer], start) != piece:
                sys.exit(f"short read at {start}")
            for at in range(0, piece, BLOCK):
                offset = start + at
                expected = offset.to_bytes(8, "little") * (BLOCK // 8) if offset in blocks else zeros
                if buffer[at:at + BLOCK] != expected:
                    wrong.append(offset)
            if time.monotonic() - told >= PROGRESS_S:
                told = time.monotonic()
                say(f"  {(start + piece) * 100 // size:3} %, {len(wrong)} errors")
    finally:
        os.close(fd)
    say(f"  {len(blocks)} blocks were written, {size // BLOCK - len(blocks)} never; wrong: {len(wrong)}")
    for offset in wrong[:10]:
        say(f"  wrong: the block at {offset} (extent {offset // EXTENT}), " +
            ("written" if offset in blocks else "never written"))
    return len(wrong)


# ---------------------------------------------------------------- pool

def logical_volume(disk, name, mib):
    run("lvcreate", "-q", "-y", "-n", name, "-L", f"{mib}m", disk)
    return f"/dev/{disk}/{name}"


def data_lvs():
    """One LV a tier, of so many slots and the MiB in front of them, rounded up to LVM's 4 MiB."""
    paths = []
    for disk, slots in TIERS:
        run("vgcreate", "-q", disk, f"/dev/disk/by-id/virtio-{disk}")
        paths.append(logical_volume(disk, "data", slots * EXTENT // MIB + 4))
    return paths


def tiers_of_extents():
    """{extent: tier}"""
    report = json.loads(run("tes", "--reportformat", "json", "-o", "extent,ext_tier", f"{POOL}/{VOLUME}"))["report"]
    return {int(row["extent"]): int(row["ext_tier"]) for row in report[0]["extent"]}


def say_placement():
    placed = tiers_of_extents()
    for number in range(1, len(AREAS) + 1):
        first, count = area(number)
        on = [sum(placed.get(extent) == tier for extent in range(first, first + count)) for tier in range(len(TIERS))]
        say(f"  job {number}: {count} extents; on tiers 0, 1, 2: {on[0]}, {on[1]}, {on[2]}")
    return placed


def tierd_pool():
    """tierd's row of the pool, or None while it has not found it."""
    rows = json.loads(run("busctl", "--json=short", "get-property", "org.dmtier.Tierd1", "/org/dmtier/Tierd1",
                          "org.dmtier.Tierd1", "Pools"))["data"]
    return {key: value["data"] for key, value in rows[0].items()} if rows else None


def wait_for_tierd():
    end = time.monotonic() + 30
    while not (row := tierd_pool()) or not row["last_collect"]:
        if time.monotonic() > end:
            sys.exit("tierd does not find the pool")
        time.sleep(0.1)


def relocate():
    argv = ["tierctl", "relocate", "--now", "--wait", POOL]
    say("  # " + " ".join(argv))
    told = 0
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if time.monotonic() - told >= PROGRESS_S:
                told = time.monotonic()
                say("  " + line.rstrip())
    row = tierd_pool()
    if process.returncode and not row["failed_moves"]:
        sys.exit(f"tierctl relocate ended with {process.returncode}")
    return {"up": row["up_moves"], "down": row["down_moves"], "failed": row["failed_moves"]}, row


def say_moves(before, after, row):
    for source in range(len(TIERS)):
        for target in range(len(TIERS)):
            count = sum(1 for extent, tier in after.items() if before.get(extent) == source != tier == target)
            if count:
                say(f"  from tier {source} to tier {target}: {count} extents")
    say(f"  {row['up_bytes'] / 1e6:.0f} MB up, {row['down_bytes'] / 1e6:.0f} MB down in {row['end'] - row['begin']} s;"
        f" {row['retried_moves']} tries repeated, {row['failed_moves']} moves given up")


def make_pool():
    heading("Three disks, a logical volume on each; a pool; a volume")
    paths = data_lvs()
    metadata = logical_volume("ssd", "meta", 96)
    say(f"  The bare logical volume of tier 0, {RAW_S} s of the same writes:")
    raw = fio(paths[0], {1: (0, AREAS[0] * EXTENT)}, RAW_S, 0)[1]
    say(f"  {raw:.1f} MB/s")
    run("modprobe", "dm-tier")
    run("systemctl", "start", "tierd")
    show("tpcreate", "-s", "16m", "-m", metadata, *(word for tier, path in enumerate(paths)
                                                    for word in ("--tier", f"{tier}:{path}")), POOL)
    show("tvcreate", "-V", f"{SIZE // MIB}m", "-n", VOLUME, "--policy", "auto", POOL)
    wait_for_tierd()
    show("tps", "--tiers")
    return raw


def main():
    LOGS.mkdir()
    # Noon: far from the default window, so that nothing moves before it is told to.
    run("date", "-s", "12:00")
    raw = make_pool()
    heading(f"All eight jobs, {ALL_S} s: every extent lands on the tier with most room, which is the slowest")
    before = all_jobs(1)
    say_placement()
    say("  What tierd would do now, its first moves:")
    show("tierctl", "plan", "--max", "4", POOL)
    show("tierctl", "heatmap", POOL)
    run("tierctl", "heatmap", "--svg", str(HOST / "heatmap-before.svg"), POOL)
    heading(f"Only job 1, {ALONE_S} s: its extents become hot")
    job1(ALONE_S, 2)
    heading(f"Relocation, while job 1 goes on with {DURING_BYTES_PER_S / 1e6:.0f} MB/s")
    old = tiers_of_extents()
    work = Fio(DEVICE, area_of_job1(), 3, f"--rate={DURING_BYTES_PER_S}")
    moves, row = relocate()
    work.stop()
    new = tiers_of_extents()
    say_moves(old, new, row)
    during = work.results()[1]
    say(f"  job 1 meanwhile: {during['bw_bytes'] / 1e6:.1f} MB/s, {during['total_ios']} writes without an error; "
        f"latency {during['lat_ns']['mean'] / 1e6:.0f} ms, at worst {during['lat_ns']['max'] / 1e6:.0f} ms")
    say_placement()
    show("tierctl", "heatmap", POOL)
    run("tierctl", "heatmap", "--svg", str(HOST / "heatmap.svg"), POOL)
    heading(f"Only job 1, {AFTER_S} s")
    alone = job1(AFTER_S, 4)
    heading(f"All eight jobs again, {ALL_S} s")
    after = all_jobs(5)
    heading("Every byte is compared")
    errors = verify(written_blocks(5))
    first, count = area(1)
    result = {
        "jobs": [{"job": number, "before_MBps": before[number], "after_MBps": after[number]} for number in sorted(before)],
        "job1_alone_MBps": alone,
        "tier0_raw_MBps": raw,
        "job1_tier0_share": sum(new.get(extent) == 0 for extent in range(first, first + count)) / count,
        "moves": moves,
        "verify_errors": errors,
    }
    (HOST / "result.json").write_text(json.dumps(result), encoding="ascii")
    run("systemctl", "stop", "tierd")
    show("tpchange", "-an", POOL)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"demo: this command ended with {error.returncode}: {' '.join(error.cmd)}")
