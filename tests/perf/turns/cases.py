# SPDX-License-Identifier: Apache-2.0
"""What is compared with what: each case is a table of rows, ours and peers', at one or several points, whose figures
are set beside those of the baseline at the same point of the same round."""

import dataclasses
import typing

from . import collectives, labs
from .many_clients import queue_pairs_of_all
from .programs import at_once, iperf, mrc, observed, raw, small_beside, sockperf, with_heap
from .spinners import beside_spinners, workers_watched
from .stall_windows import stalls
from .tcp import exchanges

SIZES = ("64", "4K", "64K", "1M", "64M")
LOSSES = ("0%", "0.01%", "0.1%", "1%")
ENGINES = {"xdp": "XDP", "af_xdp": "AF_XDP"}
MEMORY = ("shared", "process")
RAW = {"af_xdp": "raw AF_XDP", "xdp": "XDP transmit into AF_XDP"}
MPTCP = ("mptcpize", "run")
WORKERS = (1, 2, 3, 4)
QUEUE_PAIRS = (1, 16, 256, 1000, 4000, 10000)
FEW_QPS = 1000  # above, one message each is as much memory as is wanted
DIRECT = ("--fabric", "direct")
MANY_QPS = "[limits]\nqueue_pairs = 16384\n"
FABRIC_MAP = "[fabric_map]\ninterval_us = 5000\n"
# What an operator may leave running, by name: arguments of mrcctl.
OBSERVERS = {"unobserved": (), "trace, kept": ("trace", "-w", "/dev/null"), "trace, printed": ("trace",),
             "capture": ("capture", "-w", "/dev/null"),
             "capture, headers of one packet in 100": ("capture", "-w", "/dev/null", "--snaplen", "128",
                                                       "--sample", "1/100"),
             "events": ("event", "-f")}


@dataclasses.dataclass(frozen=True)
class row:
    point: str
    name: str
    lab: str              # a key of `places`
    run: typing.Callable  # (place, seconds): figures by name


@dataclasses.dataclass(frozen=True)
class case:
    about: str
    metrics: dict  # name of a figure: its unit
    baseline: str  # a row's name
    rows: tuple


def places(builds):
    """The labs by name; those with mrcd are "xdp" and so on, and for each build, {name: (directory, ring_packets)},
    "xdp, NAME", too."""
    found = {"kernel": labs.by_kernel, "two": labs.two, "inside": labs.inside_programs,
             "mapped": lambda: labs.with_mrcd("xdp", config=FABRIC_MAP)}
    for count in WORKERS:
        found[f"{count} workers"] = lambda count=count: labs.with_mrcd("xdp", config=f"[worker]\nworkers = {count}\n")
    for engine in ENGINES:
        for name, build in ({"": None} | builds).items():
            found[of_build(engine, name)] = lambda engine=engine, build=build: labs.with_mrcd(engine, build)
    for name, build in ({"": None} | builds).items():
        found[of_build("direct", name)] = lambda build=build: labs.with_mrcd("xdp", build, fabric=DIRECT)
        found[of_build("many", name)] = lambda build=build: labs.with_mrcd("xdp", build, config=MANY_QPS)
    for hosts in collectives.RANKS:
        found[f"kernel, {hosts} hosts"] = lambda hosts=hosts: labs.by_kernel(hosts, "near")
        for name, build in ({"": None} | builds).items():
            found[of_build(f"xdp, {hosts} hosts", name)] = lambda hosts=hosts, build=build: labs.with_mrcd(
                "xdp", build, hosts)
    return found


def of_build(text, build):
    return f"{text}, {build}" if build else text


def ours(point, builds, *arguments, engines=ENGINES, memory=MEMORY, label=""):
    """Rows of mrc-perf with these arguments, by build, engine and memory."""
    return [row(point, of_build(f"MRC, {ENGINES[engine]}, {kind} memory{label}", build), of_build(engine, build),
                mrc(*arguments, memory=kind))
            for build in builds or {"": None} for engine in engines for kind in memory]


def with_shared_heap(point, builds, *arguments):
    """The program's own memory once more, from libmrc-heap.so."""
    build = next(iter(builds), "")
    return row(point, of_build("MRC, XDP, process memory, libmrc-heap", build), of_build("xdp", build),
               with_heap(mrc(*arguments, memory="process")))


def inside(point, *arguments, memory=MEMORY, label=""):
    """The same, without mrcd: each end has the daemon inside. XDP transmit."""
    return [row(point, f"MRC inside the program, {kind} memory{label}", "inside",
                mrc(*arguments, memory=kind, by_daemons=False)) for kind in memory]


def peers(point, size):
    """Over the same wires and switches, on hosts without mrcd."""
    first_plane = labs.plane_address(0, 1)
    return [row(point, "TCP cubic, one plane", "kernel", iperf("--congestion", "cubic", to=first_plane, size=size)),
            row(point, "TCP bbr, one plane", "kernel", iperf("--congestion", "bbr", to=first_plane, size=size)),
            row(point, "MPTCP, a subflow per plane", "kernel", iperf(to=first_plane, size=size, wrapper=MPTCP))]


def over_overlay(point, size, build):
    return row(point, "TCP over mrcnet0", of_build("xdp", build), iperf(size=size))


def raw_streams(point):
    """Packets as long as MRC's without a transport: the payload left where it is, and copied from and to a program."""
    rows = [row(point, RAW[transmit] + label, "kernel", raw("stream", transmit, "--sleep", *words))
            for transmit in RAW for label, words in (("", ()), (", payload copied", ("--copy",)))]
    return [*rows, row(point, "raw AF_XDP, one plane", "kernel", raw("stream", "af_xdp", "--sleep", planes=1))]


def raw_copies_in_xdp(point):
    """The same with payload that XDP programs place or fetch, beside copies by programs. An ICRC, where there is one,
    is checked by what takes the payload."""
    rows = []
    for transmit in RAW:
        for label, words in (("", ()), (", ICRC", ("--icrc",))):
            words = ("--sleep", *words)
            if "--icrc" in words:
                rows.append(row(point, f"{RAW[transmit]}, payload copied, ICRC", "kernel",
                                raw("stream", transmit, *words, "--copy")))
            rows.append(row(point, f"{RAW[transmit]}, placed in XDP{label}", "kernel",
                            raw("stream", transmit, *words, own=("--copy",), far=("--in-xdp", "place"))))
            if transmit == "xdp":
                rows.append(row(point, f"XDP transmit from the program's memory{label}", "kernel",
                                raw("stream", transmit, *words, own=("--from-region",), far=("--copy",))))
    return rows


def goodput(builds, sizes=SIZES):
    rows = []
    for size in sizes:
        rows += [*peers(size, size), over_overlay(size, size, next(iter(builds), "")),
                 *ours(size, builds, "-s", size), with_shared_heap(size, builds, "-s", size),
                 *inside(size, "-s", size)]
    if "1M" in sizes:
        udp = iperf("--udp", "--bitrate", "0", to=labs.plane_address(0, 1))
        rows += [row("1M", "UDP, one plane", "kernel", udp), *raw_streams("1M")]
    return tuple(rows)


def under_loss(loss, run):
    """`run` while this share of packets is lost on every plane, on the way to the far host."""
    def impaired(at, seconds):
        links = [(f"p{plane}t0-1", "h1") for plane in range(labs.PLANES)]
        for link in links:
            at.fabric.run("impair", *link, "--loss", loss, "--one-way")
        try:
            return run(at, seconds)
        finally:
            for link in links:
                at.fabric.run("impair", *link, "--clear", "--one-way")
    return impaired


def loss_grid(builds):
    rows = []
    for loss in LOSSES:
        for one in [*peers(loss, "1M"), *ours(loss, builds, "-s", "1M", memory=("shared",))]:
            rows.append(dataclasses.replace(one, run=under_loss(loss, one.run)))
    return tuple(rows)


def latency(builds):
    rows = []
    overlay = of_build("xdp", next(iter(builds), ""))
    for size in ("8", "64K"):
        for label, spin in ((", sleeping", False), (", spinning", True)):
            rows.append(row(size, "TCP over mrcnet0" + label, overlay, sockperf(size, spin=spin)))
            rows += ours(size, builds, "--lat", "-s", size, *(() if spin else ("--events",)), memory=("shared",),
                         label=label)
            rows += inside(size, "--lat", "-s", size, *(() if spin else ("--events",)), memory=("shared",), label=label)
    rows += [row("8", RAW[transmit] + label, "kernel", raw("pingpong", transmit, *words))
             for transmit in RAW for label, words in ((", sleeping", ("--sleep",)), (", spinning", ()))]
    rows += [row("8", "raw AF_XDP, answered in XDP" + label, "kernel",
                 raw("pingpong", "af_xdp", "--icrc", *words, far=("--in-xdp", "answer")))
             for label, words in ((", sleeping", ("--sleep",)), (", spinning", ()))]
    rows += [row("8", "raw AF_XDP, placed in XDP" + label, "kernel", raw("pingpong", "af_xdp", "--icrc", *words))
             for label, words in ((", sleeping", ("--in-xdp", "place", "--sleep")),
                                  (", spinning on the memory", ("--in-xdp", "mark")))]
    return tuple(rows)


def messages(builds):
    rows = []
    for point, arguments in (("64 bytes, window 256", ("-s", "64", "--window", "256")),
                             ("64 KB, window 1", ("-s", "64K", "--window", "1")), ("1 MB", ("-s", "1M"))):
        rows += ours(point, builds, *arguments) + inside(point, *arguments)
    rows += [row("64 KB, window 1", name + ", one byte back", lab, run)
             for name, lab, run in tcp_exchanges("64K", "1", of_build("xdp", next(iter(builds), "")))]
    rows += [row("64 bytes, window 256", RAW[transmit] + label, "kernel",
                 raw("messages", transmit, "--sleep", *words, own=("--window", "256")))
             for transmit in RAW for label, words in (("", ()), (", payload copied", ("--copy",)))]
    rows += [row("64 bytes, window 256", f"{RAW[transmit]}, answered in XDP", "kernel",
                 raw("messages", transmit, "--sleep", "--icrc", own=("--window", "256", "--copy"),
                     far=("--in-xdp", "answer"))) for transmit in RAW]
    return tuple(rows)


def tcp_exchanges(request, answer, overlay, *options):
    """(name, lab, run) of each way."""
    first_plane = labs.plane_address(0, 1)
    return [("TCP, one plane", "kernel", exchanges(request, answer, *options, to=first_plane)),
            ("MPTCP, a subflow per plane", "kernel",
             exchanges(request, answer, *options, to=first_plane, wrapper=MPTCP)),
            ("TCP over mrcnet0", overlay, exchanges(request, answer, *options))]


def queue_pairs(builds):
    rows = []
    for build in builds or {"": None}:
        many = of_build("many", build)
        for count in QUEUE_PAIRS:
            depth, label = (1, ", a message of each") if count > FEW_QPS else (4, "")
            rows.append(row("", of_build(f"MRC, XDP, shared memory, {count} QP{label}", build), many,
                            queue_pairs_of_all(count, "-s", "64K", "--window", str(depth))))
        rows.append(row("", of_build("MRC, XDP, shared memory, 1 QP, sum of both directions", build), many,
                        mrc("-s", "64K", "-q", "1", "--window", "4", "--bidir")))
    return tuple(rows)


def cuts_and_quiet(_builds):
    return tuple(row("", f"MRC, {ENGINES[engine]}, {what}", engine, stalls(cut))
                 for engine in ENGINES for what, cut in (("quiet", False), ("a plane cut", True)))


def beside(_builds):
    places = {"alone": None, "beside 1 MB messages": "near", "1 MB messages in another lab": "far"}
    return tuple(row(how, what, "two", small_beside(where, *arguments))
                 for how, arguments in (("sleeping", ("--events",)), ("spinning", ()))
                 for what, where in places.items())


def beside_busy(_builds):
    rows = []
    for how, words, of_mrc in (("sleeping", (), ("--events",)), ("spinning", ("--spin",), ())):
        of_tcp = [(name, lab, run) for name, lab, run in tcp_exchanges("8", "8", "xdp", *words) if "MPTCP" not in name]
        for name, lab, run in (*of_tcp, *((f"MRC, {ENGINES[engine]}", engine, workers_watched(mrc("--lat", *of_mrc)))
                                          for engine in ENGINES)):
            rows += [row("alone", f"{name}, {how}", lab, run),
                     row("a spinner on each CPU", f"{name}, {how}", lab, beside_spinners(run))]
    return tuple(rows)


def own_host(_builds):
    return (row("", "TCP, loopback", "xdp", iperf(host="h1")),
            *(row("", f"MRC, {kind} memory", "xdp", mrc("-s", "1M", memory=kind, host="h1")) for kind in MEMORY),
            row("", "MRC, process memory, libmrc-heap", "xdp",
                with_heap(mrc("-s", "1M", memory="process", host="h1"))))


def own_host_latency(_builds):
    return (row("", "TCP, loopback, sleeping", "xdp", sockperf("8", to="127.0.0.1", host="h1")),
            row("", "MRC, sleeping", "xdp", mrc("--lat", "--events", host="h1")),
            row("", "MRC, spinning", "xdp", mrc("--lat", host="h1")))


def by_gloo(builds):
    rows = []
    for ranks in collectives.RANKS:
        kernel, overlay = f"kernel, {ranks} hosts", of_build(f"xdp, {ranks} hosts", next(iter(builds), ""))
        for operation in collectives.OPERATIONS:
            for size in collectives.SIZES:
                point, what = f"{ranks} ranks, {operation}, {size}", (operation, size)
                rows += [row(point, "TCP, one plane", kernel, collectives.by_tcp(*what)),
                         row(point, "MPTCP, a subflow per plane", kernel, collectives.by_tcp(*what, wrapper=MPTCP)),
                         row(point, "TCP over mrcnet0", overlay, collectives.by_overlay(*what)),
                         *(row(point, of_build("MRC", build), of_build(f"xdp, {ranks} hosts", build),
                               collectives.by_mrc(*what)) for build in builds or {"": None}),
                         row(point, of_build("MRC, libmrc-heap", next(iter(builds), "")), overlay,
                             with_heap(collectives.by_mrc(*what)))]
    return tuple(rows)


def observers(builds):
    run = mrc("-s", "1M")
    return (*(row("", of_build(name, build), of_build("xdp", build), observed(run, *command) if command else run)
              for build in builds or {"": None} for name, command in OBSERVERS.items()),
            *(row("", of_build("direct mode, unobserved", build), of_build("direct", build), run)
              for build in builds or {"": None}),
            row("", "fabric map, a loop in 5 ms by each way", "mapped", run))


def by_workers(_builds):
    return tuple(row(f"{clients} clients", f"{count} workers" if count > 1 else "1 worker", f"{count} workers",
                     at_once(clients, "-s", "1M")) for clients in (1, 2, 4) for count in WORKERS)


RATE = {"gbps": "Gbit/s"}
ROUND_TRIP = {"p50_us": "us", "p99_us": "us", "p999_us": "us"}


def all_cases(builds):
    """By name. `builds`: {name: (directory, ring_packets)}; empty: the one of this tree."""
    first = next(iter(builds), "")
    tcp = "TCP cubic, one plane"
    return {
        "goodput": case("goodput of one queue pair, by message size; the peers' size is that of a call",
                        RATE, tcp, goodput(builds)),
        "cpu": case("processor time of the whole machine, both hosts and all switches, by gigabyte; 1 MB messages",
                    {"cpu_s_per_gb": "s/GB"} | RATE, tcp, (*goodput(builds, ("1M",)), *raw_copies_in_xdp("1M"))),
        "latency": case("half a round trip", ROUND_TRIP, "TCP over mrcnet0, sleeping", latency(builds)),
        "messages": case("messages by window; time of both mrcd for each, or of both raw programs",
                         {"mps": "M/s", "mrcd_us": "us"} | RATE, of_build("MRC, XDP, shared memory", first),
                         messages(builds)),
        "loss": case("goodput of 1 MB messages where every plane loses packets on the way to the far host", RATE, tcp,
                     loss_grid(builds)),
        "stalls": case("longest time between two arrivals at full rate in a window of half a second, at whose begin a "
                       "plane dies or nothing happens: median and worst of a run's 20 windows, whatever --seconds",
                       {"stall_us": "us", "max_stall_us": "us"}, "MRC, XDP, quiet", cuts_and_quiet(builds)),
        "beside": case("half a round trip of 8 bytes beside another client's bulk",
                       ROUND_TRIP | {"bulk_gbps": "Gbit/s"}, "alone", beside(builds)),
        "spinners": case("half a round trip of 8 bytes beside a process on each CPU that computes without a pause; how "
                         "long the workers of both mrcd waited for a CPU in all, and packets for a worker, at most",
                         {"p50_us": "us", "p99_us": "us", "waited_ms": "ms", "lag_p50_us": "us", "lag_p99_us": "us"},
                         "TCP, one plane, sleeping", beside_busy(builds)),
        "qps": case("goodput of 64 KB messages by the number of queue pairs", RATE,
                    of_build("MRC, XDP, shared memory, 1 QP", first), queue_pairs(builds)),
        "own-host": case("goodput of 1 MB messages between two programs of one host", RATE, "TCP, loopback",
                         own_host(builds)),
        "own-host-latency": case("half a round trip of 8 bytes between two programs of one host", ROUND_TRIP,
                                 "TCP, loopback, sleeping", own_host_latency(builds)),
        "workers": case("goodput of all clients together, 1 MB messages, by the number of workers of either mrcd",
                        RATE | {"mrcd_s_per_gb": "s/GB", "cpu_s_per_gb": "s/GB"}, "1 worker", by_workers(builds)),
        "observed": case("goodput of 1 MB messages while mrcctl watches both hosts; time for each of both mrcd, of "
                         "their service threads, and of both mrcctl",
                         RATE | {"mrcd_us": "us", "service_us": "us", "mrcctl_us": "us"},
                         of_build("unobserved", first), observers(builds)),
        "collectives": case("Gloo's collectives (mrc-collectives), a rank on each host, every result verified; as many "
                            "of each size, whatever --seconds", {"latency_us": "us"} | RATE,
                            "TCP, one plane", by_gloo(builds)),
    }
