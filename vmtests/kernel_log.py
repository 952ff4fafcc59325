# SPDX-License-Identifier: Apache-2.0
"""Finds in a kernel log what no healthy kernel says. What is allowed all the same stands in kernel_log.toml."""

import dataclasses
import pathlib
import re
import tomllib

ALLOWED_FILE = pathlib.Path(__file__).resolve().parent / "kernel_log.toml"
CONTEXT_LINES = 40

# Each is what the kernel prints at the head of such a report; the first that matches a line names it.
REPORTS = [
    ("panic", r"Kernel panic"),
    ("sanitizer", r"BUG: K[AC]SAN|BUG: KFENCE|BUG: KMSAN|UBSAN:|BUG \S+ \(.*ainted|pagealloc: .*corruption"),
    ("lockdep", r"WARNING: (possible (circular|recursive|irq lock)|suspicious RCU|inconsistent lock|bad unlock|"
     r".*lock.*dependency)|INFO: (possible|suspicious|trying to register)|DEBUG_LOCKS_WARN_ON"),
    ("lock-up", r"soft lockup|hard LOCKUP|rcu: INFO: .*(stall|detected)"),
    ("hung task", r"INFO: task .* blocked"),
    ("leak", r"kmemleak: [1-9]\d* new suspected|unreferenced object 0x|unregister_netdevice: waiting for|"
     r"stalled pool shutdown"),
    ("bug", r"\bBUG:|kernel BUG at|Oops|general protection fault|refcount_t:|list_(add|del) corruption"),
    ("memory", r"Out of memory|oom-kill:|page allocation failure"),
    ("device", r"NETDEV WATCHDOG|irq \d+: nobody cared|is not a head!"),
    ("warning", r"WARNING:|------------\[ cut here \]|unchecked MSR access error|Call Trace:"),
]


# What guest/run_suites.py writes to the log wherever it has read all that stands before.
MARK = "mrc-vmtests: "


@dataclasses.dataclass
class finding:
    kind: str
    line: str
    report: str  # the line with those that follow


def allowed(text=None):
    """[(pattern, reason)] of kernel_log.toml; each entry must have its reason."""
    table = tomllib.loads(ALLOWED_FILE.read_text(encoding="utf-8") if text is None else text)
    entries = table.get("allow", [])
    for entry in entries:
        if set(entry) != {"line", "reason"} or not entry["reason"].strip():
            raise ValueError(f"kernel_log.toml: an entry has a line and a reason, this has {sorted(entry)}")
    return [(re.compile(entry["line"]), entry["reason"]) for entry in entries]


def findings(log, exceptions=()):
    """What a log of lines reports, apart from lines that match an exception. A report's further lines are not reported
    anew: they count as a part of the first."""
    found, lines = [], log.splitlines()
    covered = 0
    for number, line in enumerate(lines):
        if number < covered or any(pattern.search(line) for pattern, _ in exceptions):
            continue
        kind = next((kind for kind, pattern in REPORTS if re.search(pattern, line)), None)
        if kind is not None:
            covered = _end_of_report(lines, number)
            # A cut line says nothing; the one after it does.
            head = lines[number + 1] if "cut here" in line and number + 1 < len(lines) else line
            found.append(finding(kind, head.strip(), "\n".join(lines[number:covered])))
    return found


def after_last_mark(log):
    """The lines after the last mark; all of them without any."""
    return log.rpartition(MARK)[2].partition("\n")[2] if MARK in log else log


def between(log, first, last):
    """The lines between two marks; from the beginning if `first` is None. A log without a mark has lost lines, and what
    is returned then reports that."""
    lines = log.splitlines()
    marks = [mark for mark in (first, last) if mark]
    where = {mark: number for number, line in enumerate(lines) for mark in marks if line.endswith(mark)}
    lost = [mark for mark in marks if mark not in where]
    reports = [f"WARNING: the kernel log has lost lines, '{mark}' among them" for mark in lost]
    return "\n".join([*reports, *lines[where.get(first, -1) + 1:where.get(last, len(lines))], ""])


def _end_of_report(lines, begin):
    for number in range(begin + 1, min(len(lines), begin + CONTEXT_LINES)):
        if "---[ end trace" in lines[number]:
            return number + 1
    return min(len(lines), begin + CONTEXT_LINES)
