# SPDX-License-Identifier: Apache-2.0
"""How each source of a build tree is compiled: compile_commands.json, which of sources that are compiled together
(MRC_UNITY) lists only the file that includes them."""

import json
import pathlib
import re

INCLUDED = re.compile(r'^#include "(/[^"]+)"$', re.MULTILINE)


def read(build):
    """Entries as in compile_commands.json, one for each source."""
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    return [each for entry in entries for each in _apart(entry)]


def _apart(entry):
    together = pathlib.Path(entry["directory"], entry["file"])
    if together.parent.name != "Unity":
        return [entry]
    sources = INCLUDED.findall(together.read_text(encoding="utf-8"))
    return [entry | {"file": source, "command": entry["command"].replace(str(together), source)} for source in sources]
