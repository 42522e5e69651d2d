#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What t_drain.sh finds nothing with finds something, when the protocol's key step is left out.
#
# vm: --module-variant drain2 --disk meta=64M --disk a=64M --disk b=64M --timeout 480
# vm-light: it measures no time that a busy host would spoil
# vm-make: modules KERNELS=6.1 DRAIN_STRESS=2
. /src/tests/vm/drain.sh
hammer 60
check_equal "without the re-read of the entry there are violations" 1 $?
check "it is the data that are wrong" grep -q '^WRONG' /run/oracle.log
account oracle
account mover
note "$(head -n 3 /run/oracle.log)"
finish
