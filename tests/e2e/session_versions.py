#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Libraries and daemons of different releases. What libmrc says, byte for byte as libmrc of session version 4 does at
commit a58a06d, is understood by this mrcd; requests of other versions, and unknown ones, are refused in words that say
what to do. And back: this libmrc takes what an mrcd of that commit answers, and tells in its words what an older one
does not know. Whoever changes a layout of session_protocol.h without raising session_version and its oldest fails
here."""

import contextlib
import errno
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import threading

from lab_support import DEADLINE_S, binary, check, lab, need_binaries, need_root

VERSION = 4
REQUEST_BYTES, REPLY_BYTES = 128, 512
# struct session_request: version, kind, then what the kind has.
HELLO, DESCRIBE, OPEN_EVENTS, ALLOCATE_PD, DEALLOCATE_PD = 1, 2, 3, 5, 6
CREATE_CHANNEL, CREATE_CQ, DESTROY_CQ, CREATE_QP, QUERY_QP, DESTROY_QP, QUERY_STATUS = 9, 11, 12, 13, 15, 16, 19
UNKNOWN = 99

# How mrcd of that commit described a host of a lab, up to its name: addresses, payload, planes, GUID, ports, limits.
NAME_AT = 160
RECORDED_DESCRIPTION = (
    "fd6d726300000000000000000000000100000000000000000000000000000000000c000002000000008000fffe000000"
    "0101480d0a0000000101480d0a0000000000000000000000000000000000000000000000000000000000000000000000"
    "000000000000000000000000000000000010000000400000000000000001000000100000000001000040000010000000"
    "00010000080000000010000000000000")


def request(kind, body=b"", version=VERSION):
    return struct.pack("<II", version, kind) + body.ljust(REQUEST_BYTES - 8, b"\0")


class old_library:
    """Speaks as libmrc did then."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(DEADLINE_S)
        self.socket.connect(path)

    def ask(self, kind, body=b"", version=VERSION):
        """(errno, words, what follows)"""
        self.socket.sendall(request(kind, body, version))
        data, descriptors, _, _ = socket.recv_fds(self.socket, REPLY_BYTES + 1, 8)
        for descriptor in descriptors:
            os.close(descriptor)
        if len(data) != REPLY_BYTES:
            check(False, f"the answer to request {kind} of version {version} has {len(data)} bytes")
        return struct.unpack_from("<i", data)[0], data[8:128].split(b"\0")[0].decode(), data[128:]

    def number_of(self, kind, body=b""):
        error, words, rest = self.ask(kind, body)
        check(error == 0, f"request {kind} is granted {words}")
        return struct.unpack_from("<I", rest)[0]


def check_old_library(path, instance):
    library = old_library(path)
    error, _, host = library.ask(DESCRIBE)
    planes = struct.unpack_from("<I", host, 36)[0]
    name = host[NAME_AT:NAME_AT + 64].split(b"\0")[0].decode()
    check((error, planes, name) == (0, 2, instance), f"mrcd describes the host as then: {planes} planes, '{name}'")
    check(library.ask(HELLO)[0] == 0, "hello begins a session")
    pd = library.number_of(ALLOCATE_PD)
    events = library.number_of(OPEN_EVENTS)
    channel = library.number_of(CREATE_CHANNEL)
    cq = library.number_of(CREATE_CQ, struct.pack("<IIII", 64, channel, events, 0))
    qp = library.number_of(CREATE_QP, struct.pack("<IIIIIIII", pd, cq, cq, events, 32, 32, 1, 0))
    error, _, attributes = library.ask(QUERY_QP, struct.pack("<I", qp))
    check(error == 0 and struct.unpack_from("<I", attributes)[0] == qp, f"queue pair {qp} is known by its number")
    check(library.ask(QUERY_STATUS)[0] == 0, "the status is told")
    for kind, number in ((DESTROY_QP, qp), (DESTROY_CQ, cq), (DEALLOCATE_PD, pd)):
        check(library.ask(kind, struct.pack("<I", number))[0] == 0, f"request {kind} ends it")
    error, words, _ = library.ask(UNKNOWN)
    check(error == errno.EOPNOTSUPP and words.startswith(f"request {UNKNOWN} is unknown to this mrcd"), words)


def check_other_versions(path):
    for version, why in ((VERSION + 1, "libmrc is newer than the mrcd that runs, which needs a restart"),
                         (VERSION - 1, "libmrc is too old for this mrcd")):
        error, words, _ = old_library(path).ask(HELLO, version=version)
        check(error == errno.EPROTO and f"session version {version}" in words and why in words, words)


class old_daemon:
    """Answers as mrcd did then, and knows no request but describe."""

    def __init__(self, folder, instance):
        self.asked = []
        self.refusal = "request {} is unknown to this mrcd, which speaks session version 3"
        self.description = bytes(128) + bytes.fromhex(RECORDED_DESCRIPTION) + instance.encode()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        folder.mkdir(parents=True)
        self.listener.bind(str(folder / "mrcd.sock"))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with contextlib.suppress(OSError):
            while data := socket.recv_fds(connection, REQUEST_BYTES + 1, 8)[0]:
                version, kind = struct.unpack_from("<II", data)
                self.asked.append((version, kind, len(data)))
                if kind == DESCRIBE:
                    connection.sendall(self.description.ljust(REPLY_BYTES, b"\0"))
                else:
                    words = self.refusal.format(kind).encode().ljust(120, b"\0")
                    connection.sendall((struct.pack("<iI", errno.EOPNOTSUPP, 0) + words).ljust(REPLY_BYTES, b"\0"))


@contextlib.contextmanager
def daemon_of_then(instance):
    folder = pathlib.Path("/run/mrc", instance)
    daemon = old_daemon(folder, instance)
    try:
        yield daemon
    finally:
        daemon.listener.close()
        shutil.rmtree(folder)


def check_new_library():
    instance = f"then-{os.getpid()}"
    with daemon_of_then(instance) as daemon:
        done = subprocess.run([binary("mrc-perf"), "fd6d:7263::2"], text=True, capture_output=True, check=False,
                              env={**os.environ, "MRC_INSTANCE": instance}, timeout=DEADLINE_S)
        check((VERSION, DESCRIBE, REQUEST_BYTES) in daemon.asked, "libmrc asks an mrcd of then in its own version")
        hello = (VERSION, HELLO, REQUEST_BYTES)
        check(hello in daemon.asked, "takes the host as it is described, and says hello")
        check(done.returncode != 0 and f"hello: request {HELLO} is unknown to this mrcd" in done.stderr,
              f"and names what that one does not know: {done.stderr.strip()}")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    with lab("versions", "--planes", "2", "--leaves", "1", "--spines", "1", "--hosts", "1") as fabric:
        host = fabric.host("h0")
        check_old_library(host["socket"], host["instance"])
        check_other_versions(host["socket"])
    check_new_library()


if __name__ == "__main__":
    main()
