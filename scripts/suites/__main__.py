# SPDX-License-Identifier: Apache-2.0
"""Runs the suites of scripts/test; see its --help."""

import argparse
import subprocess
import sys
import time

import changed
import checks
from result import FAILED, SKIPPED, result, suite_report, summary
from tree import ASAN, RELEASE, ROOT

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


def build_trees(arguments, broken):
    """Builds what the suites need; adds the trees that failed to `broken`."""
    begin = time.monotonic()
    results = []
    for tree in (RELEASE, ASAN):
        if any(tree in trees_of(suite, arguments) for suite in arguments.suites):
            headline(f"build {tree.preset}")
            tree_begin = time.monotonic()
            failure = tree.build()
            print(f"build {tree.preset}: {time.monotonic() - tree_begin:.0f} s", flush=True)
            if failure:
                results.append(failure)
                broken.append(tree)
    return suite_report("build", time.monotonic() - begin, results)


def run_suite(suite, arguments, broken):
    headline(suite)
    begin = time.monotonic()
    results = checks.run_all() if suite == "checks" else []
    for tree in trees_of(suite, arguments):
        if tree in broken:
            results.append(result(f"{tree.prefix}{suite}", SKIPPED, 0, f"build {tree.preset} failed"))
        else:
            results += tree.test(suite, verbose=suite in LIVE)
    report = suite_report(suite, time.monotonic() - begin, results)
    print(f"{suite}: {report.seconds:.0f} s", flush=True)
    return report


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
    broken = []
    reports = [build_trees(arguments, broken)]
    reports += [run_suite(suite, arguments, broken) for suite in arguments.suites]
    sys.stderr.flush()
    print("\n".join(summary(reports)), flush=True)
    return int(any(report.count(FAILED) for report in reports))


if __name__ == "__main__":
    sys.exit(main())
