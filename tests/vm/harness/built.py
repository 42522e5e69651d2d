# SPDX-License-Identifier: GPL-2.0-only
"""Kernels that find bugs, built here from Debian's linux-source: tinyconfig and fragments of tests/vm/kernels.

Built in the source tree itself, so that it can be moved and serves as header tree; what only the build
needed is removed. Ten minutes each on two cores, once.
"""
import os
import re

from . import cache, debian
from .cache import HarnessError, command

SOURCE = "linux-source-6.1"
FRAGMENTS = {"debug": ("base", "debug"), "kcsan": ("base", "kcsan")}
FORMAT = 1      # part of the key: raise it when what build() leaves changes


def _files(name):
    return [cache.VM / "kernels" / f"{fragment}.config" for fragment in FRAGMENTS[name]]


def key(name):
    return cache.key_of(SOURCE, FORMAT, *_files(name))


def build(name, work):
    """Leave vmlinuz, version, headers/ and a module tree under modules/ in `work`."""
    apt = debian.PrivateApt(cache.KERNEL_SUITE)
    apt.update()
    cache.say(f"fetching {SOURCE} (138 MB) and building the kernel '{name}' from it: 10 min on two cores, once")
    [deb] = apt.download([SOURCE], work)
    command("bash", "-euo", "pipefail", "-c",
            f'dpkg-deb --fsys-tarfile "$1" | tar -xO ./usr/src/{SOURCE}.tar.xz | tar -xJ -C "$2"', "extract", deb, work)
    deb.unlink()
    tree = work / SOURCE
    tree.rename(work / "headers")
    tree = work / "headers"
    _configure(name, tree)
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "KCFLAGS")}
    make = ["make", "-s", f"-j{os.cpu_count() or 1}", "-C", tree, f"LOCALVERSION=-{name}"]
    command("nice", *make, "bzImage", "modules", env=env)
    command(*make, f"INSTALL_MOD_PATH={work / 'modules'}", "modules_install", env=env)
    version = (tree / "include/config/kernel.release").read_text(encoding="ascii").strip()
    (tree / "arch/x86/boot/bzImage").rename(work / "vmlinuz")
    (work / "version").write_text(version + "\n", encoding="ascii")
    _strip(tree)
    return version


def _configure(name, tree):
    """A line that did not take would silently leave out what the kernel is built for."""
    files = _files(name)
    command("make", "-s", "-C", tree, "tinyconfig")
    command(tree / "scripts/kconfig/merge_config.sh", "-m", ".config", *files, cwd=tree)
    command("make", "-s", "-C", tree, "olddefconfig")
    config = (tree / ".config").read_text(encoding="ascii").splitlines()
    for path in files:
        for line in re.findall(r"^CONFIG_\w+=.*$", path.read_text(encoding="ascii"), re.M):
            wanted = line if not line.endswith("=n") else f"# {line[:-2]} is not set"
            if wanted not in config and not (line.endswith("=n") and not any(
                    have.startswith(line[:-1]) for have in config)):
                raise HarnessError(f"{path.name}: {line} did not take")


def _strip(tree):
    """What modules are not built with: objects, and the sources of everything."""
    for path in tree.rglob("*"):
        if path.is_symlink() or not path.is_file() or "scripts" in path.relative_to(tree).parts[:1]:
            continue
        if path.suffix in (".o", ".a", ".ko", ".c", ".S", ".rst", ".dts", ".dtsi") or path.name in ("vmlinux", "System.map") \
                or path.name.endswith(".cmd"):
            path.unlink()
