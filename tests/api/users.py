#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ordinary users of a daemon: one in the group of its socket, one who is not; and a set-uid program executed over a
process with registered memory."""

import contextlib
import grp
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from lab_support import binary, check, lab, left_behind, need_binaries, need_root
from public_folder import public_folder
from transfer_support import wait_until

LIMIT_S = 60
NOBODY = 65534
PROGRAMS = [f"{name}_{language}" for name in ("unprivileged", "set_uid") for language in ("c", "cpp")]
TARGET = "set_uid_target"


def daemons_group(fabric):
    """The group that the daemons' user is in: they can give their sockets to it, without a restart."""
    text = pathlib.Path(f"/run/mrc-lab/{fabric.prefix}/config/h0.toml").read_text(encoding="utf-8")
    user = re.search(r'^user = "(.*)"$', text, re.M).group(1)
    return grp.getgrgid(pwd.getpwnam(user).pw_gid)


@contextlib.contextmanager
def public_copies():
    """The programs where anybody can execute them, one of them set-uid."""
    with public_folder() as folder:
        for name in (*PROGRAMS, TARGET, "mrc-perf", "../lib/libmrc.so.1"):
            shutil.copy(binary(name), folder)
        os.chmod(f"{folder}/{TARGET}", 0o4755)
        yield folder


def as_user(group, folder, instances, program, *arguments):
    argv = ["setpriv", f"--reuid={NOBODY}", f"--regid={group}", "--clear-groups", "--inh-caps=-all", "env",
            f"LD_LIBRARY_PATH={folder}", f"MRC_INSTANCE={instances}", f"{folder}/{program}", *arguments]
    done = subprocess.run(argv, text=True, capture_output=True, check=False, timeout=LIMIT_S, cwd="/")
    sys.stdout.write(done.stdout + done.stderr)
    return done


def give_to_group(fabric, group):
    """Names the group in the configuration of both daemons, and has it read again."""
    for host in fabric.status()["hosts"]:
        config = pathlib.Path(f"/run/mrc-lab/{fabric.prefix}/config/{host['name']}.toml")
        text = config.read_text(encoding="utf-8")
        config.write_text(re.sub(r"^\[daemon\]$", f'[daemon]\ngroup = "{group.gr_name}"', text, count=1, flags=re.M),
                          encoding="utf-8")
        os.kill(host["pid"], signal.SIGHUP)
        socket = f"/run/mrc/{fabric.prefix}-{host['name']}/mrcd.sock"
        check(wait_until(lambda: os.stat(socket).st_gid == group.gr_gid, LIMIT_S),
              f"{host['name']}'s socket is the group's after a reload")


def check_member(group, folder, instances):
    for language in ("c", "cpp"):
        done = as_user(group.gr_gid, folder, instances, f"unprivileged_{language}", "member")
        check(done.returncode == 0, "a user in the group transfers, and has EPERM of every function of mrc_ctl.h")


def check_outsider(folder, instances):
    for language in ("c", "cpp"):
        done = as_user(NOBODY, folder, instances, f"unprivileged_{language}", "outsider")
        check(done.returncode == 0 and "Permission denied" in done.stderr, "a user outside is told that he may not")
    done = as_user(NOBODY, folder, instances, "mrc-perf", "--once")
    check(done.returncode != 0 and "group" in done.stderr and "Permission denied" in done.stderr,
          "and so mrc-perf says")


def check_execution(group, folder, instances):
    for language in ("c", "cpp"):
        done = as_user(group.gr_gid, folder, instances, f"set_uid_{language}", f"{folder}/{TARGET}")
        check(done.returncode == 0, "not one byte reaches a set-uid program executed over registered memory")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", TARGET, *PROGRAMS)
    with public_copies() as folder, lab("users", "--planes", "2", "--spines", "2") as fabric:
        instances = f"{fabric.prefix}-h0,{fabric.prefix}-h1"
        group = daemons_group(fabric)
        check_outsider(folder, instances)
        give_to_group(fabric, group)
        check_outsider(folder, instances)
        check_member(group, folder, instances)
        check_execution(group, folder, instances)
        check_member(group, folder, instances)
        check(all(host["alive"] for host in fabric.status()["hosts"]), "both daemons live on")
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
