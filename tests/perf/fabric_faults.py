#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the fabric map is good for, in figures: how soon each kind of fault is named, and whether anything is blamed
that is not at fault, on a healthy lab at full rate, or with busy CPUs; what it costs, and what leaving a lossy plane is
worth.

usage: fabric_faults.py faults [--rounds N] [--switch xdp|kernel]
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from fabric_map import CONFIG, PLANES, SPINES, SWITCHES, break_and_mend, faults_of, watcher  # noqa: E402
from lab_support import lab, need_binaries, need_root  # noqa: E402
from transfer_support import DEADLINE_S, server, start_perf, wait_until  # noqa: E402


def faults(options):
    with lab("fabric-faults", "--planes", str(PLANES), "--spines", str(SPINES), *SWITCHES[options.switch],
             config=CONFIG) as fabric:
        here = watcher(fabric, "h0")
        wait_until(here.is_good, DEADLINE_S)
        for name, fault in faults_of(options.switch).items():
            times, others = [], []
            for _ in range(options.rounds):
                took_s, wrong = break_and_mend(fabric, here, fault)
                times.append(took_s)
                others += wrong
            known = sorted(time for time in times if time is not None)
            figures = (known[0], statistics.median(known), known[-1]) if known else ()
            spread = ", ".join(f"{figure:.3f}" for figure in figures)
            prompt = sum(time < 1 for time in known)
            prompt = sum(time < 1 for time in known)
            print(f"{name:45} named {len(known)} of {options.rounds}, {prompt} within 1 s; least, median, most "
                  f"{spread} s; others named {len(others)} {set(others) or ''}", flush=True)


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
    def prepare(fabric, config):
        here = watcher(fabric, "h0")
        wait_until(here.is_good, DEADLINE_S)
        fabric.run("impair", "p1t0-0", "h0", "--loss", "5%")
        wait_until(here.events, DEADLINE_S)
        if "deny_lossy" in config:
            wait_until(lambda: "not used while" in fabric.log("h0"), DEADLINE_S)
    return compare(options, {"lossy plane used": CONFIG, "lossy plane left": CONFIG + "deny_lossy = true\n"}, prepare)


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
    parser.add_argument("--switch", choices=tuple(SWITCHES), default="xdp")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--programs", type=int, default=8)
    options = parser.parse_args()
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl", "mrc-perf")
    sys.exit({"faults": faults, "cost": cost, "policy": policy, "load": load, "busy": busy}[options.what](options))


if __name__ == "__main__":
    main()
