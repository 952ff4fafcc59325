# SPDX-License-Identifier: Apache-2.0
"""What mrcctl's --help says: its objects, their commands, and the options of each."""

import re

from lab_support import check
from manual import options_of, run


def help_of(*command):
    done = run("mrcctl", *command, "--help")
    check(done.returncode == 0 and not done.stderr, f"mrcctl {' '.join(command)} has --help")
    return done.stdout


def offered_by(help_text):
    return options_of(help_text.split("Options:")[1].split("Subcommands:")[0])


def all_names_below(text):
    """Of each object or command that a --help lists, its name and those that mean the same."""
    listed = text.split("Subcommands:")[1] if "Subcommands:" in text else ""
    return [names.split(", ") for names in re.findall(r"^  ([a-z-]+(?:, ?[a-z-]+)*) ", listed, re.MULTILINE)]


def names_below(text):
    return [names[0] for names in all_names_below(text)]


def help_texts():
    """The --help of mrcctl, of its objects and of their commands, by their words."""
    texts = {(): help_of()}
    for name in names_below(texts[()]):
        texts[(name,)] = help_of(name)
        texts |= {(name, command): help_of(name, command) for command in names_below(texts[(name,)])}
    return texts
