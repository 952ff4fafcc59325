# SPDX-License-Identifier: Apache-2.0
"""Build trees that tests run from, and ctest in them."""

import dataclasses
import os
import pathlib
import re
import subprocess

import command
import junit
from result import FAILED, result

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORES = os.cpu_count() or 1
# Labs wait for three quarters of their time: half again as many at a time as there are cores.
AT_A_TIME = {"e2e": 3 * CORES // 2}
# Suites whose tests all lie in one folder of the tree. ctest keeps its logs there, so that another one may run beside.
FOLDERS = {"sim": "tests/sim", "vm": "vmtests"}
# Label of tests that only scripts/test --all runs.
WHOLE = "whole"
# ctest keeps this much of a test's output in its report; skip reasons are read from there.
OUTPUT_BYTES = str(1 << 20)


@dataclasses.dataclass
class tree:
    preset: str
    directory: str
    targets: list  # empty: everything
    prefix: str = ""  # of its tests' names in reports
    without: str = ""  # label of tests that this tree leaves out
    only: str = ""  # label of the tests that it runs; empty: any
    suites: tuple = ()  # that it runs besides the Release tree
    borrowed: tuple = ()  # programs that the Release tree has made: of no other build here

    def build(self, aside=False):
        """A failed result, or None when the tree is built; aside: see command.run."""
        configure = ["cmake", "--preset", self.preset, "-DMRC_TESTS=ON"]
        build = ["cmake", "--build", self.directory, "--parallel", str(CORES)]
        if self.targets:
            build += ["--target", *self.targets]
        for step in (configure, build):
            status, output, seconds = command.run(step, ROOT, aside)
            if status:
                if aside:
                    print(output, flush=True)
                reason = f"`{' '.join(step)}` ended with {status}"
                return result(f"build.{self.preset}", FAILED, seconds, reason, output)
        for name in self.borrowed:
            link = ROOT / self.directory / "bin" / name
            link.unlink(missing_ok=True)
            link.symlink_to(ROOT / RELEASE.directory / "bin" / name)
        return None

    def choice(self, suite, whole=False):
        """ctest's arguments for the tests that have the suite's name as label; those labelled `whole` only if asked."""
        chosen = ["--label-regex", f"^{suite}$"]
        if self.only:
            chosen += ["--label-regex", f"^{self.only}$"]
        without = [label for label in (self.without, "" if whole else WHOLE) if label]
        return chosen + (["--label-exclude", f"^({'|'.join(without)})$"] if without else [])

    def names(self, suite, whole=False):
        """Of the tests that `test` would run."""
        shown = subprocess.run(["ctest", "--test-dir", self.directory, "-N", *self.choice(suite, whole)], cwd=ROOT,
                               capture_output=True, text=True, check=True)
        return [self.prefix + name for name in re.findall(r"^ *Test +#\d+: (.+)$", shown.stdout, re.MULTILINE)]

    def test(self, suite, whole=False, verbose=False, aside=False, quiet=False):
        """Runs a suite's tests; aside and quiet: see command.run. What failed there is shown at the end."""
        return self._run_ctest(suite, self.choice(suite, whole), verbose, aside, quiet)

    def test_named(self, names):
        """Runs the tests of these names."""
        return self._run_ctest("changed", ["--tests-regex", f"^({'|'.join(map(re.escape, names))})$"])

    def _run_ctest(self, suite, choice, verbose=False, aside=False, quiet=False):
        folder = pathlib.Path(self.directory, FOLDERS.get(suite, ""))
        report = ROOT / folder / f"junit-{suite}.xml"
        report.unlink(missing_ok=True)
        run = ["ctest", "--test-dir", str(folder), *choice, "--output-junit", report.name,
               "--parallel", str(AT_A_TIME.get(suite, CORES)), "--test-output-size-passed", OUTPUT_BYTES,
               "--test-output-size-failed", OUTPUT_BYTES, "--no-tests=error",
               "--verbose" if verbose else "--output-on-failure"]
        status, output, seconds = command.run(run, ROOT, aside, quiet)
        results = junit.read(report, output, self.prefix) if report.exists() else []
        if not results:
            reason = f"ctest ran no test (status {status})"
            results = [result(f"{self.prefix}{suite}", FAILED, seconds, reason, output)]
        elif status and not any(one.outcome == FAILED for one in results):
            results.append(result(f"{self.prefix}{suite}", FAILED, 0, f"ctest ended with status {status}", output))
        if (aside or quiet) and any(one.outcome == FAILED for one in results):
            print(output, flush=True)
        return results


# Tools that the lab needs in trees that do not build them.
LAB = ("mrc-switch", "mrcctl")
# Directory targets of Ninja: the tests in that directory, and only what they link.
RELEASE = tree("release", "build", [])
FUZZ = tree("fuzz", "build/fuzz", ["tests/fuzz/all"])
# With sanitizers: what reads untrusted input, made of the fuzzers' libraries; or everything. Only g++ builds libmrc,
# which the client beside the hostile one needs.
UNTRUSTED = tree("fuzz", "build/fuzz", ["untrusted"], prefix="asan.", only="untrusted", suites=("unit", "e2e"),
                 borrowed=(*LAB, "honest_client_c"))
ASAN = tree("asan", "build/asan",
            ["tests/unit/all", "tests/sim/all", "tests/api/all", "tests/nccl/all", "tests/fi/all", "mrcd"],
            prefix="asan.", without="command", suites=("unit", "sim", "e2e"), borrowed=LAB)
