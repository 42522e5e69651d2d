# SPDX-License-Identifier: GPL-2.0-only
"""Hardware virtualisation or software emulation? Found out by booting, as /dev/kvm may exist and hang.

TIER_ACCEL=kvm|tcg overrides. The answer is kept for as long as this machine stays up.
"""
import ctypes
import mmap
import os
import pathlib
import platform
import subprocess
import time

from . import cache

PROBE_TIMEOUT_S = 20


def choose(kernel):
    wanted = os.environ.get("TIER_ACCEL")
    if wanted:
        if wanted not in ("kvm", "tcg"):
            raise cache.HarnessError(f"TIER_ACCEL={wanted}: must be kvm or tcg")
        return wanted
    boot_id = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    note = cache.cache_dir() / "accel"
    with cache.locked("accel-probe"):
        known = note.read_text(encoding="ascii").split() if note.exists() else []
        if len(known) == 2 and known[0] == boot_id and known[1] in ("kvm", "tcg"):
            return known[1]
        accel = "kvm" if _kvm_works(kernel) else "tcg"
        cache.say("KVM works" if accel == "kvm" else "no usable KVM: software emulation")
        note.write_text(f"{boot_id} {accel}\n", encoding="ascii")
    return accel


def tsc_khz():
    """The rate of this machine's time stamp counter, which emulated processors have too; None if there is none.

    A guest that has to find it out on a busy host may be wrong by a factor of five, and its clock with it.
    """
    if platform.machine() != "x86_64":
        return None
    rdtsc = b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3"     # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except PermissionError:
        return None
    page.write(rdtsc)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))

    def sample():
        """(nanoseconds, ticks), taken as closely together as a busy machine lets us."""
        best = None
        for _ in range(20):
            before, ticks, after = time.monotonic_ns(), read(), time.monotonic_ns()
            if best is None or after - before < best[0]:
                best = after - before, (before + after) // 2, ticks
        return best[1:]

    start = sample()
    time.sleep(0.05)
    end = sample()
    return round((end[1] - start[1]) * 1e6 / (end[0] - start[0]))


def _kvm_works(kernel):
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    try:
        done = subprocess.run(
            ["qemu-system-x86_64", "-nodefaults", "-display", "none", "-no-reboot", "-accel", "kvm", "-cpu", "host",
             "-m", "256", "-kernel", kernel.dir / "vmlinuz", "-initrd", kernel.initrd(), "-serial", "stdio",
             "-append", "console=ttyS0 quiet panic=-1 tier.probe"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return b"tier: accelerator works" in done.stdout
