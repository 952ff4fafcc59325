#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page of mrc-sim names the options of --help and the keys of a scenario; wrong ones get an answer."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOL = pathlib.Path(os.environ["MRC_BIN"]) / "mrc-sim"
MANUAL = ROOT / "docs" / "mrc-sim.1"
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][a-z-]*")
# A key that no table knows: the answer lists those that it does know.
TABLES = {
    "": "",
    "fabric": "[fabric]",
    "transport": "[transport]",
    "host": "[host]",
    "traffic": "[traffic]",
    "traffic.flow": "[[traffic.flow]]",
    "event": "[[event]]",
    "watch": "[[watch]]",
    "measure": "[measure]",
    "sweep": "[sweep]",
    "variant": "[[variant]]",
    "bound": "[[bound]]",
    "report": "[report]",
}
# What a table must have before its unknown keys are complained about.
NEEDED = {"variant": 'name = "x"\n'}
FAILED = []


def check(holds, what):
    print(("ok   " if holds else "FAIL ") + what)
    if not holds:
        FAILED.append(what)


def run(*arguments):
    return subprocess.run([TOOL, *arguments], text=True, capture_output=True, check=False)


def keys_of(table, folder):
    text = 'title = "t"\n' if table else ""
    path = folder / "wrong.toml"
    path.write_text(f"{text}{TABLES[table]}\n{NEEDED.get(table, '')}nonsense = 1\n", encoding="utf-8")
    answer = run(str(path)).stderr
    match = re.search(r"nonsense: unknown key; known are (.*)", answer)
    check(match is not None, f"[{table}] complains about a key that it does not know: {answer.strip()}")
    return set(match.group(1).split(", ")) - {"nonsense"} if match else set()


def described_keys(page, table):
    heading = re.escape(TABLES[table] or "Top level")
    section = re.search(rf"^\.SS {heading}\n(.*?)(?=^\.S[SH] )", page, re.MULTILINE | re.DOTALL)
    if section is None:
        return set()
    names = set()
    for line in re.findall(r"^\.TP\n\.BR? (.*)$", section.group(1), re.MULTILINE):
        names |= set(re.findall(r"[a-z_]+", line))
    return names


def compare_keys(page):
    tables = {"fabric", "transport", "host", "traffic", "event", "watch", "measure", "sweep", "variant", "bound",
              "report"}
    with tempfile.TemporaryDirectory() as name:
        for table in TABLES:
            known = keys_of(table, pathlib.Path(name))
            sub = tables | {"flow", "over"} if table in ("", "variant", "traffic") else set()
            described = described_keys(page, table)
            missing = (known - sub) ^ (described - sub)
            check(not missing, f"the manual describes the keys of {TABLES[table] or 'the top level'} {sorted(missing)}")


def refusals():
    for arguments, words in {
            (): ("SCENARIO",),
            ("--nonsense", "a.toml"): ("--nonsense",),
            ("/nonexistent.toml",): ("/nonexistent.toml", "No such file"),
            ("--seed", "x", "a.toml"): ("--seed",),
            ("--json", "a.toml", "b.toml"): ("take one",),
            ("--svg", "a.svg", "a.toml"): ("scripts/plot-results",),
    }.items():
        done = run(*arguments)
        check(done.returncode == 2 and all(word in done.stderr for word in words),
              f"mrc-sim {' '.join(arguments)}: {done.stderr.strip().splitlines()[:1]}")


def exit_statuses():
    scenario = ('title = "t"\nduration = "100us"\n[fabric]\nplanes = 1\n'
                '[[bound]]\nwhat = "w"\nmetric = "failed"\nbetween = {}\n')
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "s.toml"
        for ends, status in (("[0, 0]", 0), ("[-2, -1]", 1), ("[1, 2]", 1)):
            path.write_text(scenario.format(ends), encoding="utf-8")
            check(run(str(path)).returncode == status, f"a bound of {ends} on 0: exit {status}")
        path.write_text(scenario.format("[0, 0]") + '[[variant]]\nname = "a"\n[[variant]]\nname = "b"\n',
                        encoding="utf-8")
        runs = json.loads(run("--json", "--variant", "b", str(path)).stdout)["runs"]
        check([each["variant"] for each in runs] == ["b"], "--variant runs that variant alone")
        runs = json.loads(run("--json", "--variant", "b", "--variant", "a", str(path)).stdout)["runs"]
        check([each["variant"] for each in runs] == ["a", "b"], "given twice, both")
        other = run("--variant", "c", str(path))
        check(other.returncode == 2 and 'found "c", allowed is "a", "b"' in other.stderr, other.stderr.strip())
        check(run("--json", str(path)).stdout == run("--json", str(path)).stdout, "the same seed, the same bytes")


def main():
    offered = set(OPTION.findall(run("--help").stdout.split("Options:")[1]))
    page = re.sub(r"\\f.", "", MANUAL.read_text(encoding="utf-8")).replace("\\-", "-")
    described = set()
    for heading in re.findall(r"^\.TP\n(.*)$", page.split(".SH OPTIONS")[1].split(".SH ")[0], re.MULTILINE):
        described |= set(OPTION.findall(heading))
    check(described == offered, f"the manual describes the options of --help {sorted(described ^ offered) or ''}")
    compare_keys(page)
    refusals()
    exit_statuses()
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
