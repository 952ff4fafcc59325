#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrc-doctor says that mrcd will not run wherever mrcd ends at its start, for a configuration that cannot be and for a
kernel that lacks what the configuration forces; and where its words are followed, both run. Lacks of other kernels come
from a library that refuses the system calls as those kernels do."""

import contextlib
import pathlib
import re
import subprocess
import tempfile

from doctor import doctor, host, lacks, state_of
from lab_support import DEADLINE_S, binary, check, lab, need_binaries, need_root

ANY_MODE = [('mode = "native"', 'mode = "auto"')]  # the lab's hosts force native XDP
OLD_KERNEL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_xdp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int lacks(const char *what)
{
    return strcmp(getenv("KERNEL_LACKS"), what) == 0;
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
    int (*next)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "bind");
    const struct sockaddr_xdp *xdp = (const void *)address;
    if (address->sa_family == AF_XDP && (xdp->sxdp_flags & (1 << 4)) && lacks("XDP_USE_SG")) {
        errno = EINVAL;
        return -1;
    }
    return next(fd, address, length);
}

long syscall(long number, ...)
{
    long (*next)(long, ...) = dlsym(RTLD_NEXT, "syscall");
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; ++i)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_bpf && a[0] == BPF_PROG_TEST_RUN && lacks("live frames") &&
        (((union bpf_attr *)a[1])->test.flags & (1 << 1))) {
        errno = EINVAL;
        return -1;
    }
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


class old_kernel:
    """What comes before a command that shall see a kernel without something."""

    def __init__(self, folder):
        self.library = pathlib.Path(folder, "old_kernel.so")
        source = self.library.with_suffix(".c")
        source.write_text(OLD_KERNEL, encoding="ascii")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.library, source, "-ldl"], check=True)

    def without(self, what):
        return ("env", f"LD_PRELOAD={self.library}", f"KERNEL_LACKS={what}") if what else ()


class case:
    """A host with changes to its configuration, on a kernel that may lack something."""

    def __init__(self, node, wrapper, changes):
        self.node, self.wrapper = node, wrapper
        self.text = pathlib.Path(node.config).read_text(encoding="ascii")
        for old, new in changes:
            check(old in self.text, f"the configuration has: {old}")
            self.text = self.text.replace(old, new)

    @contextlib.contextmanager
    def file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(self.text)
            file.flush()
            yield file.name

    def follow(self, advice, name):
        """Writes what mrc-doctor says into the table of the configuration."""
        found = re.fullmatch(rf"# in {name}, \[(\w+)\]: ((\w+) = \S+)", advice)
        check(found, f"by hand: {advice}")
        table, line, key = found.groups()
        head, rest = self.text.split(f"[{table}]\n")
        options, *tables = rest.split("\n\n", 1)
        options = re.sub(rf"^{key} = .*\n?", "", options, flags=re.MULTILINE)
        self.text = "\n\n".join([f"{head}[{table}]\n{line}\n{options}", *tables])

    def report(self, name, status):
        return doctor("--config", name, wrapper=(*self.node.enter, *self.wrapper), status=status)

    def mrcd_ends(self, name, words):
        done = subprocess.run([*self.node.enter, *self.wrapper, binary("mrcd"), "--config", name], text=True,
                              capture_output=True, check=False, timeout=DEADLINE_S)
        said = [line for line in done.stderr.splitlines() if line.startswith("mrcd: ")]
        check(done.returncode == 1 and len(said) == 1 and words in said[0], f"mrcd ends: {' '.join(said)}")

    def mrcd_runs(self, name):
        with subprocess.Popen([*self.node.enter, *self.wrapper, binary("mrcd"), "--config", name], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            check(process.stdout.readline().startswith("READY"), "mrcd runs")
            process.terminate()
            process.wait(DEADLINE_S)


def check_by_hand(tried, probe, on, words):
    """Both say no; the words of mrc-doctor are followed; both say yes."""
    with tried.file() as name:
        advice = lacks(tried.report(name, 1), probe, on, "broken", "# in .*")
        tried.mrcd_ends(name, words)
        tried.follow(advice, name)
    with tried.file() as name:
        check(state_of(tried.report(name, 0), probe, on)["state"] != "broken", f"{probe}: broken no longer")
        tried.mrcd_runs(name)


def check_payloads(node, kernel):
    """Payloads that the engine, the peers or the kernel do not take."""
    large_ports = [('device = "p0"', 'device = "d0"'), ('device = "p1"', 'device = "e0"'), *ANY_MODE]
    engine, lines = 'engine = "auto"', 'engine = "{}"\npayload = {}'
    verbs = [("[transmit]", '[peer_defaults]\npayload = "verbs"\n\n[transmit]')]
    check_by_hand(case(node, (), large_ports + [(engine, lines.format("xdp", 4096))]), "payload", "host",
                  "the engine 'xdp' sends at most 3072")
    check_by_hand(case(node, (), verbs + [(engine, lines.format("auto", 768))]), "payload", "host", "'verbs' allows")
    check_by_hand(case(node, kernel.without("XDP_USE_SG"), large_ports + [(engine, lines.format("auto", 4096))]),
                  "payload", "host", "packets of several buffers")


def check_engine(node, kernel):
    forced = [('engine = "auto"', 'engine = "xdp"')]
    check_by_hand(case(node, kernel.without("live frames"), forced), "live_frames", "veth", "refuses XDP transmit")


def check_one_buffer(node, kernel):
    """Without packets of several buffers a large MTU has no native XDP: mode = "native" cannot be, `auto` is slower."""
    shell = "ip link set dev d0 mtu 3400; ip link set dev PEER mtu 3400 .*"
    large_port = [('device = "p0"', 'device = "d0"')]
    native = case(node, kernel.without("XDP_USE_SG"), large_port)
    automatic = case(node, native.wrapper, large_port + ANY_MODE)
    with native.file() as forced, automatic.file() as free:
        lacks(native.report(forced, 1), "xdp_native", "d0", "broken", shell)
        native.mrcd_ends(forced, "cannot attach an XDP program to 'd0'")
        report = automatic.report(free, 0)
        check(report["modes"][0]["xdp"] == "generic" and report["modes"][0]["buffers"] == "one", "auto is generic")
        node.shell(lacks(report, "xdp_native", "d0", "slower", shell).replace("PEER", "d1"))
        check(automatic.report(free, 0)["modes"][0]["xdp"] == "native", "auto is native")
        native.report(forced, 0)
        native.mrcd_runs(forced)


def main():
    need_root()
    need_binaries("mrc-doctor", "mrcd", "mrc-switch")
    with (lab("foretell", "--no-daemons", "--planes", "2", "--leaves", "1", "--spines", "1", "--hosts", "1")
          as fabric, tempfile.TemporaryDirectory() as folder):
        node, kernel = host(fabric, "h0"), old_kernel(folder)
        for near, far in (("d0", "d1"), ("e0", "e1")):
            node.shell(f"ip link add {near} mtu 9000 type veth peer name {far} mtu 9000; ip link set {near} up; "
                       f"ip link set {far} up; ethtool -K {near} gro on tx off; ethtool -K {far} gro on tx off")
        check_payloads(node, kernel)
        check_engine(node, kernel)
        check_one_buffer(node, kernel)


if __name__ == "__main__":
    main()
