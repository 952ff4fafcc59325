# SPDX-License-Identifier: Apache-2.0
"""Shows what guests do while they do it: their boot, and the lines of each suite as they come."""

import resource
import sys
import time

BOOT_NOTICE_SECONDS = 10


def cpu_seconds():
    """Of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class progress:
    def __init__(self, kernel, suites):
        self.kernel, self.suites = kernel, suites
        self.begin = self.noticed = time.monotonic()
        self.cpu_before = cpu_seconds()
        self.is_up = False
        self.shown = {}  # (guest's folder, suite) -> bytes of its output that were shown
        print(f"-- {kernel}: boots for {', '.join(suites)}", flush=True)

    def tick(self, guests):
        now = time.monotonic()
        if not self.is_up and all((guest.folder / "booted.json").exists() for guest in guests):
            self.is_up = True
            print(f"-- {self.kernel}: is up after {now - self.begin:.0f} s", flush=True)
        elif not self.is_up and now - self.noticed >= BOOT_NOTICE_SECONDS:
            self.noticed = now
            print(f"-- {self.kernel}: still boots after {now - self.begin:.0f} s", flush=True)
        for guest in guests:
            for suite in self.suites:
                self._show(guest, suite, len(guests) > 1)

    def _show(self, guest, suite, named):
        path = guest.folder / "results" / suite / "output"
        if not path.exists():
            return
        where = (guest.folder, suite)
        if where not in self.shown:
            print(f"-- {self.kernel} {suite}{f', {guest.folder.name}' if named else ''}", flush=True)
            self.shown[where] = 0
        with open(path, "rb") as stream:
            stream.seek(self.shown[where])
            text = stream.read()
        if guest.process.poll() is None:  # the last line may still grow
            text = text[:text.rfind(b"\n") + 1]
        self.shown[where] += len(text)
        if text:
            lines = text.decode(errors="replace").splitlines()
            head = f"   {time.monotonic() - self.begin:4.0f} s  " + (f"{guest.folder.name[-1]}| " if named else "")
            sys.stdout.write("".join(f"{head}{line}\n" for line in lines))
            sys.stdout.flush()

    def end(self):
        print(f"-- {self.kernel}: the machine ended after {time.monotonic() - self.begin:.0f} s and used "
              f"{cpu_seconds() - self.cpu_before:.0f} s of CPU", flush=True)
