#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# tpcheck, tpdump, tprestore and tprepair on files that are images of devices: exit codes, messages, what is
# written and what is not. Needs neither root nor the module.
. "$(dirname "$0")/../vm/checks.sh"
tmp=$(mktemp -d) || exit 1
at_end rm -rf "$tmp"
cd "$tmp" || exit 1

# spoil FILE BLOCK [BYTE]: another byte in a block of 4 KiB
spoil() { printf '\377\376' | dd of="$1" bs=1 seek=$(($2 * 4096 + ${3:-100})) conv=notrunc status=none; }
sum() { md5sum <"$1"; }

cat >pool <<'TEXT'
dm-tier-dump 1
pool uuid=706f6f6c-206f-6620-6120-746573742e2e extent_sectors=2048 region_sectors=128 logical_block_bytes=512 log_blocks=2048 incompat=0 compat=0 system_id=00000000-0000-0000-0000-000000000000 next_generation=10 label=name=pool0
device idx=0 uuid=d0d0d0d0-d0d0-d0d0-d0d0-d0d0d0d0d0d0 tier=0 slots=3 state=online reserve_slots=0
device idx=1 uuid=d1d1d1d1-d1d1-d1d1-d1d1-d1d1d1d1d1d1 tier=1 slots=4 state=draining reserve_slots=1
volume id=3 uuid=75756964-206f-6620-6120-766f6c756d65 generation=9 extents=9 placement=1,0 label=name=big;note=a%20b
slot device=0 slot=0 generation=9 extent=6 valid=full
slot device=1 slot=2 generation=9 extent=7 valid=0-3,15
slot device=1 slot=3 quarantine
end
TEXT
truncate -s 16M meta other
truncate -s 1M small
mkdir folder

# Restore and dump ------------------------------------------------------------------------------
exits 5 "no metadata of a pool" tpcheck ./meta
exits 0 "Would restore the metadata of pool 706f6f6c-" tprestore -t -i pool -o ./meta
check "-t writes nothing" cmp meta other
exits 0 "Restored the metadata of pool 706f6f6c-" tprestore -i pool -o ./meta
exits 0 "no damage" tpcheck ./meta
exits 0 "pool pool0 (706f6f6c-206f-6620-6120-746573742e2e): commit 1, 2 devices, 1 volumes, 2 of 7 slots in use" tpcheck ./meta
check_equal "tpcheck -q says nothing" "" "$(tpcheck -q ./meta 2>&1)"
check "dump is what was restored" cmp <(tpdump ./meta) pool
check "... into a file, too" tpdump -o again ./meta
check "... the same" cmp again pool
check "nothing else is left" test ! -e again.new
check "from the standard input" bash -c 'tpdump ./meta | tprestore -o ./other'
check "... again the same" cmp <(tpdump ./other) pool
exits 5 "metadata of the dm-tier pool 706f6f6c-" tprestore -i pool -o ./meta
exits 0 "Restored" tprestore -y -i pool -o ./meta
exits 0 "Restored" tprestore --wipesignatures -i pool -o ./meta
check "twice on the same device is the same" cmp <(tpdump ./meta) pool

exits 5 "./small is too small: it has 1.00m, the metadata need" tprestore -i pool -o ./small
exits 5 "is neither a block device nor a file" tpcheck ./folder
exits 5 "not a block device" tprestore -i pool -o ./folder
sed 's/^device idx=1/# a comment\n\n&/' pool >again
exits 0 "Would restore" tprestore -y -t -i again -o ./other
sed -i 's/tier=1/tier=9/' again
exits 5 "again:6: tier=9 is not a number from 0 to 7" tprestore -y -i again -o ./other
cp pool again
sed -i.bak '/^slot device=0/d; $d' again
exits 5 "again:7: the text ends before the line 'end'" tprestore -y -i again -o ./other
check "a refused text changes nothing" cmp <(tpdump ./other) pool
exits 3 "a log has from" tprestore -y --logsize 1m -i pool -o ./other
exits 5 "is too small" tprestore -y --logsize 16m -i pool -o ./other
truncate -s 64M other
exits 0 "Restored" tprestore -y --logsize 16m -i pool -o ./other
check_equal "another log" " log_blocks=4096 " "$(tpdump ./other | grep -o ' log_blocks=[0-9]* ')"
check_fails "a full disk" bash -c 'tpdump ./meta >/dev/full'
check_fails "no folder to write to" tpdump -o no/such/dump ./meta

# Damage ----------------------------------------------------------------------------------------
tprestore -q -y -i pool -o ./meta
cp --sparse=always meta sound
spoil meta 0
exits 5 "damage: the superblock in block 0" tpcheck ./meta
exits 5 "activating and deactivating it writes this one anew" tpcheck ./meta
check_equal "tpcheck -q only says that there is damage" "tpcheck: ./meta is damaged: 1 finding" "$(tpcheck -q ./meta 2>&1 | head -n 1)"
check "what is not lost can be dumped" cmp <(tpdump ./meta) pool
spoil meta 512
exits 5 "damage: block 512" tpcheck ./meta
exits 5 "tprepair" tpcheck ./meta
exits 5 "neither checkpoint can be used" tpdump ./meta
exits 5 "no metadata" tpcheck ./small
before=$(sum meta)
exits 0 "lost: no checkpoint is whole" tprepair -t -i ./meta
exits 0 "Nothing was written" tprepair -t -i ./meta
exits 5 "are the same" tprepair -y -i ./meta -o ./meta
ln -s meta link
exits 5 "are the same" tprepair -y -i ./meta -o ./link
ln meta hard
exits 5 "are the same" tprepair -y -i ./hard -o ./meta
check_equal "the input is as it was" "$before" "$(sum meta)"

# A superblock and the newest checkpoint are not needed ...
cp --sparse=always sound meta
spoil meta 256
truncate -s 0 out
truncate -s 16M out
exits 0 "lost: the superblock in block 256" tprepair -i ./meta -o ./out
check "all is there" cmp <(tpdump ./out) pool
exits 0 "no damage" tpcheck ./out
exits 5 "Wipe it?" tprepair -i ./meta -o ./out
exits 0 "./sound is not damaged" tprepair -y -i ./sound -o ./out

# ... and without any superblock the extent size is
dd if=/dev/zero of=meta bs=1M count=2 conv=notrunc status=none
exits 5 "both superblocks of pool 706f6f6c-206f-6620-6120-746573742e2e are lost" tprepair -t -i ./meta
exits 5 "--extentsize" tprepair -t -i ./meta
exits 0 "lost: both superblocks" tprepair -y -s 1m -i ./meta -o ./out
check "all is there" cmp <(tpdump ./out) pool
exits 5 "is not a data device of a pool" tprepair -t -s 1m --tier 0:./small -i ./meta
exits 5 "there is no superblock, checkpoint or log of any pool" tprepair -t -i ./small
: >empty
exits 5 "there is no superblock" tprepair -t -i ./empty
exits 5 "damage" tpcheck ./empty
finish
