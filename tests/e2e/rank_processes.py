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


class ranks:
    """Started with a command and what it adds to the environment for each, the name of its host's mrcd besides; nsenter
    replaces itself, so a process is its rank."""

    def __init__(self, fabric, folder, commands):
        self.fabric = fabric
        self.logs = [os.path.join(folder, f"rank{rank}.log") for rank in range(len(commands))]
        self.processes = []
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

    def fail(self, why):
        """Ends the test, with what all ranks have said, and what their hosts know of queue pairs and have logged."""
        for rank, process in enumerate(self.processes):
            print(f"rank {rank}, status {process.poll()}: {self.said(rank)[-1000:]}")
        for host in self.fabric.host_names():
            instance = instance_of(self.fabric.prefix, host)
            shown = subprocess.run([binary("mrcctl"), "--instance", instance, "qp", "list"], text=True,
                                   capture_output=True, check=False)
            print(f"{host}:\n{shown.stdout}{shown.stderr}{self.fabric.log(host)[-1000:]}")
        sys.exit(f"FAIL: {why}")

    def wait_for(self, rank, text):
        def there():
            if self.processes[rank].poll() not in (None, 0):
                self.fail(f"rank {rank} ended before '{text}'")
            return text in self.said(rank)
        if not wait_until(there, LIMIT_S):
            self.fail(f"rank {rank} does not say {text!r}")

    def all_succeed(self):
        deadline = time.monotonic() + LIMIT_S
        for rank, process in enumerate(self.processes):
            process.stdin.close()
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
