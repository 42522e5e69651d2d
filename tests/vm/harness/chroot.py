# SPDX-License-Identifier: GPL-2.0-only
"""A Debian of another suite with a compiler, in the cache: for modules of kernels that this machine's compiler is
too old for. Commands run in a mount namespace of their own, so nothing stays mounted."""
import os
import pathlib
import subprocess

from . import cache, debian
from .cache import command

PACKAGES = "gcc,gcc-16,libc6-dev,make,libelf1t64,kmod,xz-utils"
# Binds each folder to its own path in the chroot, then runs the command there.
ENTER = r'''
root=$1 nr=$2; shift 2
mount --make-rprivate /
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
for ((; nr > 0; nr--)); do mkdir -p "$root$1"; mount --bind "$1" "$root$1"; shift; done
exec chroot "$root" "$@"
'''


def folder(suite):
    return cache.entry(f"chroot-{suite}", cache.key_of(suite, PACKAGES), lambda work: _build(work, suite)) / "tree"


def _build(work, suite):
    cache.need_root(f"the {suite} chroot")
    cache.say(f"making a {suite} chroot with a compiler (1 to 2 min)")
    command("mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}",
            "--aptopt=Acquire::Languages none", *(f"--aptopt={option}" for option in debian.apt_options(suite)),
            suite, work / "tree", *debian.sources(suite))


def run(suite, folders, argv):
    """Run it with these folders visible under their own paths; returns the exit code."""
    root = folder(suite)
    bound = [str(pathlib.Path(path).resolve()) for path in folders]
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/", "TERM": os.environ.get("TERM", "dumb")}
    return subprocess.run(["unshare", "--mount", "--fork", "bash", "-euc", ENTER, "enter", str(root), str(len(bound)),
                           *bound, *argv], env=env, check=False).returncode
