# SPDX-License-Identifier: Apache-2.0
"""The one exception that reaches the user as a single line."""


class lab_error(Exception):
    """Says what was wrong and what is allowed; the command line prints it and exits with 1."""


def any_of(words):
    """The allowed values as a readable list."""
    words = [str(word) for word in words]
    return ", ".join(words) if words else "nothing"
