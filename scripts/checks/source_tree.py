# SPDX-License-Identifier: Apache-2.0
"""What the checks share: the files of the tree, and a command line with a proof that the check can fail."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def paths(root):
    """Files of the project, relative to its root: tracked, or new and not ignored."""
    listed = subprocess.run(["git", "-c", f"safe.directory={root}", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], cwd=root, capture_output=True, check=True)
    names = sorted(set(listed.stdout.decode().split("\0")) - {""})
    return [path for path in map(pathlib.PurePosixPath, names) if (root / path).is_file()]


def text(root, path):
    return (root / path).read_text(encoding="utf-8", errors="replace")


def shell_scripts(root):
    return [path for path in paths(root) if path.suffix == ".sh" or _interpreter(root / path) in ("sh", "bash")]


def python_sources(root):
    return [path for path in paths(root) if path.suffix == ".py" or _interpreter(root / path).startswith("python3")]


def _interpreter(path):
    with open(path, "rb") as stream:
        first = stream.readline(200).decode("utf-8", "replace")
    words = first[2:].replace("/usr/bin/env ", "").split()
    return words[0].rsplit("/", 1)[-1] if first.startswith("#!") and words else ""


def main(description, check, good, bad):
    """Runs check(root), which gives one line for each complaint.

    --self-test tries it on small trees, {path: content}: `good` ones must pass; of `bad` ones, (tree, words), each
    must be complained about with those words.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--self-test", action="store_true", help="prove on small trees that the check can fail")
    complaints = _self_test(check, good, bad) if parser.parse_args().self_test else check(ROOT)
    for complaint in complaints:
        print(complaint)
    if complaints:
        print(f"{pathlib.Path(sys.argv[0]).name}: {len(complaints)} found", file=sys.stderr)
    sys.exit(bool(complaints))


def _self_test(check, good, bad):
    failures = []
    for tree, words in [(tree, None) for tree in good] + bad:
        complaints = _try(check, tree)
        if words is None and complaints:
            failures.append(f"complains about a good tree: {complaints}")
        if words is not None and not any(words in complaint for complaint in complaints):
            failures.append(f"does not find '{words}' in {tree}; says: {complaints}")
    return failures


def _try(check, tree):
    with tempfile.TemporaryDirectory(prefix="mrc-check-") as directory:
        root = pathlib.Path(directory)
        subprocess.run(["git", "init", "--quiet", directory], check=True)
        for path, content in tree.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content, encoding="utf-8")
        return check(root)
