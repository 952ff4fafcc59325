# SPDX-License-Identifier: Apache-2.0
"""Processes of one job on the hosts of a lab, each with its output in a file: rank N on hN, and where there are fewer
hosts they take turns."""

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


class ranks:
    """Started with a command and what it adds to the environment for each, the name of its host's mrcd besides; nsenter
    replaces itself, so a process is its rank."""

    def __init__(self, fabric, folder, commands):
        self.fabric = fabric
        self.logs = [os.path.join(folder, f"rank{rank}.log") for rank in range(len(commands))]
        self.processes = []
        self.started_at = time.monotonic()
        self.when_long = None  # what the hosts knew of queue pairs when it had taken long
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

    def queue_pairs(self, host, *form):
        shown = subprocess.run([binary("mrcctl"), "--instance", instance_of(self.fabric.prefix, host), *form,
                                "qp", "list"], text=True, capture_output=True, check=False, timeout=LIMIT_S)
        return shown.stdout + shown.stderr

    def note_when_long(self):
        age_s = time.monotonic() - self.started_at
        if self.when_long is None and age_s > LONG_S:
            self.when_long = "".join(f"{host} after {age_s:.1f} s:\n" + self.queue_pairs(host, "--json")
                                     for host in self.fabric.host_names())

    def fail(self, why):
        """Ends the test, with what all ranks have said, and what their hosts know of queue pairs and have logged."""
        for rank, process in enumerate(self.processes):
            print(f"rank {rank}, status {process.poll()}: {self.said(rank)[-1000:]}")
        print(self.when_long or "")
        for host in self.fabric.host_names():
            print(f"{host}:\n{self.queue_pairs(host)}{self.fabric.log(host)[-1000:]}")
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
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.1, self.started_at + LONG_S + 0.1 - time.monotonic()))
            self.note_when_long()
            try:
                status = process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.fail(f"rank {rank} hangs")
            if status != 0:
                self.fail(f"rank {rank}: status {status}")

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.wait()
