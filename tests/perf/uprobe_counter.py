# SPDX-License-Identifier: Apache-2.0
"""Counts how often threads of a process call functions of the C library, by the kernel's uprobes: nothing is loaded
into the process, and nothing of it stays."""

import ctypes
import functools
import os
import pathlib
import re
import struct
import subprocess
import sys

UPROBES = "/sys/bus/event_source/devices/uprobe/type"
# perf_event_attr up to config2 (PERF_ATTR_SIZE_VER1): for this PMU config1 is the file's path, config2 the place in it.
ATTRIBUTES = struct.Struct("=IIQQQQQIIQQ")
SYSTEM_CALL = {"x86_64": 298, "aarch64": 241}  # perf_event_open
ANY_CPU = NO_GROUP = -1
CLOSE_ON_EXEC = 8
libc = ctypes.CDLL(None, use_errno=True)


@functools.cache
def places(library):
    """Where in the file each function that it exports begins."""
    shown = subprocess.run(["readelf", "--wide", "--segments", "--dyn-syms", library], capture_output=True, text=True,
                           check=True).stdout
    segments = [[int(word, 16) for word in found] for found in
                re.findall(r"^  LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", shown, re.M)]
    addresses = {name: int(address, 16) for address, name in
                 re.findall(r"^ +\d+: (\w+) +\d+ FUNC +(?:GLOBAL|WEAK) +DEFAULT +\d+ (\w+)", shown, re.M)}
    return {name: offset + address - begin for name, address in addresses.items()
            for offset, begin, size in segments if begin <= address < begin + size}


def library_of(thread):
    """The C library that the thread's process has loaded."""
    maps = pathlib.Path(f"/proc/{thread}/maps").read_text("utf-8")
    return re.search(r"(/\S*/libc\.so\.6)$", maps, re.M)[1]


class uprobe_counter:
    """From start() to stop() all calls of these functions by these threads."""

    def __init__(self, threads, functions):
        self.events = []
        for thread in threads:
            library = library_of(thread)
            self.events += [self._open(int(thread), library, places(library)[function]) for function in functions]
        self.before = 0

    @staticmethod
    def _open(thread, library, place):
        path = ctypes.create_string_buffer(library.encode())
        kind = int(pathlib.Path(UPROBES).read_text("ascii"))
        attributes = ATTRIBUTES.pack(kind, ATTRIBUTES.size, 0, 0, 0, 0, 0, 0, 0, ctypes.addressof(path), place)
        event = libc.syscall(SYSTEM_CALL[os.uname().machine], attributes, thread, ANY_CPU, NO_GROUP, CLOSE_ON_EXEC)
        if event < 0:
            sys.exit(f"FAIL: perf_event_open of {library}: {os.strerror(ctypes.get_errno())}")
        return event

    def _sum(self):
        return sum(int.from_bytes(os.read(event, 8), sys.byteorder) for event in self.events)

    def start(self):
        self.before = self._sum()

    def stop(self):
        """How many; nothing is counted any more."""
        count = self._sum() - self.before
        for event in self.events:
            os.close(event)
        return count
