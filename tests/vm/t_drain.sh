#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The drain protocol with widened windows: no bio reaches a slot that its extent has left.
#
# vm: --module-variant drain1 --disk meta=64M --disk a=64M --disk b=64M --timeout 240
# vm-light: it measures no time
# vm-make: modules KERNELS=6.1 DRAIN_STRESS=1
. /src/tests/vm/drain.sh
check "0 violations" hammer 20
account oracle
account mover
check "in 300 moves or more" test "$(got "done")" -ge 300
finish
