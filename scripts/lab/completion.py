# SPDX-License-Identifier: Apache-2.0
"""What a shell may complete on mrc-lab's command line: `mrc-lab --complete WORD…` prints a line for each word that
could stand for the last of these, which may be empty: it, a tab, what it is."""

from . import options
from .errors import lab_error
from .fabrics import fabric
from .state import choose_prefix, lab_directory, running_prefixes

TAKES_NO_VALUE = 0  # argparse's nargs of flags


def completions(parser, words):
    """`parser` is argparse's, which has no public way to be asked for its options."""
    *before, current = words or [""]
    positionals, option, prefix = [], None, None
    for word in before:
        if option is not None:
            prefix = word if option.dest == "prefix" else prefix
            option = None
        elif word == "--":
            return []
        elif word.startswith("-"):
            found = parser._option_string_actions.get(word)
            option = found if found is not None and found.nargs != TAKES_NO_VALUE else None
        elif (commands := _commands(parser)) is not None:
            parser = commands.choices.get(word, parser)
        else:
            positionals.append(word)
    return [line for line in _candidates(parser, current, option, positionals, prefix) if line.startswith(current)]


def _candidates(parser, current, option, positionals, prefix):
    if option is not None:
        return _values(option, prefix)
    if current.startswith("-"):
        return _options(parser)
    commands = _commands(parser)
    if commands is not None:
        return [f"{each.dest}\t{each.help}" for each in commands._choices_actions]
    left = [action for action in parser._actions if not action.option_strings][len(positionals):]
    return _values(left[0], prefix) if left else _options(parser)


def _commands(parser):
    return next((action for action in parser._actions if action.choices and hasattr(action, "_choices_actions")), None)


def _options(parser):
    return [f"{name}\t{action.help}" for action in parser._actions for name in action.option_strings
            if name.startswith("--")]


def _values(action, prefix):
    """Those that are known: states, kinds, and the names of what is there."""
    if action.choices:
        return list(action.choices)
    if action.dest in options.CHOICES:
        return list(options.CHOICES[action.dest])
    if action.dest == "prefix":
        return running_prefixes()
    if action.dest not in ("a", "b", "name", "node"):
        return []
    try:
        shape = fabric(lab_directory(choose_prefix(prefix)).load().options)
    except (lab_error, OSError):
        return []  # none is running, or several are
    return list(shape.switches) if action.dest == "name" else [*shape.hosts, *shape.switches]
