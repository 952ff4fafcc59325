#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrcctl as a controller: profiles through their life cycle, operations on EVs with partial success, EV events of a cut
plane with their drop count, ports, probes, and what is refused with which words."""

import contextlib
import json
import os
import signal
import subprocess
import time

from lab_support import binary, check, lab, left_behind, need_binaries, need_root
from mrcctl import LIMIT_S, operator, refused, run
from transfer_support import STEADY, lines_of, transfer, wait_until

PLANES, SPINES = 2, 2
DENIED_PLANE = 1
PATIENT = ("--timeout", "1000")  # on a busy machine


def ev(plane, uplink, entropy=0, port=None):
    """An EV of format 0 as mrcctl writes it."""
    return f"{entropy << 11 | uplink << 3 | plane:08x}@{plane + 1 if port is None else port}"


ALL_EVS = sorted(ev(plane, uplink) for plane in range(PLANES) for uplink in range(SPINES))


class controller(operator):
    def refuses(self, *arguments, words):
        refused([*arguments, "--instance", self.instance], 1, *words)

    def partly(self, *arguments):
        """Rows of an operation on EVs that stopped at one of them."""
        return [(row["ev"], row["result"]) for row in self.json(*arguments, status=1)]

    def states(self, profile):
        return {row["ev"]: row["state"] for row in self.json("ev-profile", "show", str(profile))["evs"]}


def check_built_in(here):
    profile = here.json("ev-profile", "show", "0")
    check((profile["state"], profile["mode"], profile["count"]) == ("ONLINE", "auto", PLANES * SPINES) and
          profile["events"] == [], "EV profile 0 is built in")
    check(sorted(row["ev"] for row in profile["evs"]) == ALL_EVS, "and has an EV for each path")
    check([(row["id"], row["good"]) for row in here.json("ev-profile", "list")] == [(0, len(ALL_EVS))],
          "nothing else is")
    check(here.json("ev-format", "list") == [{"id": 0, "state": "ONLINE", "mode": "stev", "widths": [21, 8, 3]}],
          "with the format that it has")
    cc = here.json("cc-profile", "show", "0")
    check(cc["state"] == "ONLINE" and cc["algorithm"] == "uet-1.0-nscc" and len(cc["config"]) == 13,
          "CC profile 0 is NSCC with all of its values")
    here.refuses("ev-profile", "offline", "0", words=["EV profile 0", "built in"])
    here.refuses("cc-profile", "set", "0", "eta=1", words=["CC profile 0", "built in"])
    here.refuses("ev-profile", "show", "12", words=["no EV profile 12", "0"])


def check_ev_life_cycle(here):
    evs = [ev(plane, 0, 1) for plane in range(PLANES)]
    made = here.json("ev-profile", "create", "7", "--ev", *evs, "--min-active", "2", "--events", "good,assumed_bad")
    check((made["id"], made["state"], made["mode"], made["count"], made["min_active"], made["events"]) ==
          (7, "OFFLINE", "exp", PLANES, 2, ["good", "assumed_bad"]), "a profile is made OFFLINE")
    here.refuses("ev-profile", "create", "7", words=["EV profile 7 already", "delete 7"])
    check(here.json("ev-profile", "set", "7", "--min-active", "1")["min_active"] == 1, "there it can be changed")
    check(here.json("ev-profile", "online", "7") == {"id": 7, "state": "ONLINE"}, "it goes ONLINE")
    here.refuses("ev-profile", "set", "7", "--count", "4", words=["EV profile 7", "ONLINE", "OFFLINE"])
    here.refuses("ev-profile", "delete", "7", words=["EV profile 7 to INIT", "without OFFLINE between"])
    check(here.text("ev-profile", "offline", "7") == "EV profile 7 is OFFLINE\n", "and back OFFLINE")
    before, after = evs[1], ev(1, 1, 3)
    rows = here.json("ev-profile", "replace", "7", f"{before}={after}")
    check([(row["ev"], row["new_ev"], row["result"]) for row in rows] == [(before, after, "done")], "an EV is replaced")
    check(set(here.states(7)) == {evs[0], after}, "by the other one")
    check(here.partly("ev-profile", "replace", "7", f"{after}={before}", f"{after}={before}", f"{evs[0]}={after}") ==
          [(after, "done"), (after, "failed"), (evs[0], "not tried")], "each entry tells what became of it")
    check("the profile has no such EV" in run("ev-profile", "query", "7", after, "--instance", here.instance).stdout,
          "and why")
    here.json("ev-profile", "delete", "7")
    here.refuses("ev-profile", "online", "7", words=["no EV profile 7"])
    here.refuses("ev-profile", "create", "7", "--ev", ev(0, 0, 1), ev(1, 0, 1, port=1), "--online",
                 words=["EV profile 7 to ONLINE", "port 1", "allowed: port 2"])
    check([row["id"] for row in here.json("ev-profile", "list")] == [0], "of a profile that fails nothing is left")


def check_formats(here):
    here.json("ev-format", "create", "2", "--mode", "stev", "--widths", "21,8,3")
    fields = ("--field", "width=21,init=0x15,mask=0", "--field", f"width=8,max={SPINES - 1}",
              "--field", f"width=3,max={PLANES - 1}")
    made = here.json("ev-profile", "create", "8", "--mode", "gen", "--format", "2", "--count", str(PLANES * SPINES),
                     *fields)
    check(made["format"] == 2 and made["count"] == PLANES * SPINES, "EVs are generated from fields")
    shown = here.json("ev-profile", "show", "8")
    check([field["mask"] for field in shown["fields"]] == [0, 255, 7] and shown["fields"][0]["init"] == 0x15,
          "which show says")
    here.refuses("ev-profile", "online", "8", words=["EV profile 8", "EV format 2 to be ONLINE"])
    here.json("ev-format", "online", "2")
    here.json("ev-profile", "online", "8")
    here.refuses("ev-format", "offline", "2", words=["EV format 2", "ONLINE"])
    here.json("ev-profile", "offline", "8")
    here.json("ev-profile", "delete", "8")
    check(here.json("ev-format", "offline", "2")["state"] == "OFFLINE", "a format goes when no profile needs it")
    here.json("ev-format", "delete", "2")
    here.refuses("ev-format", "create", "2", "--mode", "udp", "--widths", "17", words=["EV format 2", "16"])


def check_cc_profiles(here):
    made = here.json("cc-profile", "create", "3", "target_delay=50000", "eta=0.5")
    built_in = here.json("cc-profile", "show", "0")["config"]
    check(made["state"] == "OFFLINE" and made["config"] == {**built_in, "target_delay": 50000, "eta": 0.5},
          "a CC profile is made from profile 0's values and those given")
    check(here.json("cc-profile", "set", "3", "base_rtt=20000")["config"]["base_rtt"] == 20000, "one of them changes")
    here.json("cc-profile", "online", "3")
    here.refuses("cc-profile", "set", "3", "eta=1", words=["CC profile 3", "ONLINE"])
    here.json("cc-profile", "offline", "3")
    here.refuses("cc-profile", "set", "3", "gamma=2", words=["CC profile 3", "gamma", "found 2", "0 to 1"])
    here.json("cc-profile", "delete", "3")
    check(here.json("cc-profile", "create", "4", "--algorithm", "none", "--online")["config"] is None,
          "one has no congestion control")
    here.refuses("cc-profile", "create", "5", "--algorithm", "reno", words=["CC profile 5", "reno", "uet-1.0-nscc"])
    here.refuses("cc-profile", "create", "5", "--from", "4", "eta=1", words=["CC profile 4", "--from", "base_rtt"])
    here.json("cc-profile", "offline", "4")
    here.json("cc-profile", "delete", "4")


def check_denial(here):
    """What the controller denies is out of use, and mrcctl's view of the maps says so."""
    denied = [ev(DENIED_PLANE, uplink) for uplink in range(SPINES)]
    here.json("ev-profile", "deny", "0", *denied)
    check(all(row["state"] == "denied" for row in here.json("ev-profile", "query", "0", *denied)), "EVs are denied")
    check(wait_until(lambda: here.states_of_plane(DENIED_PLANE) == {"denied"}, LIMIT_S), "and so are their paths")
    check(here.partly("ev-profile", "allow", "0", denied[0], ev(7, 7), denied[1]) ==
          [(denied[0], "done"), (ev(7, 7), "failed"), (denied[1], "not tried")], "an unknown EV stops the others")
    check(here.states(0)[denied[0]] == "good" and here.states(0)[denied[1]] == "denied", "as the daemon tells, too")
    here.json("ev-profile", "allow", "0", denied[1])
    check(wait_until(lambda: here.states_of_plane(DENIED_PLANE) == {"good"}, LIMIT_S), "all of them are allowed again")


def check_ports(here, there):
    check(here.json("port", "disable", "2") == {"port": 2, "enabled": False}, "port 2 is disabled")
    port = here.json("port", "list")[1]
    check((port["port"], port["plane"], port["state"], port["reason"]) == (2, 1, "down", "disabled"),
          "port list says that it is down, and why")
    check(here.json("status")["plane_mask"] == 0b01, "its plane is out of use")
    check(here.text("port", "enable", "2") == "port 2 is enabled\n" and
          here.json("port", "list")[1]["state"] == "up" and here.json("status")["plane_mask"] == 0b11, "and back")
    here.refuses("port", "disable", str(PLANES + 1), words=[f"port {PLANES + 1}", f"1 to {PLANES}"])
    check(all(port["state"] == "up" for port in there.json("port", "list")), "the other host's ports were left alone")


@contextlib.contextmanager
def listener(here, *arguments):
    """`ev-profile events --follow`, and its lines."""
    process = subprocess.Popen([binary("mrcctl"), "ev-profile", "events", "--follow", "-j", "--instance", here.instance,
                                *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        said = lines_of(process.stderr).next(time.monotonic() + LIMIT_S)
        check("waits for EV events" in str(said), f"a listener says that it listens: {said}")
        yield process, lines_of(process.stdout)
    finally:
        process.kill()
        process.wait()


def events_until(lines, wanted):
    """Events up to the one that makes all of these (EV, state) seen."""
    seen, deadline = [], time.monotonic() + LIMIT_S
    while not wanted <= {(event["ev"], event["state"]) for event in seen}:
        seen.append(json.loads(lines.next(deadline) or "{}"))
    return seen


def check_events(fabric, here):
    evs = {ev(DENIED_PLANE, uplink) for uplink in range(SPINES)}
    here.json("ev-profile", "set", "0", "--events", "good,assumed_bad")
    done = {}

    def look(sample, process):
        if done or not sample["bytes"]:
            return
        done["started"] = True
        with listener(here) as (_, all_lines), listener(here, "--room", "1") as (slow, slow_lines):
            os.kill(slow.pid, signal.SIGSTOP)
            fabric.run("plane", str(DENIED_PLANE), "down")
            bad = events_until(all_lines, {(one, "assumed_bad") for one in evs})
            # On a busy machine the other plane's may become bad for a moment, too.
            check(all(event["profile"] == 0 and event["dropped"] == 0 and
                      (event["ev"] in evs) == (event["port"] == DENIED_PLANE + 1) for event in bad),
                  f"a dead plane's EVs are reported as they become bad: {bad}")
            os.kill(slow.pid, signal.SIGCONT)
            first = json.loads(slow_lines.next(time.monotonic() + LIMIT_S))
            check((first["ev"], first["state"], first["dropped"]) == (bad[0]["ev"], bad[0]["state"], 0),
                  "a slow listener with room for one gets the first")
            fabric.run("plane", str(DENIED_PLANE), "up")
            good = events_until(all_lines, {(one, "good") for one in evs})
            later = json.loads(slow_lines.next(time.monotonic() + LIMIT_S))
            check(1 <= later["dropped"] <= len(bad) + len(good) - 2, f"and then how many it missed: {later['dropped']}")
        process.send_signal(signal.SIGINT)

    client, _, _ = transfer(fabric, *STEADY, "-D", "50", on_sample=look)
    check(client.status == 130 and "started" in done, f"traffic went on {client.complaints}")
    here.json("ev-profile", "set", "0", "--events", "none")
    done = run("ev-profile", "events", "--seconds", "0", "--instance", here.instance)
    check(done.returncode == 0 and not done.stdout and "no EV profile reports any state" in done.stderr and
          "--events" in done.stderr, "without a profile that reports, events says so; it ends after its seconds")


def check_probes(fabric, here):
    """Real round trips by every path; those of a cut plane are missing, and the status says so."""
    peer = fabric.host("h1")["mrc_address"]
    rows = here.json("probe", peer, "-c", "3", "-i", "0", *PATIENT)
    check(sorted(row["ev"] for row in rows) == ALL_EVS and
          all(row["sent"] == row["answered"] == len(row["rtts_ns"]) == 3 for row in rows), "each path answers 3 probes")
    check(all(0 < row["rtt_min_ns"] <= row["rtt_mean_ns"] <= row["rtt_max_ns"] < 1_000_000_000 and
              row["rtt_min_ns"] == min(row["rtts_ns"]) and row["rtt_max_ns"] == max(row["rtts_ns"]) and
              1 <= row["answer_port"] <= PLANES for row in rows), "with round-trip times")
    check(all(row["loss"] == 0 for row in rows), "and none is lost")
    one = here.json("probe", peer, "--ev", ev(0, 1, 5), "-c", "1", *PATIENT)
    check([(row["ev"], row["answered"]) for row in one] == [(ev(0, 1, 5), 1)], "one EV is probed alone")
    table = here.text("probe", peer, *PATIENT)
    check("AVG RTT" in table and "LOSS %" in table and len(table.splitlines()) == 1 + len(ALL_EVS),
          "the table has a line for each")
    check(all(line.split()[2:5] == ["10", "10", "0.0"] for line in table.splitlines()[1:]), "of ten probes, as a rule")
    wrong = run("probe", peer, "--ev", ev(0, 0, 1), ev(0, SPINES, 1), "-c", "1", *PATIENT, "-j", "--instance",
                here.instance)
    check(wrong.returncode == 1 and [row["answered"] for row in json.loads(wrong.stdout)] == [1, 0] and
          "not all EVs can be probed" in wrong.stderr and "uplink" in wrong.stderr, wrong.stderr.strip())
    here.refuses("probe", "fd00::1", words=["cannot probe fd00::1"])
    fabric.run("plane", str(DENIED_PLANE), "down")
    rows = here.json("probe", peer, "--timeout", "200", "-c", "1", status=1)
    check({row["port"]: row["answered"] for row in rows} == {1: 1, DENIED_PLANE + 1: 0} and
          all(row["rtt_min_ns"] is None for row in rows if not row["answered"]), "a cut plane does not answer")
    planes = here.json("probe", peer, "--planes", "--timeout", "200", "-c", "2", "-i", "0", status=1)
    check([(row["plane"], row["sent"], row["answered"], row["loss"]) for row in planes] ==
          [(plane, 2 * SPINES, 0 if plane == DENIED_PLANE else 2 * SPINES, 1 if plane == DENIED_PLANE else 0)
           for plane in range(PLANES)], f"nor does it when planes are added up: {planes}")
    fabric.run("plane", str(DENIED_PLANE), "up")


def check_probe_refusals(here):
    here.refuses("probe", "nonsense", words=["'nonsense' is no address", "allowed"])
    here.refuses("probe", "10.0.0.1", words=["no IPv4 MRC address"])


def check_permission(here):
    """Root without the capability: the socket opens, the request is refused in words."""
    for command in (("ev-profile", "list"), ("cc-profile", "delete", "0"), ("port", "disable", "1"),
                    ("ev-profile", "events")):
        done = subprocess.run(["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin", binary("mrcctl"),
                               *command, "--instance", here.instance], text=True, capture_output=True, check=False)
        check(done.returncode == 1 and not done.stdout and "lacks CAP_NET_ADMIN" in done.stderr and
              done.stderr.count("\n") == 1, f"mrcctl {' '.join(command)}: {done.stderr.strip()}")
    refused(["ev-profile", "list", "--instance", "nonsense"], 1, "instance 'nonsense'", here.instance)
    refused(["ev-profile", "list"], 1, "several instances", here.instance)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrcctl")
    with lab("mrcctl-control", "--planes", str(PLANES), "--spines", str(SPINES)) as fabric:
        here, there = controller(fabric, "h0"), controller(fabric, "h1")
        check_built_in(here)
        check_permission(here)
        check_ev_life_cycle(here)
        check_formats(here)
        check_cc_profiles(here)
        check_ports(here, there)
        check_denial(here)
        check_events(fabric, here)
        check_probes(fabric, here)
        check_probe_refusals(here)
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
