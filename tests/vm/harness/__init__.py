# SPDX-License-Identifier: GPL-2.0-only
"""The VM harness: guest image, kernels, the run of one guest, and the verdict on its console."""
