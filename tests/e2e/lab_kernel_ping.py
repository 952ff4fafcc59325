#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pings over every path of the kernel's own seg6local switches.

Nothing of ours forwards, pushes or pops here: encapsulation is the hosts' seg6 route, decapsulation their End.DT6.
Each switch's End counter shows that a path is the one that the carrier names, there and back.
"""

from lab_paths import check_all_paths, shifted_by_kernel
from lab_support import need_root

if __name__ == "__main__":
    need_root()
    check_all_paths(shifted_by_kernel, "--switch", "kernel")
