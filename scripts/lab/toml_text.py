# SPDX-License-Identifier: Apache-2.0
"""TOML from Python's tables, lists and values: tomllib only reads."""

import json
import re

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def render(table):
    """The text of a document. Raises TypeError for a value that is none of TOML's but dates and times."""
    lines = []
    _add_table(lines, (), table)
    return "\n".join(lines).strip("\n") + "\n"


def _add_table(lines, path, table):
    parts = {key: value for key, value in table.items() if isinstance(value, dict) or _is_array_of_tables(value)}
    lines += [f"{_key(key)} = {_value(value)}" for key, value in table.items() if key not in parts]
    for key, value in parts.items():
        inner = (*path, _key(key))
        opening, closing = ("[", "]") if isinstance(value, dict) else ("[[", "]]")
        for entry in [value] if isinstance(value, dict) else value:
            lines += ["", opening + ".".join(inner) + closing]
            _add_table(lines, inner, entry)


def _is_array_of_tables(value):
    return isinstance(value, list) and value != [] and all(isinstance(entry, dict) for entry in value)


def _key(text):
    return text if BARE_KEY.fullmatch(text) else _quoted(text)


def _quoted(text):
    # JSON's strings are TOML's but for one control character that JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return "[" + ", ".join(_value(entry) for entry in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_value(entry)}" for key, entry in value.items()) + "}"
    raise TypeError(f"{value!r} is a {type(value).__name__}")
