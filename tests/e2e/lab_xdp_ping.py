#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The pings of lab_kernel_ping.py over XDP switches in both modes: carriers of the kernel's making, shifted by ours."""

from lab_paths import check_all_paths, forwarded_by_xdp
from lab_support import need_binaries, need_root

if __name__ == "__main__":
    need_root()
    need_binaries("mrc-switch")
    for mode in ("native", "generic"):
        print(f"{mode} mode:")
        check_all_paths(forwarded_by_xdp, "--switch", "xdp", "--mode", mode)
