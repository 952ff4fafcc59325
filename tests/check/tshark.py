# SPDX-License-Identifier: Apache-2.0
"""tshark with the dissectors of scripts/wireshark."""

import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts/wireshark"


def somebody_else():
    """For subprocess.run: from 4.4 on, Wireshark runs no Lua scripts as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [],
            "env": os.environ | {"HOME": "/nonexistent"}}


def tshark(capture, *arguments, scripts=("mrc.lua",)):
    """The process that has read a capture file; with copies, where anybody may read them."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        at = shutil.copyfile(capture, f"{folder}/capture")
        loaded = [f"-Xlua_script:{shutil.copyfile(SCRIPTS / name, folder + '/' + name)}" for name in scripts]
        return subprocess.run(["tshark", "-n", *loaded, "-r", at, *arguments],
                              capture_output=True, text=True, check=True, **somebody_else())
