# SPDX-License-Identifier: Apache-2.0
"""mrc-lab as it is installed: a lab whose programs are those of the same root, away from any source tree."""

import json
import os
import subprocess

from contents import LIBRARIES
from lab_support import DEADLINE_S, check, left_behind
from package_root import run

WRITES = ("--json", "-n", "10", "-s", "64K", "--verify")


class installed_command:
    """The root's mrc-lab, whose environment and folder have nothing of the source tree."""

    def __init__(self, folder):
        self.path = folder / "usr/bin/mrc-lab"
        self.prefix = f"package-{os.getpid()}"
        self._options = {"cwd": "/", "env": {"PATH": os.environ["PATH"], "MRC_LAB": self.prefix,
                                             "LD_LIBRARY_PATH": str(folder / LIBRARIES)}}

    def run(self, *arguments, **options):
        return run(self.path, *arguments, **self._options, **options)

    def start(self, node, *argv):
        return subprocess.Popen([self.path, "exec", node, "--", *argv], text=True, stdout=subprocess.PIPE,
                                **self._options)


def check_programs(lab, folder):
    for node in (*lab["hosts"], *lab["switches"]):
        program = os.readlink(f"/proc/{node['pid']}/exe")
        check(node["alive"] and program.startswith(f"{folder}/usr/"),
              f"{node['name']} runs {program.removeprefix(str(folder))} of the same root")


def check_transfer(lab, folder, command):
    perf = folder / "usr/bin/mrc-perf"
    address = next(host["mrc_address"] for host in lab["hosts"] if host["name"] == "h1")
    server = command.start("h1", perf, "--once", "--json")
    try:
        check(server.stdout.readline().startswith("LISTENING "), "mrc-perf of the same root listens on h1")
        report = json.loads(command.run("exec", "h0", "--", perf, address, *WRITES))
        check(report["verified"], "and takes verified bytes from h0")
        server.communicate(timeout=DEADLINE_S)
        check(server.returncode == 0, "to the end")
    finally:
        server.kill()
        server.communicate()


def check_lab(folder):
    command = installed_command(folder)
    said = command.run("up", "--planes", "1", "--leaves", "1", "--spines", "1")
    try:
        check(f"lab {command.prefix}" in said, "the installed mrc-lab builds a lab")
        lab = json.loads(command.run("status", "--json"))
        check_programs(lab, folder)
        check_transfer(lab, folder, command)
    finally:
        said = command.run("down")
    check(f"removed: {command.prefix}" in said and left_behind(command.prefix) == [], "and leaves nothing behind")
    check(not list(folder.rglob("__pycache__")), "nor does Python write into the installation")
    for name in ("mrcd", "mrc-switch"):
        path = next(folder / where / name for where in ("usr/sbin", "usr/bin") if (folder / where / name).exists())
        path.rename(path.with_name("away"))
        said = command.run("up", status=1)
        check(name in said and "install the package mrcd" in said and len(said.splitlines()) == 1,
              f"without {name}: {said.strip()}")
        path.with_name("away").rename(path)
