# SPDX-License-Identifier: Apache-2.0
"""One run of a program between two hosts of a lab, and the figures that it gives."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from lab_support import binary
from transfer_support import DEADLINE_S, lines_of, preloaded, run_client, start_perf, wait_until

from . import labs, percentiles

LONGEST_IPERF_BLOCK = 1 << 20
CONNECT_MS = "10000"  # where a TCP connection cannot be made, the kernel tries for two minutes
SOCKPERF_BYTES = (14, 65000)  # least and, near enough, most
SOCKPERF_PORT = "11111"
SAY_WHEN_THEY_BEGIN = ("trace", "capture")  # commands of mrcctl, once what they need is there
TICKS = os.sysconf("SC_CLK_TCK")


def size_of(text):
    """Bytes of "8", "64K" or "1M"."""
    return int(text.rstrip("KM")) << {"K": 10, "M": 20}.get(text[-1], 0)


@contextlib.contextmanager
def far_end(fabric, port=None, host="h1"):
    """A server of mrc-perf's that listens."""
    process = start_perf(fabric, host, "--json", *(("--port", port) if port else ()))
    try:
        first = lines_of(process.stdout).next(time.monotonic() + DEADLINE_S)
        if first is None or not first.startswith("LISTENING "):
            sys.exit(f"FAIL: the server did not start: {process.stderr.read().decode()}")
        yield
    finally:
        process.kill()
        process.wait()


def processor_seconds(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text("ascii")
    return sum(map(int, stat.rpartition(")")[2].split()[11:13])) / TICKS


def thread_seconds(pid):
    """Processor time of a process's first thread, to the nanosecond."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text("ascii").split()[0]) / 1e9


def daemons_seconds(fabric):
    """Processor time of both mrcd. Unlike rates, it says the same beside other programs."""
    return sum(processor_seconds(fabric.host(host)["pid"]) for host in ("h0", "h1"))


def services_seconds(fabric):
    """Of that, their service threads: all that is no packet, with what they watch."""
    return sum(thread_seconds(fabric.host(host)["pid"]) for host in ("h0", "h1"))


def figures(report):
    """Those of a report of mrc-perf's."""
    found = {"gbps": report["goodput_gbps"], "mps": report["msg_rate_mps"], "bytes": report["bytes"],
             "messages": report["messages"],
             "max_stall_us": report["max_stall_us"], "memory": report["memory"]}
    if "lat_us" in report:
        found |= {f"{name}_us": report["lat_us"][name] for name in ("p50", "p99", "p999")}
    return found


def checked(client):
    if client.status != 0:
        sys.exit(f"FAIL: mrc-perf: {' '.join(client.complaints)}")
    return client.report


def observed(run, *command):
    """`run` while mrcctl does this on both hosts, and the processor time of both for each message."""
    def beside(at, seconds):
        watchers = [subprocess.Popen(at.fabric.enter(host, binary("mrcctl"), "--instance",
                                                     at.fabric.host(host)["instance"], *command),
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for host in ("h0", "h1")]
        try:
            if command[0] in SAY_WHEN_THEY_BEGIN:
                for watcher in watchers:
                    watcher.stderr.readline()
            before = sum(thread_seconds(watcher.pid) for watcher in watchers)
            found = run(at, seconds)
            spent = sum(thread_seconds(watcher.pid) for watcher in watchers) - before
            found["mrcctl_us"] = 1e6 * spent / max(found["messages"], 1)
            ended = [watcher for watcher in watchers if watcher.poll() is not None]
        finally:
            for watcher in watchers:
                watcher.terminate()
            complaints = [watcher.communicate()[1].decode() for watcher in watchers]
        if ended:
            sys.exit(f"FAIL: mrcctl {' '.join(command)} did not go on: {complaints}")
        return found
    return beside


def client_figures(fabric, *arguments, **how):
    """Those of a run of mrc-perf's client; of --lat with all percentiles."""
    if "--lat" not in arguments:
        return figures(checked(run_client(fabric, *arguments, **how)))
    with tempfile.NamedTemporaryFile() as kept:
        report = checked(run_client(fabric, *arguments, "--percentiles", kept.name, **how))
        return figures(report) | {"percentiles": percentiles.of_file(kept.name)}


def mrc(*arguments, memory="shared", host="h0", by_daemons=True):
    """A run of mrc-perf's client with these arguments, to h1; `by_daemons`: of mrcd, whose processor time is told."""
    def run(at, seconds):
        before = daemons_seconds(at.fabric) if by_daemons else 0
        service_before = services_seconds(at.fabric) if by_daemons else 0
        with far_end(at.fabric):
            found = client_figures(at.fabric, *arguments, "--memory", memory, "-D", str(seconds), host=host,
                                   limit_s=DEADLINE_S + seconds)
        if not by_daemons:
            return found
        daemon_s = daemons_seconds(at.fabric) - before
        service_s = services_seconds(at.fabric) - service_before
        return found | {"mrcd_us": 1e6 * daemon_s / max(found["messages"], 1),
                        "service_us": 1e6 * service_s / max(found["messages"], 1)}
    return run


def at_once(clients, *arguments):
    """So many clients of h0 at the same time, each with a server of its own on h1: the sum of what they give."""
    def run(at, seconds):
        before = daemons_seconds(at.fabric)
        ports = [str(18700 + number) for number in range(clients)]
        with contextlib.ExitStack() as ends:
            for port in ports:
                ends.enter_context(far_end(at.fabric, port))
            running = [start_perf(at.fabric, "h0", at.fabric.host("h1")["mrc_address"], "--port", port, "--json",
                                  "--memory", "shared", "-D", str(seconds), *arguments) for port in ports]
            said = [process.communicate(timeout=DEADLINE_S + seconds) for process in running]
        if any(process.returncode != 0 for process in running):
            sys.exit(f"FAIL: mrc-perf: {said}")
        reports = [figures(json.loads(out)) for out, _ in said]
        moved = sum(report["bytes"] for report in reports)
        return {"gbps": sum(report["gbps"] for report in reports), "bytes": moved,
                "mrcd_s_per_gb": (daemons_seconds(at.fabric) - before) * 1e9 / moved}
    return run


def with_heap(run):
    """`run` by programs that have their large blocks from libmrc-heap.so."""
    def beside(at, seconds):
        with preloaded():
            return run(at, seconds)
    return beside


def inside(fabric, host, *argv):
    done = subprocess.run(fabric.enter(host, *argv), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"FAIL: {' '.join(argv)}: {done.stdout}{done.stderr}")
    return done.stdout


def iperf(*arguments, to=None, size="1M", wrapper=(), host="h0"):
    """iperf3 from a host to h1, by default to its MRC address; a TCP stream has no messages: `size` is what a call of
    the kernel takes."""
    block = () if "--udp" in arguments else ("--length", str(min(size_of(size), LONGEST_IPERF_BLOCK)))

    def run(at, seconds):
        server = at.fabric.enter("h1", *wrapper, "iperf3", "--server", "--one-off", "--forceflush")
        with subprocess.Popen(server, stdout=subprocess.PIPE, text=True) as listening:
            try:
                for line in listening.stdout:
                    if "listening" in line:
                        break
                said = inside(at.fabric, host, *wrapper, "iperf3", "--client",
                              to or at.fabric.host("h1")["mrc_address"], "--time", str(seconds), "--json",
                              "--connect-timeout", CONNECT_MS, *block, *arguments)
                listening.stdout.read()
            finally:
                listening.kill()
        end = json.loads(said)["end"]
        if "--udp" in arguments:
            total = end["sum"]
            received = total["bytes"] * (1 - total["lost_packets"] / max(total["packets"], 1))
            return {"gbps": received * 8e-9 / total["seconds"], "bytes": round(received)}
        received = end["sum_received"]
        return {"gbps": received["bits_per_second"] / 1e9, "bytes": received["bytes"]}
    return run


def sockperf(size="8", to=None, host="h0", spin=False):
    """Half round trips, as mrc-perf has them, of a TCP connection; both ends sleep, or both ask the kernel again until
    it has something. It knows IPv4 only."""
    def run(at, seconds):
        address = to or at.fabric.host("h1")["ipv4_address"]
        words = ("--tcp", "--ip", address, "--port", SOCKPERF_PORT, *(("--nonblocked",) if spin else ()))
        length = str(min(max(size_of(size), SOCKPERF_BYTES[0]), SOCKPERF_BYTES[1]))
        argv = at.fabric.enter("h1", "sockperf", "server", *words)
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as server:
            try:
                if not wait_until(lambda: inside(at.fabric, "h1", "ss", "-Hltn", f"sport = {SOCKPERF_PORT}"), 10):
                    sys.exit("FAIL: sockperf does not listen")
                said = inside(at.fabric, host, "sockperf", "ping-pong", *words, "--msg-size", length, "--time",
                              str(seconds))
            finally:
                server.kill()
        found = percentiles.of_sockperf(said)
        by_percentile = dict(found)
        return {"p50_us": by_percentile[50], "p99_us": by_percentile[99], "p999_us": by_percentile[99.9],
                "percentiles": found}
    return run


def raw_paths(fabric, own, peer, planes):
    """Options of mrc-bench-raw: the way from a host to another by each of so many planes."""
    ends = fabric.host(own), fabric.host(peer)
    return [word for plane in range(planes)
            for word in ("--path", f"p{plane},fcbb:bb00:{labs.path_of(plane, *ends)}::")]


@contextlib.contextmanager
def raw_far_end(fabric, *arguments, planes=labs.PLANES):
    """mrc-bench-raw that counts and answers on h1; yields its process once it does."""
    argv = fabric.enter("h1", binary("mrc-bench-raw"), "serve", *raw_paths(fabric, "h1", "h0", planes), *arguments)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout.readline() != "LISTENING\n":
                sys.exit(f"FAIL: mrc-bench-raw does not serve: {process.stderr.read()}")
            yield process
        finally:
            process.kill()


def raw_report(fabric, mode, seconds, *arguments, far_arguments=(), planes=labs.PLANES):
    """What mrc-bench-raw says of a run from h0, with these arguments, to h1; `both_cpu_s`: processor time of both."""
    with raw_far_end(fabric, *far_arguments, planes=planes) as far:
        before = processor_seconds(far.pid)
        report = json.loads(inside(fabric, "h0", binary("mrc-bench-raw"), mode, *raw_paths(fabric, "h0", "h1", planes),
                                   *arguments, "--seconds", str(seconds), "--json"))
        return report | {"both_cpu_s": report["cpu_s"] + processor_seconds(far.pid) - before}


def raw(mode, transmit, *both, own=(), far=(), planes=labs.PLANES):
    """A run of mrc-bench-raw, from h0 to h1, whose hosts nobody else uses: `both` ends' options, `own` of h0's, and
    `far` of h1's."""
    both = ("--transmit", transmit, *both)

    def run(at, seconds):
        report = raw_report(at.fabric, mode, seconds, *both, *own, far_arguments=(*both, *far), planes=planes)
        if "lat_us" in report:
            return {f"{name}_us": report["lat_us"][name] for name in ("p50", "p99", "p999")} | {
                "percentiles": percentiles.of_raw(report["lat_us"])}
        return {"gbps": report["goodput_gbps"], "mps": report["msg_rate_mps"], "bytes": report["bytes"],
                "mrcd_us": 1e6 * report["both_cpu_s"] / max(report["received"], 1)}
    return run


@contextlib.contextmanager
def bulk(fabric, seconds):
    """Another client's messages of 1 MB from h0 to h1, from when they flow until the block ends; yields a list that has
    their rate then."""
    port, rate = "18601", []
    with far_end(fabric, port):
        process = start_perf(fabric, "h0", fabric.host("h1")["mrc_address"], "--port", port, "--json", "-D",
                             str(seconds), "--interval", "100")
        try:
            progress = lines_of(process.stderr)
            while (line := progress.next(time.monotonic() + DEADLINE_S)) is not None and '"interval"' not in line:
                pass
            yield rate
            process.send_signal(signal.SIGINT)
            rate.append(json.loads(process.communicate(timeout=DEADLINE_S)[0])["goodput_gbps"])
        finally:
            process.kill()
            process.wait()


def small_beside(which, *arguments):
    """Half round trips of 8 bytes with these arguments of mrc-perf's, alone, or while another client of the same
    daemons ("near"), or of a second lab's on the same cores ("far"), sends as much as it can."""
    def run(at, seconds):
        fabric = {"near": at.fabric, "far": at.other}.get(which)
        with contextlib.nullcontext([]) if fabric is None else bulk(fabric, seconds + 60) as rate:
            found = mrc("--lat", *arguments)(at, seconds)
        return found | ({"bulk_gbps": rate[0]} if rate else {})
    return run
