#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrcd gives up what it needs to start: all of its threads run as a user of its own, with two capabilities and no way
to more, with either transmit engine; and it still transfers, finds its ports' gateways anew, reads its configuration
again, and clears up."""

import os
import pathlib
import pwd
import re
import select
import signal

from lab_support import DEADLINE_S, check, lab, need_binaries, need_root
from pinned_maps import host_maps
from transfer_support import transfer, wait_until

NET_ADMIN, NET_RAW = 1 << 12, 1 << 13
CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapAmb")


def statuses(pid):
    """/proc/PID/status of each thread."""
    return [dict(line.split(":\t", 1) for line in (task / "status").read_text("ascii").splitlines() if ":\t" in line)
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]


def configured_user(config):
    return pwd.getpwnam(re.search(r'^user = "(.*)"$', config.read_text(encoding="utf-8"), re.M).group(1))


def check_threads(pid, user):
    threads = statuses(pid)
    check(len(threads) >= 2, f"mrcd has {len(threads)} threads")
    check({status["Uid"] for status in threads} == {"\t".join([str(user.pw_uid)] * 4)} and user.pw_uid != 0,
          f"all of them run as user {user.pw_name}, by every id")
    check({status["Gid"] for status in threads} == {"\t".join([str(user.pw_gid)] * 4)}, "and as its group")
    check(all("0" not in status["Groups"].split() for status in threads), "root's groups are gone")
    for name in CAPABILITIES:
        wanted = NET_ADMIN | NET_RAW if name in ("CapPrm", "CapEff") else 0
        found = {int(status[name], 16) for status in threads}
        check(found == {wanted}, f"{name} is {wanted:#x} everywhere {sorted(found)}")
    check({status["NoNewPrivs"] for status in threads} == {"1"}, "none of them can gain any")


def check_that_it_works(fabric, pid, config):
    client, server, _ = transfer(fabric, "-n", "20", "-s", "64K", "--verify")
    check(client.status == 0 and server["verified"] is True, f"it transfers {client.complaints}")
    maps = host_maps(f"{fabric.prefix}-h0")
    fabric.inside("h0", "ip", "link", "set", "p1", "down")
    check(wait_until(lambda: maps.row("host", 0)["plane_mask"] == 0b01, DEADLINE_S), "a port goes down")
    fabric.inside("h0", "ip", "link", "set", "p1", "up")
    check(wait_until(lambda: maps.row("host", 0)["plane_mask"] == 0b11, DEADLINE_S),
          "and back: its gateway, which the kernel had forgotten, has been found")
    text = config.read_text(encoding="utf-8")
    log = pathlib.Path(fabric.host("h0")["log"])
    config.write_text(text.replace("[daemon]", "[daemon]\ndrain_ms = 7", 1), encoding="utf-8")
    os.kill(pid, signal.SIGHUP)
    check(wait_until(lambda: "daemon.drain_ms: 1000 is now 7" in log.read_text("utf-8"), DEADLINE_S),
          "it reads its configuration again")


def check_end(fabric, pid, instance):
    process = os.pidfd_open(pid)
    os.kill(pid, signal.SIGTERM)
    check(select.select([process], [], [], DEADLINE_S)[0], "it ends")
    os.close(process)
    check(not os.path.exists(f"/run/mrc/{instance}/mrcd.sock"), "its socket is gone")
    pins = f"/sys/fs/bpf/mrc/{instance}"
    check(not os.path.exists(pins) or os.listdir(pins) == [], "and all of its pins")
    check("mrcnet" not in fabric.inside("h0", "ip", "-o", "link") and
          "xdp" not in fabric.inside("h0", "ip", "-o", "link"), "its devices and programs, too")


def check_engine(engine):
    print(f"transmit engine {engine}:")
    with lab("privileges", "--planes", "2", "--spines", "1", "--engine", engine) as fabric:
        instance = f"{fabric.prefix}-h0"
        config = pathlib.Path(f"/run/mrc-lab/{fabric.prefix}/config/h0.toml")
        pid = next(host["pid"] for host in fabric.status()["hosts"] if host["name"] == "h0")
        check_threads(pid, configured_user(config))
        check_that_it_works(fabric, pid, config)
        check_threads(pid, configured_user(config))
        check_end(fabric, pid, instance)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    for engine in ("xdp", "af_xdp"):
        check_engine(engine)


if __name__ == "__main__":
    main()
