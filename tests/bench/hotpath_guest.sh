#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The part of hotpath.sh that runs in the guest: builds each stack in turn, runs every job on it, prints a line
#
#   result <size> <read|write> <stack> <round> <ns per I/O>
#
# for each. Arguments: the number of rounds, then the stacks (default: all).
#
# All data lies on devices of one kind: null_blk, memory-backed (dm-tier keeps labels on its devices), wholly
# written before it is measured, completing in the submitter's context. All stacks get the same offsets: the first
# half of each extent, by turns, at random within it. What differs is only what dm has to do.
set -eu -o pipefail

rounds=$1
shift
mib=256				# of data seen through each stack
extent_mib=16
config=/sys/kernel/config/nullb

# fio's buffers: huge pages, so that a large I/O has the same number of segments in every run
echo 40 >/proc/sys/vm/nr_hugepages
modprobe null_blk nr_devices=0
modprobe dm-mod
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config

# ram NAME MIB: a device /dev/NAME that keeps its data in memory
ram() {
	local folder=$config/$1 word
	mkdir "$folder"
	for word in "size $2" "memory_backed 1" "blocksize 4096" "queue_mode 2" "irqmode 0" "submit_queues 1" "power 1"; do
		echo "${word#* }" >"$folder/${word% *}"
	done
	udevadm settle
	echo none >"/sys/block/$1/queue/scheduler"
}
end_ram() { rmdir "${@/#/$config/}"; }

fill() { dd if=/dev/zero of="$1" bs=1M count=$mib oflag=direct status=none; }
sectors() { echo $(($1 * 2048)); }
create() { dmsetup create "$1" --table "$2"; }

# ---- stacks: up_X leaves the device's path in $dev

up_raw() {
	ram data $mib
	dev=/dev/data
	fill "$dev"
}
down_raw() { end_ram data; }

up_linear() {
	up_raw
	create bench "0 $(sectors $mib) linear $dev 0"
	dev=/dev/mapper/bench
}
down_linear() {
	dmsetup remove bench
	down_raw
}

up_pool() {
	modprobe dm-tier
	ram data $((mib + extent_mib))
	ram fast $((mib + extent_mib))
	ram meta 64
	create pool "$(tierformat -e $((extent_mib * 1024)) -r 64 /dev/meta 0:/dev/data 1:/dev/fast)"
	dmsetup message pool 0 "create_volume 0 $(sectors $mib) 00000000-0000-0000-0000-000000000001"
	dmsetup message pool 0 "set_placement 0 0"
	create bench "0 $(sectors $mib) tier /dev/mapper/pool 0"
	dev=/dev/mapper/bench
}
down_pool() {
	dmsetup remove bench
	dmsetup remove pool
	end_ram data fast meta
}

valid_regions() { dmsetup message pool 0 "map 0 0 $((mib / extent_mib))" | awk '{ n += $2 * $6 } END { print n }'; }
# expect_valid N: what this volume is here to have
expect_valid() {
	[ "$(valid_regions)" -eq "$1" ] && return
	echo "$(valid_regions) valid regions instead of $1" >&2
	exit 1
}

up_tier() {
	up_pool
	fill "$dev"
	expect_valid $((mib * 16))
}
down_tier() { down_pool; }

up_tier_partial() {
	local at
	up_pool
	for ((at = 0; at < mib; at += extent_mib)); do
		dd if=/dev/zero of="$dev" bs=1M seek=$at count=$((extent_mib / 2)) oflag=direct status=none
	done
	expect_valid $((mib * 8))
}
down_tier_partial() { down_pool; }

# Chunks of 64 KiB as LVM takes by default; every block is provisioned.
up_thin() {
	modprobe dm-thin-pool
	ram data $((mib + extent_mib))
	ram meta 64
	create pool "0 $(sectors $((mib + extent_mib))) thin-pool /dev/meta /dev/data 128 0 1 skip_block_zeroing"
	dmsetup message pool 0 "create_thin 0"
	create bench "0 $(sectors $mib) thin /dev/mapper/pool 0"
	dev=/dev/mapper/bench
	fill "$dev"
}
down_thin() {
	dmsetup remove bench
	dmsetup remove pool
	end_ram data meta
}

# The best case of a cache: as large as what it caches and warm, so that everything is a hit; and no migrations any
# more, as else it would write back what was just written, which is work of its own.
up_cache() {
	modprobe dm-cache
	modprobe dm-cache-smq
	up_raw
	ram fast $((mib + extent_mib))
	ram meta 64
	create bench "0 $(sectors $mib) cache /dev/meta /dev/fast /dev/data 128 1 writeback smq 0"
	dev=/dev/mapper/bench
	warm_cache
	dmsetup message bench 0 migration_threshold 0
}
down_cache() {
	dmsetup remove bench
	end_ram fast meta
	down_raw
}
warm_cache() {
	local turn
	for ((turn = 0; turn < 30; turn++)); do
		[ "$(dmsetup status bench | awk '{ split($7, n, "/"); print n[1] }')" -lt $((mib * 16)) ] || return 0
		fill "$dev"
	done
	echo "the cache does not fill: $(dmsetup status bench)" >&2
	exit 1
}

# ---- jobs

# job SIZE READ|WRITE IOS
job() {
	fio --name=hotpath --filename="$dev" --rw="rand$2" --bs="$1" --number_ios="$3" --ioengine=libaio --iodepth=32 \
		--direct=1 --thread --iomem=shmhuge --gtod_reduce=1 --norandommap --randseed=7 --io_size=1t \
		--zonemode=strided --zonesize="$1" --zonerange=$((extent_mib / 2))m --zoneskip=$((extent_mib / 2))m \
		--output-format=json >/tmp/fio.json
	python3 -c '
import json, sys
kind, ios = sys.argv[1], int(sys.argv[2])
job = json.load(open("/tmp/fio.json"))["jobs"][0]
done = job[kind]
if job["error"] or done["total_ios"] != ios:
    sys.exit("fio: error %d, %d of %d I/Os" % (job["error"], done["total_ios"], ios))
print(round(done["runtime"] * 1e6 / ios))' "$2" "$3"
}

# Enough I/Os that a timer tick here or there is far below the 3 % in question.
ios_of() {
	case $1 in
	4k) echo 200000 ;;
	64k) echo 40000 ;;
	128k) echo 20000 ;;
	1m) echo 3000 ;;
	esac
}

[ $# -gt 0 ] || set -- raw linear tier tier_partial thin cache
for stack; do
	case $stack in
	thin|cache) sizes=4k ;;
	*) sizes="4k 64k 128k 1m" ;;
	esac
	"up_$stack"
	for size in $sizes; do
		for kind in read write; do
			for ((round = 1; round <= rounds; round++)); do
				ns=$(job "$size" "$kind" "$(ios_of "$size")")
				echo "result $size $kind $stack $round $ns"
			done
		done
	done
	"down_$stack"
done
