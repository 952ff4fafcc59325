#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrc-doctor on a host of the lab: all is well, with mrcd and without; and on hosts that lack something: it names what
that costs and a command, and once the command has run the lack is gone."""

import contextlib
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from lab_support import DEADLINE_S, ROOT, binary, check, lab, need_binaries, need_root

KERNELS = pathlib.Path(ROOT) / "docs/kernels.md"
# No veth has zero copy; huge pages are this machine's operator's affair, and so are the clocks of virtual machines.
MAY_LACK = {"af_xdp_zero_copy", "huge_pages", "clock"}
OF_THE_PAIR = {"xdp_native", "xdp_generic", "live_frames", "live_frames_cost", "redirect", "af_xdp_copy",
               "af_xdp_multi_buffer"}
OF_A_PORT = {"link", "mtu", "xdp_native", "xdp_generic", "redirect", "af_xdp_copy", "af_xdp_zero_copy",
             "af_xdp_multi_buffer", "driver", "checksum_offload", "receive_offload", "receive_steering"}


def doctor(*arguments, wrapper=(), status=0):
    """The report of mrc-doctor --json, run within `wrapper`."""
    done = subprocess.run([*wrapper, binary("mrc-doctor"), "--json", *arguments], text=True, capture_output=True,
                          check=False, timeout=60)
    if done.returncode != status or done.stderr:
        sys.exit(f"FAIL: mrc-doctor {' '.join(arguments)}: status {done.returncode}, not {status}\n"
                 f"{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def state_of(report, probe, on):
    return next(finding for finding in report["findings"] if (finding["probe"], finding["on"]) == (probe, on))


def lacks(report, probe, on, state, remedy):
    """The finding has this state, a cost and a command that matches; returns the command."""
    finding = state_of(report, probe, on)
    check(finding["state"] == state and len(finding["cost"]) > 10, f"{probe}: {state}: {finding['found']}; "
          f"costs: {finding['cost']}")
    check(re.fullmatch(remedy, finding["remedy"]), f"{probe}: remedy: {finding['remedy']}")
    check(report["runs"] == (state != "broken"), f"{probe}: mrcd will {'not ' if state == 'broken' else ''}run")
    return finding["remedy"]


def works(report, probe, on):
    check(state_of(report, probe, on)["state"] == "works", f"{probe}: gone: {state_of(report, probe, on)['found']}")


class host:
    """A host of the lab: commands run in its network namespace, with this machine's file systems."""

    def __init__(self, fabric, node):
        self.fabric, self.node = fabric, node
        self.enter = fabric.enter(node)
        self.config = f"/run/mrc-lab/{fabric.prefix}/config/{node}.toml"

    def run(self, *argv):
        return self.fabric.inside(self.node, *argv)

    def shell(self, command):
        self.run("sh", "-c", command)

    def doctor(self, *arguments, wrapper=(), status=0):
        return doctor(*(arguments or ("--config", self.config)), wrapper=(*self.enter, *wrapper), status=status)

    def traces(self):
        """Devices with their programs; counters and ages are left out."""
        return self.run("ip", "-o", "link"), sorted(os.listdir("/sys/fs/bpf"))


def check_healthy(node):
    before = node.traces()
    report = node.doctor()
    ill = [f"{finding['probe']} ({finding['on']}): {finding['found']}" for finding in report["findings"]
           if finding["state"] != "works" and finding["probe"] not in MAY_LACK]
    check(not ill and report["runs"], f"all works on a host of the lab {ill or ''}")
    probes = {(finding["scope"], finding["on"]): set() for finding in report["findings"]}
    for finding in report["findings"]:
        probes[finding["scope"], finding["on"]].add(finding["probe"])
    check(probes["scratch", "veth"] == OF_THE_PAIR, "everything was tried on the scratch pair")
    check(probes["port", "p0"] == OF_A_PORT and probes["port", "p1"] == OF_A_PORT, "and on both ports")
    check(node.traces() == before, "nothing is left behind")
    check(report["kernel"] == os.uname().release, f"kernel {report['kernel']}")
    return report


def verdict_of(node, wrapper=()):
    """Last line of the text, of a host where mrcd will run."""
    done = subprocess.run([*node.enter, *wrapper, binary("mrc-doctor"), "--config", node.config], text=True,
                          capture_output=True, check=False)
    lines = done.stdout.splitlines()
    check(done.returncode == 0 and lines[2].split() == ["PROBE", "ON", "STATE", "FOUND"], "the text has a table")
    check(lines[-1].startswith("mrcd will run"), f"and a verdict: {lines[-1]}")
    return lines[-1]


def check_text(node):
    check("not tried" not in verdict_of(node), "everything was tried")


def check_no_scratch(node):
    """Without CAP_SYS_ADMIN there is no network namespace of its own: what is tried there is named as untried."""
    wrapper = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
    verdict, untried = verdict_of(node, wrapper).split("; not tried: ")
    check("as far as could be tried" in verdict, "the verdict has a limit")
    wanted = {f"{probe} (veth)" for probe in OF_THE_PAIR} | {"tap (host)", "egress_program (host)"}
    check(set(untried.split(", ")) == wanted, "and names what was not tried")


def columns_of(table):
    """Release → label of each row → cell."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")]
    head, rows = rows[0], rows[1:]
    return {release.split()[0]: {row[0]: row[column] for row in rows}
            for column, release in enumerate(head) if column > 0}


def same_series(release, releases):
    """The release itself, else one of the same version number."""
    number = re.match(r"[\d.]+", release)[0]
    return next((each for each in sorted(releases, key=lambda each: each != release)
                 if re.match(r"[\d.]+", each)[0] == number), None)


def check_table(report):
    """The generator takes a real report, and docs/kernels.md says the same: its rows, those of other drivers aside, and
    of this kernel its cells."""
    done = subprocess.run([pathlib.Path(ROOT) / "scripts/kernels-table", "-"], input=json.dumps(report), text=True,
                          capture_output=True, check=False)
    check(done.returncode == 0, "a table is made of the report")
    release = report["kernel"]
    made, page = columns_of(done.stdout)[release], columns_of(KERNELS.read_text(encoding="utf-8"))
    drivers = {port["driver"] for port in report["ports"]}
    differ = {label for label in made.keys() ^ next(iter(page.values())).keys()
              if " port: " not in label or label.split(" port: ")[0] in drivers}
    check(not differ, f"docs/kernels.md has the rows of today's probes {differ or ''}")
    column = same_series(release, page)
    if column is None:
        print(f"skipped: docs/kernels.md has no column of {release}")
        return
    differ = {label: (cell, page[column][label]) for label, cell in made.items() if cell != page[column][label]}
    check(not differ, f"and its column of {column} says what was found {differ or ''}")


@contextlib.contextmanager
def daemon(node):
    """mrcd on the host, ready; yields what it logs."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        process = subprocess.Popen([*node.enter, binary("mrcd"), "--config", node.config], stdout=subprocess.PIPE,
                                   stderr=log, text=True)
        try:
            check(process.stdout.readline().startswith("READY"), "mrcd is ready")
            log.seek(0)
            yield process, log.read()
        finally:
            process.terminate()
            process.wait(DEADLINE_S)


def check_mrcd_chooses_the_same(node, report):
    with daemon(node) as (process, log):
        for plane, modes in enumerate(report["modes"]):
            line = (f"port {modes['port']} (plane {plane}): XDP {modes['xdp']}, transmit {modes['transmit']}, "
                    f"AF_XDP {modes['af_xdp']}")
            check(line in log, f"mrcd chooses as mrc-doctor says: {line}")
        programs = node.run("ip", "-o", "link")
        beside = node.doctor()
        check(all("running mrcd" in state_of(beside, "xdp_native", port)["found"] for port in ("p0", "p1")),
              "beside a running mrcd its ports are not tried")
        check(process.poll() is None and node.run("ip", "-o", "link") == programs, "and not disturbed")


def check_refused_redirect(node):
    """A veth whose far end neither runs XDP nor has GRO: mrcd and mrc-doctor turn to AF_XDP."""
    node.shell("ip link add d0 mtu 3400 type veth peer name d1 mtu 3400; ip link set d1 up; ethtool -K d1 gro off")
    down = node.doctor("--port", "d0")
    node.shell(lacks(down, "link", "d0", "slower", r"ip link set dev d0 up"))
    report = node.doctor("--port", "d0")
    works(report, "link", "d0")
    check(report["modes"][0]["transmit"] == "af_xdp" and "redirect" in report["modes"][0]["reason"],
          f"AF_XDP is chosen: {report['modes'][0]['reason']}")
    node.shell(lacks(report, "redirect", "d0", "slower", r"ethtool -K PEER gro on .*").replace("PEER", "d1"))
    report = node.doctor("--port", "d0")
    works(report, "redirect", "d0")
    works(report, "checksum_offload", "d0")
    check(report["modes"][0]["transmit"] == "xdp", "XDP transmit is chosen")
    node.run("ip", "link", "del", "d0")


def check_mtu(node):
    for mtu, state, status in ((1500, "slower", 0), (300, "broken", 1)):
        node.run("ip", "link", "set", "p0", "mtu", str(mtu))
        command = lacks(node.doctor(status=status), "mtu", "p0", state, r"ip link set dev p0 mtu 32\d\d")
        node.shell(command)
        works(node.doctor(), "mtu", "p0")
    node.run("ip", "link", "set", "p0", "mtu", "3400")


HOLD_BY_LINK = """
import ctypes, os, socket, struct, sys
NR_BPF = 321 if os.uname().machine == "x86_64" else 280
OBJ_GET, LINK_CREATE, BPF_XDP, DRV_MODE = 7, 28, 37, 4
def bpf(command, attributes):
    return ctypes.CDLL(None).syscall(NR_BPF, command, ctypes.create_string_buffer(attributes, 128), 128)
path = ctypes.create_string_buffer(sys.argv[1].encode())
program = bpf(OBJ_GET, struct.pack("=Q", ctypes.addressof(path)))
link = bpf(LINK_CREATE, struct.pack("=IIII", program, socket.if_nametoindex(sys.argv[2]), BPF_XDP, DRV_MODE))
print(link, flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def pinned_pass(node):
    """Path of a program that lets all packets pass."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = pathlib.Path(folder, "pass.c"), pathlib.Path(folder, "pass.o")
        source.write_text('__attribute__((section("xdp"), used)) int pass(void *c) { return 2; }\n', encoding="ascii")
        subprocess.run(["clang-19", "-O2", "-target", "bpf", "-c", source, "-o", made], check=True)
        # iproute2's own loader would leave folders in the BPF file system.
        pin = f"/sys/fs/bpf/{node.fabric.prefix}-pass"
        node.run("bpftool", "prog", "load", made, pin)
        try:
            yield pin
        finally:
            os.unlink(pin)


def check_foreign_program(node):
    """Another program on the port keeps mrcd out, attached by netlink or by a link."""
    with pinned_pass(node) as pin:
        for kind, said in (("xdpgeneric", "xdpgeneric"), ("xdpdrv", "xdp")):
            node.run("bpftool", "net", "attach", kind, "pinned", pin, "dev", "p1")
            node.shell(lacks(node.doctor(status=1), "xdp_native", "p1", "broken", rf"ip link set dev p1 {said} off"))
            works(node.doctor(), "xdp_native", "p1")
        with subprocess.Popen([*node.enter, sys.executable, "-c", HOLD_BY_LINK, pin, "p1"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as holder:
            check(int(holder.stdout.readline()) >= 0, "a link holds the port")
            node.shell(lacks(node.doctor(status=1), "xdp_native", "p1", "broken", r"bpftool link detach id \d+"))
            works(node.doctor(), "xdp_native", "p1")
            holder.stdin.close()


def check_queues(node):
    node.shell("ip link add q0 mtu 3400 numrxqueues 4 numtxqueues 1 type veth peer name q1 mtu 3400; "
               "ip link set q0 up; ip link set q1 up; ethtool -L q0 rx 4; ethtool -K q0 gro on tx off; "
               "ethtool -K q1 gro on tx off")
    report = node.doctor("--port", "q0")
    works(report, "receive_steering", "q0")
    check(state_of(report, "af_xdp_copy", "q0")["found"] == "queues 0-3", "all four queues were tried")
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        text = pathlib.Path(node.config).read_text(encoding="ascii")
        file.write(text.replace('device = "p0"', 'device = "q0"\nqueues = 2'))
        file.flush()
        report = node.doctor("--config", file.name, status=1)
        node.shell(lacks(report, "receive_steering", "q0", "broken", r"ethtool -L q0 rx 2"))
        works(node.doctor("--config", file.name), "receive_steering", "q0")
    node.run("ip", "link", "del", "q0")


def may_raise_limits():
    cap_sys_resource = 24
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"^CapEff:\s*(\w+)", status, re.MULTILINE)[1], 16) >> cap_sys_resource & 1 == 1


def check_locked_memory(node):
    """Without CAP_IPC_LOCK the limit counts."""
    little = ("prlimit", "--memlock=65536:65536", "setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock")
    command = lacks(node.doctor(wrapper=little, status=1), "locked_memory", "host", "broken", r"ulimit -l unlimited")
    if not may_raise_limits():
        print("skipped: without CAP_SYS_RESOURCE, as here, nobody can raise the limit again")
        return
    remedied = (*little, "bash", "-c", f'{command} && exec "$@"', "bash")
    works(node.doctor(wrapper=remedied), "locked_memory", "host")


def check_foreign_pin_dir(node):
    """What mrcd refuses, too: a folder above the pins that belongs to a third user."""
    foreign = pathlib.Path(f"/sys/fs/bpf/{node.fabric.prefix}-foreign")
    foreign.mkdir()
    os.chown(foreign, 65534, 65534)
    text = pathlib.Path(node.config).read_text(encoding="utf-8")
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
        config.write(text.replace("[daemon]", f'[daemon]\npin_dir = "{foreign}/pins"', 1))
        config.flush()
        lacks(node.doctor("--config", config.name, status=1), "bpffs", "host", "broken", f"chown -h root {foreign}")
    foreign.rmdir()


def check_no_bpffs(node):
    """In a mount namespace without a BPF file system."""
    gone = "while umount /sys/fs/bpf 2>/dev/null; do :; done; "
    without = ("unshare", "--mount", "bash", "-c", gone + 'exec "$@"', "bash")
    command = lacks(node.doctor(wrapper=without, status=1), "bpffs", "host", "broken", r"mount -t bpf bpf /sys/fs/bpf")
    remedied = ("unshare", "--mount", "bash", "-c", f'{gone}{command} && exec "$@"', "bash")
    works(node.doctor(wrapper=remedied), "bpffs", "host")


def check_huge_pages(node):
    """The number of huge pages is this machine's, and is given back."""
    setting = pathlib.Path("/proc/sys/vm/nr_hugepages")
    before = setting.read_text(encoding="ascii")
    try:
        finding = state_of(node.doctor(), "huge_pages", "host")
        if finding["state"] == "works":
            print("skipped: this machine has huge pages already")
            return
        subprocess.run(shlex.split(finding["remedy"]), check=True, stdout=subprocess.DEVNULL)
        wanted, given = int(finding["remedy"].rsplit("=", 1)[1]), int(setting.read_text(encoding="ascii"))
        if given < wanted:
            print(f"skipped: this machine's memory is too fragmented for {wanted} huge pages, it has {given}")
            return
        works(node.doctor(), "huge_pages", "host")
    finally:
        setting.write_text(before, encoding="ascii")


def network_of(process):
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{process}/ns/net")
    return None


def check_signal(node):
    """Ended in the middle: in its own namespace, which goes with it."""
    before = node.traces()
    outside = os.stat(node.enter[1].removeprefix("--net=")).st_ino
    argv = [*node.enter, binary("mrc-doctor"), "--config", node.config]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + DEADLINE_S
        own = {network_of("self"), f"net:[{outside}]", None}
        while (inside := network_of(process.pid)) in own and process.poll() is None and time.monotonic() < deadline:
            pass
        process.send_signal(signal.SIGTERM)
        process.wait(DEADLINE_S)
    check(process.returncode == -signal.SIGTERM and inside not in own, f"ended by SIGTERM within {inside}")
    namespaces = subprocess.run(["lsns", "--type", "net", "--noheadings", "--output", "NS"], text=True, check=True,
                                capture_output=True).stdout.split()
    check(re.findall(r"\d+", inside)[0] not in namespaces, "its namespace is gone")
    check(node.traces() == before, "nothing is left behind")


def check_privilege():
    unprivileged = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    done = subprocess.run([*unprivileged, binary("mrc-doctor")], text=True, capture_output=True, check=False)
    check(done.returncode == 2 and "needs root" in done.stderr and done.stderr.count("\n") == 1,
          f"without root: {done.stderr.strip()}")


def main():
    need_root()
    need_binaries("mrc-doctor", "mrcd", "mrc-switch")
    with lab("doctor", "--no-daemons", "--planes", "2", "--leaves", "1", "--spines", "1", "--hosts", "1") as fabric:
        node = host(fabric, "h0")
        report = check_healthy(node)
        check_text(node)
        check_table(report)
        check_mrcd_chooses_the_same(node, report)
        check_refused_redirect(node)
        check_mtu(node)
        check_foreign_program(node)
        check_queues(node)
        check_locked_memory(node)
        check_no_bpffs(node)
        check_foreign_pin_dir(node)
        check_no_scratch(node)
        check_huge_pages(node)
        check_signal(node)
    check_privilege()


if __name__ == "__main__":
    main()
