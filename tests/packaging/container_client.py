#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A program in a container, another user's, with processes and files of its own, uses the daemon of its host: it has
the folder of the sockets and the socket's group, and nothing else. Verified bytes go to a program on another host.

usage: container_client.py podman|unshare
"""

import grp
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from lab_support import binary, check, lab, need_binaries, need_root, skip
from transfer_support import server

BUILD = pathlib.Path(binary("mrc-perf")).resolve().parents[1]
USER = 4242
GROUP_OF_NONE = 4243
# The root's folders that are the host's, read-only; of /etc what says which libraries there are.
HOSTS = ["/usr", "/etc/ld.so.cache", "/etc/libibverbs.d"]


def make_root(folder):
    for name in ("etc", "usr", "proc", "sys", "dev", "tmp", "run/mrc", "mrc"):
        (folder / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (folder / name).symlink_to(f"usr/{name}")
    (folder / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\n", encoding="ascii")
    return folder


def volumes():
    """(on the host, in the container, options)"""
    shared = [(path, path, "ro") for path in HOSTS if os.path.exists(path)]
    return [*shared, ("/run/mrc", "/run/mrc", "rw"), (str(BUILD), "/mrc", "ro")]


class container:
    def __init__(self, work, fabric, node):
        self.work, self.fabric, self.node = work, fabric, node
        self.root = make_root(work / "root")
        self.environment = {"MRC_INSTANCE": f"{fabric.prefix}-{node}", "LD_LIBRARY_PATH": "/mrc/lib"}

    def run(self, *argv, groups):
        command = self.command(argv, groups)
        return subprocess.run(self.fabric.enter(self.node, *map(str, command)), text=True, capture_output=True,
                              check=False)


class podman(container):
    def command(self, argv, groups):
        # Its own view of cgroups: podman's runtime refuses a machine that has both versions.
        state = ["--root", self.work / "storage", "--runroot", self.work / "run", "--cgroup-manager", "cgroupfs",
                 "--events-backend", "none"]
        limits = ["--cgroups", "disabled", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000"]
        given = [word for host, inside, how in volumes() for word in ("--volume", f"{host}:{inside}:{how}")]
        environment = [word for name, value in self.environment.items() for word in ("--env", f"{name}={value}")]
        added = [word for group in groups for word in ("--group-add", group)]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-ec",
                'umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; exec "$0" "$@"',
                "podman", *state, "run", "--rm", *limits, "--network", "host", "--cap-drop", "all",
                "--user", f"{USER}:{USER}", *added, *given, *environment, "--rootfs", self.root, *argv]


class unshared(container):
    def command(self, argv, groups):
        mounts = "; ".join(f'mount --bind "{host}" "$ROOT{inside}"' for host, inside, _ in volumes())
        files = "; ".join(f': >> "$ROOT{inside}"' for host, inside, _ in volumes() if os.path.isfile(host))
        folders = "; ".join(f'mkdir -p "$ROOT{inside}"' for host, inside, _ in volumes() if os.path.isdir(host))
        inside = f'{files}; {folders}; {mounts}; mount -t proc proc "$ROOT/proc"; exec chroot "$ROOT" "$0" "$@"'
        environment = ["env", "-i", f"ROOT={self.root}", f"PATH={os.environ['PATH']}"]
        listed = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
        privileges = ["setpriv", "--reuid", USER, "--regid", USER, *listed, "--bounding-set=-all", "--inh-caps=-all",
                      "--no-new-privs", "env", *(f"{name}={value}" for name, value in self.environment.items())]
        return [*environment, "unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--propagation", "private",
                "sh", "-ec", inside, *privileges, *argv]


def check_isolation(one):
    done = one.run("/bin/sh", "-c", "echo $$; ls /run /mrc; id -u", groups=[])
    words = done.stdout.split()
    check(done.returncode == 0 and "mrc" in words and words[-1] == str(USER) and int(words[0]) < 10,
          f"the container has processes, files and a user of its own: {' '.join(words)} {done.stderr.strip()}")


def check_client(fabric, one, group):
    address = fabric.host("h1")["mrc_address"]
    perf = ["/mrc/bin/mrc-perf", address, "-n", "50", "-s", "64K", "--verify", "--json"]
    for memory in ("shared", "process"):
        with server(fabric):
            done = one.run(*perf, "--memory", memory, groups=[group])
        check(done.returncode == 0 and '"verified":true' in done.stdout,
              f"verified bytes from its memory, {memory}: {done.stderr.strip()}")
    done = one.run(*perf, groups=[GROUP_OF_NONE])
    check(done.returncode != 0 and "ermission denied" in done.stderr,
          f"not without the socket's group: {done.stderr.strip()}")


def main():
    kind = sys.argv[1] if len(sys.argv) > 1 else "unshare"
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    if kind == "podman" and not shutil.which("podman"):
        skip("podman is not installed")
    group = next(entry for entry in grp.getgrall() if entry.gr_gid >= 100 and entry.gr_name != "nogroup")
    with (tempfile.TemporaryDirectory() as folder,
          lab("container", "--planes", "2", "--leaves", "1", "--spines", "1",
              config=f"[daemon]\ngroup = '{group.gr_name}'\n") as fabric):
        pathlib.Path(folder).chmod(0o755)
        one = (podman if kind == "podman" else unshared)(pathlib.Path(folder), fabric, "h0")
        check_isolation(one)
        check_client(fabric, one, group.gr_gid)


if __name__ == "__main__":
    main()
