#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A pool of three LVM logical volumes, activated by hand with plain dmsetup: two volumes with ext4 and xfs, tables
# that load again, every message with good and bad arguments, the grammar of all answers, devices that are refused.
#
# vm: --disk ssd=2G --disk sas=2G --disk nl=2G --disk odd=64M,lbs=4096 --mem 1536 --timeout 480
# vm-kernels: 6.1 6.12
# vm-light: it measures no time
. /src/tests/vm/pool.sh

meta=$(make_lv ssd meta 64M)
fast=$(make_lv ssd fast 320M)
mid=$(make_lv sas mid 480M)
slow=$(make_lv nl slow 640M)
other=$(make_lv nl other 64M)
plain=$(make_lv nl plain 64M)
check "a pool of three LVs, extents of 4 MiB" pool_format -e 4096 "$meta" 0:"$fast" 1:"$mid" 2:"$slow"
check "dmsetup create" pool_up
check_equal "its table" "0 8192 tier-pool" "$(dmsetup table tp | cut -d' ' -f1-3)"
checked "an empty pool answers by the grammar"
check_equal "rw, nothing to check, regions of 64 KiB" "rw 0 128" "$(pool_value mode) $(pool_value needs_check) $(pool_value region_sectors)"
check_equal "slots: what fits behind the label" "79 119 159" "$(for i in 0 1 2; do pool_value slots $i; done | xargs)"

# Messages -----------------------------------------------------------------------------------------------------------

declare -A words=(["Invalid argument"]=EINVAL ["Numerical result out of range"]=ERANGE ["File exists"]=EEXIST
	["No such file or directory"]=ENOENT ["Device or resource busy"]=EBUSY ["No such device or address"]=ENXIO
	["No data available"]=ENODATA ["Operation already in progress"]=EALREADY ["No space left on device"]=ENOSPC
	["File name too long"]=ENAMETOOLONG ["Operation not supported"]=EOPNOTSUPP ["Read-only file system"]=EROFS
	["Resource temporarily unavailable"]=EAGAIN)
# says WANT MESSAGE: the answer, `ok` for none, or the errno's name
says() {
	local text code
	text=$(dmsetup message tp 0 "$2" 2>&1 </dev/null)
	code=$?
	if [ $code -ne 0 ]; then
		text=$(sed -n 's/.*failed: //p' <<<"$text" | head -n 1)
		text=${words[$text]:-$text}
	fi
	[ "${text:-ok}" = "$1" ] || echo "$2: expected $1, got ${text:-ok}"
}
# table WHAT < lines of WANT MESSAGE
table() {
	local want message wrong=
	while read -r want message; do
		[ -z "$want" ] || wrong+=$(says "${want//_/ }" "$message")
	done
	check_equal "$1" "" "$wrong"
}
u1=$(volume_uuid 1) u2=$(volume_uuid 2)
long=$(printf '%200s' '' | tr ' ' x)
table "volumes: good and bad arguments" <<-END
	EINVAL create_volume
	EINVAL create_volume 1
	EINVAL create_volume 1 8192
	EINVAL create_volume x 8192 $u1
	EINVAL create_volume -1 8192 $u1
	EINVAL create_volume 0x1 8192 $u1
	ERANGE create_volume 4096 8192 $u1
	ERANGE create_volume 1 0 $u1
	EINVAL create_volume 1 8193 $u1
	ERANGE create_volume 1 4096 $u1
	ERANGE create_volume 1 $(((1 << 24) * 8192 + 8192)) $u1
	ERANGE create_volume 1 18446744073709551616 $u1
	EINVAL create_volume 1 8192 aabbccdd
	EINVAL create_volume 1 8192 ${u1}0
	EINVAL create_volume 1 8192 ${u1//-/}
	EINVAL create_volume 1 8192 $u1 a%zz
	EINVAL create_volume 1 8192 $u1 a%00
	EINVAL create_volume 1 8192 $u1 a!
	ENAMETOOLONG create_volume 1 8192 $u1 ${long}y
	EINVAL create_volume 1 8192 $u1 label more
	ok create_volume 1 8192 $u1 $long
	EEXIST create_volume 1 8192 $u2
	EEXIST create_volume 2 8192 $u1
	ok create_volume 2 $(((1 << 24) * 8192)) $u2
	ok create_volume 4095 8192 $(volume_uuid 3)
	EINVAL resize_volume 1
	ENOENT resize_volume 7 8192
	ERANGE resize_volume 1 0
	EINVAL resize_volume 1 8200
	ok resize_volume 1 16384
	ok resize_volume 1 16384
	ok resize_volume 2 81920
	EINVAL set_label 1
	EINVAL set_label 1 a b
	ENOENT set_label 7 x
	EINVAL set_label 1 a%2
	ok set_label 1 name=a%20b;policy=auto
	ok set_label 2 -
	EINVAL set_pool_label
	ok set_pool_label name=%C3%A4
	EINVAL set_placement 1
	ENOENT set_placement 7 auto
	EINVAL set_placement 1 x
	EINVAL set_placement 1 8
	EINVAL set_placement 1 0,0
	EINVAL set_placement 1 0,
	EINVAL set_placement 1 ,0
	ENXIO set_placement 1 5
	ok set_placement 1 2,0
	ENOENT delete_volume 7
	EINVAL delete_volume
	EINVAL delete_volume 1 2
	ok delete_volume 4095
END
check_equal "what they did" \
	"1 $u1 1 16384 2,0 0 name=a%20b;policy=auto 2 $u2 2 81920 auto 0 -" "$(msg volumes | xargs)"
check_equal "the pool's label" "name=%C3%A4" "$(pool_value label)"
check "volume 1 is active" volume_up 1
table "a volume in use" <<-END
	EBUSY delete_volume 1
	EBUSY resize_volume 1 8192
	ok resize_volume 1 24576
END
check "a longer table" bash -c 'dmsetup load v1 --table "0 24576 tier /dev/mapper/tp 1" && dmsetup suspend v1 && dmsetup resume v1'
check_equal "the device is longer" 24576 "$(blockdev --getsz /dev/mapper/v1)"
check "some data" dd if=/dev/urandom of=/dev/mapper/v1 bs=64k count=4 oflag=direct status=none
table "moves: good and bad arguments" <<-END
	EINVAL migrate
	EINVAL migrate 1 0
	ENOENT migrate 7 0 1
	EINVAL migrate 1 x 1
	ERANGE migrate 1 3 1
	ERANGE migrate 1 16777216 1
	ENODATA migrate 1 1 1
	EINVAL migrate 1 0 8
	EINVAL migrate 1 0 dev:64
	EINVAL migrate 1 0 dev:
	EINVAL migrate 1 0 fast
	ENXIO migrate 1 0 5
	ENXIO migrate 1 0 dev:9
	EALREADY migrate 1 0 2
	EALREADY migrate 1 0 dev:2
	EINVAL migrate 1 0 1 forced
	EINVAL migrate 1 0 1 force 1
	EINVAL cancel 1
	ENOENT cancel 7 0
	ENOENT cancel 1 0
	ENOENT cancel 1 2
	ok cancel_all
	EINVAL cancel_all 1
	EINVAL set_rate
	EINVAL set_rate fast
	ERANGE set_rate 18446744073709551615
	ok set_rate 1
	EINVAL set_moves
	ERANGE set_moves 0
	ERANGE set_moves 33
	ok set_moves 32
	ok set_moves 1
	1 migrate 1 0 1
	1 migrate 1 0 1
	EBUSY migrate 1 0 0
	EBUSY migrate 1 0 dev:1
	ok cancel 1 0
END
check "a move that crawls can be cancelled" wait_for 5 quiet
check_equal "it says so" "cancelled cancelled" "$(msg moves since 1 | tail -n 1 | cut -d' ' -f7,8)"
check_equal "rate and number are in the status" "1 1" "$(pool_value rate) $(pool_value moves)"
table "no rate any more" <<<"ok set_rate 0"
check_equal "a move" 2 "$(msg migrate 1 0 1 force)"
check "ends" wait_for 5 quiet
check_equal "as done" "2 2 1 0 2 1 done - 262144" "$(msg moves since 2 | tail -n 1 | cut -d' ' -f1-9)"
check_equal "nothing since then" "1 3" "$(msg moves since 3)"
u5=05050505-0505-0505-0505-050505050505
table "devices: good and bad arguments" <<-END
	EINVAL add_device
	EINVAL add_device $u5 1
	EINVAL add_device x 1 8
	ERANGE add_device $u5 8 8
	ERANGE add_device $u5 1 0
	ERANGE add_device $u5 1 16777217
	ENOSPC add_device $u5 1 16777216
	3 add_device $u5 1 8
	3 add_device $u5 1 8
	EEXIST add_device $u5 2 8
	EEXIST add_device 01010101-0101-0101-0101-010101010101 0 79
	EINVAL grow_device 0
	ERANGE grow_device 64 10
	ENOENT grow_device 9 10
	EINVAL grow_device 0 10
	ENOSPC grow_device 0 80
	ok grow_device 0 79
	EINVAL set_device 0
	EINVAL set_device 0 new
	ENOENT set_device 9 online
	EINVAL set_device 3 online
	ok set_device 0 draining
	ENXIO migrate 1 0 0
	ENXIO migrate 1 0 dev:0
	ok set_device 0 online
	EINVAL forget_device
	ENOENT forget_device 9
	EINVAL forget_device 0 gone
	EBUSY forget_device 0
	EBUSY forget_device 1 lost
	ok forget_device 3
	ENOENT forget_device 3
	EINVAL set_low_water 1
	ERANGE set_low_water 8 1
	ok set_low_water 1 10
	EINVAL set_reserve 1
	ENOENT set_reserve 9 1
	EINVAL set_reserve 1 x
	ok set_reserve 1 2
	EINVAL clear_quarantine
	ENOENT clear_quarantine 9
	ok clear_quarantine 0
END
table "questions: good and bad arguments" <<-END
	EINVAL volumes 1
	EINVAL devices 0
	EINVAL moves since
	EINVAL moves after 1
	EINVAL moves since x
	EINVAL map 1
	ENOENT map 7 0 1
	ERANGE map 1 0 0
	ERANGE map 1 3 1
	ERANGE map 1 0 4
	1_2_-_-_-_0 map 1 1 2
	ENOENT counters 7 0 1
	ERANGE counters 1 0 4
	EINVAL counters 1 0 3 since
	EINVAL counters 1 0 3 after 1
	EINVAL counters 1 0 3 since x
	EINVAL commit now
	ok commit
	EINVAL checkpoint now
	ok checkpoint
	EOPNOTSUPP format
	EOPNOTSUPP Commit
END
volumes_down
table "away with them" <<-END
	ok delete_volume 1
	ok delete_volume 2
END
checked

# Filesystems -----------------------------------------------------------------------------------------------------------

check "volume 0" volume_new 0 90
check "volume 1" volume_new 1 80
check "ext4 on one" mkfs.ext4 -q /dev/mapper/v0
check "xfs on the other" mkfs.xfs -q /dev/mapper/v1
mkdir -p /run/m0 /run/m1
check "ext4 is mounted, with discard" mount -o discard /dev/mapper/v0 /run/m0
check "xfs is mounted" mount /dev/mapper/v1 /run/m1
tree() { find /usr/bin /usr/lib/python3 -xdev -type f -size -100k -print0 | sort -z | head -z -n 400; }
copy() { tree | tar -c --null -T - 2>/dev/null | tar -x -C "$1" && sync -f "$1"; }
background copy0 copy /run/m0
background copy1 copy /run/m1
wait_for 20 bash -c '[ "$(dmsetup message tp 0 volumes | cut -d" " -f6 | sort -n | head -n 1)" -ge 4 ]'
check "moves while files are written" mover -n 60 tp 0
check "of both" mover -n 60 -R 2 tp 1
ended copy0 "files on ext4" 90
ended copy1 "files on xfs" 90
same_tree() { (cd / && tree | xargs -0 sha256sum) | (cd "$1" && sed 's,  /,  ,' | sha256sum --quiet -c); }
echo 3 >/proc/sys/vm/drop_caches
check "files on ext4 are the same" same_tree /run/m0
check "files on xfs are the same" same_tree /run/m1
check "some files go" rm -r /run/m0/usr
check "unmounted" umount /run/m0 /run/m1
check "fsck of ext4" fsck.ext4 -fn /dev/mapper/v0
check "and of xfs" xfs_repair -n /dev/mapper/v1
checked
table0=$(dmsetup table tp) table_v0=$(dmsetup table v0)
check "away" pool_down
check "what dmsetup table printed loads again" dmsetup create tp --table "$table0"
check "that of a volume, too" dmsetup create v0 --table "$table_v0"
volume_up 1
check_equal "and is the same" "$table0 $table_v0" "$(dmsetup table tp) $(dmsetup table v0)"
mount /dev/mapper/v0 /run/m0
mount /dev/mapper/v1 /run/m1
check "files on xfs are the same afterwards" same_tree /run/m1
umount /run/m0 /run/m1
check "fsck of ext4" fsck.ext4 -fn /dev/mapper/v0
check "features in the table line" pool_reload error_if_no_space partial no_space_timeout 7
check "it loads again, too" bash -c 't=$(dmsetup table tp); dmsetup load tp --table "$t" && dmsetup suspend tp && dmsetup resume tp && [ "$(dmsetup table tp)" = "$t" ]'
checked
check "away" pool_down

# Refusals -----------------------------------------------------------------------------------------------------------------

# refused WHAT NAME REASON PARAMETERS: no device, and the kernel's log says why, by that name
refused() {
	local what=$1 name=$2 reason=$3
	dmesg -C
	if dmsetup create tp --table "0 8192 tier-pool $4" 2>/dev/null; then
		fail "$what is refused"
		dmsetup remove tp
		return 1
	fi
	dmsetup info tp >/dev/null 2>&1 && dmsetup remove tp
	check "$what is refused, by name" bash -c 'dmesg | grep -F "$1" | grep -q "$2" || { dmesg; exit 1; }' - "$name" "$reason"
}
number_of() { printf '%s' "$(lsblk -dno MAJ:MIN "$1" | tr -d ' ')"; }
dd if=/dev/zero of="$other" bs=1M count=1 status=none
tierlabel 3 "$other" 99
check "the device with large blocks is one of ours" tierlabel 3 "$(disk odd)"
refused "no parameters" "tier-pool" "Expected <metadata dev>" ""
refused "a number of devices that is not theirs" "tier-pool" "Unknown feature\|Expected" "$meta 4 $fast $mid $slow"
refused "a device without a label" "$plain" "no label" "$meta 3 $fast $mid $plain"
refused "a device of another pool" "$other" "another pool" "$meta 3 $fast $mid $other"
refused "a device that is given twice" "$mid" "twice" "$meta 3 $fast $mid $mid"
refused "a device with larger blocks than the pool's" "$(disk odd)" "larger logical blocks" "$meta 4 $fast $mid $slow $(disk odd)"
refused "a missing device" "03030303-0303-0303-0303-030303030303" "missing" "$meta 2 $fast $mid"
refused "a device that is not there" "/dev/nl/nothing" "opened\|No such" "$meta 3 $fast $mid /dev/nl/nothing"
refused "metadata that are not formatted" "tier-pool" "not formatted" "$plain 3 $fast $mid $slow"
refused "a data device as metadata" "tier-pool" "not formatted" "$fast 2 $mid $slow"
refused "an unknown feature" "tier-pool" "Unknown feature" "$meta 3 $fast $mid $slow 1 writeonly"
refused "a timeout without a number" "tier-pool" "no_space_timeout" "$meta 3 $fast $mid $slow 1 no_space_timeout"
tierlabel 3 "$plain"
refused "a labelled device without a record" "$(number_of "$plain")" "no member" "$meta 4 $fast $mid $slow $plain"
lvreduce -qfy -L 400M sas/mid >/dev/null 2>&1
refused "a device that is too small" "$(number_of "$mid")" "smaller" "$meta 3 $fast $mid $slow"
lvextend -qy -L 480M sas/mid >/dev/null 2>&1
check_fails "a table of another length is refused" dmsetup create tp --table "0 2048 tier-pool $meta 3 $fast $mid $slow"
dmsetup info tp >/dev/null 2>&1 && dmsetup remove tp

# partial: what is on the missing device errors, the rest is there
check "the pool comes up without a device: partial" dmsetup create tp --table "0 8192 tier-pool $meta 2 $fast $mid 1 partial"
check_equal "its state" missing "$(pool_value state 2)"
volume_up 0
reads() { dd if=/dev/mapper/v0 bs=4M skip="$1" count=1 iflag=direct of=/dev/null status=none 2>/dev/null; }
wrong=
while read -r first count _ device _; do
	for ((i = first; i < first + count; i++)); do
		if [ "$device" = 2 ]; then
			reads $i && wrong+=" $i is read"
		else
			reads $i || wrong+=" $i is not read"
		fi
	done
done < <(map_of 0)
check_equal "extents on it give errors, others don't" "" "$wrong"
check "and there were some of both" bash -c 'dmsetup message tp 0 map 0 0 90 | grep -q " 2 2 " && dmsetup message tp 0 map 0 0 90 | grep -q " [01] [01] "'
check "away" pool_down
check "whole again" pool_up
volume_up 0
check "ext4 is whole" fsck.ext4 -fn /dev/mapper/v0
checked
check "away" pool_down

# The device is lost: its extents give errors until they are discarded, then it can be forgotten
check "the pool without it again" dmsetup create tp --table "0 8192 tier-pool $meta 2 $fast $mid 1 partial"
volume_up 0
volume_up 1
check "its device is given up" msg forget_device 2 lost
check_equal "its state" lost "$(pool_value state 2)"
check_fails "it is not forgotten while extents are on it" msg forget_device 2
lost=$(map_of 0 | awk '$4 == 2 { print $1; exit }')
check_fails "its extents give errors" reads "$lost"
check_fails "also to writes" dd if=/dev/zero of=/dev/mapper/v0 bs=64k seek=$((lost * 64)) count=1 oflag=direct status=none
check "until they are discarded" blkdiscard -f -o $((lost * 4194304)) -l 4194304 /dev/mapper/v0
check "then they read as zeros" bash -c "dd if=/dev/mapper/v0 bs=4M skip=$lost count=1 iflag=direct status=none | cmp - <(head -c 4194304 /dev/zero)"
check "and can be written" dd if=/dev/urandom of=/dev/mapper/v0 bs=4M seek="$lost" count=1 oflag=direct status=none
check "with all of them discarded" blkdiscard -f /dev/mapper/v0
check "of both volumes" blkdiscard -f /dev/mapper/v1
lost_is_empty() { [ "$(pool_value used 2)" = 0 ]; }
check "it is empty" wait_for 10 lost_is_empty
check "it can be forgotten" msg forget_device 2
checked
# shellcheck disable=SC2034 # pool.sh uses it
pool_line="0 8192 tier-pool $meta 2 $fast $mid"
check "a table without it and without partial" pool_reload
check "away" pool_down
check "back" pool_up
checked
pool_down
finish
