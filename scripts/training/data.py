# SPDX-License-Identifier: Apache-2.0
"""The handwritten digits of scikit-learn."""

import os
import pathlib
import tempfile

from lab.stage import command

# python3-sklearn itself cannot be installed beside the Boost that mrc is built with: only its data is taken.
PACKAGE = "python3-sklearn"
DATA = "usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"


def digits(folder):
    """The data file: of an installed scikit-learn, or out of its Debian package, and kept for the next time."""
    installed = pathlib.Path("/") / DATA
    if installed.exists():
        return installed
    kept = pathlib.Path(folder) / "digits.csv.gz"
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)  # apt downloads as a user of its own
        command("apt-get", "-q", "download", PACKAGE, what=f"fetching {PACKAGE}", cwd=work)
        package = next(pathlib.Path(work).glob("*.deb"))
        command("dpkg-deb", "--extract", package, work, what=f"unpacking {PACKAGE}")
        kept.write_bytes((pathlib.Path(work) / DATA).read_bytes())
    return kept
