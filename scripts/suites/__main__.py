# SPDX-License-Identifier: Apache-2.0
"""Runs the suites of scripts/test; see its --help."""

import argparse
import concurrent.futures
import os
import resource
import subprocess
import sys
import time

import changed
import checks
from result import FAILED, SKIPPED, result, suite_report, summary
from tree import ASAN, FUZZ, RELEASE, ROOT

SUITES = {  # in the order in which they run
    "checks": [],
    "unit": [RELEASE, ASAN],
    "sim": [RELEASE, ASAN],
    "bpf": [RELEASE],
    "e2e": [RELEASE, ASAN],
    "fuzz": [RELEASE],
    "vm": [RELEASE],
}
LIVE = ("fuzz", "vm")  # minutes long: their output is shown as it comes


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/test", add_help=False)
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--no-asan", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--changed", nargs="?", const="HEAD", metavar="REV")
    arguments = parser.parse_args()
    chosen = [name for item in arguments.suite for name in item.split(",") if name]
    unknown = sorted(set(chosen) - set(SUITES))
    if unknown:
        parser.error(f"unknown suite {', '.join(unknown)}; there are: {', '.join(SUITES)}")
    if arguments.changed and (chosen or arguments.list or arguments.no_asan):
        parser.error("--changed chooses tests by itself: no other option goes with it")
    arguments.suites = [name for name in SUITES if not chosen or name in chosen]
    return arguments


def trees_of(suite, arguments):
    return [tree for tree in SUITES[suite] if tree is not ASAN or not arguments.no_asan]


def list_tests(arguments):
    for suite in arguments.suites:
        if suite == "checks":
            for name in checks.names():
                print(f"check.{name}")
        for tree in trees_of(suite, arguments):
            if not (ROOT / tree.directory / "CTestTestfile.cmake").exists():
                print(f"{suite}: {tree.directory} is not built yet", file=sys.stderr)
                continue
            shown = subprocess.run(["ctest", "--test-dir", tree.directory, "-N", "-L", f"^{suite}$"], cwd=ROOT,
                                   capture_output=True, text=True, check=False)
            for line in shown.stdout.splitlines():
                if line.lstrip().startswith("Test "):
                    print(tree.prefix + line.split(": ", 1)[1])


def headline(text):
    print(f"\n== {text}", flush=True)


class run:
    """One run of the suites that were asked for, and what came of each."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.reports = {name: suite_report(name, 0, []) for name in ("build", *arguments.suites)}
        self.broken = []  # trees

    def _add(self, name, work):
        begin = time.monotonic()
        found = work()
        report = self.reports[name]
        report.results += found
        report.seconds += time.monotonic() - begin

    def _build(self, tree, aside=False):
        def work():
            failure = tree.build(aside)
            if failure:
                self.broken.append(tree)
            return [failure] if failure else []
        begin = time.monotonic()
        self._add("build", work)
        print(f"build {tree.preset}: {time.monotonic() - begin:.0f} s", flush=True)

    def _test(self, suite, tree):
        headline(f"{tree.prefix}{suite}")
        if tree in self.broken:
            self._add(suite, lambda: [result(f"{tree.prefix}{suite}", SKIPPED, 0, f"build {tree.preset} failed")])
        else:
            self._add(suite, lambda: tree.test(suite, verbose=suite in LIVE))
        print(f"{tree.prefix}{suite}: {self.reports[suite].seconds:.0f} s", flush=True)

    def _wanted(self, tree):
        return any(tree in trees_of(suite, self.arguments) for suite in self.arguments.suites)

    def _compile_aside(self):
        """What only needs the compiler, with the CPU time that labs, which often wait, leave."""
        if self._wanted(ASAN):
            self._build(ASAN, aside=True)
        if "fuzz" in self.arguments.suites:
            self._build(FUZZ, aside=True)
        if "checks" in self.arguments.suites:
            self._add("checks", checks.run_long)

    def all(self):
        """Whether nothing failed."""
        begin = time.monotonic()
        if self._wanted(RELEASE):
            headline(f"build {RELEASE.preset}")
            self._build(RELEASE)
        if "checks" in self.arguments.suites:
            headline("checks")
            self._add("checks", checks.run_quick)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            aside = pool.submit(self._compile_aside)
            for suite in self.arguments.suites:
                if RELEASE in SUITES[suite] and suite != "fuzz":
                    self._test(suite, RELEASE)
            headline("what was compiled beside")
            aside.result()
        for suite in self.arguments.suites:
            if ASAN in trees_of(suite, self.arguments):
                self._test(suite, ASAN)
        if "fuzz" in self.arguments.suites:
            self._test("fuzz", RELEASE)
        sys.stderr.flush()
        seconds, cores = time.monotonic() - begin, os.cpu_count() or 1
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = spent.ru_utime + spent.ru_stime
        print(f"\nall: {seconds:.0f} s, in which some ran beside others; {processor:.0f} s of processor time, "
              f"{100 * processor / (seconds * cores):.0f} % of {cores} cores")
        print("\n".join(summary(self.reports.values())), flush=True)
        return not any(report.count(FAILED) for report in self.reports.values())


def timed(name, work):
    begin = time.monotonic()
    results = work()
    return suite_report(name, time.monotonic() - begin, results)


def run_changed(base):
    """What the difference to `base` can touch: quick checks, and tests of the Release tree."""
    try:
        paths = changed.files(base)
    except ValueError as error:
        print(f"scripts/test: --changed {base}: {error}", file=sys.stderr)
        return 2
    print(f"{len(paths)} files differ from {base}", flush=True)
    headline(f"build {RELEASE.preset}")
    reports = [timed("build", lambda: [failure] if (failure := RELEASE.build()) else [])]
    if not reports[0].results:
        headline("checks")
        reports.append(timed("checks", lambda: checks.run_changed(paths)))
        names = changed.tests(paths)
        headline(f"tests: {', '.join(names) or 'none that the changes can touch'}")
        reports.append(timed("tests", lambda: RELEASE.test_named(names) if names else []))
    print("\n".join(summary(reports)), flush=True)
    return int(any(report.count(FAILED) for report in reports))


def main():
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")
    arguments = parse_arguments()
    if arguments.list:
        return list_tests(arguments)
    if arguments.changed:
        return run_changed(arguments.changed)
    return int(not run(arguments).all())


if __name__ == "__main__":
    sys.exit(main())
