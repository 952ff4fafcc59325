#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bash and zsh complete mrcctl, mrc-doctor, mrc-lab, mrc-perf and mrc-view: every command and option of their --help,
and nothing else; of mrc-lab the names of what there is, too."""

import contextlib
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

from lab_support import DEADLINE_S, ROOT, binary, check, lab, mrc_lab, need_binaries, need_root
from manual import run
from mrcctl_help import all_names_below, help_texts, offered_by

COMPLETIONS = pathlib.Path(ROOT) / "scripts/packaging/completions"
PATH = f"{os.path.dirname(binary('mrcctl'))}:{ROOT}/scripts:{os.environ['PATH']}"
ENVIRONMENT = {**os.environ, "PATH": PATH}
LAB = ("--planes", "1", "--leaves", "1", "--spines", "1", "--no-daemons", "--switch", "kernel")

# The words of the command line are the arguments; the last is being typed.
BASH = """
source "$0"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
function_of=$(complete -p "$1")
[[ $function_of =~ -F\\ ([a-z_]+) ]]
"${BASH_REMATCH[1]}" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
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
bindkey '^U' kill-whole-line
bindkey '^I' complete-word
"""
KILL_LINE, WRITE_DOWN = "\x15", "\x18"
ZSH_COMPLETES = {
    "mrcctl stat": "mrcctl status ",
    "mrcctl ev-prof": "mrcctl ev-profile ",
    "mrcctl port ena": "mrcctl port enable ",
    "mrcctl path list --pla": "mrcctl path list --plane ",
    "mrcctl path list --plane 1 --sta": "mrcctl path list --plane 1 --state ",
    "mrc-perf --perc": "mrc-perf --percentiles ",
    "mrc-doctor --po": "mrc-doctor --port ",
    "mrc-view --li": "mrc-view --listen ",
    "mrc-lab imp": "mrc-lab impair ",
    "mrc-lab up --fabric bri": "mrc-lab up --fabric bridge ",
}


def by_bash(*words):
    done = subprocess.run(["bash", "-c", BASH, COMPLETIONS / "mrc.bash", *words], env=ENVIRONMENT, text=True,
                          capture_output=True, check=False)
    check(done.returncode == 0 and not done.stderr, f"bash completes {' '.join(words)}_ {done.stderr.strip()}")
    return done.stdout.split()


def long_options(text):
    return sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text)))


def check_mrcctl():
    for words, text in help_texts().items():
        line = " ".join(("mrcctl", *words))
        options = sorted(name for name in offered_by(text) if name.startswith("--"))
        check(sorted(by_bash("mrcctl", *words, "-")) == options, f"{line} -: {' '.join(options)}")
        names = [name for names in all_names_below(text) for name in names]
        if names:
            check(sorted(by_bash("mrcctl", *words, "")) == sorted(names), f"{line}: {' '.join(names)}")
    for words, offered, why in (
        (("path", "list", "--state", ""), [], "the value of an option is no option"),
        (("adopt", "--unit", "list", "--bi"), ["--bind"], "nor is it a command"),
        (("path", "list", "--state=good", "--pee"), ["--peer"], "but what follows one with its value is"),
        (("run", "--", ""), [], "words of the command to run are not mrcctl's"),
        (("run", "--", "-"), [], "nor are its options"),
        (("session", "li"), ["list"], "what follows another name of an object is completed, too"),
        (("qp", "show", ""), [], "and nothing is offered in place of a queue pair's number"),
    ):
        check(by_bash("mrcctl", *words) == offered, why)
    check("--plane" in by_bash("mrcctl", "path", "list", ""), "options are offered where nothing else can stand")


def check_program(name, begun="--js", whole="--json"):
    """A program without commands."""
    offered = long_options(re.split(r"^Options:", run(name, "--help").stdout, flags=re.MULTILINE)[1])
    check(sorted(by_bash(name, "-")) == offered and len(offered) > 3, f"{name} -: {' '.join(offered)}")
    check(by_bash(name, begun) == [whole], "and what begins as the word does")


def check_lab():
    commands = re.findall(r"^    ([a-z]+) ", mrc_lab("--help")[0], re.MULTILINE)
    check(sorted(by_bash("mrc-lab", "")) == sorted(commands) and commands, f"mrc-lab: {' '.join(commands)}")
    for command in commands:
        options = long_options(mrc_lab(command, "--help")[0])
        check(sorted(by_bash("mrc-lab", command, "-")) == options, f"mrc-lab {command} -: {' '.join(options)}")
    check(by_bash("mrc-lab", "up", "--engine", "a") == ["auto", "af_xdp"], "values that are a choice")
    check(by_bash("mrc-lab", "up", "--mtu", "") == [], "but not those that are free")
    check(by_bash("mrc-lab", "exec", "h0", "--", "--") == [], "nor words of the command to run")


def check_names():
    """Nodes and labs are those that there are."""
    with lab("completion", *LAB) as running:
        given = ("--prefix", running.prefix)
        nodes = ["h0", "h1", "p0t0-0", "p0t1-0"]
        check(running.prefix in by_bash("mrc-lab", "down", "--prefix", ""), "labs that run are offered")
        check(by_bash("mrc-lab", "exec", *given, "") == nodes, "and their nodes")
        check(by_bash("mrc-lab", "switch", *given, "") == nodes[2:], "or switches, where only these can stand")
        check(by_bash("mrc-lab", "link", *given, "p0t0-0", "p0t1-0", "") == ["up", "down"], "then what to do")
    check(by_bash("mrc-lab", "exec", *given, "") == [], "of a lab that does not run, nothing")


class zsh_terminal:
    """One zsh, which takes a second to learn what it can complete."""

    def __init__(self, folder):
        self.file = pathlib.Path(folder) / "line"
        (pathlib.Path(folder) / ".zshrc").write_text(ZSH.format(folder=COMPLETIONS, file=self.file), encoding="utf-8")
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe("zsh", ["zsh", "-d", "-i"], ENVIRONMENT | {"ZDOTDIR": folder, "TERM": "dumb"})

    def completed(self, keys):
        """What an empty line is after these keys and a tab."""
        self.file.unlink(missing_ok=True)
        os.write(self.terminal, f"{KILL_LINE}{keys}\t{WRITE_DOWN}".encode())
        deadline = time.monotonic() + DEADLINE_S
        said = b""
        while not self.file.exists() and time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.01)[0]:
                said += os.read(self.terminal, 4096)
        if not self.file.exists():
            sys.exit(f"FAIL: zsh does not answer '{keys}': {said.decode(errors='replace')}")
        return self.file.read_text(encoding="utf-8").rstrip("\n")

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def check_zsh():
    if shutil.which("zsh") is None:
        print("skipped: zsh is not here to complete anything")
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(zsh_terminal(folder)) as zsh:
        for keys, line in ZSH_COMPLETES.items():
            completed = zsh.completed(keys)
            check(completed == line, f"zsh makes '{completed}' of '{keys}'")


def main():
    need_root()
    need_binaries("mrcctl", "mrc-doctor", "mrc-perf", "mrc-view")
    check_mrcctl()
    check_program("mrc-perf")
    check_program("mrc-doctor")
    check_program("mrc-view", "--li", "--listen")
    check_lab()
    check_names()
    check_zsh()


if __name__ == "__main__":
    main()
