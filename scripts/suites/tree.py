# SPDX-License-Identifier: Apache-2.0
"""Build trees that tests run from, and ctest in them."""

import dataclasses
import os
import pathlib
import re

import command
import junit
from result import FAILED, result

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORES = os.cpu_count() or 1
# Labs wait for three quarters of their time: half again as many at a time as there are cores.
AT_A_TIME = {"e2e": 3 * CORES // 2}
# ctest keeps this much of a test's output in its report; skip reasons are read from there.
OUTPUT_BYTES = str(1 << 20)


@dataclasses.dataclass
class tree:
    preset: str
    directory: str
    targets: list  # empty: everything
    prefix: str = ""  # of its tests' names in reports
    without: str = ""  # label of tests that this tree leaves out
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

    def test(self, suite, verbose=False):
        """Runs the tests that carry the suite's name as label."""
        return self._run_ctest(suite, ["--label-regex", f"^{suite}$"], verbose)

    def test_named(self, names):
        """Runs the tests of these names."""
        return self._run_ctest("changed", ["--tests-regex", f"^({'|'.join(map(re.escape, names))})$"], False)

    def _run_ctest(self, suite, choice, verbose):
        report = ROOT / self.directory / f"junit-{suite}.xml"
        report.unlink(missing_ok=True)
        run = ["ctest", "--test-dir", self.directory, *choice, "--output-junit", report.name,
               "--parallel", str(AT_A_TIME.get(suite, CORES)), "--test-output-size-passed", OUTPUT_BYTES,
               "--test-output-size-failed", OUTPUT_BYTES, "--no-tests=error",
               "--verbose" if verbose else "--output-on-failure"]
        if self.without:
            run += ["--label-exclude", f"^{self.without}$"]
        status, output, seconds = command.run(run, ROOT)
        results = junit.read(report, output, self.prefix) if report.exists() else []
        if not results:
            reason = f"ctest ran no test (status {status})"
            results = [result(f"{self.prefix}{suite}", FAILED, seconds, reason, output)]
        elif status and not any(one.outcome == FAILED for one in results):
            results.append(result(f"{self.prefix}{suite}", FAILED, 0, f"ctest ended with status {status}", output))
        return results


# Directory targets of Ninja: the tests in that directory, and only what they link.
RELEASE = tree("release", "build", [])
ASAN = tree("asan", "build/asan",
            ["tests/unit/all", "tests/sim/all", "tests/api/all", "tests/nccl/all", "mrcd"],
            prefix="asan.", without="command", borrowed=("mrc-switch", "mrcctl"))
FUZZ = tree("fuzz", "build/fuzz", ["tests/fuzz/all"])
