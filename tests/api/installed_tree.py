# SPDX-License-Identifier: Apache-2.0
"""libmrc and what its users build with, installed into a folder of a test's own."""

import os
import subprocess
import sys

from lab_support import check

LIMIT_S = 60


def run(*argv, **options):
    """The command as it has ended; what one that failed said is shown."""
    done = subprocess.run([str(word) for word in argv], text=True, capture_output=True, check=False, timeout=LIMIT_S,
                          **options)
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
    return done


def install(build, prefix):
    """Where the library is then."""
    for component in ("libmrc", "libmrc-dev"):
        check(run("cmake", "--install", build, "--component", component, "--prefix", prefix).returncode == 0,
              f"{component} is installed")
    return next(prefix.glob("lib/**/libmrc.so")).parent


def pkg_config_environment(library):
    return os.environ | {"PKG_CONFIG_PATH": str(library / "pkgconfig")}
