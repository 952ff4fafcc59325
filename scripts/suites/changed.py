# SPDX-License-Identifier: Apache-2.0
"""Which tests a diff can touch: programs by what the build knows of their sources, the lab's by folders."""

import json
import os
import re
import subprocess

from tree import RELEASE, ROOT

# Tests on a lab that exercise the folders on their left, within a minute. Kernels in VMs and fuzzers are left to
# the whole run.
LAB_TESTS = [
    (r"(bpf|include/mrc/abi|agent/(protocol|codec|kernel|datapath))/", ["e2e.transfer_xdp", "e2e.overlay"]),
    (r"agent/(service|session)/", ["e2e.transfer_xdp", "e2e.mrcd_refusals"]),
    (r"(agent/client|include/mrc[^/]*\.h|include/mrc)/?", ["e2e.api_transfer"]),
    (r"agent/tools/mrcctl/", ["e2e.mrcctl"]),
    (r"agent/tools/mrc-perf/", ["e2e.transfer_tool"]),
    (r"agent/tools/mrc-doctor/", ["e2e.doctor"]),
    (r"agent/tools/mrc-switch/|scripts/(lab/|mrc-lab)", ["e2e.lab_cuts", "e2e.lab_xdp_ping"]),
    (r"scripts/(packaging|cmake)/", ["e2e.package"]),
    (r"scripts/demo", ["e2e.demo"]),
    (r"docs/mrc-perf\.1", ["e2e.perf_manual"]),
    (r"docs/mrc-lab\.1", ["e2e.lab_manual"]),
    (r"docs/mrcctl\.8", ["e2e.mrcctl_manual"]),
    (r"docs/mrc-doctor\.8", ["e2e.doctor_manual"]),
    (r"docs/api\.md", ["e2e.snippets"]),
]
KINDS = {"unit", "sim", "bpf", "e2e"}


def files(base):
    """Paths that differ between `base` and the working tree, new ones included."""
    names = set()
    for command in (["diff", "--name-only", base], ["ls-files", "--others", "--exclude-standard"]):
        listed = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
        if listed.returncode:
            raise ValueError(f"git {' '.join(command)}: {listed.stderr.strip()}")
        names |= set(listed.stdout.splitlines())
    return names


def tests(changed):
    """Names of the Release tree's tests, which must be built, that `changed` can touch."""
    build = ROOT / RELEASE.directory
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True,
                            check=True)
    by_object = sources_of_objects(build)
    chosen = set()
    for test in json.loads(listed.stdout)["tests"]:
        name, command = test["name"], test.get("command", [])
        if name.split(".")[0] in KINDS and any(touches(word, build, by_object, changed) for word in command):
            chosen.add(name)
    for pattern, names in LAB_TESTS:
        if any(re.match(pattern, path) for path in changed):
            chosen.update(names)
    return sorted(chosen)


def touches(word, build, by_object, changed):
    """Whether a word of a test's command is a changed script, or a program that is made of a changed source."""
    path = os.path.relpath(word, ROOT) if os.path.isabs(word) else word
    if path in changed:
        return True
    if not word.startswith(str(build)) or not os.access(word, os.X_OK) or os.path.isdir(word):
        return False
    inputs = subprocess.run(["ninja", "-C", build, "-t", "inputs", os.path.relpath(word, build)], capture_output=True,
                            text=True, check=False).stdout.split()
    return any(not changed.isdisjoint(by_object.get(one, ())) for one in inputs)


def sources_of_objects(build):
    """Object file, as Ninja names it → the files of the project that it was compiled from."""
    shown = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    sources, current = {}, None
    for line in shown.splitlines():
        if line.startswith("    "):
            path = os.path.relpath(os.path.join(build, line.strip()), ROOT)
            if not path.startswith(".."):
                current.add(path)
        elif ":" in line:
            current = sources.setdefault(line.split(":")[0], set())
    return sources
