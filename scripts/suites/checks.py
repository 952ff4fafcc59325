# SPDX-License-Identifier: Apache-2.0
"""Static checks: every executable of scripts/checks, and the proof that it can fail."""

import concurrent.futures
import os

import command
import compilations
from result import FAILED, PASSED, SKIPPED, result, skip_reason
from tree import RELEASE, ROOT

SKIP_STATUS = 77
LONG = ("tidy",)


def names():
    return sorted(path.name for path in (ROOT / "scripts/checks").iterdir()
                  if path.is_file() and os.access(path, os.X_OK))


def run_quick():
    """All but those that take minutes."""
    return [one for both in _on_each_core(_run_both) for one in both]


def run_long(whole):
    """Those that take minutes, beside other suites; of everything, or of what they can do in a part of a minute."""
    return [one for name in LONG for one in _run_both(name, aside=True, options=["--whole"] if whole else [])]


def run_changed(paths):
    """The quick checks over everything; clang-tidy over those changed sources that are compiled."""
    results = _on_each_core(lambda name: _run(f"check.{name}", [f"scripts/checks/{name}"]))
    compiled = {entry["file"] for entry in compilations.read(ROOT / RELEASE.directory)}
    sources = sorted(path for path in paths if path.endswith(".cpp") and str(ROOT / path) in compiled)
    if sources:
        results.append(_run("check.tidy", ["scripts/check-tidy", "--budget", "100", *sources]))
    return results


def _on_each_core(work):
    """What `work` gives for each of the quick checks, of which one runs on each core."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, [name for name in names() if name not in LONG]))


def _run_both(name, aside=False, options=()):
    return [_run(f"check.{name}", [f"scripts/checks/{name}", *options], aside),
            _run(f"check.{name}.self_test", [f"scripts/checks/{name}", "--self-test"], aside)]


def _run(name, arguments, aside=False):
    status, output, seconds = command.run(arguments, ROOT, aside, quiet=True)
    if output:
        print(output, end="", flush=True)
    if status == 0:
        return result(name, PASSED, seconds)
    if status == SKIP_STATUS:
        return result(name, SKIPPED, seconds, skip_reason(output), output)
    return result(name, FAILED, seconds, f"`{' '.join(arguments)}` ended with {status}", output)
