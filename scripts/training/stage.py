# SPDX-License-Identifier: Apache-2.0
"""What a training stands on: the build, the digits, and labs that are removed whatever happens."""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent
LAB = str(SCRIPTS / "mrc-lab")
BIN = pathlib.Path(os.environ.get("MRC_BIN") or SCRIPTS.parent / "build" / "bin")
# python3-sklearn itself cannot be installed beside the Boost that mrc is built with: only its data is taken.
PACKAGE = "python3-sklearn"
DATA = "usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"
TAIL_LINES = 25
END_DEADLINE_S = 10


class training_failure(Exception):
    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


@contextlib.contextmanager
def step(what):
    """Says on standard error what is done, and how long it took."""
    started = time.monotonic()
    print(f"scripts/train-demo: {what}", file=sys.stderr, flush=True)
    yield
    print(f"scripts/train-demo:   done in {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)


def command(*argv, what, **options):
    done = subprocess.run([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **options)
    if done.returncode != 0:
        tail = done.stdout.decode(errors="replace").splitlines()[-TAIL_LINES:]
        raise training_failure(f"{what} failed:\n" + "\n".join("  | " + line for line in tail))


def build():
    command(SCRIPTS / "build", what="scripts/build")


def digits(folder):
    """The data file: of an installed scikit-learn, or out of its Debian package, and kept for the next time."""
    installed = pathlib.Path("/") / DATA
    if installed.exists():
        return installed
    kept = pathlib.Path(folder) / "digits.csv.gz"
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)  # apt downloads as a user of its own
        command("apt-get", "-q", "download", PACKAGE, what=f"fetching {PACKAGE}", cwd=work)
        package = next(pathlib.Path(work).glob("*.deb"))
        command("dpkg-deb", "--extract", package, work, what=f"unpacking {PACKAGE}")
        kept.write_bytes((pathlib.Path(work) / DATA).read_bytes())
    return kept


class lab:
    """Hosts, and the commands that change what is between them."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.processes = []

    def run(self, *arguments):
        done = subprocess.run([LAB, *arguments, "--prefix", self.prefix], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise training_failure(f"mrc-lab {' '.join(arguments)}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def start(self, host, *argv, **streams):
        """A process in a host; `exec` replaces itself, so the process is the command."""
        process = subprocess.Popen([LAB, "exec", "--prefix", self.prefix, host, "--", *argv], text=True,
                                   stdin=subprocess.DEVNULL, **streams)
        self.processes.append(process)
        return process

    def end_processes(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(END_DEADLINE_S)


@contextlib.contextmanager
def running_lab(name, hosts, planes):
    for needed in (BIN / "mrcd", BIN / "mrc-switch", BIN.parent / "lib/libmrc-gloo.so"):
        if not needed.exists():
            raise training_failure(f"{needed} is missing; run without --no-build, or name its directory in MRC_BIN")
    stage = lab(f"{name}{os.getpid()}")
    try:
        with step(f"lab {stage.prefix}: {hosts} hosts, {planes} plane{'s' * (planes > 1)} of 2 leaves and 2 spines"):
            stage.run("up", "--planes", str(planes), "--leaves", "2", "--spines", "2", "--hosts", str(hosts))
        yield stage
    finally:
        with step("tear-down"):
            stage.end_processes()
            subprocess.run([LAB, "down", "--prefix", stage.prefix], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, check=False)
