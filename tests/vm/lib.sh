# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What guest suites (t_*.sh) share; sourced by them in the guest:  . /src/tests/vm/lib.sh
# The checks of checks.sh, and
#
#   disk NAME                               the device of --disk NAME=...
#   make_lv DISK LV SIZE [option...]        an LVM logical volume on that disk, prints /dev/<disk>/<lv>
#
# At the end the dm devices that are left are removed; one that cannot be removed is a failure.
. /src/tests/vm/checks.sh

disk() { echo "/dev/disk/by-id/virtio-$1"; }

# make_lv DISK LV SIZE [lvcreate option...]: the volume group has the disk's name and is made on demand
make_lv() {
	local name=$1 lv=$2 size=$3
	shift 3
	if ! vgs "$name" >/dev/null 2>&1; then
		vgcreate -q "$name" "$(disk "$name")" >&2 || return 1
	fi
	lvcreate -q -y -Wn -Zn -n "$lv" -L "$size" "$@" "$name" >&2 || return 1
	echo "/dev/$name/$lv"
}

# Volumes sit on pools, pools on LVs: repeat while one more goes.
remove_dm() {
	local before=-1 now
	while now=$(dmsetup ls 2>/dev/null | grep -cv '^No devices'); [ "$now" -ne 0 ] && [ "$now" -ne "$before" ]; do
		before=$now
		dmsetup ls 2>/dev/null | cut -f1 | while read -r name; do
			timeout 30 dmsetup remove "$name" >/dev/null 2>&1
		done
		udevadm settle
	done
	[ "$now" -eq 0 ]
}
end_dm() { remove_dm || fail "no dm device is left behind" "$(dmsetup info -c 2>&1)"; }
at_end end_dm
