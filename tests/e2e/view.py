#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What mrc-view serves of one host and of a whole lab: a cut plane shows in the look that hears of it, or the next; a
link says who uses it and why it is blamed, orders cut and restore, and nobody else's page can give them; a stalled
client keeps nobody from an answer, and a daemon that was killed is told to be.

usage: view.py [host|lab|refusals]
"""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.parse

from lab_support import binary, check, lab, need_binaries, need_root
from transfer_support import lines_of
from view_support import LAB, LIMIT_S, PLANES, host_in, link_in, network_at, traffic, view

MOST_CONNECTIONS = 32
EVIL = "http://evil.example"


def is_dark(fabric, snapshot, host, plane):
    """Of the lab's h0, which mrc-view calls `host`."""
    return link_in(snapshot, plane, host, network_at(fabric, plane, "h0"))["state"] == "dark"


def check_page(served):
    page = served.ask("/")
    check(page.status == 200 and "@TOKEN@" not in page.text and len(served.token()) == 32, "the page has a token")
    check("frame-ancestors 'none'" in page.headers["Content-Security-Policy"], "and nobody may frame it")
    for name, kind in (("main.js", "text/javascript"), ("view.css", "text/css")):
        file = served.ask(f"/page/{name}")
        check(file.status == 200 and file.headers["Content-Type"].startswith(kind), f"{name} is {kind}")
    charts = served.ask("/lib/chart.js")
    installed = os.path.exists("/usr/share/javascript/chart.js/chart.min.js")
    check(charts.status == (200 if installed else 404), "the chart library is served where it is installed")


def check_host(fabric, served, name, peer):
    seen, _ = served.shown(lambda now: {uplink["state"] for uplink in host_in(now, name)["uplinks"]} == {"good"},
                           "all uplinks are good")
    host = host_in(seen, name)
    check(host["state"] == "running" and host["problem"] is None and
          host["leaf"] == (0 if fabric.is_srv6() else None), f"the host runs, on leaf {host['leaf']}")
    check([plane["device"] for plane in host["planes"]] == ["p0", "p1", "p2", "p3"], "with its planes")
    check(len(host["uplinks"]) == PLANES * fabric.paths_per_plane(), "and uplinks")
    check(host["peers"][0]["name"] == peer and host["peers"][0]["qps"] == host["qp_count"] > 0, f"its peer is {peer}")
    check(host["qps"][0]["client"]["command"] == "mrc-perf" and host["qps"][0]["peer"] == peer, "its client mrc-perf")
    seen, _ = served.shown(lambda now: all(plane["tx_goodput_bits_per_s"] > 0 for plane in
                                           host_in(now, name)["planes"]), "every plane has goodput")
    up = link_in(seen, 2, name, network_at(fabric, 2, "h0"))
    check(up["state"] == "good" and up["up_bits_per_s"] > up["down_bits_per_s"] > 0, "its link has load, most of it up")
    check(link_in(seen, 2, peer, network_at(fabric, 2, "h1"))["paths"] == fabric.paths_per_plane(),
          "and the peer's link has all paths of its plane")
    kinds = {node["name"]: node["kind"] for node in seen["nodes"]}
    check(kinds[name] == "host" and len(kinds) == len(seen["nodes"]), "nodes are of their kinds")
    if fabric.is_srv6():
        check(link_in(seen, 2, "p2t0-0", "p2t1-1")["paths"] == 1, "a leaf's link to a spine has its path")
        check((kinds["p2t0-0"], kinds["p2t1-1"]) == ("leaf", "spine"), "as have switches")
    else:
        check(kinds.keys() == {name, peer, *(f"plane {plane}" for plane in range(PLANES))} and
              kinds["plane 2"] == "network", f"as have planes, and there is nothing else: {kinds}")


def check_one_look_for_all(served):
    numbers = {served.snapshot()["number"] for _ in range(40)}
    check(len(numbers) < 20, f"40 requests are answered by {len(numbers)} looks")


def check_cut(fabric, served, name):
    fabric.run("plane", "1", "down")
    seen = served.shown_at_once(1, lambda now: is_dark(fabric, now, name, 1))
    check(not is_dark(fabric, seen, name, 0), "and the others are not")
    link = served.ask(f"/links/1/{name}/{urllib.parse.quote(network_at(fabric, 1, 'h0'))}").json
    check(link["why"] == f"all {fabric.paths_per_plane()} paths over it are out of use",
          f"its link says why: {link['why']}")
    check(link["qps"][0]["client"]["command"] == "mrc-perf" and link["peers"], "and who uses it")
    check({path["state"] for path in link["listed_paths"]} <= {"assumed_bad", "kept"}, "with its paths")
    spoken = " ".join(event["text"] for event in link["events"])
    check("plane 1" in spoken, f"and the latest events: {link['events'][0]['text']}")
    history = served.ask("/history?points=0&events=0").json
    check(any(event["event"] == "plane_out_of_use" and event["plane"] == 1 for event in history["events"]),
          "the history has the event")
    points = history["points"]
    check(any(point["hosts"][name]["tx_bits_per_s"][1] > 0 for point in points), "and the plane's goodput before")
    last = points[-1]["n"]
    check(all(point["n"] > last for point in served.ask(f"/history?points={last}&events=0").json["points"]),
          "of which a page asks for the new part")
    fabric.run("plane", "1", "up")
    served.shown(lambda now: not is_dark(fabric, now, name, 1), "a restored plane is not dark")


def check_killed(fabric, served, instance):
    pid = fabric.host("h0")["pid"]
    os.kill(pid, signal.SIGKILL)
    seen, _ = served.shown(lambda now: host_in(now, instance)["state"] == "dead", "a killed daemon is dead")
    problem = host_in(seen, instance)["problem"]
    check(f"(pid {pid}) has ended" in problem, f"in one line: {problem}")
    _, looks = served.shown(lambda now: now["number"] > seen["number"], "and looks go on")
    check(looks >= 0 and served.ask("/").status == 200, "as does the page")
    process = subprocess.Popen([binary("mrc-view"), "--instance", instance, "--listen", "0"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        check("has ended; these are its last numbers" in line, f"stale pins are told at the start: {line.strip()}")
    finally:
        process.kill()
        process.wait()
    config = fabric.host("h0")["config"]
    daemon = subprocess.Popen(fabric.enter("h0", binary("mrcd"), "--config", config), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    try:
        said = lines_of(daemon.stdout)
        while "READY" not in (line := said.next(time.monotonic() + LIMIT_S) or "READY"):
            pass
        served.shown(lambda now: host_in(now, instance)["state"] == "running", "a new daemon is seen")
        daemon.terminate()
        daemon.wait()
        seen, _ = served.shown(lambda now: "no instance" in (host_in(now, instance)["problem"] or ""),
                               "one that has left is gone")
        check(host_in(seen, instance)["state"] == "gone", f"in one line: {host_in(seen, instance)['problem']}")
    finally:
        daemon.kill()
        daemon.wait()


def one_host():
    with lab("view", *LAB) as fabric:
        instance = f"{fabric.prefix}-h0"
        with traffic(fabric), view("--instance", instance) as served:
            check_page(served)
            check_host(fabric, served, instance, fabric.host("h1")["mrc_address"])
            check_one_look_for_all(served)
            check_cut(fabric, served, instance)
            check_killed(fabric, served, instance)
            served.process.terminate()
            check(served.process.wait(LIMIT_S) == 0, "SIGTERM ends it")


def check_orders(fabric, served):
    done = served.order({"do": "cut", "plane": 1})
    check((done.status, done.json["command"]) == (200, "mrc-lab plane 1 down"), f"a button cuts: {done.text}")
    served.shown_at_once(1, lambda now: is_dark(fabric, now, "h0", 1))
    served.shown(lambda now: now["lab"]["planes"][1]["cut"] and link_in(now, 1, "h0", "p1t0-0")["lab"] == "down",
                 "and the lab's links are told to be cut")
    check(served.order({"do": "restore", "plane": 1}).status == 200, "a button restores")
    served.shown(lambda now: not is_dark(fabric, now, "h0", 1) and not now["lab"]["planes"][1]["cut"],
                 "which shows, too")
    spine = {"a": "p2t0-0", "b": "p2t1-1"}
    check(served.order({"do": "impair", **spine, "loss": 30}).status == 200, "a button impairs")
    seen, _ = served.shown(lambda now: link_in(now, 2, **spine)["loss"] and link_in(now, 2, **spine)["impairment"],
                           "the link loses")
    check("loss 30.000%" in link_in(seen, 2, **spine)["impairment"], "as the lab has it")
    check(served.order({"do": "impair", **spine, "loss": 0}).status == 200, "until it does not")
    served.shown(lambda now: link_in(now, 2, **spine)["impairment"] is None, "as the lab knows")


def check_nobody_else_orders(served):
    cut = {"do": "cut", "plane": 3}
    for status, words, headers in ((403, "X-MRC-Token", {"X-MRC-Token": ""}),
                                   (403, "another origin", {"Origin": EVIL}),
                                   (403, "on the loopback", {"Host": "evil.example"})):
        refused = served.order(cut, **headers)
        check(refused.status == status and words in refused.text, f"{headers}: {refused.text.strip()}")
    refused = served.ask("/", headers={"Host": "evil.example"})
    check(refused.status == 403 and "mrc-token" not in refused.text, "by another's name the token cannot be read")
    check("Access-Control-Allow-Origin" not in served.ask("/").headers, "nor from another's page")
    for wanted, words in (({"do": "cut", "plane": 4}, "allowed: 0 to 3"), ({"do": "down"}, "cut, restore, impair"),
                          ({"do": "cut", "a": "h0", "b": "h1"}, "no link between")):
        refused = served.order(wanted)
        check(refused.status == 400 and words in refused.text, refused.text.strip())
    check(served.ask("/lab").status == 405, "an order is a POST")
    check(not served.snapshot()["lab"]["planes"][3]["cut"], "nothing was cut")


def whole_lab():
    with lab("viewlab", *LAB) as fabric:
        with traffic(fabric), view("--lab", fabric.prefix) as served:
            seen = served.snapshot()
            check([host["name"] for host in seen["hosts"]] == ["h0", "h1"], "all hosts are there")
            check(len(seen["links"]) == len(fabric.status()["links"]), "and all links")
            check(host_in(seen, "h0")["peers"][0]["name"] == "h1", "hosts are called as the lab calls them")
            check_orders(fabric, served)
            check_nobody_else_orders(served)
            fabric.run("link", "p0t0-0", "p0t1-0", "down")
            served.shown(lambda now: link_in(now, 0, "p0t0-0", "p0t1-0")["lab"] == "down", "others' changes are seen")
            served.shown(lambda now: link_in(now, 0, "p0t0-0", "p0t1-0")["state"] == "dark", "with their effect")


def stall(served, count):
    """Connections that say nothing."""
    return [socket.create_connection(("127.0.0.1", served.port), LIMIT_S) for _ in range(count)]


def refusals():
    with lab("viewno", "--planes", "1", "--leaves", "1", "--spines", "1", "--hosts", "1") as fabric:
        with view("--instance", f"{fabric.prefix}-h0") as served:
            for status, words, request in (
                    (404, "/snapshot", ("/none",)), (404, "no such link", ("/links/0/a/b",)),
                    (404, "no such link", ("/links/x",)), (404, "allowed", ("/page/../main.cpp",)),
                    (405, "GET", ("/snapshot", "POST")), (413, "1024", ("/lab", "POST", "x" * 2000)),
                    (431, "8192", ("/", "GET", None, {"X": "x" * 9000})),
                    (403, "this is no lab", ("/lab", "POST", "{}"))):
                refused = served.ask(*request)
                check(refused.status == status and words in refused.text and refused.text.count("\n") == 1,
                      f"{request[0][:20]}: {status} {refused.text.strip()}")
            idle = stall(served, MOST_CONNECTIONS - 1)
            check(host_in(served.snapshot(), f"{fabric.prefix}-h0")["state"] == "running",
                  f"{len(idle)} stalled clients keep nobody from an answer")
            idle += stall(served, 1)
            check(served.ask("/").status == 200, "nor do as many as are served: they are closed")
            check(all(one.recv(1) == b"" for one in idle[:1]), "without an answer")
            for one in idle:
                one.close()
            done = subprocess.run([binary("mrc-view"), "--instance", f"{fabric.prefix}-h0", "--listen",
                                   str(served.port)], text=True, capture_output=True, check=False, timeout=LIMIT_S)
            check(done.returncode == 1 and "in use" in done.stderr and done.stderr.count("\n") == 1,
                  f"a port is taken once: {done.stderr.strip()}")
            served.process.send_signal(signal.SIGINT)
            check(served.process.wait(LIMIT_S) == 0, "SIGINT ends it")
        check_none(fabric)


def check_none(fabric):
    for arguments, words in ((("--instance", "none"), "no instance 'none'"),
                             (("--lab", "none"), "no lab 'none' is running")):
        done = subprocess.run([binary("mrc-view"), *arguments, "--listen", "0"], text=True, capture_output=True,
                              check=False, timeout=LIMIT_S)
        check(done.returncode == 1 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr.strip())
    instance = f"{fabric.prefix}-h0"
    done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", binary("mrc-view"),
                           "--instance", instance, "--listen", "0"], text=True, capture_output=True, check=False,
                          timeout=LIMIT_S)
    check(done.returncode == 1 and "this needs root" in done.stderr and done.stderr.count("\n") == 1,
          f"without permission: {done.stderr.strip()}")


CASES = {"host": one_host, "lab": whole_lab, "refusals": refusals}


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrc-view")
    for name in sys.argv[1:] or CASES:
        CASES[name]()


if __name__ == "__main__":
    main()
