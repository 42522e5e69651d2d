#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The metadata of a pool with data: checked while it works, dumped, wiped, restored, moved to another device,
# damaged and repaired; each time all data of all volumes are compared.
#
# vm: --disk ssd=1G --disk hdd=1G --timeout 1200
# vm-kernels: 6.1
# vm-light: it measures no time
. /src/tests/vm/lib.sh

modprobe dm-tier && modprobe loop
meta=$(make_lv ssd meta 96M) meta2=$(make_lv hdd meta2 200M)
t0=$(make_lv ssd t0 193M) t1=$(make_lv hdd t1 305M) more=$(make_lv hdd more 120M)

volumes="files raw sparse"
sums() { local v; for v in $volumes; do md5sum <"/dev/tier/pool0/$v"; done; }
up() { tpchange -ay pool0 && udevadm settle; }
down() { tpchange -an pool0; }
# same WHAT: the pool comes up, and all data are what they were; it is down again then
same() {
	check "$1: the pool comes up" up
	check_equal "$1: all data are the same" "$sums" "$(sums)"
	check "$1: the file system is sound" fsck.ext4 -fn /dev/tier/pool0/files
	check "$1: deactivate it" down
	exits 0 "no damage" tpcheck "$meta"
}
blank() { dd if=/dev/zero of="$1" bs=1M oflag=direct conv=nocreat status=none "${@:2}"; }
spoil() { printf 'spoilt' | dd of="$1" bs=1 seek=$(($2 * 4096 + 200)) conv=notrunc,fsync status=none; }

# A pool with everything ------------------------------------------------------------------------
tpcreate -q -y -s 4m -m "$meta" --tier "0:$t0" --tier "1:$t1" pool0
exits 0 "no damage" tpcheck "$meta"
tvcreate -q -V 100m -n files --policy highest pool0
tvcreate -q -V 60m -n raw --policy lowest pool0
tvcreate -q -V 400m -n sparse pool0
tvcreate -q -V 40m -n gone pool0
udevadm settle
mkfs.ext4 -q /dev/tier/pool0/files && mount /dev/tier/pool0/files /mnt
cp -r /usr/bin /mnt/ 2>/dev/null
dd if=/dev/urandom of=/dev/tier/pool0/raw bs=1M count=60 oflag=direct status=none
# partly valid extents: single regions here and there
for at in 0 7 100 101 999 1600; do
	dd if=/dev/urandom of=/dev/tier/pool0/sparse bs=64k count=1 seek=$at oflag=direct status=none
done
dd if=/dev/urandom of=/dev/tier/pool0/gone bs=1M count=40 oflag=direct status=none
tvremove -q -y pool0/gone
umount /mnt

# Of a live pool --------------------------------------------------------------------------------
# The pool writes commits all the time: moves, first writes, discards.
busy() {
	local i=0
	while [ ! -e /run/stop ]; do
		dmsetup message pool0 0 migrate 1 $((i % 15)) $((i % 2))
		dd if=/dev/zero of=/dev/tier/pool0/sparse bs=64k count=1 seek=$((2000 + i % 4000)) oflag=direct status=none
		blkdiscard -o $((200 << 20)) -l $((8 << 20)) /dev/tier/pool0/sparse
		[ $((i % 5)) -ne 0 ] || dmsetup message pool0 0 checkpoint
		i=$((i + 1))
	done >/run/busy.log 2>&1
	echo $i >/run/busy.count
}
busy &
busy_pid=$!
for i in 1 2 3 4 5 6 7 8; do
	exits 0 "no damage" tpcheck "$meta"
	check "dump $i of a live pool" bash -c "tpdump -o /run/live.$i $meta && tail -n 1 /run/live.$i | grep -qx end"
done
touch /run/stop
wait $busy_pid
note "$(cat /run/busy.count) rounds of writing meanwhile"
check "it did write meanwhile" test "$(cat /run/busy.count)" -gt 2
check_fails "the live dumps are of different moments" bash -c 'for i in 2 3 4 5 6 7 8; do cmp -s /run/live.1 /run/live.$i || exit 1; done'
truncate -s 128M /run/trial
check "and each would be a pool" tprestore -q -i /run/live.8 -o /run/trial
exits 0 "no damage" tpcheck /run/trial

exits 5 "is in use" tprestore -y -i /run/live.1 -o "$meta"
exits 5 "is in use" tprepair -t -i "$meta"
exits 5 "is in use" tprepair -y -i /run/trial -o "$meta"
exits 5 "is in use" tprepair -y -i /run/trial -o "$t0"
loop=$(losetup -f --show /run/trial)
exits 5 "/run/trial is in use by $loop" tprestore -y -i /run/live.1 -o /run/trial
exits 5 "/run/trial is in use by $loop" tprepair -t -i /run/trial
losetup -d "$loop"

# As a crash would leave it, with commits behind the checkpoint ----------------------------------
dmsetup message pool0 0 checkpoint
dd if=/dev/urandom of=/dev/tier/pool0/sparse bs=64k count=3 seek=3000 oflag=direct status=none
dmsetup message pool0 0 migrate 0 3 1
dmsetup message pool0 0 migrate 1 2 0
settled() { [ "$(dmsetup message pool0 0 moves | wc -l)" -eq 0 ]; }
wait_for 60 settled
dmsetup message pool0 0 commit
dd if="$meta" of=/run/crash bs=1M iflag=direct status=none
sums=$(sums)

# Dump, wipe, restore ----------------------------------------------------------------------------
check "deactivate it" down
exits 0 "no damage" tpcheck "$meta"
exits 0 "no damage" tpcheck /run/crash
check "a dump" tpdump -o /run/dump "$meta"
check_equal "the crashed pool's metadata are the same pool" "" "$(tpdump /run/crash | diff - /run/dump)"
check "... and say which slots are in use" test "$(grep -c '^slot .* generation=' /run/dump)" -gt 20
blank "$meta" 2>/dev/null
exits 5 "no metadata of a pool" tpcheck "$meta"
check_fails "without metadata there is no pool" tpchange -ay pool0
exits 0 "Restored the metadata" tprestore -i /run/dump -o "$meta"
check_equal "dumped again it is the same" "" "$(tpdump "$meta" | diff - /run/dump)"
same "restored"
# over what is there
exits 0 "Restored the metadata" tprestore -y -i /run/dump -o "$meta"
same "restored once more"

# Another, larger metadata device ----------------------------------------------------------------
exits 0 "both have the pool's metadata" tprestore -i /run/dump -o "$meta2"
check_fails "two of them are refused" tpchange -ay pool0
lvchange -qan ssd/meta
meta=$meta2
same "on another device"
check "the pool comes up" up
check "there is room for one more device" tpextend -q -y --tier "1:$more" pool0
check "deactivate it" down
exits 0 "3 devices" tpcheck "$meta"
same "with one more device"
lvchange -qay ssd/meta
blank /dev/ssd/meta count=2

# Damage -----------------------------------------------------------------------------------------
check "a dump" tpdump -o /run/dump "$meta"
dd if="$meta" of=/run/sound bs=1M iflag=direct status=none
again() { dd if=/run/sound of="$meta" bs=1M oflag=direct status=none; }
other=/dev/ssd/meta
# repaired WHAT [OPTION...]: onto the other device, which is the pool's then; all is there
repaired() {
	local what=$1
	shift
	check "$what: tprepair" tprepair -y -i "$meta" -o "$other" "$@"
	check_equal "$what: all of it is there" "" "$(tpdump "$other" | diff - /run/dump)"
	lvchange -qan hdd/meta2
	meta=$other same "$what"
	lvchange -qay hdd/meta2
	blank "$other" count=2
	again
}
spoil "$meta" 0
exits 5 "the superblock in block 0 is not valid" tpcheck "$meta"
repaired "a superblock"
for block in 512 $((512 + (200 * 256 - 512 - 16384) / 2)); do
	spoil "$meta" "$block"
	note "the first block of a checkpoint: $(tpcheck "$meta" 2>&1 | grep -E '^(damage|note)')"
	check "tpcheck finds it" bash -c "tpcheck $meta 2>&1 | grep -qE '^(damage|note): '"
	repaired "a checkpoint, block $block"
done
blank "$meta" count=2
exits 5 "no metadata" tpcheck "$meta"
exits 5 "both superblocks of pool" tprepair -t -i "$meta"
exits 0 "which host it belongs to" tprepair -t -i "$meta" -s 4m
sed -i 's/ system_id=[-0-9a-f]*/ system_id=00000000-0000-0000-0000-000000000000/' /run/dump
repaired "both superblocks" -s 4m

# A superblock that mends itself, as tpcheck says
spoil "$meta" 256
exits 5 "activating and deactivating it writes this one anew" tpcheck "$meta"
check "activate it" up
check "deactivate it" down
tpcheck -q "$meta" || { up && down; }	# each checkpoint goes to the other place
exits 0 "no damage" tpcheck "$meta"
again

# A hole in the log ------------------------------------------------------------------------------
# That the newest block of it is not what was written can be seen only if there is one after it.
first=$(python3 - <<'PY'
import struct
data = open("/run/crash", "rb").read()
commits = {}
for at in range(0, len(data), 4096):
    magic, = struct.unpack_from("<Q", data, at)
    if magic == 0x676f4c7265695464:
        commit, = struct.unpack_from("<Q", data, at + 40)
        commits[commit] = at // 4096
last = max(commits)
print(commits[last - 2])
PY
)
cp /run/crash /run/hole
spoil /run/hole "$first"
exits 5 "was written after it" tpcheck /run/hole
exits 5 "is damaged" tpdump /run/hole
blank "$meta" count=2
dd if=/run/hole of="$meta" bs=1M oflag=direct conv=nocreat status=none
check_fails "the kernel refuses it for writing" tpchange -ay pool0
check "... not for reading" tpchange -ay --readonly pool0
udevadm settle
check "deactivate it" down
exits 0 "lost: commit" tprepair -y -i "$meta" -o "$other"
exits 0 "doubt: " tprepair -y -i "$meta" -o "$other"
exits 0 "no damage" tpcheck "$other"
lvchange -qan hdd/meta2
check "what was saved comes up for writing" up
check "every volume is there" test -b /dev/tier/pool0/files -a -b /dev/tier/pool0/raw -a -b /dev/tier/pool0/sparse
check "deactivate it" down
exits 0 "no damage" tpcheck "$other"
finish
