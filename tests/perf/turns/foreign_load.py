# SPDX-License-Identifier: Apache-2.0
"""What else a machine did while something was measured on it, and the rule by which a disturbed run is thrown away.

Foreign are the time that the hypervisor took away (`steal` of /proc/stat) and the processor time of processes that this
program has not started, children that they have waited for included. Kernel threads are not: they may work for either.
What this program starts carries MARK in its environment, also where it has become a daemon.
"""

import dataclasses
import os
import pathlib
import time

MARK = "MRC_PERF_RUN"
TICKS = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count()
KERNEL_THREAD = 0x00200000  # the kernel's PF_KTHREAD


@dataclasses.dataclass(frozen=True)
class process:
    parent: int
    begun: int      # tells it from an earlier one of that number
    seconds: float  # of processor time, with that of children that it has waited for
    is_kernel: bool
    environment: bytes

    def is_foreign(self, mark):
        return not self.is_kernel and f"{MARK}={mark}".encode() not in self.environment.split(b"\0")


@dataclasses.dataclass(frozen=True)
class usage:
    """Of all cores together since the machine started, in seconds; `at` is CLOCK_MONOTONIC's."""
    at: float
    busy: float
    steal: float
    foreign: dict  # processes by their number


@dataclasses.dataclass(frozen=True)
class load:
    """Of one run. Shares are of the time of all cores."""
    seconds: float
    own_cpu_s: float  # of the whole machine but foreign processes: the kernel's work for the run is in it
    steal: float
    foreign: float

    @property
    def disturbance(self):
        return self.steal + self.foreign


def mark_own():
    """From now on, what is started here is this program's."""
    os.environ[MARK] = str(os.getpid())


def parse_process(stat, environment):
    """Of the texts of /proc/PID/stat and environ."""
    fields = stat.rpartition(")")[2].split()
    return process(parent=int(fields[1]), begun=int(fields[19]), seconds=sum(map(int, fields[11:15])) / TICKS,
                   is_kernel=bool(int(fields[6]) & KERNEL_THREAD), environment=environment)


def processes():
    """All that can be read, by number, but this one; what ends meanwhile is left out."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                found[int(entry.name)] = parse_process((entry / "stat").read_text("utf-8", "replace"),
                                                       (entry / "environ").read_bytes())
            except OSError:
                continue
    return found


def foreign_of(found, mark):
    return {number: one for number, one in found.items() if one.is_foreign(mark)}


def foreign_seconds(before, after):
    """What foreign processes took in between. A process that has ended gave its time to the one that waited for it,
    also what it had taken before, which is left out; none of them counts for less than nothing, as nobody may have
    waited."""
    taken = {number: one.seconds for number, one in after.items()}
    survivors = {number for number, one in before.items() if number in after and after[number].begun == one.begun}
    for number in survivors:
        taken[number] -= before[number].seconds
    for number, one in before.items():
        heir = one.parent
        while number not in survivors and heir in before and heir not in survivors:
            heir = before[heir].parent
        if number not in survivors and heir in survivors:
            taken[heir] -= one.seconds
    return sum(max(seconds, 0) for seconds in taken.values())


def parse_machine(stat):
    """(busy, steal) of the text of /proc/stat, in seconds."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + softirq) / TICKS, steal / TICKS


def now():
    busy, steal = parse_machine(pathlib.Path("/proc/stat").read_text("ascii"))
    return usage(time.monotonic(), busy, steal, foreign_of(processes(), os.getpid()))


def between(before, after, cores=CORES):
    seconds = after.at - before.at
    foreign = foreign_seconds(before.foreign, after.foreign)
    return load(seconds, max(after.busy - before.busy - foreign, 0),
                max(after.steal - before.steal, 0) / (seconds * cores), foreign / (seconds * cores))


@dataclasses.dataclass(frozen=True)
class outcome:
    values: dict
    load: load
    thrown_away: int  # runs before this one
    disturbed: bool   # kept although foreign load took more than the limit: no repeat was better


def undisturbed(run, limit, repeats, usage_now=now):
    """Runs until foreign load has taken no more than `limit`, a share of all cores; after so many `repeats` the least
    disturbed run stands, and is called so."""
    attempts = []
    for _ in range(repeats + 1):
        before = usage_now()
        values = run()
        attempts.append((between(before, usage_now()), values))
        if attempts[-1][0].disturbance <= limit:
            break
    least, values = min(attempts, key=lambda attempt: attempt[0].disturbance)
    return outcome(values, least, len(attempts) - 1, least.disturbance > limit)
