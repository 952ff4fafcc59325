# SPDX-License-Identifier: Apache-2.0
"""What the lab's end-to-end tests share: a lab that is removed whatever happens, and checks that name themselves."""

import contextlib
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ROOT = str(pathlib.Path(__file__).resolve().parents[2])
LAB = os.path.join(ROOT, "scripts/mrc-lab")
sys.path.insert(0, os.path.join(ROOT, "scripts"))
from lab.wait_until import TIME_SCALE, wait_until  # noqa: E402

SKIPPED = 77
WORKERS = int(os.environ.get("MRC_TEST_WORKERS", "1"))  # of each mrcd, where a test does not say
DEADLINE_S = 20 * TIME_SCALE
DIRECT_PATHS = 16  # "auto" of fabric.paths in docs/mrcd.8
DEBUG_LOG = "[daemon]\nlog_level = 'debug'\n"
LOG_LINE = re.compile(r"^\S+ (trace|debug|info|warning|error) (.*)$", re.M)
DISPATCHER_WAITS = "XDP transmit has to wait for the kernel's XDP dispatcher"
SILENCE = "nothing gets through, though other paths deliver"
RETIRED = re.compile(r"path by uplink \d+ of plane (\d+) to .*: assumed bad, ([^;]*); .*")


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(SKIPPED)


def need_root():
    if os.geteuid() != 0:
        skip("namespaces need root")


def binary(name):
    return os.path.join(os.environ.get("MRC_BIN") or os.path.join(ROOT, "build/bin"), name)


def has_binary(name):
    return os.access(binary(name), os.X_OK)


def need_binaries(*names):
    for name in names:
        if not has_binary(name):
            skip(f"{binary(name)} is not built")


def check(condition, what):
    if not condition:
        sys.exit(f"FAIL: {what}")
    print(f"ok: {what}")


def mrc_lab(*arguments, status=0, env=None):
    """Runs mrc-lab, expects this exit status and returns (stdout, stderr)."""
    done = subprocess.run([LAB, *arguments], text=True, capture_output=True, check=False,
                          env=None if env is None else {**os.environ, **env})
    if done.returncode != status:
        sys.exit(f"FAIL: mrc-lab {' '.join(arguments)}: status {done.returncode}, expected {status}\n"
                 f"{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


class terminated(SystemExit):
    """This process is to end: no failure of what it just does."""


def end_by_signal(*_):
    raise terminated("FAIL: terminated")


def start_until(reached, *arguments):
    """Starts mrc-lab and returns its process once the condition holds, or it has ended, or the time is over."""
    process = subprocess.Popen([LAB, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: reached() or process.poll() is not None, DEADLINE_S, 0.001)
    return process


def log_lines(text, level):
    """A log's lines of this level, without time and level."""
    return [words for found, words in LOG_LINE.findall(text) if found == level]


class running_lab:
    """A lab of the test's own prefix."""

    def __init__(self, prefix):
        self.prefix = prefix

    def run(self, command, *arguments, status=0):
        return mrc_lab(command, "--prefix", self.prefix, *arguments, status=status)

    def enter(self, node, *argv):
        """The arguments that run a command in a node's network; `mrc-lab exec` starts an interpreter for it."""
        return ["nsenter", f"--net=/run/netns/{self.prefix}-{node}", "--", *argv]

    def inside(self, node, *argv):
        """Runs a command in a node; returns what it printed."""
        done = subprocess.run(self.enter(node, *argv), text=True, capture_output=True, check=False)
        if done.returncode != 0:
            sys.exit(f"FAIL: in {node}: {' '.join(argv)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def environment(self, host):
        """What a program needs to use the host's mrcd."""
        return {"MRC_INSTANCE": f"{self.prefix}-{host}"}

    def status(self):
        return json.loads(self.run("status", "--json")[0])

    @functools.cached_property
    def _as_it_was(self):
        """Its status, when this was first asked."""
        return self.status()

    @functools.cached_property
    def _hosts(self):
        return {host["name"]: host for host in self._as_it_was["hosts"]}

    def host(self, name):
        """What status says of a host, as it was when this was first asked: its addresses, its leaf, its log's path."""
        return self._hosts[name]

    def host_names(self):
        """In their order."""
        return list(self._hosts)

    def is_srv6(self):
        return self._as_it_was["fabric"] == "srv6"

    def paths_per_plane(self):
        """Of a host to another one on a plane, as mrcd has them unless it is told: by each spine, in direct mode
        EVs."""
        return self._as_it_was["spines"] if self.is_srv6() else DIRECT_PATHS

    def plane_to(self, plane, host):
        """As logs call the way to a host by a plane: it ends at its leaf, in direct mode at the host."""
        to = f"leaf {self.host(host)['leaf']}" if self.is_srv6() else f"peer {self.host(host)['mrc_address']}"
        return f"plane {plane} to {to}"

    def log(self, host):
        """What the host's mrcd has logged."""
        return pathlib.Path(self.host(host)["log"]).read_text("utf-8")

    def log_lines(self, host, level):
        return log_lines(self.log(host), level)

    def has_left_xdp_transmit(self, host):
        """Its calls had to wait for the kernel's XDP dispatcher, for other labs attach programs; AF_XDP took over."""
        return any(DISPATCHER_WAITS in line for line in self.log_lines(host, "warning"))

    def retirements(self, host):
        """The paths that the host's mrcd has put out of use, each time it did: plane and reason. For labs with
        DEBUG_LOG."""
        return [(int(found[1]), found[2]) for found in map(RETIRED.fullmatch, self.log_lines(host, "debug")) if found]


def with_workers(config):
    """A test may be run with several workers: MRC_TEST_WORKERS."""
    return config if WORKERS == 1 or "[worker]" in config else f"{config}\n[worker]\nworkers = {WORKERS}\n"


def on_fabric(arguments):
    """A test that says nothing of the fabric may be run on another kind than SRv6: MRC_TEST_FABRIC."""
    kind = os.environ.get("MRC_TEST_FABRIC")
    return arguments if kind is None or "--fabric" in arguments else ("--fabric", kind, *arguments)


@contextlib.contextmanager
def lab(name, *arguments, config=""):
    """A lab with these options for `up`, and this text in the configuration of every mrcd; its prefix carries the
    test's pid, so that nothing else is touched."""
    signal.signal(signal.SIGTERM, end_by_signal)
    prefix = f"{name}-{os.getpid()}"
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(with_workers(config))
        file.flush()
        mrc_lab("up", "--prefix", prefix, "--mrcd-config", file.name, *on_fabric(arguments))
    try:
        yield running_lab(prefix)
    finally:
        mrc_lab("down", "--prefix", prefix)


def left_behind(prefix):
    """Every trace of a lab on this machine: namespaces, processes, pins, sockets, state, devices."""
    traces = []
    name = re.compile(re.escape(prefix) + r"(-.*)?")
    for directory in ("/run/netns", "/run/mrc-lab", "/run/mrc", "/sys/fs/bpf/mrc"):
        if os.path.isdir(directory):
            traces += [f"{directory}/{entry}" for entry in os.listdir(directory) if name.fullmatch(entry)]
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                argv = (entry / "cmdline").read_bytes().decode(errors="replace")
                if f"/{prefix}-" in argv or f"/{prefix}/" in argv:
                    traces.append(f"process {entry.name}: " + argv.replace("\0", " "))
    return traces
