# SPDX-License-Identifier: GPL-2.0-only
"""Hardware virtualisation or software emulation? Found out by booting, as /dev/kvm may exist and hang.

TIER_ACCEL=kvm|tcg overrides. The answer is kept for as long as this machine stays up.
"""
import os
import pathlib
import subprocess

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
