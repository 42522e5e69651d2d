#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# setup.sh [--build | --demo] [PACKAGE...]: install with apt what building, checking and testing need (and these, which
# one slow proof needs), on Debian 12 or 13, as root or through sudo. Says what it does; does nothing when all is there.
# The guests' kernels, headers and image are fetched into the cache (build/cache or TIER_CACHE), never installed;
# with --demo only those of the demonstration; with --build, which is for building and installing, none.
# Interrupted, it ends with 130; the next run goes on from there.
set -eu
cd "$(dirname "$0")/.."

what=all kernels=(6.1 6.12)
case ${1-} in
--demo)
	what=demo kernels=(6.1)
	shift
	;;
--build)
	what=build
	shift
	;;
esac
build=(build-essential pkg-config kmod libdevmapper-dev libblkid-dev uuid-dev libsystemd-dev libudev-dev libconfig-dev)
unit=(clang git libcmocka-dev dbus-daemon gcc-12 libelf-dev xz-utils)
lint=(shellcheck cppcheck sparse clang-format perl man-db systemd)
guest=(qemu-system-x86 qemu-system-common mmdebstrap debian-archive-keyring busybox-static cpio e2fsprogs python3)
packages=("${build[@]}" "${unit[@]}" "${lint[@]}" "${guest[@]}" "$@")
# Taken where apt knows them: on Debian 13 virtiofsd is a package of its own; clang's sanitizer runtime is a
# mere recommendation of clang; the headers of the running kernel, where it is one of Debian's.
optional=(virtiofsd libclang-rt-dev "linux-headers-$(uname -r)")
if [ $what = build ]; then
	packages=("${build[@]}" "$@") optional=("linux-headers-$(uname -r)")
fi

if [ ! -e /etc/debian_version ] || ! command -v apt-get >/dev/null; then
	echo "setup: this is not Debian. Install by your own means: ${packages[*]}" >&2
	exit 1
fi

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null) == ?i* ]]; }

find_missing() {
	local package
	missing=()
	for package in "${packages[@]}"; do
		is_installed "$package" || missing+=("$package")
	done
	for package in "${optional[@]}"; do
		is_installed "$package" || ! apt-cache show "$package" >/dev/null 2>&1 || missing+=("$package")
	done
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		echo "setup: needs root or sudo for: $*" >&2
		exit 1
	fi
}

find_missing
if [ ${#missing[@]} -gt 0 ]; then
	# Wait for another apt rather than fail; the lists first, as on a fresh machine there are none.
	options=(-q -o DPkg::Lock::Timeout=300)
	as_root apt-get "${options[@]}" update
	find_missing
	echo "setup: installing ${missing[*]}"
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get "${options[@]}" install -y --no-install-recommends "${missing[@]}"
else
	echo "setup: every package is installed"
fi

[ $what != build ] || exit 0
if [ "$(id -u)" -eq 0 ]; then
	cache=$(tests/vm/fetch $what)
	echo "setup: kernels, headers and guest image are in $cache"
else
	[ $what = demo ] || tests/vm/fetch checkpatch >/dev/null
	for kernel in "${kernels[@]}"; do
		tests/vm/fetch kernel "$kernel" >/dev/null
	done
	echo "setup: kernels and headers are fetched; the first VM test, which needs root, builds the guest image"
fi
