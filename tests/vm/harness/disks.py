# SPDX-License-Identifier: GPL-2.0-only
"""The --disk option: NAME=SIZE|PATH[,key=value...] and what QEMU gets for it.

Sizes are binary (2G = 2 GiB), rates decimal (bps=200M is 200 MB/s), as such devices are sold.
"""
import pathlib
import re

from .cache import HarnessError

BINARY = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
DECIMAL = {"": 1, "K": 10 ** 3, "M": 10 ** 6, "G": 10 ** 9}
NAME = re.compile(r"[A-Za-z0-9_-]{1,20}$")      # virtio cuts a serial at 20 bytes
CACHE_MODES = ("unsafe", "writeback", "none", "writethrough", "directsync")


def number(text, units, what):
    match = re.fullmatch(r"(\d+)([KMGT]?)", text.upper())
    if not match or match[2] not in units:
        raise HarnessError(f"{what}: '{text}' is not a number with one of {', '.join(u for u in units if u)}")
    return int(match[1]) * units[match[2]]


class Disk:
    """One disk of a guest, /dev/disk/by-id/virtio-<name> inside."""

    def __init__(self, text):
        self.name, _, rest = text.partition("=")
        what, *options = rest.split(",")
        if not NAME.match(self.name) or self.name.startswith("vm-") or not what:
            raise HarnessError(f"--disk {text}: expected NAME=SIZE or NAME=PATH, NAME up to 20 letters, "
                               "digits, '_' or '-', not beginning with 'vm-'")
        self.path, self.size_bytes = None, None
        if "/" in what:
            self.path = pathlib.Path(what).resolve()
        else:
            self.size_bytes = number(what, BINARY, f"--disk {self.name}")
        self.throttle, self.drive, self.device = [], {"cache": "unsafe"}, []
        self.log = None
        for option in options:
            self._option(option)

    def _option(self, option):
        key, _, value = option.partition("=")
        where = f"--disk {self.name}: {key}"
        if key in ("bps", "iops"):
            self.throttle.append(f"throttling.{key}-total={number(value, DECIMAL, where)}")
        elif key in ("rbps", "wbps", "riops", "wiops"):
            kind = {"r": "read", "w": "write"}[key[0]]
            self.throttle.append(f"throttling.{key[1:]}-{kind}={number(value, DECIMAL, where)}")
        elif key == "cache" and value in CACHE_MODES:
            self.drive["cache"] = value
        elif key == "lbs" and value in ("512", "4096"):
            self.device += [f"logical_block_size={value}", f"physical_block_size={value}"]
        elif key == "log" and value:
            self.log = pathlib.Path(value).resolve()
        elif option == "ro":
            self.drive["readonly"] = "on"
        else:
            raise HarnessError(f"--disk {self.name}: unknown option '{option}' (bps= iops= rbps= wbps= riops= "
                               f"wiops= lbs=512|4096 log=FILE ro cache={'|'.join(CACHE_MODES)})")

    def prepare(self, folder):
        """Make the sparse file, unless a kept one is there already."""
        if self.path is None:
            self.path = folder / f"{self.name}.img"
            if not self.path.exists():
                with open(self.path, "wb") as image:
                    image.truncate(self.size_bytes)
        elif not self.path.exists():
            raise HarnessError(f"--disk {self.name}: {self.path} does not exist")
        if self.path.stat().st_size % 4096:
            raise HarnessError(f"--disk {self.name}: the size of {self.path} is no multiple of 4096")

    def arguments(self):
        options = {"if": "none", "id": f"d-{self.name}", "discard": "unmap", **self.drive}
        if self.drive["cache"] in ("none", "directsync"):
            options["aio"] = "native"
        if self.log:    # every write in order, for a replayer of power cuts
            self.log.touch()
            options |= {"driver": "blklogwrites", "file.driver": "raw", "file.file.driver": "file",
                        "file.file.filename": self.path, "log.driver": "raw", "log.file.driver": "file",
                        "log.file.filename": self.log}
        else:
            options |= {"format": "raw", "file": self.path}
        drive = ",".join(f"{k}={_escape(v)}" for k, v in options.items())
        return ["-drive", ",".join([drive, *self.throttle]),
                "-device", ",".join([f"virtio-blk-pci,drive=d-{self.name},serial={self.name}", *self.device])]


def internal(name, path, snapshot):
    """A disk of the harness itself: pristine for every run, several runs can share the file."""
    mode = "snapshot=on,cache=unsafe" if snapshot else "readonly=on"
    return ["-drive", f"if=none,id={name},format=raw,file={_escape(path)},{mode}",
            "-device", f"virtio-blk-pci,drive={name},serial={name}"]


def _escape(value):
    return str(value).replace(",", ",,")
