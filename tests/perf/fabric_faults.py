#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the fabric map is good for, in figures: how soon all of four hosts name each kind of fault, and what else any of
them names; whether anything is blamed that is not at fault on a healthy lab at full rate, or with busy CPUs; what it
costs, and what leaving a lossy plane is worth.

usage: fabric_faults.py faults [--rounds N] [--only NAME] [--switch xdp|kernel]
       fabric_faults.py cost [--rounds N] [--seconds S]
       fabric_faults.py policy [--rounds N] [--seconds S]
       fabric_faults.py load [--seconds S]
       fabric_faults.py busy [--seconds S] [--programs N]
"""

import argparse
import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from fabric_faults_named import CONFIG, HOSTS, PLANES, SPINES, SWITCHES, at_once, faults_of, host_view  # noqa: E402
from fabric_map import watcher  # noqa: E402
from lab_support import lab, need_binaries, need_root  # noqa: E402
from transfer_support import DEADLINE_S, server, start_perf, wait_until  # noqa: E402


def time_fault(fabric, views, given):
    """Breaks and mends. The longest that a host took to name it rightly, from when the lab had done it; None: one never
    did. And whatever else any host named."""
    for view in views:
        view.watcher.forget()
    at_once(fabric, given.broken)
    done_ns = time.monotonic_ns()
    wanted = ("link_" + given.expected["state"], 1, given.expected["spine"], given.expected["blame"])
    told = {}

    def is_named():
        for view in views:
            told[view] = view.watcher.events()
        return all(any(what == wanted for _, what in events) for events in told.values())

    named = wait_until(is_named, DEADLINE_S)
    at_once(fabric, given.mended)
    wait_until(lambda: all(view.watcher.is_good() and not view.faults() for view in views), DEADLINE_S)
    others = {what for view in views for what in view.events() if what[3] != wanted[3]}
    if not named:
        return None, others
    last_ns = max(next(when for when, what in events if what == wanted) for events in told.values())
    return (last_ns - done_ns) / 1e9, others


def faults(options):
    with lab("fabric-faults", "--planes", str(PLANES), "--spines", str(SPINES), "--hosts", str(HOSTS),
             *SWITCHES[options.switch], config=CONFIG) as fabric:
        views = [host_view(fabric, name) for name in fabric.host_names()]
        wait_until(lambda: all(view.watcher.is_good() for view in views), DEADLINE_S)
        for name, given in faults_of(options.switch, fabric.host("h0")["mrc_address"]).items():
            if options.only not in name:
                continue
            times, wrong = [], []
            for _ in range(options.rounds):
                took_s, others = time_fault(fabric, views, given)
                times.append(took_s)
                wrong += others
            known = sorted(took_s for took_s in times if took_s is not None)
            figures = (known[0], statistics.median(known), known[-1]) if known else ()
            spread = ", ".join(f"{figure:.2f}" for figure in figures)
            prompt = sum(took_s < 1 for took_s in known)
            print(f"{name:35} named {len(known)} of {options.rounds}, {prompt} within 1 s; least, median, most "
                  f"{spread} s; others named {len(wrong)} {set(wrong) or ''}", flush=True)


@contextlib.contextmanager
def hogs(count):
    """So many programs that do nothing but take the CPU."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def totals(here):
    links = here.links()
    return {key: sum(link[key] for link in links) for key in ("sent", "lost", "unjudged")}


def report(here, what):
    events = here.events()
    said = [found for _, found in events]
    print(f"{what}: {len(events)} faults named {said or ''}; loops {totals(here)}", flush=True)
    return 1 if events else 0


def goodput_gbps(fabric, seconds):
    with server(fabric, "--once"):
        client = start_perf(fabric, "h0", fabric.host("h1")["mrc_address"], "-D", str(seconds), "--json")
        return json.loads(client.communicate()[0])["goodput_gbps"]


def compare(options, configs, prepare):
    """In turns, each in a lab of its own: one that is idle would take its share."""
    found = {name: [] for name in configs}
    for _ in range(options.rounds):
        for name, config in configs.items():
            with lab("fabric-cost", "--planes", "4", "--spines", str(SPINES), config=config) as fabric:
                prepare(fabric, config)
                found[name].append(goodput_gbps(fabric, options.seconds))
    for name, values in found.items():
        print(f"{name:20} Gbit/s least {min(values):.2f}, median {statistics.median(values):.2f}, "
              f"most {max(values):.2f}", flush=True)
    return 0


def cost(options):
    return compare(options, {"without": "", "with loops": CONFIG}, lambda fabric, config: None)


def policy(options):
    """Of the link of h0 to its leaf, and of that leaf to a spine, which lose 5 %."""
    for name, link in {"host's link": ("p1t0-0", "h0"), "leaf's link to a spine": ("p1t0-0", "p1t1-0")}.items():
        def prepare(fabric, config, link=link):
            here = watcher(fabric, "h0")
            wait_until(here.is_good, DEADLINE_S)
            fabric.run("impair", *link, "--loss", "5%")
            wait_until(here.events, DEADLINE_S)
            if "deny_lossy" in config:
                wait_until(lambda: "not used while" in fabric.log("h0"), DEADLINE_S)
        print(f"{name} loses 5 %", flush=True)
        compare(options, {"used": CONFIG, "left": CONFIG + "deny_lossy = true\n"}, prepare)


def watch(options, what, beside):
    with lab("fabric-watch", "--planes", "4", "--spines", str(SPINES), config=CONFIG) as fabric:
        here, there = watcher(fabric, "h0"), watcher(fabric, "h1")
        wait_until(lambda: here.is_good() and there.is_good(), DEADLINE_S)
        here.forget()
        there.forget()
        with beside:
            print(f"{what}: {goodput_gbps(fabric, options.seconds):.2f} Gbit/s for {options.seconds} s")
        return report(here, "h0") + report(there, "h1")


def load(options):
    return watch(options, "full rate", contextlib.nullcontext())


def busy(options):
    return watch(options, f"beside {options.programs} busy programs", hogs(options.programs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("faults", "cost", "policy", "load", "busy"))
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--switch", choices=tuple(SWITCHES), default="xdp")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--programs", type=int, default=8)
    options = parser.parse_args()
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl", "mrc-perf")
    sys.exit({"faults": faults, "cost": cost, "policy": policy, "load": load, "busy": busy}[options.what](options))


if __name__ == "__main__":
    main()
