#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a controller has set outlives mrcd, also one that is killed: profiles and their states, what is denied, ports
that are switched off."""

import pathlib
import signal

from lab_support import DEADLINE_S, check, lab, left_behind, need_binaries, need_root
from mrcctl import operator
from mrcctl_control import ev
from restart_after_kill import started
from transfer_support import wait_until

PLANES = 2


def settings(here):
    return {"ev profiles": here.json("ev-profile", "list"),
            "built in": here.json("ev-profile", "show", "0"),
            "made": here.json("ev-profile", "show", "7"),
            "cc profile": here.json("cc-profile", "show", "3"),
            "ports": [(port["port"], port["state"], port["reason"]) for port in here.json("port", "list")]}


def make_settings(here):
    here.json("ev-profile", "create", "7", "--ev", ev(0, 0, 1), ev(1, 0, 1), "--min-active", "2", "--events",
              "good,assumed_bad", "--online")
    here.json("cc-profile", "create", "3", "target_delay=50000", "--online")
    here.json("ev-profile", "deny", "0", ev(1, 0))
    here.json("port", "disable", "2")


def saved(running):
    """What mrcd has written of them, up to a tenth of a second and a disk's time after it has answered."""
    file = pathlib.Path(f"/run/mrc-lab/{running.prefix}/settings/h0/controller.toml")
    return file.read_text(encoding="utf-8") if file.exists() else ""


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl")
    with lab("settings", "--no-daemons", "--planes", str(PLANES), "--leaves", "1", "--spines", "1", "--hosts",
             "2") as running:  # in direct mode a host alone has no neighbours, which is why its ports are down then
        config = f"/run/mrc-lab/{running.prefix}/config/h0.toml"
        with started(running, config) as (process, said):
            check(wait_until(lambda: "READY" in said(), DEADLINE_S), "mrcd runs")
            here = operator(running, "h0")
            make_settings(here)
            before = settings(here)
            check(before["made"]["state"] == before["cc profile"]["state"] == "ONLINE", "profiles are ONLINE")
            check({row["ev"]: row["state"] for row in before["built in"]["evs"]}[ev(1, 0)] == "denied",
                  "an EV is denied")
            check(before["ports"][1] == (2, "down", "disabled"), "a port is switched off")
            check(wait_until(lambda: "disabled_ports = [2]" in saved(running), DEADLINE_S), "the last of them is saved")
            process.send_signal(signal.SIGKILL)
            process.wait()
        with started(running, config) as (process, said):
            check(wait_until(lambda: "READY" in said() or process.poll() is not None, DEADLINE_S) and
                  "READY" in said(), f"after a kill it starts again: {said()}")
            after = settings(here)
            for what, was in before.items():
                check(after[what] == was, f"{what}: as before: {after[what]}")
    check(left_behind(running.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
