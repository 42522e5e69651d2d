#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The command line on a real kernel: pools over LVM, volumes, policies, reports, refusals, activation.
#
# vm: --disk ssd=1G --disk hdd=1G --disk nl=2G --timeout 1800
# vm-kernels: 6.1
# vm-light: it measures no time
. /src/tests/vm/lib.sh

modprobe dm-tier
meta=$(make_lv ssd meta 96M) t0=$(make_lv ssd t0 193M)
t1=$(make_lv hdd t1 305M) more=$(make_lv hdd more 120M)
t2=$(make_lv nl t2 609M) spare=$(make_lv nl spare 64M)
create=(tpcreate -s 16m -m ssd/meta pool0 --tier 0:ssd/t0 --tier 1:hdd/t1 --tier "2:$t2")

# column COMMAND...: the one value of a report, without headings
column() { "$@" --noheadings | sed 's/ *$//'; }
# json EXPRESSION COMMAND...: a Python expression over the rows of a JSON report
json() {
	local expression=$1
	shift
	"$@" --reportformat json | python3 -c '
import json, sys
report, = json.load(sys.stdin)["report"]
(kind, rows), = report.items()
value = eval(sys.argv[1])
print(value if not isinstance(value, list) else " ".join(map(str, value)))' "$expression"
}
sums() { for lv in "$meta" "$t0" "$t1" "$t2" "$more" "$spare"; do md5sum <"$lv"; done; }

# What tpcreate refuses, with nothing touched --------------------------------------------------
mkfs.ext4 -q "$t1"
before=$(sums)
exits 5 "/dev/no/such" "${create[@]}" --tier 2:no/such
exits 5 "are the same device" "${create[@]}" --tier "2:$t0"
exits 5 "are the same device" "${create[@]}" --tier 0:/dev/mapper/ssd-meta
exits 5 "is too small: it does not hold one extent" tpcreate -s 1g -m ssd/meta pool0 --tier 0:ssd/t0
dmsetup create big --table "0 $((20 << 31)) zero"
exits 5 "Only 16.00t of the 20.00t of /dev/mapper/big can be used" tpcreate -s 1m -m ssd/meta pool0 --tier 0:mapper/big
dmsetup remove big
exits 5 "is too small: the metadata of this pool needs" tpcreate -s 1m -m nl/spare pool0 --tier 0:ssd/t0
exits 5 "bytes" tpcreate -s 1m -m nl/spare pool0 --tier 0:ssd/t0
exits 5 "$(disk hdd)" tpcreate -m ssd/meta pool0 --tier "0:$(disk hdd)"	# a PV in use
exits 5 "ext4" "${create[@]}"
exits 0 "Would create pool pool0" "${create[@]}" -t -y
mkdir -p /run/m && mount "$t1" /run/m
exits 5 "hdd" "${create[@]}" -y
umount /run/m
touch /run/file
exits 5 "/run/file" tpcreate -m ssd/meta pool0 --tier 0:/run/file
dmsetup create pool0 --table "0 2048 zero"
exits 5 "/dev/mapper/pool0 exists already" "${create[@]}" -y
dmsetup remove pool0
# a mount changes its own superblock: compare all but that
mkfs.ext4 -q "$t1"
before=$(sums)
exits 5 "ext4" "${create[@]}"
check_equal "refusals touch nothing" "$before" "$(sums)"

# A pool ---------------------------------------------------------------------------------------
exits 0 "this pool needs" "${create[@]}" --wipesignatures
uuid=$(column tps -o pool_uuid pool0)
check_equal "its dm UUID" "TIER-$uuid-pool" "$(dmsetup info -c --noheadings -o uuid pool0)"
check_equal "blkid finds no filesystem any more" "" "$(blkid -p -s TYPE -o value "$t1")"
exits 5 "there is a pool 'pool0' already" tpcreate -m nl/spare pool0 --tier 0:hdd/more
exits 5 "in use" tpcreate -y -m nl/spare pool1 --tier 0:hdd/t1
check_equal "size: 12 + 19 + 38 extents of 16 MiB" $((69 * 16))m "$(column tps -o pool_size --units m pool0 | sed 's/\.00//')"
check_equal "udev keeps scanners away" 1 "$(udevadm info -q property -n /dev/mapper/pool0 | grep -c '^DM_UDEV_DISABLE_DISK_RULES_FLAG=1')"

# Volumes and policies -------------------------------------------------------------------------
exits 0 "Rounding the size 100.00m up to whole extents: 112.00m" tvcreate -V 100m -n auto pool0
for policy in start-highest highest lowest none; do
	check "tvcreate --policy $policy" tvcreate -V 64m -n "v-$policy" --policy $policy pool0
done
check_equal "placements in the kernel" "auto 0,1,2 0,1,2 2,1,0 auto" \
	"$(dmsetup message pool0 0 volumes | cut -d' ' -f5 | xargs)"
check_equal "policies of the report" "default start-highest highest lowest none" \
	"$(json '[r["vol_policy"] for r in sorted(rows, key=lambda r: int(r["vol_id"]))]' tvs -o vol_policy,vol_id)"
udevadm settle
check "device nodes" test -b /dev/mapper/pool0-v--start--highest -a -b /dev/mapper/pool0-auto
check_equal "/dev/tier" "$(realpath /dev/mapper/pool0-v--none)" "$(realpath /dev/tier/pool0/v-none)"
check_equal "the dm UUID of a volume" "TIER-$uuid-$(column tvs -o vol_uuid pool0/auto)" \
	"$(dmsetup info -c --noheadings -o uuid pool0-auto)"
for volume in highest lowest; do
	dd if=/dev/urandom of=/dev/tier/pool0/v-$volume bs=1M count=40 oflag=direct status=none
done
check_equal "first writes of highest go to tier 0" 3,0,0 "$(column tvs -o vol_tier_extents pool0/v-highest)"
check_equal "first writes of lowest go to tier 2" 0,0,3 "$(column tvs -o vol_tier_extents pool0/v-lowest)"

exits 5 "has a volume 'auto' already" tvcreate -V 16m -n auto pool0
exits 5 "no pool 'nope' is active" tvcreate -V 16m -n x nope
exits 5 "is too large" tvcreate -V 1000t -n x pool0
exits 0 "Would create volume pool0/x" tvcreate -t -V 16m -n x pool0
exits 5 "pool pool0 has no volume 'x'" tvchange --policy auto pool0/auto pool0/x
exits 3 "'pool0' is not the name of a volume" tvremove pool0
exits 5 "has 112.00m already" tvextend -L 50m pool0/auto
check "tvchange --policy" tvchange --policy lowest pool0/auto pool0/v-none
check_equal "... acts on placement and label at once" "2,1,0 lowest 2,1,0 lowest" \
	"$(column tvs -o vol_placement,vol_policy pool0/auto pool0/v-none | xargs)"
check_equal "none of its own: the label has none" "name=auto auto" \
	"$(tvchange -q --policy default pool0/auto && column tvs -o vol_label,vol_placement pool0/auto | xargs)"
exits 0 "Would set the policy of volume pool0/auto to default" tvchange -t --policy default pool0/auto
tvchange -q --policy lowest pool0/auto
check "a pin" tvchange --policy highest --for 3d pool0/v-none
check_equal "... wins over the policy" "highest pin 0,1,2" "$(column tvs -o vol_policy,vol_policy_from,vol_placement pool0/v-none | xargs)"
check "... and ends with a new policy" tvchange --policy none pool0/v-none
check_equal "... which is in force" "none label auto" "$(column tvs -o vol_policy,vol_policy_from,vol_placement pool0/v-none | xargs)"

# Two at once: both get an id of their own
tvcreate -q -V 16m -n one pool0 & tvcreate -q -V 16m -n two pool0 & wait
check_equal "commands wait for each other" 7 "$(column tps -o vol_count pool0 | xargs)"
check "tvremove of several, one of them named twice" tvremove -y pool0/one pool0/two pool0/one
check "tvrename" tvrename pool0/v-none new.name
check "... its device too" test -b /dev/mapper/pool0-new.name -a ! -e /dev/mapper/pool0-v--none
udevadm settle
check "... and its link" test -b /dev/tier/pool0/new.name -a ! -e /dev/tier/pool0/v-none

# Reports --------------------------------------------------------------------------------------
check_equal "JSON of tps" "pool0 active rw 3 3 5" \
	"$(json '[rows[0][k] for k in "pool_name pool_state pool_mode tier_count dev_count vol_count".split()]' tps)"
check_equal "a row a tier" "0:12 1:19 2:38" \
	"$(json '[r["tier"] + ":" + str(int(r["tier_size"]) >> 15) for r in rows]' tps --tiers --units s --nosuffix)"
check_equal "a row a device" "/dev/mapper/ssd-t0 /dev/mapper/hdd-t1 /dev/mapper/nl-t2" \
	"$(json '[r["dev_path"] for r in rows]' tps --devices)"
check_equal "the metadata device" /dev/mapper/ssd-meta "$(column tps -o pool_metadata)"
check_equal "selection and sorting by size" "pool0/auto pool0/v-start-highest pool0/v-lowest pool0/v-highest" \
	"$(column tvs -o vol_full_name -S 'vol_size>=64m && vol_name!~new' -O -vol_size,-vol_name | xargs)"
check_equal "prefixes" "TIER_VOL_NAME='auto' TIER_VOL_SIZE='117440512'" \
	"$(tvs --nameprefixes --units b --nosuffix -o vol_name,vol_size pool0/auto)"
check_equal "a separator" "auto:112.00" "$(tvs --noheadings --separator : --nosuffix -o name,size pool0/auto)"
check_equal "extents" "0:0 1:0 2:0" "$(json '[r["extent"] + ":" + r["ext_tier"] for r in rows]' tes pool0/v-highest)"
check_equal "extents without space are left out, or not" "3 4" \
	"$(json 'len(rows)' tes pool0/v-lowest) $(json 'len(rows)' tes -a pool0/v-lowest)"
check_equal "their device and its tier" "/dev/mapper/nl-t2 2" "$(column tes -o dev_path,tier -S extent=0 pool0/v-lowest | xargs)"
check_equal "counters are the kernel's" \
	"$(dmsetup message pool0 0 counters 3 0 4 | awk 'NF == 7 { print $1 ":" $2 ":" $3 ":" $4 ":" $5 ":" $6 ":" $7 }' | xargs)" \
	"$(json '[":".join(r[k] for k in "extent ext_reads ext_writes ext_read_size ext_write_size ext_sequential ext_large".split()) for r in rows]' \
		tes -a -S 'ext_reads>0 || ext_writes>0' --units s --nosuffix -o extent,ext_reads,ext_writes,ext_read_size,ext_write_size,ext_sequential,ext_large pool0/v-lowest)"
dmsetup message pool0 0 set_label 0 'name=auto;note=a%5Cb%09c%22d%27'
check_equal "odd texts in JSON" 'a\b'$'\t''c"d'\' \
	"$(json 'rows[0]["vol_label"].split("note=")[1]' tvs -o vol_label -S vol_id=0)"
check "a policy keeps what else is in the label" tvchange --policy auto pool0/auto
check_equal "... note" 1 "$(dmsetup message pool0 0 volumes | grep -c 'note=a%5Cb%09c%22d%27;policy=auto')"
exits 5 "there is no pool 'nope'" tps nope
exits 5 "there is no active pool or volume 'pool0/nope'" tvs pool0/nope
exits 5 "pool pool0 has no volume 'nope'" tes pool0/nope
exits 5 tierd tps -o +relocation
exits 0 "pool pool0: rw" tierctl status
check "a heat map" bash -c "tierctl heatmap pool0 | grep -q v-lowest"
exits 0 "Would write /run/map.svg" tierctl heatmap -t --svg /run/map.svg pool0
check "... as SVG" bash -c "tierctl heatmap --svg /run/map.svg pool0 && python3 -c '
import xml.dom.minidom; xml.dom.minidom.parse(\"/run/map.svg\")'"

# As nobody
for command in "tps" "tvs" "tvcreate -V 16m -n x pool0" "tpremove -y pool0"; do
	check_equal "not for everyone: $command" "5 root" \
		"$(su nobody -s /bin/bash -c "PATH=$PATH $command" >/run/nobody 2>&1; echo $? "$(grep -om1 root /run/nobody | head -n 1)")"
done

# Activation -----------------------------------------------------------------------------------
mkfs.ext4 -q /dev/tier/pool0/auto && mount /dev/tier/pool0/auto /run/m
cp -r /usr/bin /run/m/ 2>/dev/null
exits 5 "volume pool0/auto is in use" tpchange -an pool0
exits 5 "volume pool0/auto is in use" tvremove -y pool0/v-lowest pool0/auto
check_equal "nothing was deactivated or removed by that" 5 "$(dmsetup ls --target tier | wc -l)"
content=$(cd /run/m && find . -type f -exec md5sum {} + | sort | md5sum)
umount /run/m
image=$(md5sum <"/dev/tier/pool0/v-lowest")
check "tvchange -an" tvchange -an pool0/v-lowest
check_equal "... is inactive" inactive "$(column tvs -o vol_state pool0/v-lowest)"
check_equal "... whose extents are known" 0,0,3 "$(column tvs -o vol_tier_extents pool0/v-lowest)"
check "tpchange -an" tpchange -an pool0
check "no device is left" bash -c '! dmsetup ls --target tier-pool | grep . && ! dmsetup ls --target tier | grep .'
check "again is no error" tpchange -an pool0
exits 5 "there is no pool 'nope'" tpchange -an nope
check_equal "an inactive pool is seen" "pool0 inactive 5" "$(column tps -o pool_name,pool_state,vol_count | xargs)"
exits 5 "no pool 'pool0' is active" tvcreate -V 16m -n x pool0
lvchange -an hdd/t1
exits 5 "device 1 (tier 1" tpchange -ay pool0
check_equal "... which is missing" "online missing online" "$(column tps --devices -o dev_state pool0 | xargs)"
check_equal "... incomplete" "incomplete 1" "$(column tps -o pool_state,missing_count pool0 | xargs)"
check "for --sysinit that is no failure" tpchange -ay --sysinit
check_equal "... and activates nothing" "" "$(dmsetup ls --target tier-pool | grep -v '^No')"
check "--partial" tpchange -ay --partial pool0
check_equal "... without it" missing "$(column tps --devices -o dev_state -S dev_idx=1)"
check_equal "... as the pool says" "partial 1 1 device is missing" "$(column tps -o pool_state,missing_count,pool_health pool0 | xargs)"
check_equal "... and what can be given out is not there" "0 0 same" \
	"$(column tps --devices -o dev_free,tier_free -S dev_idx=1 --units s --nosuffix | xargs) $(json '"same" if int(rows[0]["pool_free"]) == sum(int(r["tier_free"]) for r in rows if r["tier"] != "1") > 0 else rows' \
		tps --tiers -o pool_free,tier,tier_free --units s --nosuffix)"
check "deactivate that" tpchange -an pool0
lvchange -ay hdd/t1
check "--readonly" tpchange -ay --readonly pool0
exits 5 "is active read-only" tvcreate -V 16m -n x pool0
check_fails "... refuses writes" dd if=/dev/zero of=/dev/mapper/pool0-auto bs=4k count=1 oflag=direct conv=nocreat
check "deactivate that" tpchange -an pool0

# udev is waited for once for all volumes
check "five volumes come" strace -o /run/trace -e trace=semget tpchange -q -ay pool0
check_equal "... and all links are there when it returns" 5 "$(find /dev/tier/pool0/ -type l | wc -l)"
check_equal "... with one wait for them and one for the pool" 2 "$(grep -c 'IPC_CREAT.*) = [0-9]' /run/trace)"
check "they go" strace -o /run/trace -e trace=semget tpchange -q -an pool0
check_equal "... with their nodes" "" "$(find /dev/mapper /dev/tier -maxdepth 1 -name 'pool0*')"
check_equal "... and two waits" 2 "$(grep -c 'IPC_CREAT.*) = [0-9]' /run/trace)"

# Another host: its disks are here, and it may be using them
ours=$(cat /etc/machine-id) other=0000000000000000000000000000000a
check_equal "the pool has its host" "inactive $ours" "$(column tps -o pool_state,pool_system_id pool0 | xargs)"
check_equal "... so has its dump" "$ours" "$(tpdump ssd/meta | sed -n 's/.* system_id=\([0-9a-f-]*\) .*/\1/p' | tr -d -)"
echo $other >/etc/machine-id
check_equal "seen by another host" "foreign $ours" "$(column tps -o pool_state,pool_system_id pool0 | xargs)"
metadata=$(md5sum </dev/ssd/meta)
for options in "" --readonly --partial; do
	exits 5 "pool pool0 belongs to host $ours, this is host $other (/etc/machine-id)" tpchange -ay $options pool0
done
exits 5 "\`tpchange --import pool0\`" tpchange -ay pool0
exits 5 "belongs to host $ours" tpremove -y pool0
exits 0 "belongs to host $ours" tpchange -ay --sysinit
check_equal "... for a boot no failure, nothing is active" "" "$(dmsetup ls --target tier-pool | grep -v '^No')"
exits 5 "both together will destroy it" tpchange --import pool0
exits 0 "Would take over pool pool0" tpchange -t --import pool0
mv /etc/machine-id /run/machine-id
exits 5 "this one has no /etc/machine-id" tpchange -ay pool0
exits 5 "this machine has no /etc/machine-id" tpchange -y --import pool0
mv /run/machine-id /etc/machine-id
check_equal "nothing was written by any of that" "$metadata" "$(md5sum </dev/ssd/meta)"
exits 0 "Pool pool0 belongs to this host now" tpchange -y --import pool0
check_equal "taken over" "inactive $other" "$(column tps -o pool_state,pool_system_id pool0 | xargs)"
exits 0 "belongs to this host already" tpchange --import pool0
check "its metadata are sound" tpcheck ssd/meta
check "it can be activated" tpchange -ay pool0
check_equal "... and is its own" "active $other" "$(column tps -o pool_state,pool_system_id pool0 | xargs)"
exits 5 "is active here" tpchange -y --import pool0
check "a checkpoint by the kernel" tpchange -an pool0
check_equal "... keeps the host" "foreign $other" "$(echo "$ours" >/etc/machine-id; column tps -o pool_state,pool_system_id pool0 | xargs)"
exits 0 "of its 5 volumes were activated" tpchange -y --import -ay pool0
check "deactivate that" tpchange -an pool0

# No host at all: whoever sees it may have it
tpdump ssd/meta | sed 's/ system_id=[^ ]*/ system_id=00000000-0000-0000-0000-000000000000/' >/run/nobody
check "tprestore keeps what the dump says" tprestore --wipesignatures -i /run/nobody -o ssd/meta
check_equal "a pool without a host" inactive "$(column tps -o pool_state,pool_system_id pool0 | xargs)"
check "... is activated anywhere" tpchange -ay pool0
check "... stays so" tpchange -an pool0
exits 0 "belongs to this host now" tpchange --import pool0

check "--sysinit activates what is complete" tpchange -ay --sysinit
exits 5 "is active already, for writing" tpchange -ay --readonly pool0
check_equal "all volumes are back" 5 "$(dmsetup ls --target tier | wc -l)"
udevadm settle
check_equal "with their bytes" "$image" "$(md5sum </dev/tier/pool0/v-lowest)"
mount /dev/tier/pool0/auto /run/m
check_equal "... and files" "$content" "$(cd /run/m && find . -type f -exec md5sum {} + | sort | md5sum)"

# Extending, under a mounted filesystem --------------------------------------------------------
check "tvextend" tvextend -L +200m pool0/auto
check_equal "the device has grown" $((320 << 20)) "$(blockdev --getsize64 /dev/tier/pool0/auto)"
check "resize2fs" resize2fs /dev/tier/pool0/auto
exits 5 "no device of pool pool0 has got larger" tpextend pool0
exits 5 "/dev/no/such" tpextend pool0 --tier 1:no/such
exits 5 "in use" tpextend pool0 --tier 1:hdd/t1
exits 0 "Would add 1 devices" tpextend -t pool0 --tier 3:hdd/more
check "tpextend with a device of a new tier" tpextend pool0 --tier 3:hdd/more
check_equal "... is online" "3 online 7" "$(json '[r[k] for r in rows if r["tier"] == "3" for k in ("tier", "dev_state")] + [int(rows[-1]["dev_size"]) >> 15]' tps --devices --units s --nosuffix)"
check_equal "... and in the placements" "0,1,2,3" "$(column tvs -o vol_placement pool0/v-highest)"
lvextend -q -L +64M nl/t2 >/dev/null
check "tpextend after lvextend" tpextend pool0
check_equal "... took it" 42 "$(json '[int(r["dev_size"]) >> 15 for r in rows if r["tier"] == "2"]' tps --devices --units s --nosuffix)"
check_equal "files are as they were" "$content" "$(cd /run/m && find . -type f -exec md5sum {} + | sort | md5sum)"
umount /run/m
check "fsck" fsck.ext4 -fn /dev/tier/pool0/auto

# A pool that someone made with plain dmsetup --------------------------------------------------
table=$(dmsetup table pool0)
check "deactivate" tpchange -an pool0
dmsetup create by-hand --table "$table"
dmsetup create by-hand-v --table "0 $((320 << 11)) tier /dev/mapper/by-hand 0"
check_equal "it is found by its target" by-hand "$(column tps -o pool_name)"
check_equal "... with its volume's device" "active /dev/mapper/by-hand-v" "$(column tvs -o vol_state,vol_path by-hand/auto | xargs)"
check "... and can be deactivated" tpchange -an by-hand
check "activate" tpchange -ay pool0

# What the kernel refuses is said in its words -------------------------------------------------
dmsetup create blocker --table "0 2048 linear $spare 0"
exits 5 "is in use by" tpextend -y pool0 --tier 0:nl/spare
dmsetup remove blocker
check "deactivate" tpchange -an pool0
dd if="$t0" of=/run/label bs=512 count=1 status=none
dd if=/dev/zero of="$t0" bs=512 count=1 oflag=direct status=none
exits 5 "device 0 (tier 0" tpchange -ay pool0
dd if=/run/label of="$t0" bs=512 count=1 oflag=direct status=none
check "activate" tpchange -ay pool0

# The end --------------------------------------------------------------------------------------
exits 5 "has 5 volumes" tpremove pool0
exits 0 "Would remove pool pool0" tpremove -t pool0
check "tvremove" tvremove -y pool0/new.name
mount /dev/tier/pool0/auto /run/m
exits 5 "is in use" tpremove -y pool0
umount /run/m
check_equal "all is still there" 4 "$(dmsetup ls --target tier | wc -l)"
check "tpremove -y" tpremove -y pool0
check_equal "no pool is left" "" "$(tps --noheadings)"
check "its devices are free: another pool, other sizes" tpcreate -s 1m -m ssd/meta pool-1 --tier 0:ssd/t0 --tier 1:hdd/t1
check_equal "dashes in a pool's name" "/dev/mapper/pool--1" "$(column tps -o pool_path)"
check "deactivate" tpchange -an pool-1
check "tpremove of an inactive pool" tpremove -y pool-1
check_equal "nothing is left on them" "" "$(for lv in $meta $t0 $t1 $t2; do blkid -p "$lv"; head -c 1M "$lv" | tr -d '\0'; done)"
finish
