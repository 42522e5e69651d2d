#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Pools whose devices were made with plain dmsetup, under names of someone else's choice and without our UUIDs; and
# devices of pools that the kernel could not load: tools and tierd know both for what they are.
#
# vm: --systemd --disk ssd=256M --disk hdd=256M --timeout 400
# vm-light: it measures no time
# vm-kernels: 6.1
. /src/tests/vm/lib.sh

column() { "$@" --noheadings 2>/dev/null | xargs; }
logged() { journalctl -q -u tierd _COMM=tierd -o cat | grep -cE -- "$1"; }
has_logged() { [ "$(logged "$1")" -gt "${2:-0}" ]; }
# load_badly NAME TABLE: what a reload by hand does when the kernel refuses it: the device stays, suspended
load_badly() {
	dmsetup load "$1" --table "$2" && ! dmsetup resume "$1" && udevadm settle && [ "$(dmsetup status "$1" | cut -d' ' -f4-)" = fail ]
}
devices() { dmsetup ls --target "$1" | grep -v '^No devices' | cut -f1 | sort | xargs; }

modprobe dm-tier
systemctl start tierd
meta=$(make_lv ssd meta 40M) t0=$(make_lv ssd t0 65M) more=$(make_lv ssd more 41M) t1=$(make_lv hdd t1 129M)
table=$(tierformat "$meta" "0:$t0" "1:$t1")	# calls itself "test"
uuid=abababab-abab-abab-abab-abababababab

# By hand --------------------------------------------------------------------------------------
check "a pool by hand" dmsetup create mine --table "$table"
dmsetup message mine 0 create_volume 0 65536 aabbccdd-0000-0000-0000-000000000001 name=first
check "a volume by hand" dmsetup create my-first --table "0 65536 tier /dev/mapper/mine 0"
check "written" dd if=/dev/urandom of=/dev/mapper/my-first bs=1M oflag=direct count=32 status=none
sums=$(md5sum </dev/mapper/my-first)
udevadm settle
for name in mine test "$uuid"; do
	check_equal "tps $name" "mine active rw 2 2 1" "$(column tps -o pool_name,pool_state,pool_mode,tier_count,dev_count,vol_count "$name")"
	check_equal "tvs $name" "first active /dev/mapper/my-first" "$(column tvs -o vol_name,vol_state,vol_path "$name")"
	check_equal "tvs $name/first" "32" "$(column tvs -o vol_used_extents "$name/first")"
	check_equal "tes $name/first" "$(seq 0 31 | xargs)" "$(column tes -o extent "$name/first")"
	exits 0 "pool mine: rw, 1 volume," tierctl status "$name"
done
check_equal "it is healthy" "" "$(column tps -o pool_health mine)"
check_equal "all of its devices are found" "/dev/mapper/ssd-t0 /dev/mapper/hdd-t1" "$(column tps --devices -o dev_path)"
check "nothing of it is taken for a disk that cannot be read" bash -c '! tps -v | grep "could not be read"'
check_equal "one pool, not two" 1 "$(tps --noheadings | wc -l)"
check "tierd finds it" wait_for 20 tierctl plan mine
check_equal "... by the name of its device" idle "$(column tps -o relocation test)"
check "a volume more" tvcreate -q -V 16m -n second test
check_equal "... is named after the pool's device" "/dev/mapper/mine-second" "$(column tvs -o vol_path test/second)"
check "a policy" tvchange -q --policy lowest test/first
dmsetup create big --table "0 $((41 << 11)) linear $more 0"
check "a device more" tpextend -q test --tier 0:/dev/mapper/big
check_equal "... is in use" "0 online" "$(column tps --devices -o tier,dev_state -S dev_idx=2 test)"
exits 5 "there is no pool" tpchange -an nope
check "deactivation, by its own name" tpchange -an test
check_equal "... takes all devices away" "" "$(devices tier)$(devices tier-pool)"
check "activation" tpchange -ay test
check_equal "... under its own name" "test" "$(devices tier-pool)"
check_equal "no byte has changed" "$sums" "$(md5sum </dev/tier/test/first)"

# A reload that the kernel refuses, with volumes in place -------------------------------------
check "tierd has it" wait_for 20 tierctl plan test
resize() { dmsetup load big --table "0 $1 linear $more 0" && dmsetup suspend big && dmsetup resume big; }
dmsetup load test --table "$(dmsetup table test)"
check "a device loses its end" resize 4096
check_fails "the kernel does not take the pool's new table" dmsetup resume test
check_equal "... and says so" fail "$(dmsetup status test | cut -d' ' -f4)"
check_equal "tps: failed, with what its disks say" "test failed fail 2 3 2 the kernel could not load it; its log (dmesg) says why" \
	"$(column tps -o pool_name,pool_state,pool_mode,tier_count,dev_count,vol_count,pool_health)"
exits 0 "tps: pool test: the kernel could not load it" tps
check_equal "... a row a tier" 2 "$(tps --tiers --noheadings 2>/dev/null | wc -l)"
check_equal "... a row a device" 3 "$(tps --devices --noheadings 2>/dev/null | wc -l)"
exits 0 "pool test: fail: the kernel could not load it" tierctl status
for command in "tvcreate -V 1m -n x test" "tvchange --policy auto test/first" "tvremove -y test/first" "tpextend test" \
	"tierctl heatmap test" "tes test" "tpchange -ay test"; do
	read -ra words <<<"$command"
	exits 5 "pool test: the kernel could not load it; its log (dmesg) says why" "${words[@]}"
	exits 5 "tpchange -an test" "${words[@]}"
done
check "other reports do not mind" bash -c 'tvs && tes'
exits 0 "Would remove pool test" tpremove -t -y test
for _ in 1 2 3; do
	exits 5 "Pool test: reading the pool failed: the kernel could not load it" tierctl plan test
done
check_equal "tierd logs it once" 1 "$(logged 'test: .*the kernel could not load it.*; trying again')"
check_equal "... and shows it" error "$(busctl --json=short get-property org.dmtier.Tierd1 /org/dmtier/Tierd1 org.dmtier.Tierd1 Pools |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["data"][0]["state"]["data"])')"
check "tpchange -an takes it away, with its volumes" tpchange -an test
check_equal "... all of it" "" "$(devices tier)$(devices tier-pool)"
exits 5 "is smaller than its record says" tpchange -ay test
check_equal "... which leaves nothing behind" "" "$(devices tier-pool)"
resize $((41 << 11))
check "it can be activated again" tpchange -ay test
check_equal "no byte has changed" "$sums" "$(md5sum </dev/tier/test/first)"
check "tierd has it again" wait_for 70 tierctl plan test
check "deactivate" tpchange -an test

# By hand, and never loaded --------------------------------------------------------------------
dmsetup create other --notable
check "a device of a pool that cannot be loaded" load_badly other "$table"
check_equal "tps" "other failed fail 3 $uuid" "$(column tps -o pool_name,pool_state,pool_mode,dev_count,pool_uuid)"
udevadm trigger -c change "/sys/block/$(dmsetup info -c --noheadings -o blkdevname other)"	# else it looks once a minute
check "tierd says it" wait_for 40 has_logged 'pool device other cannot be used: the kernel could not load it'
exits 5 "There is no active pool" tierctl plan other
check "deactivation, by the pool's own name" tpchange -an test
check_equal "... takes it away" "" "$(devices tier-pool)"
dmsetup create other --notable
load_badly other "$table"
check "tpremove" tpremove -y test
check_equal "... leaves nothing" "" "$(devices tier-pool)$(tps --noheadings)"

# ... because its metadata device died
dmsetup create m --table "0 81920 linear $meta 0"
table=$(tierformat /dev/mapper/m "0:$t0" "1:$t1")
dmsetup create other --notable
dmsetup load other --table "$table"
dmsetup suspend m && dmsetup load m --table "0 81920 error" && dmsetup resume m
check_fails "the metadata device dies" dmsetup resume other
check_equal "tps: what it is" "other failed fail" "$(column tps -o pool_name,pool_state,pool_mode other)"
exits 5 "nothing says which pool it is" tpremove -y other
check "tpchange -an" tpchange -an other
check_equal "... takes it away" "" "$(devices tier-pool)"
dmsetup remove m
check "tpremove, when it is back" tpremove -y test

# The log ----------------------------------------------------------------------------------------
check_equal "tierd had nothing else to say" "" \
	"$(journalctl -q -u tierd _COMM=tierd -p warning -o cat | grep -v 'the kernel could not load it')"
finish
