# SPDX-License-Identifier: Apache-2.0
"""What became of each suite on each kernel, and the table of it."""

import dataclasses
import re

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
SKIP_STATUS = 77


@dataclasses.dataclass
class result:
    kernel: str  # as asked for
    suite: str
    verdict: str
    seconds: float = 0.0
    note: str = ""  # of a skip or a failure, or what a suite that passed left out; one line


def of_guest(kernel, name, said, output):
    """From what one guest wrote about the suite of this name, result.json, and the suite's output."""
    reasons = []
    status = said["status"]
    if status is None:
        reasons.append(f"did not end within {said['deadline']} s")
    elif status not in (0, SKIP_STATUS):
        reasons.append(f"ended with status {status}")
    if said["findings"]:
        reasons.append("kernel log: " + "; ".join(dict.fromkeys(each["line"] for each in said["findings"])))
    if said["left"]:
        reasons.append(f"left behind: {', '.join(said['left'][:3])}"
                       + (f" and {len(said['left']) - 3} more" if len(said["left"]) > 3 else ""))
    if reasons:
        return result(kernel, name, FAILED, said["seconds"], ", ".join(reasons))
    if status == SKIP_STATUS:
        given = [line.removeprefix("SKIP: ") for line in output.splitlines() if line.startswith("SKIP: ")]
        return result(kernel, name, SKIPPED, said["seconds"], (given or ["no reason given"])[0])
    return result(kernel, name, PASSED, said["seconds"], "; ".join(skipped_cases(output)))


def skipped_cases(output):
    """What GoogleTest prints of cases that called GTEST_SKIP: the place, and the reason on the next line."""
    lines = output.splitlines()
    return [f"{place.group(1)}: {reason.strip()}" for line, reason in zip(lines, lines[1:])
            if (place := re.match(r"(?:.*/)?([^/]+:\d+): Skipped$", line))]


def joined(results):
    """One result from those of all machines of a suite: the worst of them."""
    for verdict in (FAILED, SKIPPED):
        if worst := [one for one in results if one.verdict == verdict]:
            return worst[0]
    return results[0]


def table(results, releases, boots):
    """Lines: kernel × suite, then the notes. `releases` and `boots` (seconds) are by kernel."""
    kernels = list(dict.fromkeys(one.kernel for one in results))
    suites = list(dict.fromkeys(one.suite for one in results))
    width = max([len(_named(kernel, releases)) for kernel in kernels] + [6])
    cells = {(one.kernel, one.suite): f"{one.verdict} {one.seconds:.0f} s" if one.verdict != SKIPPED else SKIPPED
             for one in results}
    widths = {name: max([len(name)] + [len(cells.get((kernel, name), "-")) for kernel in kernels]) for name in suites}
    lines = ["", "  ".join([f"{'kernel':{width}}", f"{'boot':>6}", *(f"{name:{widths[name]}}" for name in suites)])]
    for kernel in kernels:
        boot = f"{boots[kernel]:.0f} s" if kernel in boots else "-"
        lines.append("  ".join([f"{_named(kernel, releases):{width}}", f"{boot:>6}",
                                *(f"{cells.get((kernel, name), '-'):{widths[name]}}" for name in suites)]).rstrip())
    notes = [f"  {one.kernel} {one.suite}: {one.verdict}: {one.note}" for one in results if one.note]
    return lines + ([""] + notes if notes else [])


def _named(kernel, releases):
    release = releases.get(kernel, "")
    return kernel if not release or release == kernel else f"{kernel} ({release})"


def exit_status(results):
    """1 when anything failed; SKIP_STATUS when on a kernel nothing was run; else 0."""
    verdicts = {}
    for one in results:
        verdicts.setdefault(one.kernel, set()).add(one.verdict)
    if not verdicts or any(FAILED in of_kernel for of_kernel in verdicts.values()):
        return 1
    return SKIP_STATUS if {SKIPPED} in verdicts.values() else 0
