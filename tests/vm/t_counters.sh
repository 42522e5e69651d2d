#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Counters of I/O per extent are exact, tell sequential from random, and say what they belong to.
#
# vm: --disk meta=64M --disk a=64M --disk b=64M --timeout 240
# vm-light: it measures no time that a busy host would spoil
# vm-kernels: 6.1 6.12
. /src/tests/vm/pool.sh

v0=/dev/mapper/v0
# Or udev would probe a volume whenever its last writer closes it.
mkdir -p /run/udev/rules.d
echo 'SUBSYSTEM=="block", OPTIONS:="nowatch"' >/run/udev/rules.d/00-nowatch.rules
udevadm control --reload

# sums VOLUME FIRST COUNT: reads writes read-sectors write-sectors sequential large, added up
sums() {
	msg counters "$1" "$2" "$3" | awk 'NR > 1 { for (i = 2; i <= 7; i++) n[i] += $i }
		END { print n[2] + 0, n[3] + 0, n[4] + 0, n[5] + 0, n[6] + 0, n[7] + 0 }'
}
begin() { before=$(sums 0 0 16); }
# What was counted since `begin`: in $counted reads writes read-sectors write-sectors large, and in $sequential
count() {
	local -a a b
	read -ra a <<<"$before"
	read -ra b <<<"$(sums 0 0 16)"
	counted="$((b[0] - a[0])) $((b[1] - a[1])) $((b[2] - a[2])) $((b[3] - a[3])) $((b[5] - a[5]))"
	sequential=$((b[4] - a[4]))
}
counts() {
	count
	check_equal "$1" "$2" "$counted"
}
ios() { fio --name=ios --filename=$v0 --direct=1 --ioengine=libaio --size=8m --output=/run/fio.log "$@"; }

check "a pool" pool_format "$(disk meta)" 0:"$(disk a)" 1:"$(disk b)"
check "it comes up" pool_up
check "a volume" volume_new 0 16
check_equal "nothing is counted yet" "0 0 0 0 0 0" "$(sums 0 0 16)"

# Slow bios ------------------------------------------------------------------------------------------------
begin
dd if=/dev/zero of=$v0 bs=1M count=1 oflag=direct status=none
counts "a first write of 16 regions is one io (in a volume that had none)" "0 1 0 2048 1"
begin
dd if=/dev/zero of=$v0 bs=1M seek=1 count=1 oflag=direct status=none
counts "and in one that had some" "0 1 0 2048 1"
begin
dd if=/dev/zero of=$v0 bs=64k seek=$((5 * 16 + 4)) count=1 oflag=direct status=none
dd if=$v0 of=/dev/null bs=1M skip=5 count=1 iflag=direct status=none
counts "a read over valid and fresh regions is one io" "1 1 2048 128 1"

dd if=/dev/zero of=$v0 bs=1M count=16 oflag=direct status=none

# Exact ------------------------------------------------------------------------------------------------------
device_sectors() { echo $(($(pool_value sectors 0) + $(pool_value sectors 1))); }
old=$(device_sectors)
begin
ios --rw=randread --bs=4k --iodepth=8 --io_size=4000k
counts "1000 random reads of 4 KiB" "1000 0 8000 0 0"
check_equal "the devices' sectors in the status are as many" 8000 $(($(device_sectors) - old))
check "random is not sequential" test "$sequential" -le 50
note "of 1000 random reads $sequential follow another"
begin
ios --rw=randwrite --bs=64k --iodepth=8 --io_size=8m
counts "128 random writes of 64 KiB, which is not large" "0 128 0 16384 0"
begin
ios --rw=randread --bs=128k --iodepth=4 --io_size=4m
counts "32 random reads of 128 KiB are large" "32 0 8192 0 32"
begin
ios --rw=randwrite --bs=1m --iodepth=2 --io_size=4m
counts "4 random writes of 1 MiB" "0 4 0 8192 4"
begin
dd if=$v0 of=/dev/null bs=512k skip=1 count=2 iflag=direct status=none
counts "two reads that lie in one extent each" "2 0 2048 0 2"
begin
dd if=$v0 of=/dev/null bs=4k count=1 iflag=direct status=none
dd if=$v0 of=/dev/null bs=768k skip=1 count=1 iflag=direct status=none
counts "a read across the border of two extents is one io in each" "3 0 1544 0 2"
begin
ios --rw=randrw --bs=4k --iodepth=4 --numjobs=2 --io_size=4m
counts "two jobs on two CPUs" "$(awk '/issued rwts/ { split($0, n, /[=,]/); r += n[2]; w += n[3] }
	END { print r, w, 8 * r, 8 * w, 0 }' /run/fio.log)"
check_equal "so many in all" 2048 "$(awk '{ print $1 + $2 }' <<<"$counted")"

# Sequential ---------------------------------------------------------------------------------------------------
begin
fio --name=streams --filename=$v0 --direct=1 --ioengine=psync --rw=read --bs=4k --size=1m --numjobs=4 \
	--offset_increment=1m --cpus_allowed=0 --output=/run/fio.log
counts "four interleaved streams in four extents" "1024 0 8192 0 0"
check_equal "they are sequential, each but for its first io" 1020 "$sequential"
begin
fio --name=streams --filename=$v0 --direct=1 --ioengine=psync --rw=write --bs=16k --size=1m --offset=4m --numjobs=4 \
	--offset_increment=1m --cpus_allowed=0-1 --cpus_allowed_policy=split --output=/run/fio.log
counts "the same with writes, two streams on each CPU" "0 256 0 8192 0"
check_equal "they are sequential, each but for its first io" 252 "$sequential"

# Moves --------------------------------------------------------------------------------------------------------
begin
tier=$(extent_of 0 0 | cut -d' ' -f1)
check_equal "a move" "done -" "$(moved 0 0 $((1 - tier)) | cut -d' ' -f1,2)"
counts "is no io of the volume" "0 0 0 0 0"
dd if=$v0 of=/dev/null bs=4k count=10 iflag=direct status=none
counts "ios count on after it" "10 0 80 0 0"

# Since --------------------------------------------------------------------------------------------------------
head_of() { msg counters 0 0 16 ${1:+since "$1"} | head -n 1; }
read -r instance volume_generation since <<<"$(head_of)"
check_equal "nothing since" "" "$(msg counters 0 0 16 since "$since" | tail -n +2)"
since=$(head_of "$since" | cut -d' ' -f3)
dd if=$v0 of=/dev/null bs=4k skip=$((3 * 256)) count=1 iflag=direct status=none
dd if=$v0 of=/dev/null bs=4k skip=$((7 * 256)) count=2 iflag=direct status=none
check_equal "since: the extents that have changed" "3 7" "$(msg counters 0 0 16 since "$since" | awk 'NR > 1 { print $1 }' | xargs)"
check_equal "since 0: all that ever counted" 16 "$(msg counters 0 0 16 since 0 | tail -n +2 | wc -l)"
check_equal "a part of the volume" "7" "$(msg counters 0 5 5 since "$since" | awk 'NR > 1 { print $1 }' | xargs)"

# Identity -----------------------------------------------------------------------------------------------------
before=$(sums 0 0 16)
check "another table" pool_reload
check_equal "a reload keeps the counters" "$before" "$(sums 0 0 16)"
check_equal "and their instance" "$instance $volume_generation" "$(head_of | cut -d' ' -f1,2)"
dmsetup remove v0
check "the volume is deleted" msg delete_volume 0
wait_for 10 bash -c '[ -z "$(dmsetup message tp 0 volumes)" ]'
check "and made again" volume_new 0 16
check_equal "it counts from 0" "0 0 0 0 0 0" "$(sums 0 0 16)"
check "with another generation" test "$(head_of | cut -d' ' -f2)" -gt "$volume_generation"
check_equal "in the same instance" "$instance" "$(head_of | cut -d' ' -f1)"
dd if=/dev/zero of=$v0 bs=1M count=2 oflag=direct status=none
checked
dmsetup remove v0
check "deactivated" pool_down
check "activated" pool_up
volume_up 0
# udev may have read the volume by now.
check_equal "it counts from 0 again" "0 0" "$(sums 0 0 16 | cut -d' ' -f2,4)"
check "in another instance" test "$(head_of | cut -d' ' -f1)" != "$instance"
dmsetup remove v0
pool_down
finish
