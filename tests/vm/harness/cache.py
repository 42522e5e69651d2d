# SPDX-License-Identifier: GPL-2.0-only
"""Where things lie, and the cache of what is slow to make (guest image, kernels, their headers).

TIER_CACHE names the cache, build/cache is the default; several checkouts can share one. An entry is
a folder <kind>-<key>, the key a hash of what goes in, so a changed package list or script makes a
new entry. It is built in a temporary folder and renamed, under a lock: what is there is whole.
"""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[3]
VM = TOP / "tests" / "vm"
KERNEL_SUITE = "bookworm"       # the guests' kernels come from Debian 12 whatever the host is


class HarnessError(Exception):
    """Something the harness needs is missing or failed; the text says what to do."""


def out_dir():
    return (TOP / os.environ.get("O", "build")).resolve()


def cache_dir():
    path = TOP / os.environ.get("TIER_CACHE", "build/cache")
    path.mkdir(parents=True, exist_ok=True)
    return path.resolve()


def say(text):
    print(f"vm: {text}", file=sys.stderr, flush=True)


def key_of(*parts):
    """A short hash of strings and of the contents of files."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, pathlib.Path) else str(part).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:12]


@contextlib.contextmanager
def locked(name, folder=None):
    """Hold the lock `name` of the cache or another folder; it goes with the process, however that ends."""
    with open((folder or cache_dir()) / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def entry(kind, key, build):
    """The folder of a cache entry, made by build(folder) if it isn't there yet."""
    final = cache_dir() / f"{kind}-{key}"
    if final.is_dir():
        return final
    with locked(kind):
        if final.is_dir():
            return final
        work = cache_dir() / f".{kind}-{key}.tmp"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        start = time.monotonic()
        try:
            build(work)
            work.rename(final)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        say(f"{final.name} ready after {time.monotonic() - start:.0f} s")
    return final


def command(*argv, **kwargs):
    """Run a command and return its output; its messages are shown only if it fails."""
    argv = [str(a) for a in argv]
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL, check=False, **kwargs)
    except FileNotFoundError as error:
        raise HarnessError(f"{argv[0]}: not found; `make setup` installs it") from error
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
        raise HarnessError(f"`{' '.join(argv)[:300]}` failed ({done.returncode}):\n{tail}")
    return done.stdout


def need_root(what):
    if os.geteuid():
        raise HarnessError(f"{what} needs root: run it as root or through sudo")
