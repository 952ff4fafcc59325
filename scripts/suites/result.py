# SPDX-License-Identifier: Apache-2.0
"""What became of each test, and how a run is summed up."""

import dataclasses
import re

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclasses.dataclass
class result:
    name: str
    outcome: str
    seconds: float = 0.0
    reason: str = ""  # of a skip or a failure, one line
    output: str = ""
    parts: list = dataclasses.field(default_factory=list)  # (case, reason) that a test skipped within itself


@dataclasses.dataclass
class suite_report:
    name: str
    seconds: float
    results: list

    def count(self, outcome):
        return sum(1 for one in self.results if one.outcome == outcome)


def skip_reason(output):
    """The reason that a test gave before it ended with status 77."""
    match = re.search(r"^SKIP: *(.+)$", output, re.MULTILINE)
    return match.group(1).strip() if match else "the test gave no reason (it should print `SKIP: reason`)"


def skipped_parts(output):
    """GoogleTest cases that called GTEST_SKIP inside a test that ran, and what vmtests/run left out: (case, reason)."""
    parts = []
    reason = ""
    for line, following in zip(lines := output.splitlines(), lines[1:] + [""]):
        if re.search(r": Skipped$", line):
            reason = following.strip()
        if left_out := re.match(r"NOT RUN ([^:]+): (.+)$", line):
            parts.append(left_out.groups())
        match = re.match(r"\[  SKIPPED \] (\S+) \(\d+ ms\)$", line)
        if match:
            parts.append((match.group(1), reason or "no reason given"))
            reason = ""
    return parts


WRONG = re.compile(r"FAIL|: Failure$|[Ee]rror\b|Traceback|^finding: |kernel log|Sanitizer|Timeout|terminate called")


def complaints(output, most=12, columns=240):
    """What a failed test said was wrong, in few lines: its complaints with the two lines after each, or its last lines.
    Of too many, the first and the last."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    wrong = [number for number, line in enumerate(lines) if WRONG.search(line)]
    chosen = sorted({near for number in wrong for near in range(number, min(number + 3, len(lines)))})
    said = [lines[number] for number in chosen] or lines[-most:]
    if len(said) > most:
        said = [*said[:most // 2], f"[{len(said) - most} more lines]", *said[len(said) - most + most // 2:]]
    return [line if len(line) <= columns else line[:columns] + " [...]" for line in said]


def summary(reports):
    """Lines of the closing summary; the last one is the count."""
    width = max([len(report.name) for report in reports] + [5])
    lines = ["", f"{'suite':{width}}  passed  failed  skipped     time"]
    for report in reports:
        lines.append(f"{report.name:{width}}  {report.count(PASSED):6}  {report.count(FAILED):6}  "
                     f"{report.count(SKIPPED):7}  {report.seconds:5.0f} s")
    everything = [one for report in reports for one in report.results]
    skips = [f"  {one.name}: {one.reason}" for one in everything if one.outcome == SKIPPED]
    parts = [f"  {one.name}, case {case}: {reason}" for one in everything for case, reason in one.parts]
    failures = [line for one in everything if one.outcome == FAILED
                for line in (f"  {one.name}: {one.reason}", *(f"    {said}" for said in complaints(one.output)))]
    for title, items in (("skipped", skips), ("skipped within tests that ran", parts), ("failed", failures)):
        if items:
            lines += ["", f"{title}:", *items]
    counts = [sum(report.count(outcome) for report in reports) for outcome in (PASSED, FAILED, SKIPPED)]
    lines += ["", f"{counts[0]} passed, {counts[1]} failed, {counts[2]} skipped"]
    return lines
