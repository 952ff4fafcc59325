# SPDX-License-Identifier: Apache-2.0
"""A real file of a wanted size: a tar of programs and libraries of this machine."""

import contextlib
import hashlib
import os
import pathlib
import stat
import subprocess
import sysconfig
import tempfile

from lab.stage import stage_failure, step

SOURCES = ("/usr/bin", f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}", "/usr/lib", "/usr/share")


def choose_files(wanted_bytes):
    """Regular files until there are enough bytes; one of several names of a file, which tar would store once."""
    chosen, total = {}, 0
    for source in SOURCES:
        for directory, _, names in os.walk(source):
            for name in sorted(names):
                path = os.path.join(directory, name)
                try:
                    status = os.lstat(path)
                except OSError:
                    continue
                identity = (status.st_dev, status.st_ino)
                if not stat.S_ISREG(status.st_mode) or identity in chosen:
                    continue
                chosen[identity] = path
                total += status.st_size
                if total >= wanted_bytes:
                    return list(chosen.values())
    raise stage_failure(f"{', '.join(SOURCES)} hold {total} bytes only; ask for less with --size")


@contextlib.contextmanager
def packed_file(wanted_bytes):
    """A description of the file, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="mrc-demo-", dir="/var/tmp") as directory:
        path = pathlib.Path(directory) / "pack.tar"
        with step(f"packing {wanted_bytes // 10**6} MB of this machine's programs"):
            names = "\0".join(choose_files(wanted_bytes)).encode()
            done = subprocess.run(["tar", "--create", "--file", path, "--absolute-names", "--null", "--files-from=-"],
                                  input=names, stderr=subprocess.PIPE, check=False)
            if done.returncode != 0:
                raise stage_failure(f"cannot pack {path}: {done.stderr.decode(errors='replace').strip()}")
            with open(path, "rb") as packed:
                digest = hashlib.file_digest(packed, "sha256").hexdigest()
        yield {"path": str(path), "bytes": path.stat().st_size, "sha256": digest}
