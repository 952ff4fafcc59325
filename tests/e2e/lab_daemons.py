#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A lab with its daemons: they are up within 15 s, a dead one is reported, and whatever is killed when, `down` leaves
no process, pin or socket behind."""

import os
import select
import signal
import subprocess
import tempfile
import time
import tomllib

from lab_support import (DEADLINE_S, binary, check, lab, left_behind, mrc_lab, need_binaries, need_root, running_lab,
                         start_until)

UP_LIMIT_S = 15


def exists_below(path, count):
    try:
        return len(os.listdir(path)) >= count
    except FileNotFoundError:
        return False


def kill_and_wait(pid):
    process = os.pidfd_open(pid)
    signal.pidfd_send_signal(process, signal.SIGKILL)
    ended, _, _ = select.select([process], [], [], DEADLINE_S)
    os.close(process)
    check(ended, f"process {pid} was killed")


def test_alive_and_dead():
    started = time.monotonic()
    with lab("daemons") as fabric:
        seconds = time.monotonic() - started
        check(seconds < UP_LIMIT_S, f"16 switches and 2 hosts are up with daemons in {seconds:.1f} s of {UP_LIMIT_S}")
        status = fabric.status()
        check(all(node["alive"] for node in status["hosts"] + status["switches"]), "every daemon is alive")
        check(all(os.path.exists(host["socket"]) for host in status["hosts"]), "every host has its socket")
        check(all(os.path.isdir(switch["pin"]) for switch in status["switches"]), "every switch has its pins")
        for node in (status["hosts"][0], status["switches"][5]):
            kill_and_wait(node["pid"])
        text = fabric.run("status")[0]
        check("mrcd dead" in text and f"switch {status['switches'][5]['name']} dead" in text, "dead ones are named")
    check(left_behind(fabric.prefix) == [], "nothing is left of them")


def test_killed_while_starting():
    stages = {
        "the first switch has its log": lambda prefix: exists_below(f"/run/mrc-lab/{prefix}/log", 1),
        "half the switches have their log": lambda prefix: exists_below(f"/run/mrc-lab/{prefix}/log", 8),
        "the first switch has pinned": lambda prefix: exists_below(f"/sys/fs/bpf/mrc/{prefix}", 1),
        "all switches have pinned": lambda prefix: exists_below(f"/sys/fs/bpf/mrc/{prefix}", 16),
        "a host has its log": lambda prefix: exists_below(f"/run/mrc-lab/{prefix}/log", 17),
    }
    for number, (stage, reached) in enumerate(stages.items()):
        for name, sent in (("killed", signal.SIGKILL), ("interrupted", signal.SIGTERM)):
            prefix = f"dying{number}-{os.getpid()}"
            process = start_until(lambda: reached(prefix), "up", "--prefix", prefix)
            process.send_signal(sent)
            process.communicate(timeout=DEADLINE_S)
            if sent == signal.SIGKILL or process.returncode != 1:
                running_lab(prefix).run("down")
            check(left_behind(prefix) == [], f"{name} when {stage}: nothing is left")


def test_own_configuration():
    """Tables that the lab writes itself, and one that it does not."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as extra:
        extra.write('[daemon]\nlog_level = "debug"\n[transmit]\npayload = 1024\n[transport]\nbase_rtt_us = 50\n'
                    '[[port]]\ndevice = "p0"\nqueues = 1\n')
        extra.flush()
        with lab("ownconf", "--mrcd-config", extra.name) as fabric:
            for host in fabric.status()["hosts"]:
                check(host["alive"], f"{host['name']} runs with tables that the lab writes, too, in the file")
                shown = subprocess.run([binary("mrcd"), "--config", host["config"], "--print-config"], text=True,
                                       capture_output=True, check=True).stdout
                config = tomllib.loads(shown)
                check(config["daemon"]["log_level"] == "debug" and config["transmit"]["payload"] == 1024
                      and config["transport"]["base_rtt_us"] == 50 and config["port"][0]["queues"] == 1
                      and config["daemon"]["instance"] == host["instance"] and len(config["port"]) == 4,
                      "and has both their keys")


def test_bad_configuration():
    prefix = f"badconf-{os.getpid()}"
    path = f"/run/{prefix}.toml"
    with open(path, "w", encoding="utf-8") as extra:
        extra.write("[nonsense]\nkey = 1\n")
    try:
        _, error = mrc_lab("up", "--prefix", prefix, "--mrcd-config", path, status=1)
    finally:
        os.unlink(path)
    check("mrcd of h" in error and "nonsense" in error, "a configuration that mrcd refuses is shown in its words")
    check(left_behind(prefix) == [], "and its lab is removed")


def main():
    need_root()
    need_binaries("mrc-switch", "mrcd")
    test_alive_and_dead()
    test_killed_while_starting()
    test_own_configuration()
    test_bad_configuration()


if __name__ == "__main__":
    main()
