# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The stress of the drain protocol, for t_drain.sh and t_drain_proof.sh: an extent with one valid region
# moves between two devices as fast as it can, while threads write and read it. A bio that reaches
# the old slot after its drain is a write that is lost: the oracle reads what was there before it.
. /src/tests/vm/pool.sh

# hammer SECONDS: 0 if the oracle has found nothing wrong, 1 if it has, 2 if something else is wrong
hammer() {
	local code
	rm -f /run/state
	pool_format "$(disk meta)" 0:"$(disk a)" 1:"$(disk b)" && pool_up && volume_new 0 1 || return 2
	background oracle oracle -s /run/state -t "$1" -T 4 -r 30 -b 2 -l 64 /dev/mapper/v0
	wait_for 10 bash -c '[ "$(dmsetup message tp 0 volumes | cut -d" " -f6)" = 1 ]'
	background mover mover -n 1000000 -k 2 tp 0
	await oracle
	code=$?
	stop mover
	await mover || code=2
	pool_down || code=2
	return $code
}
