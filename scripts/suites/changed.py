# SPDX-License-Identifier: Apache-2.0
"""Which tests a diff can touch: programs by what the build knows of their sources, scripts by what they import, the
lab's and those that read documents by folders."""

import ast
import json
import os
import re
import subprocess

from tree import RELEASE, ROOT

# Tests of what neither the build nor an import connects with the files on their left: they run it on a lab, within a
# minute, or read it as they run. Kernels in VMs and fuzzers are left to the whole run.
NAMED_TESTS = [
    (r"(bpf|include/mrc/abi|agent/(protocol|codec|kernel|datapath))/", ["e2e.transfer_xdp", "e2e.overlay"]),
    (r"agent/(service|session|options|tools/mrcd)/", ["e2e.transfer_xdp", "e2e.mrcd_refusals"]),
    (r"(agent/client|include/mrc[^/]*\.h|include/mrc)/?", ["e2e.api_transfer"]),
    (r"agent/client/verbs/", ["e2e.api_verbs_queues"]),
    (r"agent/heap/", ["e2e.heap"]),
    (r"agent/tools/mrcctl/", ["e2e.mrcctl", "e2e.completion"]),
    (r"(agent/tools/mrcctl/capture/|agent/datapath/capture_tap|bpf/capture|include/mrc/abi/capture)",
     ["e2e.capture_xdp", "e2e.capture_af_xdp"]),
    (r"(agent/tools/mrcctl/trace/|agent/datapath/trace_|agent/protocol/trace_|docs/trace\.md)",
     ["e2e.trace", "e2e.trace_probes", "e2e.trace_bpftrace"]),
    (r"agent/tools/mrc-perf/", ["e2e.transfer_tool"]),
    (r"agent/tools/mrc-collectives/", ["e2e.gloo_program"]),
    (r"agent/tools/mrc-doctor/", ["e2e.doctor"]),
    (r"agent/tools/(mrc-view|http)/", ["e2e.view_host", "e2e.view_lab", "e2e.view_browser"]),
    (r"agent/tools/http/", ["e2e.metrics"]),
    (r"agent/tools/mrc-switch/", ["e2e.lab_cuts", "e2e.lab_xdp_ping"]),
    (r"scripts/(lab/|mrc-lab)", ["e2e.lab_cuts", "e2e.lab_xdp_ping", "unit.lab_config"]),
    (r"scripts/(packaging|cmake)/", ["e2e.package", "e2e.rpm"]),
    (r"scripts/packaging/systemd/", ["e2e.unit_start", "e2e.unit_journal"]),
    (r"scripts/packaging/kubernetes", ["e2e.container_daemon"]),
    (r"(scripts/packaging/completions|agent/tools/completion)/", ["e2e.completion"]),
    (r"scripts/demo", ["e2e.demo"]),
    (r"tests/e2e/sockets/echo_client", ["e2e.sockets_programs"]),
    (r"tests/perf/(run|turns/)", ["e2e.perf_run", "unit.perf_turns"]),
    (r"(docs/performance\.md|tests/check/performance_page/)", ["unit.performance_page"]),
    (r"tests/perf/(raw|turns)/", ["e2e.raw_packets"]),
    # What most tests of the lab import.
    (r"tests/e2e/(lab_support|transfer_support|pinned_maps)\.py", ["e2e.transfer_xdp", "e2e.overlay"]),
    # Programs on libmrc, and what they share.
    (r"tests/api/(two_hosts|processes)\.", ["e2e.api_transfer", "e2e.api_isolation"]),
    (r"tests/api/(bandwidth|conformance|isolation|ping_pong|profiles|signals|thousand|transfer|verbs_queues)[./]",
     [r"e2e.api_\1"]),
    (r"tests/api/controller", ["e2e.api_controller"]),
    (r"tests/api/many_clients", ["e2e.api_many_clients_2"]),
    (r"tests/api/(daemon_gone|ev_expansion|freed_pages)\.c", [r"e2e.\1"]),
    (r"tests/api/huge_files", ["e2e.freed_pages"]),
    (r"tests/api/embedded_process", ["e2e.embedded"]),
    (r"tests/api/many_peers", ["e2e.large_fabric"]),
    (r"tests/api/(memory_scan|set_uid|unprivileged)", ["e2e.users"]),
    # Documents and data.
    (r"docs/api\.md", ["e2e.snippets"]),
    (r"docs/examples/", ["e2e.examples"]),
    (r"docs/mrc-(lab|perf|doctor|view)\.", [r"e2e.\1_manual"]),
    (r"docs/mrc-collectives\.", ["e2e.gloo_program"]),
    (r"docs/mrcctl\.8", ["e2e.mrcctl_manual"]),
    (r"docs/mrc-sim\.1", ["sim.mrc_sim_manual"]),
    (r"docs/mrc-switch\.1", ["unit.switch_config_test"]),
    (r"docs/(mrcd\.(8|toml)|interop\.md)", ["unit.service_test"]),
    (r"docs/kernels\.md|scripts/kernels-table", ["unit.kernels_table"]),
    (r"tests/vectors/(?!nscc)", ["unit.codec_test", "unit.wireshark"]),
    (r"scripts/wireshark/", ["unit.wireshark"]),
    (r"vmtests/.*\.toml", ["unit.vmtests"]),
    (r"tests/check/ctest_outcomes/", ["unit.suites"]),
    (r"(agent/protocol/|scripts/mutations|tests/sim/mutations\.toml)", ["sim.mutations"]),
]
# Where scripts look besides their own folder.
PYTHON_FOLDERS = ["scripts", "scripts/suites", "tests/e2e", "tests/packaging", "vmtests"]
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
    chosen = named(changed)
    for test in json.loads(listed.stdout)["tests"]:
        name, command = test["name"], test.get("command", [])
        if name.split(".")[0] in KINDS and any(touches(word, build, by_object, changed) for word in command):
            chosen.add(name)
    return sorted(chosen)


def named(changed):
    return {match.expand(name) for path in changed for pattern, names in NAMED_TESTS
            if (match := re.match(pattern, path)) for name in names}


def touches(word, build, by_object, changed):
    """Whether a word of a test's command is a changed script, imports one, or is a program made of a changed source."""
    path = os.path.relpath(word, ROOT) if os.path.isabs(word) else word
    # What nearly every script imports is tested by those that NAMED_TESTS chooses, not by all of them.
    if not modules(path).isdisjoint(one for one in changed if not named({one})):
        return True
    if not word.startswith(str(build)) or not os.access(word, os.X_OK) or os.path.isdir(word):
        return False
    inputs = subprocess.run(["ninja", "-C", build, "-t", "inputs", os.path.relpath(word, build)], capture_output=True,
                            text=True, check=False).stdout.split()
    return any(_from_root(build, one) in changed or not changed.isdisjoint(by_object.get(one, ())) for one in inputs)


def modules(script):
    """`script`, and the project's modules that it imports, directly or not; of what is no script, itself alone."""
    found, left = set(), [script]
    while left:
        path = left.pop()
        found.add(path)
        left += {module for name in _imports(path) if (module := _module(name, path))} - found
    return found


def _imports(path):
    if not path.endswith(".py"):
        return []
    names = []
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def _module(name, importer):
    for folder in (os.path.dirname(importer), *PYTHON_FOLDERS):
        path = os.path.join(folder, *name.split(".")) + ".py"
        if (ROOT / path).is_file():
            return path
    return None


def sources_of_objects(build):
    """Object file, as Ninja names it → the files of the project that it was compiled from."""
    shown = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    sources, current = {}, None
    for line in shown.splitlines():
        if line.startswith("    "):
            path = _from_root(build, line.strip())
            if not path.startswith(".."):
                current.add(path)
        elif ":" in line:
            current = sources.setdefault(line.split(":")[0], set())
    return sources


def _from_root(build, path):
    return os.path.relpath(os.path.join(build, path), ROOT)
