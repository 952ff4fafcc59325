#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""libmrc as it is installed: names of the files, what it exports, and programs built with it the two usual ways.

usage: installed_test.py BUILD
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build"

# A program that names no function of mrc.h.
LISTS_DEVICES = """
#include <stdio.h>
#include <mrc.h>
int main(void)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    for (int i = 0; list != NULL && i < count; ++i)
        puts(ibv_get_device_name(list[i]));
    if (list != NULL)
        ibv_free_device_list(list);
    return 0;
}
"""
ASKS_VERSION = """
#include <mrc_ctl.h>
int main(void)
{
    uint32_t version = 0;
    mrc_query_version(&version, NULL, NULL, NULL);
    return version == MRC_API_CURRENT_VERSION ? 0 : 1;
}
"""
CMAKE_PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(program LANGUAGES C)
find_package(mrc 0.1 REQUIRED)
foreach(name lists_devices asks_version)
  add_executable(${name} ${name}.c)
  target_link_libraries(${name} PRIVATE mrc::mrc)
endforeach()
"""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # addClassCleanup removes it also after a failure below.
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = pathlib.Path(folder.name)
        for component in ("libmrc", "libmrc-dev"):
            run("cmake", "--install", BUILD, "--component", component, "--prefix", cls.prefix)
        cls.lib = next(cls.prefix.glob("lib/**/libmrc.so")).parent

    def build(self, source, *arguments):
        program = self.prefix / "program"
        run("cc", "-x", "c", "-std=c11", "-Wall", "-Wextra", "-Werror", "-", "-x", "none", "-o", program, *arguments,
            input=source)
        return program

    def needed(self, program):
        return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", program))

    def run_program(self, program):
        return run(program, env=os.environ | {"LD_LIBRARY_PATH": str(self.lib)})

    def test_files(self):
        self.assertEqual(os.readlink(self.lib / "libmrc.so"), "libmrc.so.1")
        self.assertEqual(os.readlink(self.lib / "lib_mrc.so"), "libmrc.so.1")
        include = self.prefix / "include"
        self.assertEqual(sorted(str(path.relative_to(include)) for path in include.rglob("*.h")),
                         ["mrc.h", "mrc/control.h", "mrc/memory.h", "mrc/report.h", "mrc/wait.h",
                          "mrc_api_ver.h", "mrc_ctl.h", "mrc_ctl_api_ver.h"])
        dynamic = run("readelf", "-d", self.lib / "libmrc.so")
        self.assertRegex(dynamic, r"SONAME.*\[libmrc\.so\.1\]")
        self.assertIn("NODELETE", dynamic)
        self.assertNotIn("ibverbs", dynamic)  # found at run time, if at all

    def test_exports_the_interface_and_nothing_else(self):
        declared = set()
        for header in ("mrc.h", "mrc_ctl.h", "mrc/control.h", "mrc/memory.h", "mrc/wait.h"):
            declared |= set(re.findall(r"\b(mrc_\w+)\(", (ROOT / "include" / header).read_text(encoding="utf-8")))
        verbs = set()
        for source in (ROOT / "agent/client/verbs").glob("exports_*.cpp"):
            offers = re.findall(r'MRC_OFFER\("(\w+)", "([\d.]+)"\)', source.read_text(encoding="utf-8"))
            verbs |= {f"{name}@IBVERBS_{node}" for name, node in offers}
        self.assertGreater(len(verbs), 40)
        lines = run("nm", "-D", "--defined-only", "--with-symbol-versions", self.lib / "libmrc.so").splitlines()
        exported = {line.split()[2] for line in lines if " A " not in line}
        self.assertEqual({name for name in exported if not name.startswith("mrc_")}, verbs | {"ibv_query_gid_type"})
        self.assertLessEqual({name for name in exported if name.startswith("mrc_")}, declared)

    def test_pkg_config(self):
        flags = run("pkg-config", f"--define-variable=prefix={self.prefix}", "--cflags", "--libs", "mrc",
                    env=os.environ | {"PKG_CONFIG_PATH": str(self.lib / "pkgconfig")}).split()
        for source in (LISTS_DEVICES, ASKS_VERSION):
            program = self.build(source, *flags)
            # Ours is searched first, whether or not the program names any of its own functions.
            self.assertEqual(self.needed(program)[0], "libmrc.so.1")
            self.run_program(program)
        self.assertIn("libibverbs.so.1", self.needed(self.build(LISTS_DEVICES, *flags)))

    def test_cmake_package(self):
        folder = self.prefix / "cmake"
        folder.mkdir()
        sources = {"lists_devices": LISTS_DEVICES, "asks_version": ASKS_VERSION}
        for name, source in sources.items():
            (folder / f"{name}.c").write_text(source, encoding="utf-8")
        (folder / "CMakeLists.txt").write_text(CMAKE_PROJECT, encoding="utf-8")
        run("cmake", "-S", folder, "-B", folder, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed")
        run("cmake", "--build", folder)
        for name in sources:
            self.assertEqual(self.needed(folder / name)[0], "libmrc.so.1")
            self.run_program(folder / name)
        self.assertIn("libibverbs.so.1", self.needed(folder / "lists_devices"))

    def configure_in_vain(self, project, *options):
        """What CMake says of a project that cannot be configured."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "CMakeLists.txt").write_text(project, encoding="utf-8")
            done = subprocess.run(["cmake", "-S", folder, "-B", folder, f"-DCMAKE_PREFIX_PATH={self.prefix}", *options],
                                  check=False, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        return " ".join(done.stderr.split())

    def test_cmake_package_of_another_version_is_refused(self):
        said = self.configure_in_vain(CMAKE_PROJECT.replace("mrc 0.1", "mrc 9.0"))
        self.assertRegex(said, r"mrc-config\.cmake, version: 0\.1")

    def test_cmake_package_says_what_is_missing(self):
        said = self.configure_in_vain(CMAKE_PROJECT, "-Dmrc_verbs_library=OFF")  # as if it had been found nowhere
        self.assertIn("Debian's package libibverbs-dev", said)

    def test_the_library_named_by_its_path(self):
        program = self.build(ASKS_VERSION, f"-I{self.prefix}/include", self.lib / "lib_mrc.so", "-libverbs")
        self.assertEqual(self.needed(program)[0], "libmrc.so.1")
        self.run_program(program)

    def test_programs_name_libibverbs_as_the_provider(self):
        program = self.build(LISTS_DEVICES, f"-I{self.prefix}/include", "-Wl,--no-as-needed",
                             self.lib / "lib_mrc.so", "-libverbs")
        needs = run("readelf", "-V", program)
        self.assertRegex(needs, r"File: libibverbs\.so\.1 .*\n.*Name: IBVERBS_1\.1 ")
        self.assertNotIn("File: libmrc", needs)


if __name__ == "__main__":
    unittest.main()
