# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, by its DevTools protocol over a pair of pipes: pages, their sizes and colour schemes, and what a
script in them says."""

import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

from lab_support import TIME_SCALE

PROGRAMS = ("chromium-headless-shell", "chromium")
LIMIT_S = 60 * TIME_SCALE
HIGH_FD = 10  # beyond those that the browser knows its pipes by, 3 and 4
# It runs as root in a test's own folder, without a display or the network.
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
           "--disable-background-networking", "--remote-debugging-pipe")


def program():
    """None: there is none here."""
    return next((found for found in map(shutil.which, PROGRAMS) if found), None)


def _high(fd):
    high = fcntl.fcntl(fd, fcntl.F_DUPFD, HIGH_FD)
    os.close(fd)
    return high


class browser:
    def __init__(self, requests, answers):
        self.requests, self.answers, self.buffer = requests, answers, b""
        self.last_id, self.session, self.errors = 0, None, []

    def call(self, method, **parameters):
        """The result of a method of the protocol, for the page that is open."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session and not method.startswith("Target."):
            message["sessionId"] = self.session
        os.write(self.requests, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self.last_id:
            self._note(answer)
        if "error" in answer:
            sys.exit(f"FAIL: {method}: {answer['error']['message']}")
        return answer["result"]

    def _next(self):
        deadline = time.monotonic() + LIMIT_S
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                sys.exit("FAIL: the browser does not answer")
            chunk = os.read(self.answers, 1 << 20)
            if not chunk:
                sys.exit("FAIL: the browser has ended")
            self.buffer += chunk
        line, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(line)

    def _note(self, event):
        if event.get("method") == "Runtime.exceptionThrown":
            details = event["params"]["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])

    def open(self, url):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Page", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=url)

    def show(self, width, height, scheme):
        """The page's size in pixels, and the colour scheme that its reader prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script):
        """What the expression is; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            sys.exit(f"FAIL: {script}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")


@contextlib.contextmanager
def chromium():
    with tempfile.TemporaryDirectory() as folder:
        to_browser, requests = os.pipe()
        answers, from_browser = os.pipe()
        theirs = [_high(to_browser), _high(from_browser)]
        command = ["bash", "-c", f'exec "$@" 3<&{theirs[0]} 4>&{theirs[1]}', "bash", program(), *OPTIONS,
                   f"--user-data-dir={folder}"]
        process = subprocess.Popen(command, pass_fds=theirs, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        for fd in theirs:
            os.close(fd)
        try:
            yield browser(requests, answers)
        finally:
            os.close(requests)  # which ends it
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LIMIT_S)
            process.kill()
            process.wait()
            os.close(answers)
