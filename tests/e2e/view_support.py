# SPDX-License-Identifier: Apache-2.0
"""mrc-view beside a lab with traffic: its process, what it answers, and snapshots until something shows."""

import contextlib
import http.client
import json
import re
import subprocess
import time

from lab_support import TIME_SCALE, binary, check
from transfer_support import lines_of, server, start_perf, wait_until

LIMIT_S = 60 * TIME_SCALE
MOST_LOOKS = 1  # from an event of the daemon to what it says in the drawing
PROMPT_MS = 1000  # in which a page is to draw it
PLANES = 4
LAB = ("--planes", str(PLANES), "--leaves", "2", "--spines", "2", "--hosts", "2")
# Little enough for what runs beside: 256 Mbit/s for as long as the test takes.
TRAFFIC = ("-s", "64K", "--rate", "500", "-D", "600")


@contextlib.contextmanager
def traffic(fabric):
    """From h0 to h1, once it flows."""
    with server(fabric):
        client = start_perf(fabric, "h0", fabric.host("h1")["mrc_address"], "--json", "--interval", "100", *TRAFFIC)
        try:
            said = lines_of(client.stderr)
            while '"interval"' not in (line := said.next(time.monotonic() + LIMIT_S) or ""):
                check(line, "traffic flows")
            yield
        finally:
            client.kill()
            client.wait()


class answer:
    def __init__(self, reply):
        self.status, self.headers, self.text = reply.status, reply.headers, reply.read().decode()

    @property
    def json(self):
        return json.loads(self.text)


class view_server:
    """A process of mrc-view that listens."""

    def __init__(self, process, port):
        self.process, self.port = process, port
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, target, method="GET", body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        try:
            connection.request(method, target, body, headers or {})
            return answer(connection.getresponse())
        finally:
            connection.close()

    def snapshot(self):
        return self.ask("/snapshot").json

    def token(self):
        return re.search(r'name="mrc-token" content="([0-9a-f]{32})"', self.ask("/").text)[1]

    def order(self, wanted, **headers):
        return self.ask("/lab", "POST", json.dumps(wanted), {"X-MRC-Token": self.token()} | headers)

    def shown(self, condition, what):
        """Looks at snapshots until one shows it; returns that, and how many looks of mrc-view it took."""
        first = seen = self.snapshot()
        if not condition(seen):
            seen = wait_until(lambda: (now := self.snapshot()) and condition(now) and now, LIMIT_S)
        check(seen, what)
        return seen, seen["number"] - first["number"]

    def has_told(self, plane):
        """Whether the daemon has told mrc-view that the plane is out of use."""
        events = self.ask("/history?points=0&events=0").json["events"]
        return any(event["event"] == "plane_out_of_use" and event["plane"] == plane for event in events)

    def shown_at_once(self, plane, dark):
        """The first snapshot in which dark(snapshot), after the daemon has given the plane up for the first time: how
        soon it does so is its business, what mrc-view adds to that is counted."""
        check(wait_until(lambda: self.has_told(plane), LIMIT_S), f"plane {plane} is given up")
        seen, looks = self.shown(dark, "and dark")
        check(looks <= MOST_LOOKS, f"{looks} looks later")
        # Counts and periods, and no clock: a look may just have been over, and a page just have asked.
        page_ms = int(re.search(r"PERIOD_MS = (\d+);", self.ask("/page/main.js").text)[1])
        most_ms = (MOST_LOOKS + 1) * seen["period_ms"] + page_ms
        check(most_ms < PROMPT_MS, f"which a page draws within {most_ms} ms of the event")
        return seen


@contextlib.contextmanager
def view(*arguments):
    process = subprocess.Popen([binary("mrc-view"), "--listen", "0", *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        line = lines_of(process.stdout).next(time.monotonic() + LIMIT_S)
        found = re.fullmatch(r"mrc-view: http://127\.0\.0\.1:(\d+)/", line or "")
        check(found, f"mrc-view says where it is: {line or process.stderr.read().decode()}")
        yield view_server(process, int(found[1]))
    finally:
        process.kill()
        process.wait()


def network_at(fabric, plane, host):
    """The node that a host's port leads to: its leaf, in direct mode the plane."""
    return f"p{plane}t0-{fabric.host(host)['leaf']}" if fabric.is_srv6() else f"plane {plane}"


def link_in(snapshot, plane, a, b):
    return next(link for link in snapshot["links"] if (link["plane"], link["a"], link["b"]) == (plane, a, b))


def host_in(snapshot, name):
    return next(host for host in snapshot["hosts"] if host["name"] == name)
