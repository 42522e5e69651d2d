#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What dm-tier-admin(7) says: space that comes back, mounting at boot, swap, LVM and snapshots on a volume, what is not
# possible, time limits of full pools, a new module, windows.
#
# vm: --systemd --disk ssd=700M --disk hdd=1500M --timeout 400
# vm-kernels: 6.1
# vm-light: it measures no time
. /src/tests/vm/lib.sh

column() { "$@" --noheadings 2>/dev/null | xargs; }
used() { column tvs -o vol_used_extents "$1"; }
has_used() { [ "$(used "$1")" -eq "$2" ]; }

date -s '2031-05-05 12:00:00' >/dev/null	# far from the default window
meta=$(make_lv ssd meta 100m) t0=$(make_lv ssd t0 500m) t1=$(make_lv hdd t1 1000m) t2=$(make_lv hdd t2 200m)
modprobe dm-tier
systemctl start tierd
check "a pool" tpcreate -q -s 4m -m "$meta" --tier 0:"$t0" --tier 1:"$t1" pool0
check "a volume" tvcreate -q -V 400m -n data pool0

# Space comes back -----------------------------------------------------------------------------------------------
mkfs.xfs -q /dev/tier/pool0/data && mount /dev/tier/pool0/data /mnt
before=$(used pool0/data)
dd if=/dev/urandom of=/mnt/file bs=1M count=100 status=none && sync -f /mnt
check "100 MiB take some 25 extents" test "$(used pool0/data)" -ge $((before + 20))
rm /mnt/file && sync -f /mnt
check "a file that is removed gives nothing back" test "$(used pool0/data)" -ge $((before + 20))
check "fstrim" fstrim /mnt
check "... does" wait_for 20 bash -c "[ \$(tvs --noheadings -o vol_used_extents pool0/data) -le $((before + 2)) ]"
umount /mnt

check "a volume to discard" tvcreate -q -V 40m -n bits pool0
dd if=/dev/urandom of=/dev/tier/pool0/bits bs=4M count=2 oflag=direct status=none
check_equal "two extents" 2 "$(used pool0/bits)"
for at in 0 1 2 3; do
	check_equal "an extent is kept while anything of it is left" 2 "$(used pool0/bits)"
	blkdiscard -o $((at << 20)) -l 1MiB /dev/tier/pool0/bits
done
check "discarded in pieces, it is given back with the last of them" wait_for 20 has_used pool0/bits 1

# fstab ----------------------------------------------------------------------------------------------------------
mkdir /srv/data
echo "/dev/tier/pool0/data /srv/data xfs defaults,nofail,x-systemd.device-timeout=20s 0 0" >>/etc/fstab
check "the pool is away" tpchange -q -an pool0
systemctl daemon-reload
systemctl start srv-data.mount 2>/run/said &
job=$!
is_waiting() { systemctl list-jobs --no-legend | grep -q 'srv-data.mount'; }
check "the mount waits for the volume" wait_for 10 is_waiting
check "the pool comes" tpchange -q -ay pool0
check "it is mounted" wait $job
check_equal "... from the volume" xfs "$(findmnt -no FSTYPE /srv/data)"
umount /srv/data
check "the pool is away" tpchange -q -an pool0
check_fails "a volume that does not come in time is given up" systemctl start srv-data.mount
check "the pool comes" tpchange -q -ay pool0

# Swap, LVM, snapshots -------------------------------------------------------------------------------------------
check "a volume for swap" tvcreate -q -V 64m -n swap pool0
check "mkswap" mkswap -q /dev/tier/pool0/swap
check "swap on it" swapon /dev/tier/pool0/swap
check_fails "... is in use" tpchange -an pool0
check "off" swapoff /dev/tier/pool0/swap
check "a volume for LVM" tvcreate -q -V 200m -n pv pool0
check "a physical volume" pvcreate -q /dev/tier/pool0/pv
check "a volume group" vgcreate -q upper /dev/tier/pool0/pv
check "a logical volume" lvcreate -q -y -n lv -L 60m upper
mkfs.ext4 -q /dev/upper/lv && mount /dev/upper/lv /mnt && echo before >/mnt/file
check "a snapshot of it" lvcreate -q -y -s -n snap -L 40m upper/lv
echo after >/mnt/file
mkdir /run/snap && mount -o ro /dev/upper/snap /run/snap
check_equal "... keeps what was" before "$(cat /run/snap/file)"
umount /run/snap /mnt
check "the group is away" vgchange -q -an upper
check "then the pool" tpchange -q -an pool0
udevadm settle
check "and back" tpchange -q -ay pool0
udevadm settle
is_back() { [ -b /dev/upper/lv ]; }
check "with it the volume group, by itself" wait_for 30 is_back
lists() { pvs --noheadings -o pv_name "$@" | grep -q 'pool0'; }
check "LVM lists it" lists
check_fails "... not with the filter of the page" lists --config "$(sed -n 's/^devices { \(global_filter.*\) }$/devices { \1 }/p' \
	/src/man/dm-tier-admin.7 | sed 's/[\]//g')"
check "away" vgremove -q -y upper
check "the physical volume, too" pvremove -q /dev/tier/pool0/pv
check "and the volume" tvremove -q -y pool0/pv

# What is not possible -------------------------------------------------------------------------------------------
exits 5 "smaller" tvextend -L 100m pool0/data

# Full pools -----------------------------------------------------------------------------------------------------
with_feature() {
	dmsetup table pool0 | awk -v words="$1" '{ print $0, words }' | dmsetup load pool0 &&
		dmsetup suspend --noflush pool0 && dmsetup resume pool0
}
check "no_space_timeout by hand, in a pool that is active" with_feature "2 no_space_timeout 10"
check "... is in force" grep -q "no_space_timeout 10" <(dmsetup table pool0)
tpchange -q -an pool0 && tpchange -q -ay pool0
check_fails "... until the pool is deactivated" grep -q no_space_timeout <(dmsetup table pool0)

# A new module: the lines of the page, in order ---------------------------------------------------------------------
lines() { sed -n '/^\.SH ANOTHER VERSION/,/^\.SH RELOCATION/{/^\.nf/,/^\.fi/p}' /src/man/dm-tier-admin.7 | sed '/^\./d; s/\\-/-/g'; }
after() {
	case $1 in
	"tpchange -an")
		for device in "$meta" "$t0"; do
			check_fails "blkid knows nothing of $device" blkid -p "$device"
			check_equal "... nor does wipefs" "" "$(wipefs "$device")"
		done ;;
	"modprobe -r dm-tier") check_fails "... it is gone" grep -q '^dm_tier ' /proc/modules ;;
	"tpchange -ay") check_equal "... all pools are back" "pool0 active" "$(column tps -o pool_name,pool_state | xargs)" ;;
	esac
}
check_fails "a module in use is not replaced" modprobe -r dm-tier
check_equal "the page has five lines" 5 "$(lines | wc -l)"
while read -r -u 3 line; do
	case $line in
	# The guest has no kernel headers: what modprobe loads next is what was there.
	make\ *) check "the page: $line, is a target" grep -q "^${line#make }:" /src/Makefile ;;
	*) check "the page: $line" bash -c "$line" ;;
	esac
	after "$line"
done 3< <(lines)
check "it is whole" xfs_repair -n /dev/tier/pool0/data

# Without a name: all pools ------------------------------------------------------------------------------------------
states() { column tps -o pool_name,pool_state | xargs; }
p1=$(make_lv hdd p1 100m)
check "a second pool" tpcreate -q -s 4m -m "$(make_lv ssd meta1 80m)" --tier 0:"$p1" pool1
check "one is in use" mount /dev/tier/pool0/data /mnt
exits 5 "pool0/data is in use" tpchange -an
check_equal "... it stays, the other goes" "pool0 active pool1 inactive" "$(states)"
umount /mnt
exits 0 "Pool pool0 is not active any more" tpchange -an
exits 0 "" tpchange -an
mv /etc/machine-id /run/machine-id && echo 0000000000000000000000000000000a >/etc/machine-id
exits 5 "pool pool1 belongs to host" tpchange -ay
check_equal "... of other hosts: none" "pool0 foreign pool1 foreign" "$(states)"
mv /run/machine-id /etc/machine-id
lvchange -an hdd/p1
exits 5 "pool pool1 is incomplete" tpchange -ay
check_equal "... the other comes" "pool0 active pool1 incomplete" "$(states)"
lvchange -ay hdd/p1
check "with its device it comes, too" tpchange -ay
check_equal "... both are there" "pool0 active pool1 active" "$(states)"

# Names that say too little ------------------------------------------------------------------------------------------
check "one is away, and udev leaves it there" bash -c ">/etc/udev/rules.d/69-dm-tier-activate.rules; udevadm control --reload; tpchange -q -an pool1"
m1=/dev/ssd/meta1 uuid1=$(column tps -o pool_uuid pool1)
restore() { tpdump "$m1" >/run/dump && sed "s/$1/$2/" /run/dump | tprestore -q --wipesignatures -o "$m1"; }
check "it gets the name of the other" restore label=name=pool1 label=name=pool0
check_equal "... which its health says" "inactive another active pool has this name" \
	"$(column tps -S "pool_uuid=$uuid1" -o pool_state,pool_health | xargs)"
mv /etc/machine-id /run/machine-id && echo 0000000000000000000000000000000a >/etc/machine-id
exits 0 "another pool is called pool0, too" tpchange -t --import "$uuid1"
mv /run/machine-id /etc/machine-id
check "it gets its own back" restore label=name=pool0 label=name=pool1
check "a copy of its metadata" dd if="$m1" of="$(make_lv hdd copy 80m)" bs=1M status=none conv=fsync
exits 5 "a pool whose name cannot be read, $uuid1: " tpchange -ay pool1
exits 5 "there is no pool 'pool1' that could be read" tpchange -ay pool1
check "without the copy" lvremove -q -y hdd/copy
exits 0 "" tpchange -ay pool1
check "away" tpremove -q -y pool1

# Windows --------------------------------------------------------------------------------------------------------
is_known() { [ "$(column tps -o relocation pool0)" = "$1" ]; }
check "tierd has it" wait_for 10 is_known idle
check "a third device" tpextend -q --tier 1:"$t2" pool0
on_tier() { tes --noheadings -S "ext_tier=$1" pool0/data | wc -l; }
check "a policy that moves" tvchange -q --policy highest pool0/data
below=$(on_tier 1)
check "something is below" test "$below" -gt 0
echo 'mode = "measure";' >/etc/tierd.conf
check "mode measure" tierctl reload
exits 5 "measure" tierctl relocate --now pool0
check_equal "... moves nothing" "$below" "$(on_tier 1)"
rm /etc/tierd.conf
check "mode relocate" tierctl reload
check "... moves" tierctl relocate --now --wait pool0
check_equal "... all" 0 "$(on_tier 1)"
check "a policy that moves back" tvchange -q --policy lowest pool0/data
check "draining a device" dmsetup message pool0 0 set_device 0 draining
tierctl plan pool0 >/run/plan
check "is planned" grep -qE 'drain|policy_lowest' /run/plan
check_equal "... and waits for a window" "idle 0" "$(column tps -o relocation pool0) $(on_tier 1)"
check "... or for a command" tierctl relocate --now --wait pool0
check_equal "... then it is empty" 0 "$(on_tier 0)"
finish
