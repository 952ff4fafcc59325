#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The examples as they are installed: make builds them with pkg-config and CMake with find_package(mrc), and they carry
files between two hosts of a lab, each as sender and as receiver.

usage: examples.py BUILD
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from installed_tree import LIMIT_S, install, pkg_config_environment, run
from lab_support import ROOT, check, lab, need_binaries, need_root

BUILD = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(ROOT) / "build"
PROGRAMS = ("send_file_c", "send_file_cpp")
STRICT = "-O1 -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror"
FILE_BYTES = (1, 5_000_001)  # a packet of one byte; thousands, the last of which is not full


def by_make(source, prefix, library):
    folder = prefix / "by-make"
    shutil.copytree(source, folder)
    done = run("make", "-C", folder, f"CFLAGS={STRICT}", f"CXXFLAGS={STRICT}", env=pkg_config_environment(library))
    check(done.returncode == 0, "make builds the examples")
    return folder


def by_cmake(source, prefix):
    folder = prefix / "by-cmake"
    made = run("cmake", "-S", source, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_FLAGS={STRICT}",
               f"-DCMAKE_CXX_FLAGS={STRICT}")
    check(made.returncode == 0, "CMake finds mrc")
    check(run("cmake", "--build", folder).returncode == 0, "CMake builds the examples")
    return folder


class host:
    """Where programs run that use the daemon of one host of the lab."""

    def __init__(self, fabric, name, library):
        self._fabric = fabric
        self._name = name
        self.environment = {**os.environ, "LD_LIBRARY_PATH": str(library), "MRC_INSTANCE": f"{fabric.prefix}-{name}"}

    def start(self, *argv, **options):
        return subprocess.Popen(self._fabric.enter(self._name, *map(str, argv)), env=self.environment,
                                stderr=subprocess.PIPE, **options)

    def run(self, *argv):
        return subprocess.run(self._fabric.enter(self._name, *map(str, argv)), env=self.environment, text=True,
                              capture_output=True, check=False, timeout=LIMIT_S)


def carried(near, far, address, sender, receiver, file):
    """What the receiver has made of the file."""
    copy = file.parent / "copy"
    with copy.open("wb") as to:
        receiving = far.start(receiver, stdout=to)
    try:
        waits = receiving.stderr.readline().decode()
        check("waits on port" in waits, f"{receiver.name} waits: {waits.strip()}")
        sent = near.run(sender, address, file)
        check(sent.returncode == 0 and not sent.stderr, f"{sender.name} has sent {sent.stderr.strip()}")
        _, complaints = receiving.communicate(timeout=LIMIT_S)
    finally:
        receiving.kill()
    check(receiving.returncode == 0 and not complaints, f"{receiver.name} has received {complaints.decode().strip()}")
    return copy.read_bytes()


def check_refusals(near, address, program, file):
    done = near.run(program, "one")
    check(done.returncode == 2 and "ADDRESS FILE" in done.stderr, f"{program.name}: {done.stderr.strip()}")
    done = near.run(program, address, file)
    check(done.returncode == 1 and address in done.stderr and "refused" in done.stderr,
          f"{program.name} without a receiver: {done.stderr.strip()}")
    done = near.run(program, address, file.parent / "none")
    check(done.returncode == 1 and "none" in done.stderr and "No such file" in done.stderr,
          f"{program.name} without the file: {done.stderr.strip()}")
    done = near.run("env", "MRC_INSTANCE=other", program, address, file)
    check(done.returncode == 1 and "other" in done.stderr, f"{program.name} without mrcd: {done.stderr.strip()}")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch")
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "installed"
        library = install(BUILD, prefix)
        source = prefix / "share/doc/libmrc-dev/examples"
        builds = {"make": by_make(source, prefix, library), "CMake": by_cmake(source, prefix)}
        file = pathlib.Path(folder) / "file"
        with lab("examples", "--planes", "2", "--spines", "2") as fabric:
            near, far = (host(fabric, name, library) for name in ("h0", "h1"))
            address = fabric.host("h1")["mrc_address"]
            for way, programs in builds.items():
                for sender in PROGRAMS:
                    for receiver in PROGRAMS:
                        for size in FILE_BYTES:
                            content = os.urandom(size)
                            file.write_bytes(content)
                            got = carried(near, far, address, programs / sender, programs / receiver, file)
                            check(got == content, f"by {way}: {sender} → {receiver}, {size} bytes as they were")
            for program in PROGRAMS:
                check_refusals(near, address, builds["make"] / program, file)


if __name__ == "__main__":
    main()
