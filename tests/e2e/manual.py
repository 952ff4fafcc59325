# SPDX-License-Identifier: Apache-2.0
"""What the tests of manual pages share: the page as plain text, the options that a text names, wrong command lines."""

import pathlib
import re
import subprocess

from lab_support import ROOT, binary, check

OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][a-z0-9-]*")


def page(name):
    """The page docs/NAME without font changes."""
    text = (pathlib.Path(ROOT) / "docs" / name).read_text(encoding="utf-8")
    return re.sub(r"\\f.", "", text).replace("\\-", "-").replace("\\~", " ")


def between(text, begin, end):
    """What a page says from one heading to another."""
    return text.split(begin)[1].split(end)[0]


def options_of(text):
    return set(OPTION.findall(text))


def described(section):
    """The options that a section has paragraphs for."""
    return options_of(" ".join(re.findall(r"^\.TP\n(.*)$", section, re.MULTILINE)))


def run(program, *arguments):
    return subprocess.run([binary(program), *arguments], text=True, capture_output=True, check=False)


def check_refused(program, refused):
    """Each command line of `refused` ends with status 2 and one line that has the words."""
    for arguments, words in refused.items():
        done = run(program, *arguments)
        check(done.returncode == 2 and done.stderr.count("\n") == 1 and all(word in done.stderr for word in words),
              f"{program} {' '.join(arguments)}: {done.stderr.strip()}")
