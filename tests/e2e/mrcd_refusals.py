#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrcd that cannot start says why in one line, exits non-zero, and leaves nothing attached, pinned or running."""

import os
import pathlib
import subprocess
import tempfile

from lab_support import binary, check, lab, need_binaries, need_root

DEADLINE_S = 20
NOBODY = 65534


def traces(running, instance):
    """What a daemon could have left: pins, socket, XDP programs on the host's ports, overlay and scratch devices."""
    found = [path for path in (f"/sys/fs/bpf/mrc/{instance}", f"/run/mrc/{instance}/mrcd.sock") if os.path.exists(path)]
    links = running.inside("h0", "ip", "-o", "link")
    return found + [line for line in links.splitlines() if "xdp" in line or "mrcnet" in line or "mrcpush" in line]


def refuses(running, what, config, words, wrapper=()):
    """Starts mrcd on h0 with this configuration and expects one line that holds all of `words`."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(config)
        file.flush()
        os.chmod(file.name, 0o644)
        argv = running.enter("h0", *wrapper, binary("mrcd"), "--config", file.name)
        done = subprocess.run(argv, text=True, capture_output=True, check=False, timeout=DEADLINE_S)
    lines = [line for line in done.stderr.splitlines() if line.startswith("mrcd: ")]
    check(done.returncode not in (0, None) and done.returncode < 128, f"{what}: exit status {done.returncode}")
    check(len(lines) == 1 and len(done.stderr.splitlines()) == 1, f"{what}: one line: {done.stderr.strip()}")
    for word in words:
        check(word in lines[0], f"{what}: the line names '{word}'")
    left = traces(running, running.prefix + "-h0")
    check(not left, f"{what}: nothing is left behind {left or ''}")


def on_cpus(config, cpus):
    affinity = f"affinity = '{cpus}'\n"
    if "[worker]\n" in config:
        return config.replace("[worker]\n", f"[worker]\n{affinity}")
    return f"{config}[worker]\n{affinity}"


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch")
    with lab("refuse", "--no-daemons", "--planes", "2", "--leaves", "1", "--spines", "1", "--hosts", "1") as running:
        config = next(pathlib.Path(f"/run/mrc-lab/{running.prefix}/config").glob("h0.toml")).read_text(encoding="ascii")
        unprivileged = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        without_bpf = ("setpriv", "--bounding-set=-bpf,-sys_admin", "--inh-caps=-bpf,-sys_admin")

        refuses(running, "without privilege", config, ["CAP_BPF", "CAP_NET_ADMIN"], unprivileged)
        refuses(running, "without BPF", config, ["CAP_BPF"], without_bpf)
        refuses(running, "wrong key", config.replace("planes = 2", "plains = 2"), ["plains", "planes", ".toml:"])
        refuses(running, "wrong value", config.replace("planes = 2", "planes = 9"), ["planes", "9", "8"])
        for cpus, words in {"1023": ["1023", "does not exist", "allowed", "auto"], "a": ["affinity", "0-3,8"]}.items():
            refuses(running, f"worker on CPU {cpus}", on_cpus(config, cpus), words)
        foreign = pathlib.Path("/sys/fs/bpf") / f"{running.prefix}-foreign"
        elsewhere = config.replace("[daemon]", f'[daemon]\npin_dir = "{foreign}/pins"')
        foreign.mkdir()
        os.chown(foreign, NOBODY, NOBODY)
        refuses(running, "pins below another user's folder", elsewhere, [str(foreign), f"user {NOBODY}", "chown"])
        os.chown(foreign, 0, 0)
        foreign.chmod(0o777)
        refuses(running, "pins below a folder of everybody's", elsewhere, [str(foreign), "chmod go-w"])
        foreign.rmdir()
        # Refused last of all, with programs, sockets and the worker's thread in place.
        nobodys = config.replace("[daemon]", '[daemon]\ngroup = "nobodys"\nlog_level = "error"')
        refuses(running, "no such group", nobodys, ["nobodys", "group"])
        running.inside("h0", "ip", "link", "set", "p0", "mtu", "300")
        refuses(running, "small MTU", config, ["300", "MTU"])
        running.inside("h0", "ip", "link", "set", "p0", "mtu", "1500")
        refuses(running, "payload above MTU", config.replace('engine = "auto"', 'engine = "auto"\npayload = 3072'),
                ["payload", "3072", "1500"])


if __name__ == "__main__":
    main()
