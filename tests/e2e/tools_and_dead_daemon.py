#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every tool beside an mrcd that hangs, that is killed, that is not there, or that is not the user's, under load: none
hangs, each says in one line what is the matter, and ends with the right status. Those that go on for long are there
before it happens. A command of mrcctl that is not in the table fails the test.

usage: tools_and_dead_daemon.py switches|cables
"""

import contextlib
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import NamedTuple

from lab_support import TIME_SCALE, binary, check, lab, need_binaries, need_root
from mrcctl import operator
from mrcctl_help import help_texts, names_below, offered_by
from transfer_support import STEADY, server, start_perf, stopped, wait_until
from view_support import host_in, view

LIMIT_S = 25 * TIME_SCALE  # of a tool that hangs; the longest that one waits for mrcd is 10 s
NOBODY = "65534"
CONFIG = """[fabric_map]
interval_us = 20000
[[sockets]]
host = 'fd6d:7263::1'
addresses = ['2001:db8::2']
"""
FABRICS = {"switches": ("--planes", "2", "--spines", "2"), "cables": ("--planes", "2", "--fabric", "direct")}
WITHOUT_PINS = ("unshare", "--mount", "sh", "-ec", 'mount -t bpf bpf /sys/fs/bpf; exec "$@"', "-")


class answer(NamedTuple):
    """What a tool is to end with: its status, a word of its output, and one of its complaint; None: there is none."""

    status: int
    out: str | None
    err: str | None
    lines: int = 1  # of complaints


STILL, LAST = "is stopped; its numbers stand still", "has ended; these are its last numbers"
CONFIG_LEFT = "has ended; this was its configuration"
NO_PINS = "no instance 'nobody'; there are: "
NO_SOCKET = "no mrcd answers as instance 'nobody'; there are: "
NOT_MINE = "(this needs root, or CAP_BPF and access to this file)"
NOT_MY_SOCKET = "may not be opened: mrcctl needs root, or the group of this socket"

# By what happened to mrcd.
SHOWN = {"stopped": answer(0, "", STILL), "dead": answer(0, "", LAST), "missing": answer(1, None, NO_PINS),
         "another's": answer(1, None, NOT_MINE)}
ASKED = {"stopped": answer(1, None, "is stopped: it answers once 'kill -CONT"), "dead": answer(1, None, "has ended"),
         "missing": answer(1, None, NO_SOCKET), "another's": answer(1, None, NOT_MY_SOCKET)}


def says(word, last, status=0):
    """A view that has a place for the state."""
    return SHOWN | {"stopped": answer(status, word, None), "dead": answer(1 if last == "dead" else 0, last, None)}


def always(status, out, err, lines=1):
    """Needs no daemon, and does not ask whose it is."""
    return dict.fromkeys(SHOWN, answer(status, out, err, lines))


# Those that end by themselves, and how.
CAPTURE, TRACE = ONE_AT_A_TIME = ("capture -w /dev/null --seconds 0.1", "trace --seconds 0.1 -j")
COMMANDS = {
    "status": says("stopped", "dead"),
    "top --once --interval 0.1": SHOWN | {"stopped": answer(0, "stopped", None), "dead": answer(0, "dead", None)},
    "diagnose --seconds 0.2": says("is stopped: nothing is sent", "dead", status=1),
    "metrics": SHOWN | {"stopped": answer(0, "mrc_up{", None), "dead": answer(0, "mrc_up{", None)},
    "client list": SHOWN, "client show {session}": SHOWN, "session list": SHOWN, "peer list": SHOWN,
    "peer show {peer}": SHOWN, "qp list": SHOWN, "qp show {qpn}": SHOWN, "path list": SHOWN,
    "path list --diff 0.1": SHOWN, "path show 1": SHOWN, "port list": SHOWN, "fabric map": SHOWN, "counters": SHOWN,
    "counters --diff 0.1": SHOWN, "event": SHOWN,
    CAPTURE: SHOWN | {
        "stopped": answer(0, None, "copies of packets written", 2), "dead": answer(1, None, "has ended", 3)},
    TRACE: SHOWN | {
        "stopped": answer(0, "mrc-trace", STILL, 3), "dead": answer(1, "mrc-trace", "has ended", 3)},
    "adopt hosts": SHOWN | {"dead": answer(1, None, "is dead: nothing is mapped")},
    "port enable 1": ASKED, "port disable 1": ASKED, "probe {peer} -c 1": ASKED,
    "ev-profile list": ASKED, "ev-profile show 0": ASKED, "ev-profile create 7": ASKED,
    "ev-profile set 7 --count 4": ASKED, "ev-profile online 7": ASKED, "ev-profile offline 7": ASKED,
    "ev-profile delete 7": ASKED, "ev-profile replace 7 1@1=2@1": ASKED, "ev-profile deny 0 1@1": ASKED,
    "ev-profile allow 0 1@1": ASKED, "ev-profile query 0 1@1": ASKED, "ev-profile events": ASKED,
    "ev-format list": ASKED, "ev-format show 0": ASKED, "ev-format create 2 --mode stev --widths 21,8,3": ASKED,
    "ev-format online 2": ASKED, "ev-format offline 2": ASKED, "ev-format delete 2": ASKED,
    "cc-profile list": ASKED, "cc-profile show 0": ASKED, "cc-profile create 3": ASKED, "cc-profile set 3 eta=1": ASKED,
    "cc-profile online 3": ASKED, "cc-profile offline 3": ASKED, "cc-profile delete 3": ASKED,
    "run -- true": ASKED, "adopt --cgroup /sys/fs/cgroup": ASKED, "adopt list": ASKED, "adopt undo 1": ASKED,
    "config show": SHOWN | {"stopped": answer(0, "[fabric]", None), "dead": answer(0, "[fabric]", CONFIG_LEFT),
                            "missing": answer(1, None, NO_SOCKET), "another's": answer(0, "[fabric]", None)},
    "hosts": always(0, "no peer has a name", None) | {"missing": answer(1, None, NO_SOCKET)},
}
OF_FABRIC = {
    "switches": {"fabric show --config {config}": always(0, "block fcbb:bb00::/32", None),
                 "setup --probe --wait 1 -o {config}": always(1, None, "is in SRv6 mode, and lists no peers")},
    "cables": {"fabric show --config {config}": always(1, None, 'fabric.mode is "direct"'),
               "setup --probe --wait 1 -o {config}": ASKED},
}


class process:
    """A tool whose output stands in files, so that it never waits for whoever reads it."""

    def __init__(self, words, command):
        self.words = words
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err)

    def said(self):
        return [os.pread(file.fileno(), 1 << 20, 0).decode(errors="replace") for file in (self.out, self.err)]

    def end(self):
        self.child.kill()
        self.child.wait()
        self.out.close()
        self.err.close()

    def ends(self, wanted):
        """Ends within the limit with this answer."""
        try:
            status = self.child.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            sys.exit(f"FAIL: {self.words} hangs; it said {self.said()}")
        out, err = self.said()
        complaints = err.splitlines()
        right = status == wanted.status and (wanted.out in out if wanted.out is not None else not out)
        if wanted.err is None:
            right = right and not complaints
        else:
            right = right and len(complaints) == wanted.lines and wanted.err in complaints[-1]
        check(right, f"{self.words}: {status} {complaints[-1] if complaints else out.splitlines()[:1]}"
                     f"{'' if right else f' instead of {wanted}; it said {[out[:500], err]}'}")


class host:
    """h0 of the lab, whose mrcd it happens to, and its tools."""

    def __init__(self, kind, fabric, here, load):
        self.kind, self.fabric, self.here, self.load = kind, fabric, here, load
        self.peer = fabric.host("h1")["mrc_address"]
        self.pid = fabric.host("h0")["pid"]
        self.config = fabric.host("h0")["config"]
        qp = here.json("qp", "list")[0]
        self.qpn, self.session = qp["qpn"], qp["session"]

    def command(self, words, instance=None, program=None):
        arguments = words.format(peer=self.peer, qpn=self.qpn, session=self.session, config=self.config).split()
        place = arguments.index("--") if "--" in arguments else len(arguments)
        arguments[place:place] = ["--instance", instance or self.here.instance]
        return self.fabric.enter("h0", program or binary("mrcctl"), *arguments)

    def doctor(self, *arguments):
        return self.fabric.enter("h0", binary("mrc-doctor"), "--config", self.config, *arguments)

    def kill(self):
        """Until it has ended: what has much memory takes a while."""
        end = os.pidfd_open(self.pid)
        try:
            os.kill(self.pid, signal.SIGKILL)
            check(select.select([end], [], [], LIMIT_S)[0], "mrcd is killed")
        finally:
            os.close(end)

    def check_load(self, what):
        before = self.here.sum("tx_bytes")
        wait_until(lambda: self.here.sum("tx_bytes") > before or self.load.poll() is not None, LIMIT_S)
        said = "" if self.load.poll() is None else self.load.stderr.read().decode().strip()
        check(self.here.sum("tx_bytes") > before, f"{what} {said}")

    def sessions(self):
        """Of tools."""
        return sum(client["command"] == "mrcctl" for client in self.here.json("client", "list"))

    def has_maps_open(self, pid):
        with contextlib.suppress(OSError):
            return any("bpf-map" in os.readlink(entry) for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir())
        return False


def check_complete():
    """Every command of mrcctl is in the table."""
    commands = {" ".join(words) for words, text in help_texts().items()
                if words and (not names_below(text) or offered_by(text) - {"-h", "--help"})}
    for table in OF_FABRIC.values():
        lines = [line.split() for line in {**COMMANDS, **table}]
        missing = [one for one in commands if not any(line[:len(one.split())] == one.split() for line in lines)]
        check(not missing, f"all {len(commands)} commands are tried {missing or ''}")


def side_by_side(tools):
    """Starts all of these, {words: (command, answer)}, and waits for each."""
    with contextlib.ExitStack() as stack:
        running = [(process(words, command), wanted) for words, (command, wanted) in tools.items()]
        for one, _ in running:
            stack.callback(one.end)
        for one, wanted in running:
            one.ends(wanted)


def commands_of(at, what, program=None):
    return {words: (at.command(words, "nobody" if what == "missing" else None, program), wanted[what])
            for words, wanted in {**COMMANDS, **OF_FABRIC[at.kind]}.items()
            if what != "missing" or not words.startswith("setup")}  # whose configuration names the instance


def check_commands(at, what, alone=False):
    """Those that are typed when it has happened; with `alone` those of which one can run at a time."""
    tools = {words: tool for words, tool in commands_of(at, what).items() if (words in ONE_AT_A_TIME) == alone}
    if not alone and what in ("stopped", "dead"):
        tools["mrc-doctor"] = (at.doctor(), answer(0, "mrcd will run", None))
        # Who sees no maps learns it from the socket.
        silent = "mrcd does not answer at" if what == "stopped" else "Connection refused"
        tools["probe, without maps"] = ([*WITHOUT_PINS, *at.command("probe {peer}")], answer(1, None, silent))
        if at.kind == "cables":
            asked = "no MRC probes were sent: mrcd of instance"
            tools["mrc-doctor --peer"] = (at.doctor("--peer", at.peer), answer(0, asked, None))
    side_by_side(tools)


def check_permission(at):
    """As a user who may use none of it."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = shutil.copy(binary("mrcctl"), folder)
        nobody = ("setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups")
        side_by_side({words: ([*command[:3], *nobody, *command[3:]], wanted) for words, (command, wanted)
                      in commands_of(at, "another's", copy).items()})


# Those that go on: whether they do, by process and host, and what comes of it. `ends`: by themselves; else by SIGINT.
class long_tool(NamedTuple):
    goes_on: object
    stopped: answer
    dead: answer
    ends: tuple = ()


def tells(word):
    """Once its output or its complaints have this."""
    return lambda one, _: any(word in said for said in one.said())


def looks(one, at):
    return at.has_maps_open(one.child.pid)


def asks(count):
    """Once this many tools have sessions."""
    return lambda _, at: at.sessions() >= count


RUN = "run -- tail -f /dev/null"
INTERRUPTED = -signal.SIGINT
ENDED = answer(1, "", "has ended")
BOTH = ("stopped", "dead")
LONG = {
    "top --interval 0.1": long_tool(tells("PLANE"), answer(0, ", stopped, up", None),
                                    answer(0, "dead (pid", None)),
    "event -f": long_tool(tells("opened by mrc-perf"), answer(INTERRUPTED, "", None), ENDED, ("dead",)),
    "capture -w /dev/null": long_tool(tells("capturing"), answer(0, None, "copies of packets written", 2),
                                      answer(1, None, "has ended", 3), ("dead",)),
    "trace --kind timer,state": long_tool(tells("tracing"), answer(0, "", STILL, 3), answer(1, "", "has ended", 3),
                                          ("dead",)),
    "ev-profile events --follow -j": long_tool(tells("waits for EV events"),
                                               answer(INTERRUPTED, None, "waits for EV events"),
                                               answer(1, None, "mrcd has gone", 2), ("dead",)),
    "probe {peer} -c 1000 -i 0.02": long_tool(asks(2), answer(1, None, "mrcd does not answer"),
                                              answer(1, None, "mrcd"), BOTH),
    "path list --diff 3": long_tool(looks, answer(0, "", STILL), answer(0, "", LAST), BOTH),
    "counters --diff 3": long_tool(looks, answer(0, "", STILL), answer(0, "", LAST), BOTH),
    "diagnose --seconds 3": long_tool(looks, answer(1, "is stopped: nothing is sent", None),
                                      answer(1, "is dead (it was process", None), BOTH),
    "metrics --listen 0": long_tool(tells("metrics at"), answer(0, None, "metrics at"), answer(0, None, "metrics at")),
    RUN: long_tool(tells(""), answer(128 + signal.SIGTERM, None, None),
                                  answer(128 + signal.SIGTERM, None, "stay on the ordinary network")),
}


@contextlib.contextmanager
def long_tools(at):
    """All of them, once each goes on."""
    with contextlib.ExitStack() as stack:
        running = {}
        for words in LONG:
            running[words] = process(words, at.command(words))
            stack.callback(running[words].end)
        for words, one in running.items():
            goes_on = LONG[words].goes_on
            check(wait_until(lambda one=one, goes_on=goes_on: goes_on(one, at) or one.child.poll() is not None,
                             LIMIT_S) and one.child.poll() is None, f"{words} goes on {one.said()[1].strip()}")
        pid = running[RUN].child.pid
        child = f"/proc/{pid}/task/{pid}/children"
        check(wait_until(lambda: pathlib.Path(child).read_text("utf-8"), LIMIT_S), "as does the command that one runs")
        yield running


def check_exporter(at, one, what):
    address = re.search(r"http://\S+", one.said()[1])[0]
    metrics = at.fabric.inside("h0", "curl", "-s", "--max-time", str(LIMIT_S), address)
    up = re.search(r"^mrc_up\{.*\} (\d)$", metrics, re.M)[1]
    check(up == "0", f"the exporter answers that mrcd is {what}")


def check_view(served, at, what, sentence):
    seen, _ = served.shown(lambda now: host_in(now, at.here.instance)["state"] == what, f"mrc-view shows it {what}")
    problem = host_in(seen, at.here.instance)["problem"]
    check(sentence in problem and "\n" not in problem, f"in one line: {problem}")


def check_long_tools(at, running, what):
    """Those that end by themselves do, then the others when they are told to."""
    for words, one in running.items():
        if what in LONG[words].ends:
            one.ends(getattr(LONG[words], what))
    check_exporter(at, running["metrics --listen 0"], what)
    if what == "dead":
        check(wait_until(lambda: running[RUN].said()[1], LIMIT_S), "run says that mrcd has gone")
    for words, one in running.items():
        if what not in LONG[words].ends:
            check(one.child.poll() is None, f"{words} has not ended")
            one.child.send_signal(signal.SIGTERM if words.startswith("run") else signal.SIGINT)
            one.ends(getattr(LONG[words], what))


def check_all(at):
    at.check_load("there is load")
    check_commands(at, "missing")
    check_commands(at, "missing", alone=True)
    check_permission(at)
    with view("--instance", at.here.instance) as served:
        with long_tools(at) as running, stopped(at.pid):
            check_commands(at, "stopped")
            check_view(served, at, "stopped", STILL)
            check_long_tools(at, running, "stopped")
            check_commands(at, "stopped", alone=True)
        at.check_load("mrcd goes on, and so does the load")
        with long_tools(at) as running:
            at.kill()
            check_commands(at, "dead")
            check_view(served, at, "dead", LAST)
            check_long_tools(at, running, "dead")
            check_commands(at, "dead", alone=True)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrcctl", "mrc-doctor", "mrc-view")
    kind = sys.argv[1]
    check_complete()
    with lab("dead", *FABRICS[kind], config=CONFIG) as fabric, server(fabric):
        here = operator(fabric, "h0")
        load = start_perf(fabric, "h0", fabric.host("h1")["mrc_address"], *STEADY, "-D", "600",
                          stdout=subprocess.DEVNULL)
        try:
            check(wait_until(lambda: here.json("qp", "list"), LIMIT_S), "a transfer begins")
            check_all(host(kind, fabric, here, load))
        finally:
            load.kill()
            load.wait()


if __name__ == "__main__":
    main()
