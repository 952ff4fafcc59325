# SPDX-License-Identifier: Apache-2.0
"""One connection of an unchanged program, by ssh or HTTP, that loses the plane it is on while bytes flow."""

import contextlib
import hashlib
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading

from sockets_support import FEW_PACKETS, ORDINARY, adopted_run, plane_cut, plane_packets, server

from lab_support import DEADLINE_S, check
from transfer_support import wait_until

BLOCK_BYTES = 1 << 16
BEFORE_BYTES = 4 << 20
AFTER_BYTES = 16 << 20  # more than the buffers of both ends' sockets hold
SSH_PORT = "2222"
SSHD = "/usr/sbin/sshd"

# Sends random bytes to whom asks until its standard input has a line; then says the SHA-256 of what it has sent.
HTTP_SERVER = f"""
import hashlib, http.server, os, select, socket, sys
class answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        sent = hashlib.sha256()
        while not select.select([sys.stdin], [], [], 0)[0]:
            block = os.urandom({BLOCK_BYTES})
            self.wfile.write(block)
            sent.update(block)
        sys.stdin.readline()
        print(sent.hexdigest(), flush=True)
    def log_message(self, *_):
        pass
class listens(http.server.HTTPServer):
    address_family = socket.AF_INET6
serving = listens(("::", 8000), answers)
print("listening", flush=True)
serving.serve_forever()
"""

SSHD_CONFIG = """ListenAddress 0.0.0.0
Port {port}
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/user.pub
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
"""


def goes_on(fabric, name, sender, received):
    """Cuts the plane by which the host `sender` sends the connection's bytes; `received()`: how many have arrived."""
    before, begun = plane_packets(fabric, sender), received()
    check(wait_until(lambda: received() > begun + BEFORE_BYTES, DEADLINE_S), f"{name}: bytes arrive")
    sent = [now - then for now, then in zip(plane_packets(fabric, sender), before)]
    plane = sent.index(max(sent))
    check(sent[plane] > sum(sent) / 2, f"{name}: by plane {plane} {sent}")
    with plane_cut(fabric, plane):
        dark = received()
        check(wait_until(lambda: received() > dark + AFTER_BYTES, DEADLINE_S), f"{name}: more do without it")


def check_curl(fabric, network):
    with tempfile.TemporaryDirectory() as folder:
        got = pathlib.Path(folder) / "got"
        with server(fabric, "h1", "listening", sys.executable, "-c", HTTP_SERVER, stdin=subprocess.PIPE) as sending:
            for address, is_cut in zip(ORDINARY["h1"], (False, True)):
                before = network.packets()
                url = f"http://[{address}]:8000/" if ":" in address else f"http://{address}:8000/"
                got.write_bytes(b"")
                client = subprocess.Popen(adopted_run(fabric, "h0", "curl", "-sSN", "--limit-rate", "32M", "-o",
                                                      str(got), url))
                if is_cut:
                    goes_on(fabric, f"curl {url}", "h1", lambda: got.stat().st_size)
                else:
                    check(wait_until(lambda: got.stat().st_size > BEFORE_BYTES, DEADLINE_S), f"curl {url} loads")
                sending.stdin.write("enough\n")
                sending.stdin.flush()
                digest = sending.stdout.readline().strip()
                check(client.wait(DEADLINE_S) == 0, f"curl {url} ends well")
                check(hashlib.sha256(got.read_bytes()).hexdigest() == digest,
                      f"curl {url}: all of {got.stat().st_size} bytes are right")
                check(network.packets() - before < FEW_PACKETS, "by the planes")


@contextlib.contextmanager
def ssh_server(fabric, folder):
    """sshd on h1, with keys of its own in `folder`; a client's command, but for what to run there."""
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{key}"], check=True)
    host_key = pathlib.Path(f"{folder}/host.pub").read_text("ascii")
    # By the address that people know, and type.
    pathlib.Path(f"{folder}/known").write_text(f"[{ORDINARY['h1'][0]}]:{SSH_PORT} {host_key}", "ascii")
    pathlib.Path(f"{folder}/config").write_text(SSHD_CONFIG.format(port=SSH_PORT, folder=folder), "ascii")
    os.makedirs("/run/sshd", exist_ok=True)
    with server(fabric, "h1", "listening", SSHD, "-D", "-e", "-f", f"{folder}/config"):
        yield ["ssh", "-F", "none", "-i", f"{folder}/user", "-p", SSH_PORT, "-o", "BatchMode=yes",
               "-o", f"UserKnownHostsFile={folder}/known", "-o", "StrictHostKeyChecking=yes",
               "-l", pwd.getpwuid(0).pw_name, ORDINARY["h1"][0]]


class echoed:
    """Random bytes to a process that sends them back, until it is told to stop. Its first line is not one of them."""

    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.first = self.process.stdout.readline().decode().split()
        self.sent, self.got, self.bytes, self.stopping = hashlib.sha256(), hashlib.sha256(), 0, threading.Event()
        self.threads = [threading.Thread(target=each, daemon=True) for each in (self._write, self._read)]
        for each in self.threads:
            each.start()

    def _write(self):
        while not self.stopping.is_set():
            block = os.urandom(BLOCK_BYTES)
            self.sent.update(block)
            self.process.stdin.write(block)
        self.process.stdin.close()

    def _read(self):
        while block := self.process.stdout.read1(BLOCK_BYTES):
            self.got.update(block)
            self.bytes += len(block)

    def stop(self):
        """The exit status."""
        self.stopping.set()
        for each in self.threads:
            each.join(DEADLINE_S)
        return self.process.wait(DEADLINE_S)


def check_ssh(fabric, network):
    if not (shutil.which("ssh") and os.access(SSHD, os.X_OK)):
        print("not tried: ssh, openssh-server is not installed")
        return
    before = network.packets()
    with tempfile.TemporaryDirectory() as folder, ssh_server(fabric, folder) as ssh:
        session = echoed(adopted_run(fabric, "h0", *ssh, "echo $SSH_CONNECTION; exec cat"))
        seen = session.first[0::2]
        check(seen == [fabric.host(host)["ipv4_address"] for host in ("h0", "h1")],
              f"ssh: a known host by its ordinary address; the server sees MRC addresses {seen}")
        goes_on(fabric, "ssh", "h0", lambda: session.bytes)
        check(session.stop() == 0, "ssh ends well")
        check(session.sent.digest() == session.got.digest(), f"ssh: all of {session.bytes} bytes are back, and right")
        check(network.packets() - before < FEW_PACKETS, "by the planes")
