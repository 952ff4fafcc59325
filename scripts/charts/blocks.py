# SPDX-License-Identifier: Apache-2.0
"""Generated parts of a document: what is between `<!-- generated: NAME -->` and `<!-- end -->`, each a line."""

BEGIN = "<!-- generated: "
END = "<!-- end -->"


def replaced(text, name, content):
    """`text` with this between the lines of the block. ValueError: a line is missing."""
    lines = text.split("\n")
    begin = f"{BEGIN}{name} -->"
    if begin not in lines:
        raise ValueError(f"no line '{begin}'")
    first = lines.index(begin) + 1
    last = next((at for at, line in enumerate(lines[first:], first) if line == END or line.startswith(BEGIN)), None)
    if last is None or lines[last] != END:
        raise ValueError(f"no line '{END}' after '{begin}'")
    return "\n".join([*lines[:first], content, *lines[last:]])
