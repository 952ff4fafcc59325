# SPDX-License-Identifier: Apache-2.0
"""Runs the suites of scripts/test; see its --help."""

import argparse
import concurrent.futures
import os
import sys
import time

import changed
import checks
import processor
from result import FAILED, SKIPPED, result, suite_report, summary
from tree import ASAN, FUZZ, RELEASE, ROOT, UNTRUSTED

SUITES = ("checks", "unit", "sim", "bpf", "e2e", "fuzz", "vm")
ASIDE = ("sim",)  # on simulated time: have the CPU time that the other suites leave
WITH_DAEMONS = ("e2e",)
MOST_WORKERS = 4  # MRC_MAX_WORKERS
LIVE = ("fuzz", "vm")  # all that they say is kept, of those that pass as well


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/test", add_help=False)
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--no-asan", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--workers", type=int, choices=range(1, MOST_WORKERS + 1), metavar=f"1…{MOST_WORKERS}")
    parser.add_argument("--changed", nargs="?", const="HEAD", metavar="REV")
    arguments = parser.parse_args()
    chosen = [name for item in arguments.suite for name in item.split(",") if name]
    unknown = sorted(set(chosen) - set(SUITES))
    if unknown:
        parser.error(f"unknown suite {', '.join(unknown)}; there are: {', '.join(SUITES)}")
    if arguments.changed and (chosen or arguments.list or arguments.no_asan or arguments.all):
        parser.error("--changed chooses tests by itself: no other option goes with it")
    usual = SUITES if arguments.workers is None else WITH_DAEMONS
    arguments.suites = [name for name in SUITES if name in (chosen or usual)]
    arguments.sanitized = None if arguments.no_asan else ASAN if arguments.all else UNTRUSTED
    return arguments


def trees_of(suite, arguments):
    if suite == "checks":
        return []
    return [RELEASE, arguments.sanitized] if sanitizes(arguments, suite) else [RELEASE]


def sanitizes(arguments, suite):
    """Whether the suite runs in a tree with sanitizers, too."""
    return arguments.sanitized is not None and suite in arguments.sanitized.suites


def list_tests(arguments):
    for suite in arguments.suites:
        if suite == "checks":
            for name in checks.names():
                print(f"check.{name}")
        for tree in trees_of(suite, arguments):
            if not (ROOT / tree.directory / "CTestTestfile.cmake").exists():
                print(f"{suite}: {tree.directory} is not built yet", file=sys.stderr)
                continue
            for name in tree.names(suite, arguments.all):
                print(name)


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

    def _test(self, suite, tree, aside=False, quiet=False):
        if not (aside or quiet):
            headline(f"{tree.prefix}{suite}")
        begin = time.monotonic()
        if tree in self.broken:
            self._add(suite, lambda: [result(f"{tree.prefix}{suite}", SKIPPED, 0, f"build {tree.preset} failed")])
        else:
            self._add(suite, lambda: tree.test(suite, self.arguments.all, suite in LIVE, aside, quiet))
        print(f"{tree.prefix}{suite}: {time.monotonic() - begin:.0f} s", flush=True)

    def _test_all(self, suites, tree, aside=False, quiet=False):
        for suite in self.arguments.suites:
            if suite in suites and tree in trees_of(suite, self.arguments):
                self._test(suite, tree, aside, quiet)

    def _sanitize(self):
        """What is built with sanitizers, and those of its tests that need neither a lab nor the time of fuzzers."""
        tree = self.arguments.sanitized
        if any(sanitizes(self.arguments, suite) for suite in self.arguments.suites):
            self._build(tree, aside=True)
            self._test_all(("unit", "sim"), tree, aside=True)
        if "fuzz" in self.arguments.suites:
            self._build(FUZZ, aside=True)

    def _compute(self):
        """What else needs only the processor."""
        self._test_all(ASIDE, RELEASE, aside=True)
        if "checks" in self.arguments.suites:
            self._add("checks", lambda: checks.run_long(self.arguments.all))

    def all(self):
        """Whether nothing failed."""
        begin, busy = time.monotonic(), processor.busy_seconds()
        if any(RELEASE in trees_of(suite, self.arguments) for suite in self.arguments.suites):
            headline(f"build {RELEASE.preset}")
            self._build(RELEASE)
        if "checks" in self.arguments.suites:
            headline("checks")
            self._add("checks", checks.run_quick)
        # Labs wait for most of their time: compilers and simulations have what they leave, one after the other.
        with concurrent.futures.ThreadPoolExecutor(1) as pool, concurrent.futures.ThreadPoolExecutor(1) as second:
            sanitized, computed = pool.submit(self._sanitize), pool.submit(self._compute)
            self._test_all(("unit", "bpf", "e2e"), RELEASE)
            sanitized.result()
            # Virtual machines have deadlines for slower ones than this, and do not fill it.
            machines = second.submit(self._test_all, ("vm",), RELEASE, quiet=True)
            if self.arguments.sanitized:
                self._test_all(("e2e",), self.arguments.sanitized)
            self._test_all(("fuzz",), RELEASE)
            headline("what ran beside")
            machines.result()
            computed.result()
        sys.stderr.flush()
        seconds, busy = time.monotonic() - begin, processor.busy_seconds() - busy
        print(f"\nall: {seconds:.0f} s, in which some ran beside others; {busy:.0f} s of processor time, "
              f"{100 * busy / (seconds * processor.COUNT):.0f} % of {processor.COUNT} processors, of all that ran here")
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
    if arguments.workers is not None:
        os.environ["MRC_TEST_WORKERS"] = str(arguments.workers)
    if arguments.list:
        return list_tests(arguments)
    if arguments.changed:
        return run_changed(arguments.changed)
    return int(not run(arguments).all())


if __name__ == "__main__":
    sys.exit(main())
