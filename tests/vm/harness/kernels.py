# SPDX-License-Identifier: GPL-2.0-only
"""The kernels of the guests: Debian's cloud kernels, fetched and unpacked in the cache, never installed;
and those that find bugs, which are built (built.py).

A kernel's cache entry holds
  vmlinuz, version
  modules.ext4   the whole module tree, mounted on /usr/lib/modules in the guest
  modules/       the same as files: to compute the index that includes dm-tier.ko
  headers/       usr/src/..., with its paths made relative: `make -C <headers()> M=...` works
The initrd depends on guest/initrd-init too and is an entry of its own.
"""
import gzip
import pathlib
import re
import shutil
import subprocess
import tempfile

from . import built, cache, debian
from .cache import HarnessError, command

# name -> (suite, the meta package's flavour)
KERNELS = {"6.1": (cache.KERNEL_SUITE, "cloud-amd64"), "6.12": (cache.KERNEL_SUITE, "6.12-cloud-amd64"),
           "sid": ("sid", "cloud-amd64")}
QUICK = ("6.1", "6.12")         # what the quick tests need
FORMAT = 1      # part of the key: raise it when what build() leaves changes
BUSYBOX_APPLETS = ("sh mount umount modprobe switch_root cat cp mkdir ls basename sleep poweroff "
                   "readlink sync ln").split()
INITRD_MODULES = ("virtio_pci virtio_blk virtio_console virtio_rng virtiofs ext4 "
                  "crc32c_generic crc32c_intel").split()
NAMES = (*KERNELS, *built.FRAGMENTS)


def _pack_modules(work, version):
    """modules.ext4 of the tree under modules/."""
    for link in ("build", "source"):
        (work / "modules/lib/modules" / version / link).unlink(missing_ok=True)
    command("depmod", "-b", work / "modules", version)
    size_mib = int(command("du", "-sm", work / "modules").split()[0])
    command("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0",
            "-d", work / "modules/lib/modules", work / "modules.ext4", f"{size_mib * 5 // 4 + 24}M")


class Kernel:
    """One kernel in the cache, fetched on first use."""

    def __init__(self, name):
        self.name = name
        self.finds_bugs = name in built.FRAGMENTS       # slow, and hungry for memory
        if name in KERNELS:
            self.dir = cache.entry(f"kernel-{name}", cache.key_of(KERNELS[name], FORMAT), self._fetch)
        elif self.finds_bugs:
            self.dir = cache.entry(f"kernel-{name}", built.key(name), self._build)
        else:
            raise HarnessError(f"no kernel '{name}': there are {', '.join(NAMES)}")
        self.version = (self.dir / "version").read_text(encoding="ascii").strip()

    def headers(self):
        if self.finds_bugs:
            return self.dir / "headers"
        return self.dir / "headers/usr/src" / f"linux-headers-{self.version}"

    def initrd(self):
        init = cache.VM / "guest/initrd-init"
        busybox = pathlib.Path("/bin/busybox")
        if not busybox.exists():
            raise HarnessError("/bin/busybox not found; `make setup` installs busybox-static")
        key = cache.key_of(self.dir.name, init, busybox, *INITRD_MODULES, *BUSYBOX_APPLETS)
        folder = cache.entry(f"initrd-{self.name}", key,
                             lambda work: self._build_initrd(work, init, busybox))
        return folder / "initrd"

    def _build(self, work):
        _pack_modules(work, built.build(self.name, work))

    def _fetch(self, work):
        suite, flavour = KERNELS[self.name]
        apt = debian.PrivateApt(suite)
        apt.update()
        image = self._real(apt, f"linux-image-{flavour}", r"linux-image-(\d\S*)$")
        headers = self._real(apt, f"linux-headers-{flavour}", r"linux-headers-(\d\S*)$")
        version = image.removeprefix("linux-image-")
        if headers != f"linux-headers-{version}":
            raise HarnessError(f"{image} and {headers} don't belong together: try again later")
        # Newer Debians have an image in several packages.
        parts = [d for d in apt.depends(headers) + apt.depends(image)
                 if re.match(r"linux-(headers-\d\S*-common|kbuild-\d|binary-\d|modules-\d)", d)]
        cache.say(f"fetching kernel {version} and its headers")
        with tempfile.TemporaryDirectory(dir=work) as temp:
            temp = pathlib.Path(temp)
            for deb in apt.download([image, headers, *parts], temp):
                command("dpkg-deb", "-x", deb, temp / "tree")
            self._split(temp / "tree", work, version)
        (work / "version").write_text(version + "\n", encoding="ascii")

    @staticmethod
    def _real(apt, meta, pattern):
        found = [d for d in apt.depends(meta) if re.match(pattern, d)]
        if len(found) != 1:
            raise HarnessError(f"{meta} depends on {found}: expected one package like {pattern}")
        return found[0]

    @staticmethod
    def _split(tree, work, version):
        [vmlinuz] = [*tree.glob("boot/vmlinuz-*"), *tree.glob("usr/lib/modules/*/vmlinuz")]
        vmlinuz.rename(work / "vmlinuz")
        lib = tree / "usr/lib" if (tree / "usr/lib/modules").is_dir() else tree / "lib"
        modules = lib / "modules" / version
        (work / "modules/lib/modules").mkdir(parents=True)
        modules.rename(work / "modules/lib/modules" / version)
        _pack_modules(work, version)
        (work / "headers/usr").mkdir(parents=True)
        (tree / "usr/src").rename(work / "headers/usr/src")
        kbuild = tree / "usr/lib"
        kbuild.rename(work / "headers/usr/lib")
        for name in (work / "headers/usr/src").glob("linux-headers-*"):
            makefile = name / "Makefile"
            text = makefile.read_text(encoding="ascii")
            if re.fullmatch(r"(KBUILD_OUTPUT=/usr/src/\S+\s)?include /usr/src/\S+/Makefile\s*", text):
                here = "$(dir $(realpath $(lastword $(MAKEFILE_LIST))))"
                makefile.write_text(text.replace("OUTPUT=", "OUTPUT := ").replace("/usr/src/", f"{here}../"),
                                    encoding="ascii")
        if not (work / f"headers/usr/src/linux-headers-{version}/scripts/Makefile.build").exists():
            raise HarnessError(f"the headers of {version} are not laid out as expected")

    def _build_initrd(self, work, init, busybox):
        root = work / "root"
        for name in ("bin", "proc", "sys", "dev", "new", "stage", f"lib/modules/{self.version}"):
            (root / name).mkdir(parents=True)
        (root / "usr").symlink_to(".")
        shutil.copy(busybox, root / "bin/busybox")
        for applet in BUSYBOX_APPLETS:
            (root / "bin" / applet).symlink_to("busybox")
        target = root / "lib/modules" / self.version
        source = self.dir / "modules/lib/modules" / self.version
        for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            if (source / name).exists():        # newer Debians leave out what depmod has read
                shutil.copy(source / name, target / name)
        for module in INITRD_MODULES:
            text = subprocess.run(["modprobe", "-d", self.dir / "modules", "-S", self.version,
                                   "--show-depends", module], capture_output=True, text=True, check=False)
            for path in re.findall(r"^insmod (\S+)", text.stdout, re.M):
                self._copy_module(pathlib.Path(path), source, target)
        command("depmod", "-b", root, self.version)
        shutil.copy(init, root / "init")
        (root / "init").chmod(0o755)
        names = "\n".join(str(p.relative_to(root)) for p in sorted(root.rglob("*")))
        cpio = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"], cwd=root, check=True,
                              input=names.encode(), stdout=subprocess.PIPE)
        with gzip.open(work / "initrd", "wb", compresslevel=1) as archive:
            archive.write(cpio.stdout)
        shutil.rmtree(root)

    @staticmethod
    def _copy_module(path, source, target):
        relative = path.resolve().relative_to(source.resolve())
        copy = target / relative
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".xz":        # busybox's modprobe reads plain modules only
            copy.with_suffix("").write_bytes(
                subprocess.run(["xz", "-dc", path], check=True, stdout=subprocess.PIPE).stdout)
        else:
            shutil.copy(path, copy)
