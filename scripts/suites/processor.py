# SPDX-License-Identifier: Apache-2.0
"""Processor time of the whole machine: daemons and the kernel's own work are no children of a test run that it could
wait for."""

import os

COUNT = os.cpu_count() or 1
# Columns of the first line of /proc/stat (proc(5)): user, nice, system, idle, iowait, irq, softirq, steal, …; the
# time of guests stands in user and nice as well.
BUSY = (0, 1, 2, 5, 6)


def busy_seconds(stat="/proc/stat"):
    """For how long the processors have worked since the machine started."""
    with open(stat, encoding="ascii") as lines:
        ticks = lines.readline().split()[1:]
    return sum(int(ticks[column]) for column in BUSY) / os.sysconf("SC_CLK_TCK")
