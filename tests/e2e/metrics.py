#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What mrcctl gives Prometheus: the numbers of other views, in a form that promtool finds nothing to say about; a cut
plane shows; the exporter answers and refuses as it should, also while the daemon hangs; Prometheus scrapes it, and
every panel of the dashboard has data. Exporter and Prometheus run in the network of a host of the lab, where they are
the only ones."""

import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

from lab_support import ROOT, TIME_SCALE, binary, check, lab, need_binaries, need_root, skip
from transfer_support import STEADY, lines_of, stopped, transfer, wait_until

PLANES = 4
LIMIT_S = 60 * TIME_SCALE
EXPORTER, PROMETHEUS = "127.0.0.1:9101", "127.0.0.1:9090"
MOST_CONNECTIONS = 8
SERIES = re.compile(r'^(\w+)\{(.*)\} (\S+)$')
LABEL = re.compile(r'(\w+)="([^"]*)"')
MONITORING = pathlib.Path(ROOT) / "docs/monitoring"
SCRAPE = f"""
global: {{scrape_interval: 1s}}
rule_files: ['{MONITORING}/alerts.yml']
scrape_configs: [{{job_name: mrc, static_configs: [{{targets: ['{EXPORTER}']}}]}}]
"""
# Of the paths of a plane, and what `path list` calls them.
PATH_SUMS = {"mrc_path_transmit_packets": "tx_packets", "mrc_path_lost_packets": "losses",
             "mrc_path_retransmit_packets": "retransmits", "mrc_path_receive_packets": "rx_packets",
             "mrc_path_receive_congested_packets": "rx_congested", "mrc_path_receive_trimmed_packets": "rx_trimmed"}
PORT_COUNTERS = {"mrc_port_transmit_packets_total": "tx_packets", "mrc_port_transmit_bytes_total": "tx_bytes",
                 "mrc_port_transmit_held_packets_total": "tx_held",
                 "mrc_port_receive_packets_total": "rx_packets", "mrc_port_receive_bytes_total": "rx_bytes"}


class host_metrics:
    """Of one host of the lab, by mrcctl and by the exporter."""

    def __init__(self, fabric, host):
        self.fabric, self.host = fabric, host
        self.instance = f"{fabric.prefix}-{host}"

    def run(self, *arguments, status=0):
        done = subprocess.run([binary("mrcctl"), *arguments, "--instance", self.instance], text=True,
                              capture_output=True, check=False, timeout=LIMIT_S)
        if done.returncode != status:
            check(False, f"mrcctl {' '.join(arguments)}: status {done.returncode} of {status}: {done.stderr}")
        return done.stdout or done.stderr

    def view(self, *arguments):
        return json.loads(self.run(*arguments, "-j"))

    def curl(self, *arguments):
        """Status and body."""
        said = self.fabric.inside(self.host, "curl", "-s", "--max-time", str(LIMIT_S), "-w", "\n%{http_code}", "-g",
                                  *arguments)
        body, _, status = said.rpartition("\n")
        return int(status), body

    def scraped(self):
        status, body = self.curl(f"http://{EXPORTER}/metrics")
        if status != 200:
            check(False, f"the exporter answers with {status}: {body}")
        return series(body)


def series(text):
    """Values by name and labels, which are those of `mrc_instance` and more."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = SERIES.match(line).groups()
            key = (name, *sorted((label, text) for label, text in LABEL.findall(labels) if label != "mrc_instance"))
            if key in found or "mrc_instance=" not in labels:
                check(False, f"{key} is there once, with its instance")
            found[key] = float(value)
    return found


def of(found, name, **labels):
    return found[(name, *sorted(labels.items()))]


def check_lint(here):
    text = here.run("metrics")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False)
    check(done.returncode == 0 and not done.stdout + done.stderr, f"promtool has nothing to say {done.stderr}")
    families = {family["name"]: len(family["samples"]) for family in here.view("metrics")}
    found = series(text)
    check({name: sum(key[0] == name for key in found) for name in families} == families, "-j has the same families")
    check(len(found) < 300, f"{len(found)} series, whatever the traffic")
    labels = {label for key in found for label, _ in key[1:]}
    check(labels == {"plane", "worker", "device", "reason", "state", "verdict", "dropped"},
          f"with these labels only: {labels}")


def check_values(here):
    """With the daemon stopped; the BPF programs go on to count what other hosts send."""
    def views():
        return here.view("counters")["verdicts"], here.view("path", "list"), here.view("port", "list")

    before, found, after = views(), here.scraped(), views()
    check(of(found, "mrc_up") == 0, "a daemon that is stopped is not up, and its exporter answers")
    dropped = {dict(key[1:])["verdict"]: dict(key[1:])["dropped"] for key in found if key[0] == "mrc_packets_total"}
    check(dropped.keys() == {verdict for verdict in before[0] if not verdict.startswith("sw_")} and
          dropped["rx_steered"] == "no" and dropped["rx_drop_inner"] == "yes", "every verdict of a host is there")
    check(all(before[0][verdict] <= of(found, "mrc_packets_total", verdict=verdict, dropped=drop) <= after[0][verdict]
              for verdict, drop in dropped.items()), "with the numbers of `counters`")
    for plane in range(PLANES):
        for name, member in PATH_SUMS.items():
            low, high = (sum(path[member] for path in view[1] if path["plane"] == plane) for view in (before, after))
            if not low <= of(found, name, plane=str(plane)) <= high:
                check(False, f"{name} of plane {plane}: {low} to {high}")
        labels = {"plane": str(plane), "device": f"p{plane}"}
        for name, member in PORT_COUNTERS.items():
            low, high = before[2][plane][member], after[2][plane][member]
            if not (low > 0 or member == "tx_held") or not low <= of(found, name, **labels) <= high:
                check(False, f"{name} of plane {plane}: {low} to {high}")
        states = collections.Counter(path["state"] for path in before[1] if path["plane"] == plane)
        counted = {dict(key[1:])["state"]: value for key, value in found.items()
                   if key[0] == "mrc_paths" and dict(key[1:])["plane"] == str(plane) and value}
        check(of(found, "mrc_port_up", **labels) == 1 and counted == states and
              states.total() == here.fabric.paths_per_plane(),
              f"plane {plane} has the numbers of `path list` and `port list`, and is in use: {counted}, {dict(states)}")
        least_ns = min(path["rtt_min_ns"] for path in before[1] if path["plane"] == plane and path["rtt_min_ns"])
        found_ns = of(found, "mrc_path_rtt_min_seconds", plane=str(plane)) * 1e9
        check(abs(found_ns - least_ns) < 1, f"its RTT in seconds: {least_ns} ns")
    worker = here.view("status")["workers"][0]
    check(of(found, "mrc_worker_receive_packets_total", worker="0") == worker["rx_packets"] > 0 and
          abs(of(found, "mrc_worker_cpu_seconds_total", worker="0") * 1e9 - worker["ran_ns"]) < 1 < worker["ran_ns"] and
          abs(of(found, "mrc_worker_cpu_wait_seconds_total", worker="0") * 1e9 - worker["waited_ns"]) < 1,
          f"its worker has the numbers of `status`: {worker}")
    clients, qps = here.view("client", "list"), here.view("qp", "list")
    check(of(found, "mrc_clients") == len(clients) == 1 and
          of(found, "mrc_qps", state="RTS") == len(qps) > 0 and
          of(found, "mrc_client_registered_bytes") == clients[0]["registered_bytes"] and
          of(found, "mrc_client_shared_bytes") == clients[0]["shared_bytes"] and
          of(found, "mrc_qp_transmit_bytes") == sum(qp["tx_bytes"] for qp in qps) > 0,
          "and its clients and queue pairs")


def check_cut(fabric, here):
    def paths(state):
        return of(here.scraped(), "mrc_paths", plane="1", state=state)

    fabric.run("plane", "1", "down")
    check(wait_until(lambda: paths("assumed_bad") == fabric.paths_per_plane() and paths("good") == 0, LIMIT_S),
          "a cut plane's paths are bad")
    fabric.run("plane", "1", "up")
    check(wait_until(lambda: paths("good") == fabric.paths_per_plane(), LIMIT_S), "and good when it is back")
    fabric.inside("h0", "ip", "link", "set", "p3", "down")
    labels = {"plane": "3", "device": "p3"}
    check(wait_until(lambda: of(here.scraped(), "mrc_port_up", **labels) == 0, LIMIT_S),
          "a port that is down is not up")
    check(of(here.scraped(), "mrc_port_down_reason", reason="down", **labels) == 1, "and its reason is named")
    fabric.inside("h0", "ip", "link", "set", "p3", "up")
    check(wait_until(lambda: of(here.scraped(), "mrc_port_up", **labels) == 1, LIMIT_S), "until it is up again")


def check_file(here):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "mrc.prom"
        file.write_text("old", encoding="utf-8")
        os.chmod(file, 0o600)
        here.run("metrics", "-o", str(file))
        check(series(file.read_text("utf-8")).keys() == series(here.run("metrics")).keys(), "-o writes what is printed")
        check(os.listdir(folder) == ["mrc.prom"] and file.stat().st_mode & 0o777 == 0o644, "alone, and readable by all")
        said = here.run("metrics", "-o", folder, status=1)
        check("is no regular file" in said and "allowed" in said, f"but nowhere else: {said.strip()}")
        said = here.run("metrics", "-o", f"{folder}/none/mrc.prom", status=1)
        check("No such file" in said, f"nor in no folder: {said.strip()}")


@contextlib.contextmanager
def exporter(here):
    arguments = here.fabric.enter(here.host, binary("mrcctl"), "metrics", "--listen", EXPORTER, "--instance",
                                  here.instance)
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE)
    try:
        line = lines_of(process.stderr).next(time.monotonic() + LIMIT_S)
        check(line == f"mrcctl: metrics at http://{EXPORTER}/metrics", f"the exporter says where it is: {line}")
        yield process
    finally:
        process.kill()
        process.wait()


def check_refusals(here):
    there = f"http://{EXPORTER}"
    for status, arguments in ((404, [f"{there}/"]), (405, ["-X", "POST", f"{there}/metrics"]),
                              (431, ["-H", f"X: {'x' * 9000}", f"{there}/metrics"]),
                              (413, ["-d", "text", f"{there}/metrics"])):
        answered, body = here.curl(*arguments)
        check(answered == status and body.count("\n") == 1, f"{status}: {body.strip()}")
    done = subprocess.run(here.fabric.enter(here.host, binary("mrcctl"), "metrics", "--listen", EXPORTER, "--instance",
                                            here.instance), text=True, capture_output=True, check=False)
    check(done.returncode == 1 and "cannot listen" in done.stderr and "in use" in done.stderr,
          f"there is one exporter at a place: {done.stderr.strip()}")


def check_idle_connections(here):
    """As many as it takes; none of them says anything."""
    address, port = EXPORTER.split(":")
    silent = here.fabric.enter(here.host, "bash", "-c", f"exec 3<>/dev/tcp/{address}/{port}; echo; cat <&3")
    idle = [subprocess.Popen(silent, stdout=subprocess.PIPE) for _ in range(MOST_CONNECTIONS)]
    try:
        check(all(process.stdout.readline() == b"\n" for process in idle), f"{MOST_CONNECTIONS} connections are idle")
        check(of(here.scraped(), "mrc_up") == 1, "which keep nobody from an answer")
        check(all(process.communicate(timeout=LIMIT_S)[0] == b"" for process in idle), "for they are closed")
    finally:
        for process in idle:
            process.kill()


@contextlib.contextmanager
def prometheus(fabric, host):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "prometheus.yml"
        config.write_text(SCRAPE, encoding="utf-8")
        log = pathlib.Path(folder) / "log"
        with log.open("w", encoding="utf-8") as out:
            process = subprocess.Popen(fabric.enter(host, "prometheus", f"--config.file={config}",
                                                    f"--storage.tsdb.path={folder}/data",
                                                    f"--web.listen-address={PROMETHEUS}"), stdout=out, stderr=out)
        try:
            yield log
        finally:
            process.terminate()
            process.wait()


def query(here, expression):
    """What Prometheus has; nothing while it starts, and for what it does not understand."""
    curl = here.fabric.enter(here.host, "curl", "-s", "-f", "--max-time", str(LIMIT_S), "-G", "--data-urlencode",
                             f"query={expression}", f"http://{PROMETHEUS}/api/v1/query")
    done = subprocess.run(curl, text=True, capture_output=True, check=False)
    return json.loads(done.stdout)["data"]["result"] if done.returncode == 0 else []


def check_panels(here):
    panels = json.loads((MONITORING / "dashboard.json").read_text("utf-8"))["panels"]
    with prometheus(here.fabric, here.host) as log:
        scrapes = wait_until(lambda: query(here, 'count_over_time(up{job="mrc"}[1m]) > 3'), LIMIT_S)
        check(scrapes, "Prometheus scrapes the exporter" if scrapes else f"Prometheus: {log.read_text('utf-8')}")
        check(query(here, 'up{job="mrc"} == 1'), "and has its metrics")
        for panel in panels:
            for target in panel["targets"]:
                expression = target["expr"]
                for variable, value in (("$__rate_interval", "30s"), ("$mrc_instance", here.instance)):
                    expression = expression.replace(variable, value)
                check(wait_until(lambda: query(here, expression), LIMIT_S), f"{panel['title']}: {expression}")
        asked = " ".join(target["expr"] for panel in panels for target in panel["targets"])
        used = set(re.findall(r"mrc_\w+", asked))
        known = {family["name"] for family in here.view("metrics")} | {"mrc_instance"}
        check(used <= known, f"no panel asks for what there is not {used - known or ''}")


def check_rules():
    done = subprocess.run(["promtool", "test", "rules", f"{ROOT}/tests/e2e/alerts_test.yml"], text=True,
                          capture_output=True, check=False)
    check(done.returncode == 0, f"the alert rules pass their tests{done.stderr if done.returncode else ''}")
    rules = (MONITORING / "alerts.yml").read_text("utf-8")
    tested = (pathlib.Path(ROOT) / "tests/e2e/alerts_test.yml").read_text("utf-8")
    alerts = re.findall(r"alert: (\w+)", rules)
    check(len(alerts) > 5 and all(re.search(rf"alertname: {name}\n", tested) and f"alertname: {name}," in tested
                                  for name in alerts), "each of them, with and without its fault")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrcctl")
    if not shutil.which("promtool"):
        skip("prometheus is not installed (scripts/setup --test)")
    check_rules()
    seen = []
    with lab("metrics", "--planes", str(PLANES)) as fabric:
        here = host_metrics(fabric, "h0")
        with exporter(here) as process:
            def look(sample, client):
                if seen or not sample["bytes"]:
                    return
                seen.append(True)
                check_lint(here)
                with stopped(fabric.host("h0")["pid"]):
                    check_values(here)
                check_panels(here)
                check_cut(fabric, here)
                client.send_signal(signal.SIGINT)

            transfer(fabric, *STEADY, "-D", "300", on_sample=look)
            check(seen, "bytes flowed")
            check_file(here)
            check_refusals(here)
            check_idle_connections(here)
            os.kill(fabric.host("h0")["pid"], signal.SIGKILL)
            check(wait_until(lambda: of(here.scraped(), "mrc_up") == 0, LIMIT_S), "a dead daemon is not up")
            sent = of(here.scraped(), "mrc_port_transmit_packets_total", plane="0", device="p0")
            check(sent > 0, "but has its numbers")
            process.terminate()
            check(process.wait(LIMIT_S) == 0, "the exporter ends on SIGTERM")


if __name__ == "__main__":
    main()
