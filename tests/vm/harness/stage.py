# SPDX-License-Identifier: GPL-2.0-only
"""The stage: one small read-only image a run, with everything of the project that the guest needs.

  /src       the source tree as it is now (bound to /src in the guest)
  /root      what `make install-user` installs, test helpers, the guest's init and agent; copied over
             the pristine root image, so the guest looks like a machine where dm-tier is installed
  /modules   dm-tier.ko and the module index that knows it; copied over /usr/lib/modules
  /command   what the guest runs
"""
import os
import shutil
import subprocess

from . import cache
from .cache import TOP, VM, command

def _skip(folder, names):
    """The source tree without what is built, which may lie in build, build-san, ..."""
    top = folder == str(TOP)
    return [n for n in names if n in (".git", "__pycache__") or top and n.startswith("build")]


def build_project(kernel, variant, quiet):
    """Bring user space and the module up to date for this kernel; `make` says what fails."""
    goals = ["user", "guest-programs"]
    if variant:     # only `make modules` knows what a variant is made with
        if not module_path(kernel, variant).exists():
            raise cache.HarnessError(f"{module_path(kernel, variant)} is not there: `make modules VARIANT=...` makes it")
    elif any((TOP / "kernel").glob("dm-tier-*.c")):
        goals.append(f"module-{kernel.name}")
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    argv = ["make", "-s", "--no-print-directory", f"O={cache.out_dir()}", *goals]
    with cache.locked("build", cache.out_dir()):
        done = subprocess.run(argv, cwd=TOP, env=env, stdin=subprocess.DEVNULL, check=False,
                              capture_output=quiet, text=True)
    if done.returncode:
        raise cache.HarnessError("make failed" + (":\n" + done.stdout + done.stderr if quiet else ""))


def module_path(kernel, variant):
    return cache.out_dir() / "modules" / (kernel.name + (f"-{variant}" if variant else "")) / "dm-tier.ko"


def make(work, kernel, variant, script, extra_modules=()):
    """Write work/stage.ext4; `script` is the text that the guest's bash runs."""
    tree = work / "stage"
    root = tree / "root"
    for name in ("usr/local/sbin", "usr/local/bin", "etc/systemd/system"):
        (root / name).mkdir(parents=True)
    shutil.copytree(TOP, tree / "src", symlinks=True, ignore=_skip)
    _install(root)
    _guest_files(root)
    _modules(tree / "modules", work, kernel, [module_path(kernel, variant), *extra_modules])
    (tree / "command").write_text(script, encoding="utf-8")
    size_mib = int(command("du", "-sm", tree).split()[0])
    image = work / "stage.ext4"
    command("mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-E", "root_owner=0:0",
            "-d", tree, image, f"{size_mib * 5 // 4 + 16}M")
    shutil.rmtree(tree)
    return image


def _install(root):
    out = cache.out_dir()
    if (out / "tierd").exists() or (out / "tierctl").exists():
        command("make", "-s", "--no-print-directory", f"O={out}", f"DESTDIR={root}", "install-user",
                "-o", "user", cwd=TOP)
    for program in sorted((out / "guest").glob("*")):
        if program.is_file() and os.access(program, os.X_OK):
            shutil.copy(program, root / "usr/local/bin")


def _guest_files(root):
    for name, target in (("tiny-init", "usr/local/sbin/vm-init"), ("agent", "usr/local/sbin/vm-agent"),
                         ("agent.service", "etc/systemd/system/vm-agent.service")):
        shutil.copy(VM / "guest" / name, root / target)


def _modules(target, work, kernel, modules):
    """The .ko files under updates/, and depmod's index over them and the kernel's own."""
    target = target / kernel.version
    target.mkdir(parents=True)
    present = [m for m in modules if m.exists()]
    if not present:
        return
    base = work / "depmod"
    tree = base / "lib/modules" / kernel.version
    source = kernel.dir / "modules/lib/modules" / kernel.version
    (tree / "updates").mkdir(parents=True)
    for path in source.iterdir():
        if path.name == "kernel" or path.name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            (tree / path.name).symlink_to(path)
    for module in present:
        shutil.copy(module, tree / "updates")
    command("depmod", "-b", base, kernel.version)
    shutil.copytree(tree / "updates", target / "updates")
    for index in tree.glob("modules.*"):
        if not index.is_symlink():
            shutil.copy(index, target)
    shutil.rmtree(base)
