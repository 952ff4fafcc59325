# SPDX-License-Identifier: Apache-2.0
"""Where a lab's programs are: built in the tree that this file is in, or installed under the same prefix."""

import os
import pathlib

from .errors import lab_error

# scripts/ of a tree, or share/mrc-lab below a prefix
HERE = pathlib.Path(__file__).resolve().parents[1]
IS_INSTALLED = HERE.name == "mrc-lab"


def folders():
    """$MRC_BIN, else build/bin of the tree, else the folders of the prefix that daemons and tools are installed in."""
    given = os.environ.get("MRC_BIN")
    if given:
        return [pathlib.Path(given)]
    if IS_INSTALLED:
        return [HERE.parents[1] / name for name in ("sbin", "bin")]
    return [HERE.parent / "build" / "bin"]


def find(name):
    """None: it is not there."""
    return next((path for path in (folder / name for folder in folders()) if os.access(path, os.X_OK)), None)


def binary(name):
    found = find(name)
    if found is None:
        places = " and ".join(str(folder / name) for folder in folders())
        remedy = "install the package mrcd" if IS_INSTALLED else "run scripts/build"
        raise lab_error(f"{places} {'are' if ' and ' in places else 'is'} missing: {remedy}, "
                        "or set MRC_BIN to the binaries")
    return str(found)
