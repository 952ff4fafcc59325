# SPDX-License-Identifier: Apache-2.0
"""Where packages are tried: roots of their own, and a system whose commands are recorded instead of run."""

import os
import re
import subprocess
import sys


def run(*argv, status=0, **options):
    """What the command said, on both streams; the test ends if it has another status."""
    done = subprocess.run([str(word) for word in argv], text=True, capture_output=True, check=False, **options)
    if done.returncode != status:
        sys.exit(f"FAIL: {' '.join(map(str, argv))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def files_below(folder):
    """Files and symbolic links, relative; folders that are empty count, too."""
    found = []
    for path, folders, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(path, name), folder) for name in names]
        if not folders and not names:
            found.append(os.path.relpath(path, folder) + "/")
    return sorted(found)


class package_root:
    """An installation of its own below a folder."""

    def __init__(self, folder):
        self.path = folder
        for name in ("info", "updates", "triggers"):
            (folder / "var/lib/dpkg" / name).mkdir(parents=True)
        (folder / "var/lib/dpkg/status").touch()
        (folder / "etc").mkdir()
        (folder / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n", encoding="ascii")
        (folder / "etc/group").write_text("root:x:0:\n", encoding="ascii")
        self.before = set(files_below(folder))

    def dpkg(self, *arguments):
        return run("dpkg", f"--root={self.path}", "--force-script-chrootless", "--force-depends",
                   f"--log={self.path}/var/log-of-dpkg", *arguments)

    def left(self):
        """What was not there at first, apart from dpkg's own records and the accounts."""
        own = re.compile(r"var/|etc/(passwd|group|gshadow|shadow)-?$|etc/\.pwd\.lock$")
        return [name for name in files_below(self.path) if name not in self.before and not own.match(name)]


class recorded_system:
    """A maintainer script as root of a machine with systemd, whose commands are recorded instead of run."""

    COMMANDS = ("systemctl", "deb-systemd-invoke", "systemd-sysusers", "systemd-tmpfiles", "groupadd", "invoke-rc.d")

    def __init__(self, folder):
        self.record = folder / "record"
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name in self.COMMANDS:
            (self.bin / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {self.record}\n', encoding="ascii")
            (self.bin / name).chmod(0o755)

    def run(self, script, *arguments):
        self.record.write_text("", encoding="ascii")
        run("unshare", "--mount", "sh", "-ec",
            'mount -t tmpfs none /run; mkdir -p /run/systemd/system; exec "$0" "$@"', script, *arguments,
            env={"PATH": f"{self.bin}:/usr/bin:/bin:/usr/sbin:/sbin"})
        return self.record.read_text(encoding="ascii").splitlines()
