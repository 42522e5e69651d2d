#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The guest itself: kernel, disks, LVM, device-mapper and the module are there.
#
# vm: --disk ssd=256M --disk hdd=1G,iops=200 --timeout 120
# vm-kernels: 6.1 6.12
# vm-light: it measures no time
. /src/tests/vm/lib.sh

check "dm-tier loads by name" modprobe dm-tier
check "the kernel finds it by its target's name" test -n "$(modinfo -F filename dm-tier-pool)"
check "its targets are registered" bash -c 'dmsetup targets | grep -q "^tier-pool " && dmsetup targets | grep -q "^tier "'
lv=$(make_lv ssd data 64M)
check "an LV on a disk" test -b "$lv"
check "write and read it" bash -c "dd if=/dev/urandom of=/run/x bs=1M count=4 status=none &&
	dd if=/run/x of=$lv bs=1M oflag=direct status=none && cmp -n 4194304 /run/x $lv"
check_equal "a big sparse disk has its size" 1073741824 "$(blockdev --getsize64 "$(disk hdd)")"
lvchange -qan ssd
check "dm-tier unloads" modprobe -r dm-tier
finish
