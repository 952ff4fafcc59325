#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrcctl tells the truth: what it says of an idle lab, of a transfer, of a cut plane, a downed port, a stopped and a
dead daemon is compared with the lab, with mrc-perf, with bpftool and with the names in the header."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time

import pyte

from lab_support import WORKERS, binary, check, lab, need_binaries, need_root
from pinned_maps import bpftool, host_maps, used_paths, verdict_names
from transfer_support import STEADY, run_client, server, stopped, transfer, wait_until

PLANES = 4
LIMIT_S = 20
NOBODY = 65534
NAME = "node1"  # of h1
MESSAGES, SIZE, QPS = 256, 1 << 20, 2
# Counters that mrc-perf reports, too.
SHARED_COUNTERS = ("tx_packets", "tx_bytes", "rx_packets", "rx_bytes", "retransmits", "spurious", "timeouts", "losses",
                   "nacks", "sacks_sent", "sacks_received", "rx_duplicates", "rx_refused")


def run(*arguments, env=None):
    environment = {key: value for key, value in os.environ.items() if key != "MRC_INSTANCE"}
    return subprocess.run([binary("mrcctl"), *arguments], text=True, capture_output=True, check=False, timeout=LIMIT_S,
                          env={**environment, **(env or {})})


class operator:
    """mrcctl of one host of the lab."""

    def __init__(self, fabric, host):
        self.instance = f"{fabric.prefix}-{host}"
        self.maps = host_maps(self.instance)
        self.host = fabric.host(host)
        self.address = self.host["mrc_address"]
        self.remark = None  # that stands beside what is shown

    def json(self, *arguments, status=0):
        done = run(*arguments, "--instance", self.instance, "-j")
        if done.returncode != status or not self.may_say(done.stderr):
            check(False, f"mrcctl {' '.join(arguments)}: status {done.returncode} of {status}: {done.stderr}")
        return json.loads(done.stdout)

    def text(self, *arguments):
        done = run(*arguments, "--instance", self.instance)
        check(done.returncode == 0 and self.may_say(done.stderr), f"mrcctl {' '.join(arguments)} {done.stderr}")
        return done.stdout

    def may_say(self, complaint):
        return not complaint or (self.remark is not None and self.remark in complaint)

    @contextlib.contextmanager
    def remarks(self, what):
        """Views may say this meanwhile."""
        self.remark = what
        try:
            yield
        finally:
            self.remark = None

    @contextlib.contextmanager
    def recording(self, command, says, *arguments, output=subprocess.DEVNULL):
        """A command that records until SIGINT ends it, once it `says` that it does. What it told stands in `told`."""
        process = subprocess.Popen([binary("mrcctl"), command, "--instance", self.instance, *arguments],
                                   stdout=output, stderr=subprocess.PIPE, text=True)
        try:
            line = process.stderr.readline()
            check(says in line, f"mrcctl {command}: {line.strip()}")
            yield process
            process.send_signal(signal.SIGINT)
            process.told = process.communicate(timeout=LIMIT_S)[1]
        finally:
            process.kill()
            process.wait()

    def sum(self, counter):
        return sum(qp[counter] for qp in self.json("qp", "list"))

    def states_of_plane(self, plane):
        return {path["state"] for path in self.json("path", "list", "--plane", str(plane))}


def check_idle(fabric, here):
    host = fabric.host("h0")
    status = here.json("status")
    check(status["instance"] == here.instance and status["daemon"]["pid"] == host["pid"], "status names the daemon")
    check(status["daemon"]["alive"] and status["daemon"]["state"] == "running", "which runs")
    check(status["planes"] == PLANES and status["plane_mask"] == (1 << PLANES) - 1, "all planes are in use")
    check([(port["plane"], port["device"], port["state"], port["reason"]) for port in status["ports"]] ==
          [(plane, f"p{plane}", "up", None) for plane in range(PLANES)], "each by its port")
    check(status["qps"]["count"] == 0 and here.json("qp", "list") == [], "there are no queue pairs")
    here.text("status")
    check(here.text("qp", "list") == "no queue pairs\n", "and a table of none says so")
    looked = here.json("diagnose", NAME, "--seconds", "0.2")
    check(looked["healthy"] and looked["looked_at"]["peers"] == 1, f"a peer is looked at by its name: {looked}")
    check(here.json("client", "list") == [] and here.text("client", "list") == "no clients\n",
          "nor are there clients: who asks for the maps is none")


def between(before, value, after):
    """A counter that the BPF programs go on with although the daemon is stopped."""
    return before <= value <= after


def check_paths(fabric, here):
    """Against bpftool, with the daemon stopped: what it writes stands still."""
    before = here.maps.rows("signals")
    paths = {path["path"]: path for path in here.json("path", "list")}
    rows = used_paths(here.maps.rows("paths"))
    after = here.maps.rows("signals")
    check(paths.keys() == rows.keys() and len(rows) == PLANES * fabric.paths_per_plane(),
          f"all {len(rows)} paths are listed")
    same = all(path["plane"] == rows[number]["plane"] and path["uplink"] == rows[number]["uplink"] and
               path["group"] == rows[number]["group"] and path["ev"] == rows[number]["ev"] and
               rows[number]["state"] == f"MRC_PATH_{path['state'].upper()}" and
               path["losses"] == rows[number]["losses"] and
               between(before[number]["packets"], path["rx_packets"], after[number]["packets"]) and
               between(before[number]["acks"], path["acks"], after[number]["acks"]) and path["acks"] > 0 and
               path["rtt_min_ns"] == after[number]["rtt_min_ns"]
               for number, path in paths.items())
    check(same, "with what their rows say")
    listed = {int.from_bytes(bytes(int(byte, 16) for byte in entry["key"]), "little"): entry["formatted"]["value"]
              for entry in bpftool("dump", "pinned", f"{here.maps.pins}/paths_in_use")}
    check(sorted(first + at for first, group in listed.items() for at in range(group["rows"])) == sorted(paths) and
          {group["group"] for group in listed.values()} == {path["group"] for path in paths.values()},
          "a dump of paths_in_use has them and no others")
    one = max(paths)
    alone = here.json("path", "show", str(one))
    check(alone.keys() == paths[one].keys() and alone["carrier"] == paths[one]["carrier"], "and one of them alone")
    here.text("path", "show", str(one))
    here.text("path", "list")


def check_qps(here):
    rows = {row["qpn"]: row for row in here.maps.rows("qps") if row["qpn"]}
    qps = {qp["qpn"]: qp for qp in here.json("qp", "list")}
    check(qps.keys() == rows.keys() and len(rows) == QPS, f"{QPS} queue pairs are listed")
    for qpn, qp in qps.items():
        worded = ("state", "peer", "limit")
        counters = {name: value for name, value in qp.items() if name in rows[qpn] and name not in worded}
        check(len(counters) > 34 and all(rows[qpn][name] == value for name, value in counters.items()),
              f"the {len(counters)} numbers of queue pair {qpn} are those of its row")
        waited = sum(value for name, value in qp.items() if name.startswith("limited_"))
        check(waited > 0 and qp["rtt_ns"] > 0, f"it has waited for {waited} ns, and for what is told")
        check(qp["state"] == "RTS" and qp["mpr_psns"] == rows[qpn]["mpr"], "and its state is RTS")
        shown = here.json("qp", "show", str(qpn))
        check(shown.pop("paths")["good"] > 0 and shown == qp, "qp show says the same, and counts its paths")
    here.text("qp", "list")
    listed = {row["qpn"]: row for row in here.maps.rows("qps_in_use")}
    check({qpn: (row["peer"], row["peer_qpn"], row["pid"], row["command"]) for qpn, row in listed.items()} ==
          {qpn: (qp["peer"], qp["peer_qpn"], qp["client"]["pid"], qp["client"]["command"]) for qpn, qp in qps.items()},
          "a dump of qps_in_use has them and no others, and says whose they are")
    last = max(qps)
    check(rows[last]["state"] == "MRC_QP_READY_TO_SEND" and rows[last]["limit"].startswith("MRC_LIMIT_"),
          "bpftool prints states and limits by their names")
    text = here.text("qp", "show", str(last))
    check(0 < qps[last]["rtt_min_ns"] <= qps[last]["rtt_ns"] and sum(qps[last]["rtt_log2"]) > 0 and
          len(re.findall(r"^ *(?:-|[\d.]+ [um]?s) +\d+ +[\d.]+ %$", text.split("ROUND TRIPS BELOW")[1], re.M)) ==
          sum(count > 0 for count in qps[last]["rtt_log2"]), "and round trips are told, by powers of two")


def check_clients(here, process):
    """mrc-perf, the only client of its host, is listed, and its queue pairs are said to be its."""
    clients = here.json("client", "list")
    check(len(clients) == 1, "one client is listed")
    client = clients[0]
    check(client["pid"] == process.pid and client["uid"] == os.geteuid() and client["command"] == "mrc-perf",
          f"it is mrc-perf: {client}")
    check(client["queue_pairs"] == QPS and client["shared_bytes"] == client["registered_bytes"] >= SIZE,
          "with its queue pairs and its memory, which is shared")
    rows = here.maps.rows("clients")
    check([(row["pid"], row["registered_bytes"]) for row in rows] == [(process.pid, client["registered_bytes"])],
          "which bpftool shows, too")
    check(0 < client["connected_ns"] < time.clock_gettime_ns(time.CLOCK_MONOTONIC) and client["connected_for_ns"] > 0,
          "since it has connected")
    for qp in here.json("qp", "list"):
        check(qp["session"] == client["session"] and
              qp["client"] == {name: client[name] for name in ("pid", "uid", "command")},
              f"queue pair {qp['qpn']} is its")
    shown = here.json("client", "show", str(client["session"]))
    qps = here.json("qp", "list")
    check(sorted(qp["qpn"] for qp in shown["qps"]) == sorted(qp["qpn"] for qp in qps) and
          set(shown["workers"]) == {qp["worker"] for qp in qps} and
          shown["tx_bytes"] == sum(qp["tx_bytes"] for qp in qps) > 0, "client show has its queue pairs and workers")
    check(all(shown[name] == value for name, value in client.items() if name != "connected_for_ns"),
          "and what the list says")
    check([row["session"] for row in here.json("session", "list")] == [client["session"]], "session is another name")
    check("mrc-perf" in here.text("session", "show", str(client["session"])), "for all of its commands")
    check(str(process.pid) in here.text("client", "list") and "mrc-perf" in here.text("qp", "list"),
          "as the tables say")


def check_peers(fabric, here):
    """The only other host, against its row in the map and what other views say."""
    address = fabric.host("h1")["mrc_address"]
    peers = here.json("peer", "list")
    check([peer["peer"] for peer in peers] == [address], f"one peer is listed: {peers}")
    peer, row = peers[0], here.maps.peer(address)
    check(peer["planes"] == row["planes"] == peer["planes_up"] == PLANES and peer["plane_mask"] == row["plane_mask"] and
          peer["known_by"] == ("plan" if fabric.is_srv6() else "configuration"),
          "with its planes, and how it is known")
    toward = here.json("path", "list", "--peer", address)
    check(peer["queue_pairs"] == QPS and sum(peer["paths"].values()) == len(toward) and
          peer["rtt_min_ns"] == min(path["rtt_min_ns"] for path in toward),
          "its queue pairs, paths and least round trip")
    shown = here.json("peer", "show", address)
    check(set(fabric.host("h1")["plane_addresses"]) <= set(shown["other_addresses"]) and
          shown["qpns"] == sorted(qp["qpn"] for qp in here.json("qp", "list")), "peer show has all of its addresses")
    def sent():
        paths = here.json("path", "list", "--peer", address)
        return [sum(path["tx_packets"] for path in paths if path["plane"] == plane) for plane in range(PLANES)]

    before, by_plane, after = sent(), here.json("peer", "show", address)["by_plane"], sent()
    check(all(map(between, before, [plane["tx_packets"] for plane in by_plane], after)) and min(before) > 0,
          "and what went by each plane")
    check(all(here.json("peer", "show", known)["peer"] == address and here.json("peer", "show", known)["name"] == NAME
              for known in (fabric.host("h1")["plane_addresses"][0], NAME)), "whichever of them it is asked for by")
    here.text("peer", "list")
    here.text("peer", "show", address)


def check_killed_client(fabric, here):
    killed = {}

    def look(_, process):
        if not killed:
            check(len(here.json("client", "list")) == 1, "a client is listed while it lives")
            killed["pid"] = process.pid
            process.kill()

    with server(fabric):
        client = run_client(fabric, "-D", "50", on_sample=look)
    check(killed and client.status == -signal.SIGKILL, "and is killed")
    check(wait_until(lambda: here.json("client", "list") == [] and here.json("qp", "list") == [], LIMIT_S),
          "its row and its queue pairs go with it")


def check_counters(here):
    names = [name.removeprefix("MRC_").lower() for name in verdict_names() if not name.endswith("_COUNT")]
    before = list(here.maps.verdicts().values())
    counted = here.json("counters")["verdicts"]
    after = list(here.maps.verdicts().values())
    check(list(counted) == names, f"counters has the {len(names)} verdicts of the header in their order")
    check(all(map(between, before, counted.values(), after)), "with bpftool's sums")
    check(counted["rx_steered"] > 0 and counted["agent_accepted"] > 0, "packets were steered and accepted")
    check("rx_steered" in here.text("counters") and "sw_marked" not in here.text("counters"), "text leaves zeros out")
    check("sw_marked" in here.text("counters", "--all"), "unless all are wanted")


def check_status(here):
    before = here.maps.rows("ports")
    status = here.json("status")
    listed = here.json("port", "list")
    after = here.maps.rows("ports")
    check(status["daemon"]["state"] == "stopped", "the daemon is stopped, and mrcctl says so")
    check(status["qps"]["count"] == QPS and status["qps"]["states"] == {"RTS": QPS}, "status counts the queue pairs")
    check(status["version"] == run("--version").stdout.split()[-1], "and which version it is of")
    rows, workers = here.maps.rows("workers"), status["workers"]
    check(len(workers) == WORKERS and all(row["thread"] == 0 for row in rows[WORKERS:]) and
          all(worker[name] == row[name] for worker, row in zip(workers, rows)
              for name in ("thread", "rounds", "rx_packets", "ran_ns", "lag_log2")) and
          all(sum(worker["lag_log2"]) == worker["rx_packets"] and worker["ran_ns"] > 0 and
              (worker["lag_p50_below_ns"] or 0) <= (worker["lag_p99_below_ns"] or 0) for worker in workers) and
          sum(worker["rx_packets"] for worker in workers) > 0, f"what its workers did: {workers}")
    check({(port["xdp"], port["engine"], port["queues"]) for port in listed} == {("native", "xdp", 1)} and
          "p0, p1, p2, p3: XDP native, engine xdp, receive queues 1" in here.text("status"),
          "and how packets come in and leave")
    names = ("tx_packets", "tx_bytes", "rx_packets", "rx_bytes")
    check(all(between(sum(row[name] for row in before), status["totals"][name], sum(row[name] for row in after))
              for name in names), "and adds up the ports")
    check(all(between(before[port["plane"]][name], port[name], after[port["plane"]][name])
              for port in listed for name in names), "port list says what each has")
    here.text("port", "list")


def check_transfer(fabric, here, there):
    """The client is stopped in the middle: the daemons complete what it has posted, which is everything."""
    hosts = {host["name"]: host for host in fabric.status()["hosts"]}
    total = MESSAGES * SIZE
    seen = {}

    def everything_arrived():
        return (here.sum("tx_bytes") == total and there.sum("rx_bytes") == total and
                all(qp["inflight_bytes"] == 0 for qp in here.json("qp", "list")))

    def look(sample, process):
        if seen or not sample["bytes"]:
            return
        with stopped(process.pid):
            check(wait_until(everything_arrived, LIMIT_S), f"{total} bytes left and arrived, by mrcctl")
            seen["tx"] = {name: here.sum(name) for name in SHARED_COUNTERS}
            seen["rx"] = {name: there.sum(name) for name in SHARED_COUNTERS}
            peers = {qp["peer"] for qp in here.json("qp", "list")}
            check(peers == {hosts["h1"]["mrc_address"]}, "the peer is h1")
            toward = here.json("path", "list", "--peer", peers.pop())
            check({path["plane"] for path in toward} == set(range(PLANES)) and
                  len(toward) == PLANES * fabric.paths_per_plane(), "path list --peer names the paths to it")
            with stopped(hosts["h0"]["pid"]), here.remarks("is stopped; its numbers stand still"):
                check_status(here)
                check_qps(here)
                check_clients(here, process)
                check_peers(fabric, here)
                check_paths(fabric, here)
                check_counters(here)

    client, _, _ = transfer(fabric, "-n", str(MESSAGES), "-s", str(SIZE), "-q", str(QPS), "--window",
                            str(MESSAGES // QPS), on_sample=look)
    check(client.status == 0 and "tx" in seen, f"the transfer ends well {client.complaints}")
    for side, counted in (("sender", seen["tx"]), ("receiver", seen["rx"])):
        differing = {name: (value, client.report[side][name]) for name, value in counted.items()
                     if name in client.report[side] and client.report[side][name] != value}
        check(not differing, f"counters of all queue pairs add up to mrc-perf's of the {side} {differing or ''}")


def check_faults(fabric, here):
    """While bytes flow: paths of a cut plane are bad, a downed port with its reason; rates are rates."""
    seen = {}

    def look(sample, process):
        if seen or not sample["bytes"]:
            return
        seen["started"] = True
        check_rates(here)
        fabric.run("plane", "1", "down")
        check(wait_until(lambda: here.states_of_plane(1) == {"assumed_bad"}, LIMIT_S), "paths of a cut plane are bad")
        bad = here.json("path", "list", "--state", "assumed_bad", "--diff", "0.01")
        check({path["plane"] for path in bad} == {1}, "and no other plane has any")
        check(all(path["retirements"] >= 1 and path["changed_for"] and path["unchanged_for_ns"] > 0 for path in bad),
              f"when and why they left use: {bad[0]['changed_for']}")
        ports = here.json("port", "list")
        check(ports[1]["paths"]["good"] == 0 and ports[1]["paths"]["assumed_bad"] == len(bad) and
              ports[1]["state"] == "up", "port list counts them; the port itself is up")
        fabric.run("plane", "1", "up")
        check(wait_until(lambda: here.states_of_plane(1) == {"good"}, LIMIT_S), "the plane is back")
        for device, action, reason in (("p2", ("link", "set", "p2", "down"), "down"),
                                       ("p3", ("link", "set", "p3", "mtu", "1400"), "mtu too small")):
            fabric.inside("h0", "ip", *action)
            plane = int(device[1])
            check(wait_until(lambda: here.json("port", "list")[plane]["state"] == "down", LIMIT_S), f"{device} is down")
            check(here.json("port", "list")[plane]["reason"] == reason, f"because of: {reason}")
        check(here.json("status")["plane_mask"] == 0b0011, "and neither is in use")
        there = operator(fabric, "h1")
        check(wait_until(lambda: there.json("peer", "list")[0]["plane_mask"] == 0b0011, LIMIT_S), "the peer knows")
        peer = there.json("peer", "show", here.address)
        check(peer["planes_up"] == 2 and [plane["up"] for plane in peer["by_plane"]] == ["yes", "yes", "no", "no"] and
              peer["changed"] == "peer_port_out_of_use" and peer["unchanged_for_ns"] > 0,
              f"by plane, and what last happened to it: {peer['changed_text']}")
        check("mtu too small" in here.text("port", "list"), "as the table says")
        process.send_signal(signal.SIGINT)

    client, _, _ = transfer(fabric, *STEADY, "-D", "50", on_sample=look)
    check(client.status == 130 and not client.complaints, f"no end failed {client.complaints}")


def check_rates(here):
    # Ports count as packets leave, queue pairs' rows are written each 10 ms, or later when this machine stands still: a
    # second is long enough for that to be less than what headers take.
    table = here.json("top", "--once", "--interval", "1")
    plane_rates = [plane["tx_bits_per_s"] for plane in table["planes"]]
    check(len(plane_rates) == PLANES and min(plane_rates) > 0 and table["seconds"] >= 1, "top has a rate per plane")
    check(len(table["worst_paths"]) == 4, "the worst paths of those that carry something")
    goodput = sum(qp["tx_bits_per_s"] for qp in table["qps"])
    check(0 < goodput < sum(plane_rates), f"and per queue pair, of payload: {goodput} of {sum(plane_rates)}")
    paths = here.json("path", "list", "--diff", "0.5")
    used = [path for path in paths if path["tx_packets_per_s"] > 0]
    check(used and all(0 <= path["loss_ratio"] <= 1 and path["tx_bits_per_s"] > 0 for path in used) and
          all(path["changed_ns"] is not None for path in paths if path["retirements"]),
          f"path list --diff has rates and shares of losses of {len(used)} paths: {used[:1]}")
    more = here.json("counters", "--diff", "0.2")
    check(more["verdicts"]["rx_steered"] > 0 and more["seconds"] >= 0.2, "counters --diff counts what comes in between")
    whole = here.json("counters")["verdicts"]["rx_steered"]
    check(more["verdicts"]["rx_steered"] < whole, "only")


def check_top(here):
    done = run("top", "--iterations", "3", "--interval", "0.05", "-j", "--instance", here.instance)
    check(done.returncode == 0 and len([json.loads(line) for line in done.stdout.splitlines()]) == 3,
          "top writes as many tables into a pipe as it is asked for")
    with on_terminal(here, "--interval", "0.05") as top:
        check(top.shows(lambda rows: any(row.startswith("PLANE") for row in rows)), "on a terminal there are tables")
        first = top.rows()
        check(top.shows(lambda rows: rows != first), "which others replace until q is pressed")
        top.press("q")
        check(top.process.wait(LIMIT_S) == 0, "q ends it")
    with on_terminal(here, "--interval", "3600") as top:
        check(top.shows(lambda rows: "no queue pairs" in rows), "the first time soon")
        top.press("h")
        check(top.shows(lambda rows: "the busiest (now)" in rows[0]), "a key shows what keys there are, at once")
        top.press("l")
        check(top.shows(lambda rows: "what loses most (now)" in rows[0]), "another chooses who comes first")
        top.resize(9)
        check(top.shows(lambda rows: rows[0].startswith("keys") and "PLANE" in "".join(rows)),
              "another size of the terminal shows it anew")
        top.resize(50, 20)
        check(top.shows(lambda rows: rows[0] == "keys: which queue pa" and "no queue pairs" in rows),
              "and what is wider than it is cut")
        top.process.send_signal(signal.SIGINT)
        check(top.process.wait(LIMIT_S) == 0, "a signal ends it, too")


class on_terminal:
    """mrcctl top on a terminal of 50 lines."""

    def __init__(self, here, *arguments):
        self.controller, terminal = pty.openpty()
        self.process = None
        self.resize(50)
        self.process = subprocess.Popen([binary("mrcctl"), "top", "--instance", here.instance, *arguments],
                                        stdin=terminal, stdout=terminal, stderr=subprocess.STDOUT,
                                        env=os.environ | {"TERM": "linux"})
        os.close(terminal)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.controller)

    def press(self, key):
        os.write(self.controller, key.encode())

    def resize(self, lines, columns=250):
        """With nothing on it."""
        self.screen = pyte.Screen(columns, lines)
        self.written = pyte.ByteStream(self.screen)
        fcntl.ioctl(self.controller, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        if self.process:
            self.process.send_signal(signal.SIGWINCH)  # it is no session's terminal

    def rows(self):
        return [row.rstrip() for row in self.screen.display]

    def shows(self, what):
        """The rows of the screen come to satisfy this."""
        deadline = time.monotonic() + LIMIT_S
        while not what(self.rows()):
            if time.monotonic() > deadline or not select.select([self.controller], [], [], LIMIT_S)[0]:
                return False
            self.written.feed(os.read(self.controller, 65536))
        return True


def refused(arguments, status, *words, env=None):
    done = run(*arguments, env=env)
    check(done.returncode == status and not done.stdout and all(word in done.stderr for word in words) and
          done.stderr.count("\n") == 1, f"mrcctl {' '.join(arguments)}: {done.stderr.strip()}")


def check_refusals(here, there):
    both = (here.instance, there.instance)
    refused(["status"], 1, "several instances", "--instance", *both)
    refused(["status", "--instance", "nonsense"], 1, "no instance 'nonsense'", *both)
    refused(["status"], 1, "no instance 'other'", "MRC_INSTANCE", env={"MRC_INSTANCE": "other"})
    done = run("status", env={"MRC_INSTANCE": there.instance})
    check(done.returncode == 0 and there.instance in done.stdout, "MRC_INSTANCE chooses")
    chosen = ["--instance", here.instance]
    refused(["qp", "show", "1234567", *chosen], 1, "no queue pair 1234567", "qp list")
    refused(["path", "show", "8191", *chosen], 1, "no path 8191", "path list")
    refused(["path", "list", "--peer", "fd00::1", *chosen], 1, "'fd00::1' is no peer", "peer list")
    refused(["peer", "show", "fd00::1", *chosen], 1, "'fd00::1' is no peer", "peer list")
    refused(["client", "show", "77", *chosen], 1, "no session 77", "client list")
    refused(["path", "list", "--peer", here.address, *chosen], 1, "as its own host is none")
    refused(["path", "list", "--peer", "nonsense", *chosen], 1, "'nonsense' is no address")
    with tempfile.TemporaryDirectory() as directory:
        copy = shutil.copy(binary("mrcctl"), directory)
        os.chmod(directory, 0o755)
        done = subprocess.run([copy, "status", *chosen], text=True, capture_output=True, check=False,
                              user=NOBODY, group=NOBODY, extra_groups=[])
    check(done.returncode == 1 and "Permission denied" in done.stderr and "root" in done.stderr,
          f"without privilege: {done.stderr.strip()}")


def check_config(here):
    """What mrcd has read, with origins; what its file says meanwhile; and what it takes of that."""
    file = pathlib.Path(here.host["config"])
    printed = subprocess.run([binary("mrcd"), "--config", str(file), "--print-config"], text=True, capture_output=True,
                             check=True).stdout
    found = f'address = "{here.address}"  # default'  # in direct mode, by mrcd
    shown = here.text("config", "show").replace(found, 'address = "::"  # default')
    check(shown == printed, "config show prints what mrcd --print-config does, and what was found")
    shown = here.json("config", "show")
    options = {option["key"]: option for option in shown["options"]}
    line = next(i for i, text in enumerate(file.read_text("utf-8").splitlines(), 1) if text.startswith("hosts_file"))
    check(shown["file"] == str(file) and shown["file_differs"] == [] and shown["file_problem"] is None and
          options["fabric.planes"]["value"] == PLANES and options["port[1].device"]["value"] == "p1" and
          options["fabric.hosts_file"]["origin"] == f"{file}:{line}" and
          options["worker.affinity"]["origin"] == "default", "as JSON, too, with the line that each value came from")
    before = file.read_text("utf-8")
    changed = before + "[limits]\nclients = 77\n[tables]\npeers = 5000\n"
    with (here.remarks("has changed since mrcd read it"),
          tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".toml") as copy):
        file.write_text(changed, encoding="utf-8")
        limits = [one for one in here.json("config", "show")["file_differs"] if "limits.clients" in one]
        check(len(limits) == 1 and "is now 77" in limits[0] and f"{file} has changed since mrcd read it" in
              run("config", "show", "--instance", here.instance).stderr, f"a changed file is told: {limits}")
        os.kill(here.host["pid"], signal.SIGHUP)
        check(wait_until(lambda: [one.split(":")[0] for one in here.json("config", "show")["file_differs"]] ==
                         ["tables.peers"], LIMIT_S), "what needs a restart is left after SIGHUP")
        options = {option["key"]: option for option in here.json("config", "show")["options"]}
        check(options["limits.clients"]["value"] == 77 and options["tables.peers"]["origin"] == "default",
              "the rest is in force")
        copy.write(here.text("config", "show"))
        copy.flush()
        check(subprocess.run([binary("mrcd"), "--config", copy.name, "--check"], stdout=subprocess.DEVNULL,
                             check=False).returncode == 0, "what is printed is a configuration")
        file.write_text(changed + "nonsense", encoding="utf-8")
        check("would not take its file now" in run("config", "show", "--instance", here.instance).stderr,
              "a file that is none is told")
    file.write_text(before, encoding="utf-8")


def check_dead(fabric, there):
    host = fabric.host("h1")
    os.kill(host["pid"], signal.SIGKILL)
    check(wait_until(lambda: run("status", "--instance", there.instance).returncode == 1, LIMIT_S),
          "status fails when the daemon is dead")
    status = there.json("status", status=1)
    check(not status["daemon"]["alive"] and status["daemon"]["pid"] == host["pid"] and
          status["totals"]["rx_packets"] > 0, "and still tells its last numbers")


def check_lab(fabric):
    here, there = operator(fabric, "h0"), operator(fabric, "h1")
    check_idle(fabric, here)
    check_refusals(here, there)
    check_transfer(fabric, here, there)
    check_faults(fabric, here)
    check_killed_client(fabric, here)
    check_top(here)
    check_config(here)
    check_dead(fabric, there)
    return here


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrcctl")
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as names:
        names.write(f"fd6d:7263::1:1 {NAME}\n")
        names.flush()
        os.chmod(names.name, 0o644)
        with lab("mrcctl", "--planes", str(PLANES), config=f"[fabric]\nhosts_file = '{names.name}'\n") as fabric:
            here = check_lab(fabric)
    done = run("status", "--instance", here.instance)
    check(done.returncode == 1 and pathlib.Path(here.maps.pins).exists() is False, "nothing is left to show")


if __name__ == "__main__":
    main()
