# SPDX-License-Identifier: Apache-2.0
"""A page with figures of measurements: a generated block, and a picture in the folder of the page's name, for each."""

import pathlib
import sys

from . import blocks

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests"
sys.path += [str(TESTS / "perf"), str(TESTS / "e2e")]

# pylint: disable=wrong-import-position
from turns import report  # noqa: E402


def fill(path, results, names, draw):
    """Of each case of `results` (objects of `tests/perf/run --json`) that is one of these names: draw(case, file), and
    its block. Nothing is written where the page lacks a block."""
    found = {case["case"]: (case, measured) for measured in results for case in measured["cases"]
             if case["case"] in names}
    pictures = path.with_suffix("")
    text = path.read_text(encoding="utf-8")
    try:
        for name, (case, measured) in found.items():
            text = blocks.replaced(text, name, block(case, measured, f"{pictures.name}/{name}.svg"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    for name, (case, _) in found.items():
        draw(case, pictures / f"{name}.svg")
    path.write_text(text, encoding="utf-8")


def block(case, measured, picture):
    machine = measured["machine"]
    return "\n".join([
        f"![{case['about']}]({picture})", "",
        f"Linux {machine['kernel']}, {machine['cores']} cores; runs of {measured['seconds']} s, rounds: "
        f"{measured['rounds']}. Medians, least and most; ratios are medians of those in the same round.", "",
        "<details><summary>Table</summary>", "", report.table(case), "", "</details>"])
