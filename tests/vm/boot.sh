#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In the guest, for h_boot.sh: `make` a pool with a volume; `found` after a boot with systemd;
# `foreign` after one of another host, which takes it over.
. /src/tests/vm/lib.sh

is_active() { dmsetup info pool0 >/dev/null 2>&1; }
is_there() { [ -b /dev/tier/pool0/data ]; }
mounted() { mountpoint -q /mnt && cmp -s /mnt/file <(seq 100000); }

case $1 in
make)
	meta=$(make_lv ssd meta 80m)
	t0=$(make_lv ssd t0 64m)
	t1=$(make_lv hdd t1 128m)
	check "a pool on LVs of two disks" tpcreate -y -s 4m -m "$meta" --tier 0:"$t0" --tier 1:"$t1" pool0
	check "a volume" tvcreate -V 100m -n data pool0
	check "with a filesystem" mkfs.ext4 -q /dev/tier/pool0/data
	mount /dev/tier/pool0/data /mnt
	check "and a file" bash -c 'seq 100000 >/mnt/file'
	check "which is whole" mounted
	umount /mnt
	;;
found)
	check "the pool is active" wait_for 60 is_active
	check "its volume is there" wait_for 20 is_there
	check "it can be mounted" mount /dev/tier/pool0/data /mnt
	check "with its file" mounted
	umount /mnt
	check "deactivated" tpchange -an pool0
	udevadm trigger --action=change --subsystem-match=block
	udevadm settle
	for device in /dev/ssd/meta /dev/ssd/t0 /dev/hdd/t1; do
		: <>"$device"	# closed after it was open for writing: udev looks at it again
	done
	udevadm settle
	check_equal "it stays so, whatever is looked at" "" "$(systemctl list-units --no-legend 'tier-activate-*')"
	check_fails "not active" is_active
	check "half of its devices go" vgchange -q -an hdd
	check "and come back" vgchange -q -ay hdd
	check "then it is active again" wait_for 60 is_active
	check "with its volume" wait_for 20 is_there
	check "away" tpchange -an pool0
	check "both go" vgchange -q -an ssd hdd
	check "one comes" vgchange -q -ay ssd
	udevadm settle
	ended() { [ -z "$(systemctl list-units --no-legend 'tier-activate-*')" ]; }
	check "each that came has tried" wait_for 30 ended
	check_fails "which is not enough" is_active
	check_equal "and no failure" "" "$(systemctl list-units --failed --no-legend)"
	check "the other comes" vgchange -q -ay hdd
	check "then it is active" wait_for 60 is_active
	wait_for 20 is_there
	wait_for 30 ended
	check "away" tpchange -an pool0
	;;
foreign)
	tried() { journalctl -q -b -o cat | grep -q 'pool pool0 belongs to host d37e.*, this is host 0000000000000000000000000000000b'; }
	check "it was tried, and the journal names both hosts" wait_for 60 tried
	check "... and what to do" wait_for 5 bash -c "journalctl -q -b -o cat | grep -q 'tpchange --import pool0'"
	check_fails "not active" is_active
	check_equal "no failure" "" "$(systemctl list-units --failed --no-legend)"
	check "taken over and activated" tpchange -y --import -ay pool0
	check "with its volume" wait_for 20 is_there
	check "it can be mounted" mount /dev/tier/pool0/data /mnt
	check "with its file" mounted
	umount /mnt
	check "away" tpchange -an pool0
	;;
esac
finish
