#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The guest's part of the activation of a recording's power cuts.
. /src/tests/vm/pool.sh

# Many devices come and go in turn; nobody else needs to look at them, nor to have them open when they go.
udevadm control --exit
export DM_DISABLE_UDEV=1
check "all points" crash_check "$(disk control)" "$(disk report)" \
	"$(disk meta) 4 $(disk a) $(disk b0) $(disk b1) $(disk c)"
finish
