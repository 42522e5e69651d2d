# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages without touching the system: a private apt with its own sources and lists.

The mirrors are those of the host's own sources where it has Debian's, so that a local mirror is
used; proxies and the like in /etc/apt/apt.conf.d stay in force. Signatures are checked as always.
"""
import os
import re
import time

from . import cache
from .cache import command

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
DEFAULT_MIRROR = "http://deb.debian.org/debian/"
LISTS_MAX_AGE_S = 86400


def host_suite():
    """The codename of this machine's Debian: the guest has the same, so host programs run in it."""
    with open("/etc/os-release", encoding="utf-8") as release:
        fields = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', release.read(), re.M))
    name = fields.get("VERSION_CODENAME", "")
    if fields.get("ID") != "debian" or name not in ("bookworm", "trixie"):
        cache.say(f"this machine is {fields.get('PRETTY_NAME', 'unknown')}, not Debian 12 or 13: "
                  "the guest gets Debian 12")
        return "bookworm"
    return name


def mirrors():
    """(main archive, security archive), from the host's sources or Debian's own."""
    targets = command("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)",
                      "Identifier: Packages")
    found = {}
    for line in targets.splitlines():
        uri, release = line.split(" ", 1)
        if re.fullmatch(r"bookworm|trixie", release):
            found.setdefault("main", uri)
        elif re.fullmatch(r"(bookworm|trixie)-security", release):
            found.setdefault("security", uri)
    main = found.get("main", DEFAULT_MIRROR)
    return main, found.get("security", main.rstrip("/") + "-security/")


def sources(suite):
    main, security = mirrors()
    signed = f"[signed-by={KEYRING}]"
    if suite == "sid":
        return [f"deb {signed} {main} sid main"]
    return [f"deb {signed} {main} {suite} main",
            f"deb {signed} {main} {suite}-updates main",
            f"deb {signed} {security} {suite}-security main"]


def apt_options(suite):
    """sid changes daily, and a mirror may be a few days behind; signatures are checked all the same."""
    return ['Acquire::Check-Valid-Until "false"'] if suite == "sid" else []


class PrivateApt:
    """apt-get and apt-cache for one suite, with all their state inside the cache."""

    def __init__(self, suite):
        self.root = cache.cache_dir() / f"apt-{suite}"
        for name in ("lists/partial", "archives/partial"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        (self.root / "sources.list").write_text("\n".join(sources(suite)) + "\n", encoding="ascii")
        conf = self.root / "apt.conf"
        conf.write_text(
            f'Dir::Etc::SourceList "{self.root}/sources.list";\n'
            'Dir::Etc::SourceParts "/dev/null";\n'
            'Dir::Etc::Preferences "/dev/null";\nDir::Etc::PreferencesParts "/dev/null";\n'
            f'Dir::State::Lists "{self.root}/lists";\n'
            f'Dir::Cache "{self.root}";\n'
            'Acquire::Languages "none";\nAPT::Sandbox::User "root";\n' +
            "".join(f"{option};\n" for option in apt_options(suite)), encoding="ascii")
        self.env = dict(os.environ, APT_CONFIG=str(conf), LC_ALL="C")

    def update(self):
        stamp = self.root / "updated"
        if stamp.exists() and time.time() - stamp.stat().st_mtime < LISTS_MAX_AGE_S:
            return
        cache.say("fetching package lists")
        # A list that could not be fetched must be an error: the default is a warning and code 0.
        command("apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update", env=self.env)
        stamp.touch()

    def depends(self, package):
        text = command("apt-cache", "depends", "--important", package, env=self.env)
        return re.findall(r"^ [ |]?(?:Pre)?Depends: (\S+)", text, re.M)

    def download(self, packages, folder):
        command("apt-get", "-q", "download", *packages, env=self.env, cwd=folder)
        return sorted(folder.glob("*.deb"))
