#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""C in the documentation: each block compiles as C11 and as C++ against the installed headers, and those that are whole
programs run between two daemons of a lab. A block names its file (```c write.c); others of its page may include it.
Configurations (```toml) are such that mrcd takes them.

usage: snippets.py BUILD
"""

import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from installed_tree import install, pkg_config_environment, run
from lab_support import ROOT, binary, check, lab, need_binaries, need_root

BUILD = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(ROOT) / "build"
BLOCK = re.compile(r"^```c(?: (?P<name>[^\n]*))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
CONFIGURATION = re.compile(r"^```toml\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-pedantic", "-D_GNU_SOURCE")
LANGUAGES = {"C11": ("cc", "-x", "c", "-std=c11"), "C++17": ("c++", "-x", "c++", "-std=c++17")}


def pages():
    root = pathlib.Path(ROOT)
    return [root / "README.md", *sorted((root / "docs").glob("*.md"))]


def written(page, folder):
    """The blocks of a page as files; those with a main() are programs."""
    files = []
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        name = (block["name"] or "").strip()
        first_line = block["text"].splitlines()[0]
        if not re.fullmatch(r"\w+\.[ch]", name):
            sys.exit(f"FAIL: {page.name}: the block that begins with '{first_line}' names no file")
        file = folder / name
        if file.exists():
            sys.exit(f"FAIL: {page.name}: {name} stands there twice")
        file.write_text(block["text"], encoding="utf-8")
        files.append(file)
    return files


def check_configurations(folder):
    for page in pages():
        for block in CONFIGURATION.finditer(page.read_text(encoding="utf-8")):
            file = folder / "snippet.toml"
            file.write_text(block["text"], encoding="utf-8")
            done = run(binary("mrcd"), "--config", file, "--check")
            check(done.returncode == 0, f"{page.name}: mrcd takes the configuration {done.stderr.strip()}")


def compiled(file, prefix, library):
    """Programs made of a block, by language."""
    text = file.read_text(encoding="utf-8")
    is_program = re.search(r"^int main\(", text, re.MULTILINE) is not None
    flags = run("pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs", "mrc",
                env=pkg_config_environment(library)).stdout.split()
    programs = {}
    for language, compiler in LANGUAGES.items():
        to = file.parent / f"{file.stem}-{language}"
        done = run(*compiler, *STRICT, file, "-x", "none", "-o", to, *(flags if is_program else ["-c", *flags]))
        check(done.returncode == 0, f"{file.name} compiles as {language}")
        if is_program:
            programs[language] = to
    return programs


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch")
    with tempfile.TemporaryDirectory() as folder:
        check_configurations(pathlib.Path(folder))
        prefix = pathlib.Path(folder) / "installed"
        library = install(BUILD, prefix)
        programs = {}
        for page in pages():
            place = pathlib.Path(folder) / page.stem
            place.mkdir()
            for file in written(page, place):
                programs |= {(file.name, language): program
                             for language, program in compiled(file, prefix, library).items()}
        names = {name for name, _ in programs}
        check({"write.c", "events.c", "memory.c", "controller.c"} <= names, f"programs: {', '.join(sorted(names))}")
        with lab("snippets", "--planes", "2", "--spines", "2") as fabric:
            environment = {**os.environ, "LD_LIBRARY_PATH": str(library),
                           "MRC_INSTANCE": f"{fabric.prefix}-h0,{fabric.prefix}-h1"}
            for (name, language), program in programs.items():
                done = run(program, env=environment)
                check(done.returncode == 0 and done.stdout, f"{name} as {language} says: {done.stdout.strip()}")


if __name__ == "__main__":
    main()
