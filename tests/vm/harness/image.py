# SPDX-License-Identifier: GPL-2.0-only
"""The guest's root image: a small Debian made by mmdebstrap, the same suite as the host's.

It holds nothing of dm-tier and no kernel: those come as images of their own (stage.py, kernels.py),
so it is rebuilt only when packages.txt or guest/customize changes.
"""
import shutil

from . import cache, debian
from .cache import command

FORMAT = 1      # part of the key: raise it when what build() leaves changes
SIZE_MIB = 1600  # sparse; room for what a test writes


def packages(suite):
    """The names in packages.txt that are for every suite or for this one."""
    chosen = []
    for line in (cache.VM / "packages.txt").read_text(encoding="ascii").splitlines():
        condition, _, name = line.partition("#")[0].rpartition(":")
        if name.strip() and condition.strip() in ("", suite):
            chosen.append(name.strip())
    return chosen


def root_image():
    suite = debian.host_suite()
    customize = cache.VM / "guest/customize"
    key = cache.key_of(suite, FORMAT, SIZE_MIB, customize, *packages(suite))
    return cache.entry(f"root-{suite}", key, lambda work: _build(work, suite, customize)) / "root.ext4"


def _build(work, suite, customize):
    cache.need_root("building the guest image")
    tree = work / "tree"
    cache.say(f"building the guest image (Debian {suite}, about 20 s to 2 min)")
    excludes = [f"--dpkgopt=path-exclude=/usr/share/{name}/*"
                for name in ("doc", "man", "info", "locale", "i18n/locales", "bug", "lintian")]
    command("mmdebstrap", "--quiet", "--variant=minbase", "--include=" + ",".join(packages(suite)), *excludes,
            "--aptopt=Acquire::Languages none", f"--customize-hook={customize} \"$1\"",
            suite, tree, *debian.sources(suite))
    command("mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal,^metadata_csum",
            "-E", "lazy_itable_init=1", "-L", "root", "-d", tree, work / "root.ext4", f"{SIZE_MIB}M")
    shutil.rmtree(tree)
