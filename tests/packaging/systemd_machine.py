# SPDX-License-Identifier: Apache-2.0
"""systemd itself, process 1 of a container that shares the machine's programs and has a root, a cgroup and units of its
own."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from lab_support import DEADLINE_S, skip  # noqa: E402
from transfer_support import wait_until  # noqa: E402

SYSTEMD = pathlib.Path("/lib/systemd/systemd")

# $root becomes the root of what follows. Units' sandboxes want it to be a mount, cgroups of version 2, and nothing
# shared. The cgroups' root has to be $cgroup for systemd, or it would make its own in the machine's.
START = """
mount --bind "$root" "$root"
cd "$root"
mount --bind /usr usr
mount -o remount,bind,ro usr
for folder in run tmp var; do mount -t tmpfs tmpfs "$folder"; done
for pair in $binds; do
    mkdir -p ".${pair#*:}"
    mount --bind "${pair%:*}" ".${pair#*:}"
done
mount --rbind /dev dev
mount -t sysfs sysfs sys
mount -t bpf bpf sys/fs/bpf
mount -t cgroup2 none sys/fs/cgroup
mkdir -p "sys/fs/cgroup/$cgroup"
echo 0 > "sys/fs/cgroup/$cgroup/cgroup.procs"
umount sys/fs/cgroup
pivot_root . old
cd /
exec unshare --pid --cgroup --uts --ipc $unshared --fork /bin/sh -ec '
    mount -t proc proc /proc
    umount --lazy /old
    mount -t cgroup2 none /sys/fs/cgroup
    exec env --ignore-environment container=other PATH="$PATH" /lib/systemd/systemd --unit="$target"'
"""


def need_systemd():
    if not SYSTEMD.exists():
        skip("systemd is not installed")


def make_root(folder, units):
    """`units`: {name: text}."""
    for name in ("usr", "opt", "proc", "sys", "dev", "run", "tmp", "var", "old", "etc/systemd/system"):
        (folder / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (folder / name).symlink_to(f"usr/{name}")
    shutil.copy("/etc/ld.so.cache", folder / "etc")
    (folder / "etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n", encoding="ascii")
    for name, line in (("passwd", "root:x:0:0::/root:/bin/sh\n"), ("group", "root:x:0:\n")):
        (folder / "etc" / name).write_text(line, encoding="ascii")
    for name, text in units.items():
        (folder / "etc/systemd/system" / name).write_text(text, encoding="ascii")


def child_of(process):
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return next(iter(children.read_text(encoding="ascii").split()), None) if children.exists() else None


class machine:
    def __init__(self, process, target):
        self.process, self.target = process, target

    def start(self, *argv):
        """A process of the machine. None: it has none yet."""
        pid = child_of(self.process)
        if pid is None:
            return None
        return subprocess.Popen(["nsenter", f"--target={pid}", "--mount", "--pid", "--net", "--ipc", "--", *argv],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *argv):
        process = self.start(*argv)
        if process is None:
            return None
        with process:
            try:
                out, err = process.communicate(timeout=DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    def is_up(self):
        answer = self.run("systemctl", "is-active", self.target)
        return answer is not None and answer.stdout == "active\n"


@contextlib.contextmanager
def booted(folder, target, binds, enter=None):
    """The machine whose root is `folder` (make_root), once `target` is active. `binds`: {its path: of which folder}.
    `enter`: what runs a command in the network that it is to have; else it has one of its own, without devices."""
    name = f"mrc-systemd-{folder.name}"
    env = {**os.environ, "root": str(folder), "cgroup": name, "target": target, "unshared": "" if enter else "--net",
           "binds": " ".join(f"{outside}:{inside}" for inside, outside in binds.items())}
    command = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", START]
    with open(folder / "console", "w+", encoding="utf-8") as console:
        process = subprocess.Popen(enter(*command) if enter else command, env=env, stdin=subprocess.DEVNULL,
                                   stdout=console, stderr=console)
        try:
            one = machine(process, target)
            if not wait_until(one.is_up, DEADLINE_S):
                console.seek(0)
                sys.exit(f"FAIL: systemd does not start: {console.read()}")
            yield one
        finally:
            if (pid := child_of(process)) is not None:
                subprocess.run(["kill", "-KILL", pid], check=False)
            process.wait()
            remove_cgroups(name)


def remove_cgroups(name):
    """What systemd left of its own, wherever cgroups of version 2 are mounted."""
    for mount in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        for path, _, _ in os.walk(os.path.join(mount, name), topdown=False):
            os.rmdir(path)
