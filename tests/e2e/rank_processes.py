# SPDX-License-Identifier: Apache-2.0
"""Processes of one job on the hosts of a lab, each with its output in a file: rank N on hN, and where there are fewer
hosts they take turns."""

import collections
import contextlib
import os
import subprocess
import sys
import time

from lab_support import binary
from transfer_support import wait_until

from lab.processes import instance_of

LIMIT_S = 100
LONG_S = 8  # as no job should take, and less than a group waits (collectives_program.py) before its queue pairs go
AGAIN_S = 5  # between two looks at a job that takes long: what has not changed meanwhile hangs
LOOKS = 3  # the last ones, of which one is before the group's time-out


class ranks:
    """Started with a command and what it adds to the environment for each, the name of its host's mrcd besides; nsenter
    replaces itself, so a process is its rank."""

    def __init__(self, fabric, folder, commands):
        self.fabric = fabric
        self.logs = [os.path.join(folder, f"rank{rank}.log") for rank in range(len(commands))]
        self.processes = []
        self.started_at = time.monotonic()
        self.next_look_s = LONG_S
        self.looks = collections.deque(maxlen=LOOKS)  # at what the hosts knew when it had taken long
        hosts = fabric.host_names()
        for rank, (words, chosen) in enumerate(commands):
            host = hosts[rank % len(hosts)]
            env = {**os.environ, "MRC_INSTANCE": instance_of(fabric.prefix, host), **chosen}
            with open(self.logs[rank], "wb") as output:
                self.processes.append(subprocess.Popen(fabric.enter(host, *words), env=env,
                                                       stdout=output, stderr=output, stdin=subprocess.PIPE))

    def said(self, rank):
        with open(self.logs[rank], encoding="utf-8", errors="replace") as log:
            return log.read()

    def shown(self, host, *words):
        """What mrcctl says of a host."""
        said = subprocess.run([binary("mrcctl"), "--instance", instance_of(self.fabric.prefix, host), *words],
                              text=True, capture_output=True, check=False, timeout=LIMIT_S)
        return said.stdout + said.stderr

    def look(self, host):
        """Its queue pairs, what its worker and ports have done, and what the kernel knows of these."""
        kernel = self.fabric.inside(host, "ip", "-s", "-j", "link", "show")
        return "".join((*(self.shown(host, *words) for words in (("-j", "qp", "list"), ("status",), ("counters",))),
                        kernel))

    def note_when_long(self):
        age_s = time.monotonic() - self.started_at
        if age_s > self.next_look_s:
            self.next_look_s = age_s + AGAIN_S
            self.looks.append("".join(f"{host} after {age_s:.1f} s:\n{self.look(host)}\n"
                                      for host in self.fabric.host_names()))

    def fail(self, why):
        """Ends the test, with what all ranks have said, and what their hosts know of queue pairs and have logged."""
        for rank, process in enumerate(self.processes):
            print(f"rank {rank}, status {process.poll()}: {self.said(rank)[-1000:]}")
        print(*self.looks)
        for host in self.fabric.host_names():
            print(f"{host}:\n{self.shown(host, 'qp', 'list')}{self.fabric.log(host)[-1000:]}")
        sys.exit(f"FAIL: {why}")

    def wait_for(self, rank, text):
        def there():
            self.note_when_long()
            if self.processes[rank].poll() not in (None, 0):
                self.fail(f"rank {rank} ended before '{text}'")
            return text in self.said(rank)
        if not wait_until(there, LIMIT_S):
            self.fail(f"rank {rank} does not say {text!r}")

    def all_succeed(self):
        deadline = time.monotonic() + LIMIT_S
        for rank, process in enumerate(self.processes):
            process.stdin.close()
            if not wait_until(lambda process=process: self.has_ended(process), max(0.1, deadline - time.monotonic())):
                self.fail(f"rank {rank} hangs")
            if process.returncode != 0:
                self.fail(f"rank {rank}: status {process.returncode}")

    def has_ended(self, process):
        self.note_when_long()
        return process.poll() is not None

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.wait()
