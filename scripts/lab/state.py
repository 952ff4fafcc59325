# SPDX-License-Identifier: Apache-2.0
"""A lab's directory below /run/mrc-lab: its lock, its state, the files that it writes.

The directory is made before anything else and removed after everything else, so whatever a crash leaves behind
can be found from it. The lock is on the directory itself and is inherited by the short-lived commands of `up`:
`down` therefore waits for an `ip` that outlived its killed lab script, and not for the daemons.
"""

import dataclasses
import fcntl
import json
import os
import pathlib
import shutil

from .errors import any_of, lab_error
from .options import check_prefix, lab_options
from .wait_until import TIME_SCALE, wait_until

ROOT = pathlib.Path("/run/mrc-lab")
FORMAT = 1
LOCK_DEADLINE_S = 30 * TIME_SCALE


@dataclasses.dataclass
class lab_state:
    """What cannot be derived from the options. Links are named "a b", lower end first; directions "from to"."""

    prefix: str
    options: lab_options
    phase: str = "starting"
    processes: dict = dataclasses.field(default_factory=dict)  # node -> {pid, start_time, command}
    cut_links: list = dataclasses.field(default_factory=list)
    carrier_down: list = dataclasses.field(default_factory=list)
    cut_switches: list = dataclasses.field(default_factory=list)
    impairments: dict = dataclasses.field(default_factory=dict)
    borrowed: dict = dataclasses.field(default_factory=dict)  # device -> {node, port, address, mtu}

    def is_cut(self, a, b):
        """A link carries nothing when it is cut, or the switch at one of its ends."""
        return (f"{a} {b}" in self.cut_links or f"{b} {a}" in self.cut_links
                or a in self.cut_switches or b in self.cut_switches)


class lab_directory:
    def __init__(self, prefix):
        self.prefix = check_prefix(prefix)
        self.path = ROOT / prefix
        self.lock_fd = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.lock_fd is not None:
            os.close(self.lock_fd)
            self.lock_fd = None

    def create(self):
        """Takes the prefix, or returns False when another lab has it."""
        try:
            self.path.mkdir(mode=0o755, parents=True)
        except FileExistsError:
            return False
        self.lock()
        for name in ("config", "log"):
            (self.path / name).mkdir()
        return True

    def lock(self):
        """Waits for whoever changes this lab at the moment; False when the lab is gone."""
        if not wait_until(self._try_lock, LOCK_DEADLINE_S):
            raise lab_error(f"lab {self.prefix} has been busy for {LOCK_DEADLINE_S} s: is an `up` still running?")
        return self.lock_fd is not None

    def _try_lock(self):
        """False while another holds the lock; lock_fd stays None when there is no lab to lock."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        if not _same_directory(fd, self.path):
            os.close(fd)
            return False
        self.lock_fd = fd
        return True

    def save(self, state):
        text = json.dumps({"format": FORMAT, **dataclasses.asdict(state)}, indent=1)
        scratch = self.path / "state.json.new"
        scratch.write_text(text, encoding="utf-8")
        scratch.rename(self.path / "state.json")

    def load(self):
        """The state, or lab_error when `up` never came as far as writing one."""
        try:
            content = json.loads((self.path / "state.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise lab_error(f"lab {self.prefix} is not complete; remove it with: mrc-lab down --prefix {self.prefix}")
        if content.pop("format") != FORMAT:
            raise lab_error(f"lab {self.prefix} was made by another version of mrc-lab")
        content["options"] = lab_options(**content["options"])
        return lab_state(**content)

    def config(self, node):
        return self.path / "config" / f"{node}.toml"

    def log(self, node):
        return self.path / "log" / f"{node}.log"

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)
        try:
            ROOT.rmdir()
        except OSError:
            pass  # other labs are there


def _same_directory(fd, path):
    """A `down` may have removed the directory, and an `up` made it anew, while this waited for the lock."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def running_prefixes():
    try:
        return sorted(entry.name for entry in ROOT.iterdir() if entry.is_dir())
    except FileNotFoundError:
        return []


def choose_prefix(given):
    """The lab that a command means: --prefix, else $MRC_LAB, else the only one there is."""
    given = given or os.environ.get("MRC_LAB")
    running = running_prefixes()
    if given:
        check_prefix(given)
        if given not in running:
            raise lab_error(f"no lab '{given}' is running; running: {any_of(running)}")
        return given
    if not running:
        raise lab_error("no lab is running; start one with: mrc-lab up")
    if len(running) > 1:
        raise lab_error(f"several labs are running; choose with --prefix or MRC_LAB: {any_of(running)}")
    return running[0]
