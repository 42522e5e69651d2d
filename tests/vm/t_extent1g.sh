#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# One extent of the real size, 1 GiB in regions of 1 MiB, moves under load: writers are held only briefly, and
# only what is valid is copied.
#
# vm: --disk meta=128M --disk fast=3G --disk slow=3G --timeout 480
. /src/tests/vm/pool.sh

v0=/dev/mapper/v0
part=$((64 * 1024))	# KiB: fio has this much of the extent, the oracle the rest

fio_part=(fio --name=load --filename="$v0" --size="$((part * 1024))" --direct=1 --ioengine=libaio --verify=pattern
	--verify_pattern=%o)
pattern_is_there() {
	"${fio_part[@]}" --rw=read --bs=4k --iodepth=16 --verify_only=1 --output=/run/verify.log
}
# latencies NAME: of the writes in fio's terse output, in us
latencies() {
	python3 - "$1" <<-'PY'
		import json, sys
		write = json.load(open(sys.argv[1]))["jobs"][0]["write"]
		ns = write["clat_ns"]
		print(f"{write['total_ios']} writes, us: " + ", ".join(f"{p.rstrip('0').rstrip('.')} % {ns['percentile'][p] // 1000}"
		      for p in ("50.000000", "90.000000", "99.000000", "99.900000")) + f", longest {ns['max'] // 1000}")
	PY
}

check "a pool with extents of 1 GiB" pool_format -e 1048576 -r 1024 "$(disk meta)" 0:"$(disk fast)" 1:"$(disk slow)"
check "it comes up" pool_up
check_equal "an extent" 2097152 "$(pool_value extent_sectors)"
check_equal "a region" 2048 "$(pool_value region_sectors)"
check "a volume" volume_new 0 2
msg set_placement 0 1
check "a part of an extent is filled" "${fio_part[@]}" --rw=write --bs=4k --iodepth=16 --do_verify=0 --output=/run/fill.log
background oracle oracle -s /run/state -i -t 300 -T 2 -p 30 -b 4 -o $part -l $((1048576 - part)) $v0
all_valid() { [ "$(extent_of 0 0)" = "1 1 0 1024" ]; }
check "then all of it" wait_for 60 all_valid

for target in 0 1; do
	background fio "${fio_part[@]}" --rw=randwrite --bs=4k --iodepth=2 --rate_iops=40 --time_based --runtime=300 --do_verify=0 \
		--output-format=json --output=/run/fio.json
	start=$SECONDS
	answer=$(moved 0 0 $target 120)
	read -r result reason bytes passes freeze_us <<<"$answer"
	note "to tier $target: $answer in $((SECONDS - start)) s"
	check "it was under load until the end" running fio
	stop fio
	await fio
	check_equal "tier $target: it has moved" "done -" "$result $reason"
	check "tier $target: all of it was copied" test "$bytes" -ge 1073741824
	check "tier $target: in more than one pass" test "$passes" -ge 2
	check "tier $target: writes were held no longer than the deadline of 1 s ($freeze_us us)" test "$freeze_us" -lt 1000000
	note "write latencies while it moved: $(latencies /run/fio.json)"
done
stop oracle
ended oracle "the oracle finds no error" 120
check "fio's data are whole" pattern_is_there
msg set_placement 0 auto

for i in 3 70 200 201 202 511 640 777 900 1023; do
	dd if=/dev/urandom of=$v0 bs=4k seek=$((262144 + i * 256 + 100)) count=1 oflag=direct conv=notrunc status=none
done
before=$(dd if=$v0 bs=1M skip=1024 count=1024 iflag=direct status=none | sha256sum)
check_equal "an extent with ten valid regions" 10 "$(extent_of 0 1 | cut -d' ' -f4)"
read -r tier _ <<<"$(extent_of 0 1)"
read -r result reason bytes passes freeze_us <<<"$(moved 0 1 $((1 - tier)) 60)"
check_equal "it moves" "done -" "$result $reason"
check_equal "exactly ten regions are copied" $((10 * 1048576)) "$bytes"
check_equal "it still has ten" 10 "$(extent_of 0 1 | cut -d' ' -f4)"
check_equal "with the same content" "$before" "$(dd if=$v0 bs=1M skip=1024 count=1024 iflag=direct status=none | sha256sum)"
checked
pool_down
finish
