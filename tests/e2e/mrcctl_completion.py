#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bash and zsh complete mrcctl: every object, command and option of its --help, and nothing else."""

import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

from lab_support import DEADLINE_S, ROOT, binary, check, need_binaries
from mrcctl_help import help_texts, names_below, offered_by

COMPLETIONS = pathlib.Path(ROOT) / "scripts/packaging/completions"
ENVIRONMENT = {**os.environ, "PATH": f"{os.path.dirname(binary('mrcctl'))}:{os.environ['PATH']}"}

# The words of the command line are the arguments; the last is being typed.
BASH = """
source "$0"
COMP_WORDS=(mrcctl "$@")
COMP_CWORD=$#
_mrcctl mrcctl "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
"""
# ^X writes the line down as it is then: what the key before it has completed.
ZSH = """
fpath=({folder} $fpath)
autoload -U compinit
compinit -u -D
write_down() {{ print -r -- "$BUFFER" > {file}.new; mv {file}.new {file} }}
zle -N write_down
bindkey '^X' write_down
bindkey '^I' complete-word
"""
ZSH_COMPLETES = {
    "mrcctl stat": "mrcctl status ",
    "mrcctl ev-prof": "mrcctl ev-profile ",
    "mrcctl port ena": "mrcctl port enable ",
    "mrcctl path list --pla": "mrcctl path list --plane ",
    "mrcctl path list --plane 1 --sta": "mrcctl path list --plane 1 --state ",
}


def by_bash(*words):
    done = subprocess.run(["bash", "-c", BASH, COMPLETIONS / "mrcctl.bash", *words], env=ENVIRONMENT, text=True,
                          capture_output=True, check=False)
    check(done.returncode == 0 and not done.stderr, f"bash completes mrcctl {' '.join(words)}_ {done.stderr.strip()}")
    return done.stdout.split()


def check_bash():
    for words, text in help_texts().items():
        line = " ".join(("mrcctl", *words))
        options = sorted(name for name in offered_by(text) if name.startswith("--"))
        check(sorted(by_bash(*words, "-")) == options, f"{line} -: {' '.join(options)}")
        names = names_below(text)
        if names:
            check(sorted(by_bash(*words, "")) == sorted(names), f"{line}: {' '.join(names)}")
    check(by_bash("path", "list", "--state", "") == [], "the value of an option is no option")
    check(by_bash("adopt", "--unit", "list", "--bi") == ["--bind"], "nor is it a command")
    check(by_bash("path", "list", "--state=good", "--pee") == ["--peer"], "but what follows one with its value is")
    check(by_bash("run", "--", "") == [] == by_bash("run", "--", "-"), "words of the command to run are not mrcctl's")
    check("--plane" in by_bash("path", "list", ""), "options are offered where nothing else can stand")
    check(by_bash("qp", "show", "") == [], "and not in place of a queue pair's number")


def typed_in_zsh(folder, keys):
    """What the line is after these keys and a tab, in a terminal."""
    file = pathlib.Path(folder) / "line"
    (pathlib.Path(folder) / ".zshrc").write_text(ZSH.format(folder=COMPLETIONS, file=file), encoding="utf-8")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe("zsh", ["zsh", "-d", "-i"], ENVIRONMENT | {"ZDOTDIR": folder, "TERM": "dumb"})
    os.write(terminal, f"{keys}\t\x18".encode())
    deadline = time.monotonic() + DEADLINE_S
    said = b""
    while not file.exists() and time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            said += os.read(terminal, 4096)
    os.close(terminal)
    os.waitpid(pid, 0)
    if not file.exists():
        sys.exit(f"FAIL: zsh does not answer '{keys}': {said.decode(errors='replace')}")
    return file.read_text(encoding="utf-8").rstrip("\n")


def check_zsh():
    if shutil.which("zsh") is None:
        print("skipped: zsh is not here to complete anything")
        return
    for keys, line in ZSH_COMPLETES.items():
        with tempfile.TemporaryDirectory() as folder:
            completed = typed_in_zsh(folder, keys)
            check(completed == line, f"zsh makes '{completed}' of '{keys}'")


def main():
    need_binaries("mrcctl")
    check_bash()
    check_zsh()


if __name__ == "__main__":
    main()
