# SPDX-License-Identifier: Apache-2.0
"""mrc-lab's command line: one parser, one function per command."""

import argparse
import json
import os
import sys

from . import addresses, changes, lifecycle, namespaces, options, processes, report
from .completion import completions
from .errors import any_of, lab_error
from .fabrics import fabric
from .impairments import NAMES, parse_impairment
from .state import choose_prefix, lab_directory, running_prefixes

DESCRIPTION = """\
A multi-plane Clos fabric from network namespaces and veth pairs, with one mrcd per host.
Hosts are h0, h1, …; switches are p0t0-0 (plane 0, tier 0 = leaf, index 0) and p0t1-0 (spine).
"""

EXAMPLES = """\
examples:
  mrc-lab up --planes 4 --leaves 2 --spines 2 --hosts 2
  mrc-lab exec h0 -- mrc-perf fd6d:7263::1:1 -s 1M -n 100
  mrc-lab plane 2 down
  mrc-lab link p0t0-0 p0t1-1 down
  mrc-lab impair p1t0-0 p1t1-0 --loss 1%
  mrc-lab down
"""


def _add_up(commands):
    default = options.lab_options()
    up = commands.add_parser("up", help="build a lab and start its daemons")
    for name, metavar, what in (
        ("planes", "P", "planes, one port of each host in each"),
        ("leaves", "L", "T0 switches per plane"),
        ("spines", "S", "T1 switches per plane"),
        ("hosts", "H", "hosts; host i is on leaf i modulo L"),
        ("mtu", "M", "MTU of every link"),
        ("queues", "N", "receive and transmit queues of every port"),
    ):
        low, high = options.RANGES[name]
        up.add_argument(f"--{name}", type=int, metavar=metavar,
                        help=f"{what}; {low} to {high}, default {getattr(default, name)}")
    up.add_argument("--fabric", metavar="KIND",
                    help="what a plane is: srv6 (default), a Clos of uSID switches; direct, a cable between two hosts; "
                    "bridge, one Ethernet bridge; router, a Clos of kernel routers with ECMP")
    up.add_argument("--switch", metavar="KIND",
                    help="who forwards: xdp (mrc-switch, default) or kernel (seg6local next-csid)")
    up.add_argument("--mode", metavar="MODE", help="XDP mode of mrc-switch: native (default) or generic")
    up.add_argument("--host-mode", metavar="MODE", help="XDP mode of mrcd's ports: native (default) or generic")
    up.add_argument("--engine", metavar="ENGINE", help="mrcd's transmit engine: auto (default), xdp or af_xdp")
    up.add_argument("--ipv4", action="store_true", default=None,
                    help=f"srv6: give hosts IPv4 MRC addresses, too, from {addresses.IPV4_PREFIX}; other fabrics: "
                    "number the planes in IPv4")
    up.add_argument("--topology", metavar="FILE",
                    help="TOML with the same keys as these options, here as a list, [devices], [[host]] name, leaf, "
                    "downlink, and [[impair]] a, b and impairments; options given here win over it")
    up.add_argument("--here", metavar="NODE,…",
                    help="build only these nodes: the others are on other machines, in labs with the same options")
    up.add_argument("--device", metavar="NODE:PORT=DEVICE", action="append", default=[],
                    help="use this network device, with a cable in it, as a node's port instead of a veth pair's end; "
                    "it is given back by down")
    up.add_argument("--mrcd-config", metavar="FILE",
                    help="TOML to merge into every mrcd's configuration; its keys win over those that the lab writes")
    up.add_argument("--no-daemons", action="store_true",
                    help="do not start mrcd; kernel switches then also do without mrc-switch when it is not built")
    up.set_defaults(run=_up)
    return up


def _add_changes(commands):
    link = commands.add_parser("link", help="cut or restore a link")
    link.add_argument("a", metavar="A")
    link.add_argument("b", metavar="B")
    link.add_argument("state", choices=("up", "down"))
    link.add_argument("--carrier", action="store_true",
                      help="down: take the link down so that both ends lose carrier, instead of the default, "
                      "a blackhole in the switches; up always undoes both")
    link.set_defaults(run=_link)

    switch = commands.add_parser("switch", help="cut or restore everything on a switch")
    switch.add_argument("name", metavar="NAME")
    switch.add_argument("state", choices=("up", "down"))
    switch.set_defaults(run=_switch)

    plane = commands.add_parser("plane", help="cut or restore every switch of a plane")
    plane.add_argument("number", metavar="N", type=int)
    plane.add_argument("state", choices=("up", "down"))
    plane.set_defaults(run=_plane)

    impair = commands.add_parser("impair", help="impair a link, or end that",
                                 description="Values are kept until changed; --clear starts from none.")
    impair.add_argument("a", metavar="A")
    impair.add_argument("b", metavar="B")
    for name in ("loss", "corrupt", "duplicate"):
        impair.add_argument(f"--{name}", metavar="PERCENT", help=f"share of packets to {name.replace('loss', 'lose')}")
    impair.add_argument("--rate", metavar="RATE",
                        help="rate of the virtual queue, such as 10Gbit; on kernel switches of a real one")
    impair.add_argument("--rtt", metavar="TIME", help="round-trip time that makes the rate a BDP, such as 100us")
    impair.add_argument("--ecn-threshold", metavar="MIN[,MAX]",
                        help="virtual queue at which CE marks begin and are certain, in bytes or %% of the BDP; off")
    impair.add_argument("--trim", action="store_true", default=None, help="trim instead of dropping at a full queue")
    impair.add_argument("--clear", action="store_true", help="end every impairment that is not given again")
    impair.add_argument("--one-way", action="store_true", help="only packets from A to B; default: both ways")
    impair.set_defaults(run=_impair)
    return [link, switch, plane, impair]


def _parser():
    parser = argparse.ArgumentParser(prog="mrc-lab", description=DESCRIPTION, epilog=EXAMPLES, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(metavar="COMMAND", required=True,
                                     parser_class=lambda **kw: argparse.ArgumentParser(allow_abbrev=False, **kw))
    up = _add_up(commands)
    down = commands.add_parser("down", help="remove a lab, or what is left of it")
    down.add_argument("--all", action="store_true", help="remove every lab")
    down.set_defaults(run=_down)
    status = commands.add_parser("status", help="show a lab")
    status.add_argument("--json", action="store_true", help="as one JSON object")
    status.set_defaults(run=_status)
    execute = commands.add_parser("exec", help="run a command in a host or switch, with its exit status",
                                  usage="mrc-lab exec [-h] [--prefix NAME] HOST -- CMD …")
    execute.add_argument("node", metavar="HOST")
    execute.set_defaults(run=_exec)
    for command in (up, down, status, execute, *_add_changes(commands)):
        command.add_argument("--prefix", metavar="NAME",
                             help="the lab's name; default $MRC_LAB, else "
                             + ("mrc0 or the next free one" if command is up else "the only lab there is"))
    return parser


def _up(arguments):
    chosen, prefix = options.lab_options(), None
    if arguments.topology:
        chosen, prefix = options.load_topology_file(arguments.topology)
    for key in (*options.RANGES, *options.CHOICES, *options.FLAGS):
        value = getattr(arguments, key)
        if value is not None:
            setattr(chosen, key, options.check_value("--" + key.replace("_", "-"), key, value))
    if arguments.here:
        chosen.here = arguments.here.split(",")
    chosen.devices.update(options.parse_device("--device", text) for text in arguments.device)
    if arguments.mrcd_config:
        chosen.extra_config = options.load_extra_config(arguments.mrcd_config)
    prefix = arguments.prefix or prefix or os.environ.get("MRC_LAB")
    state, seconds = lifecycle.up(chosen, prefix and options.check_prefix(prefix), not arguments.no_daemons)
    print("\n".join(report.summary(state.prefix)))
    print(f"up in {seconds:.1f} s")
    return 0


def _down(arguments):
    if arguments.all and arguments.prefix:
        raise lab_error("down takes either --all or --prefix")
    prefix = arguments.prefix or os.environ.get("MRC_LAB")
    running = running_prefixes()
    if arguments.all or (not prefix and not running):
        prefixes = running
    else:
        prefixes = [prefix or choose_prefix(None)]
    removed = [name for name in prefixes if lifecycle.down(name)]
    print(f"removed: {any_of(removed)}")
    return 0


def _status(arguments):
    prefix = choose_prefix(arguments.prefix)
    if arguments.json:
        print(json.dumps(report.describe(prefix), indent=2))
    else:
        print("\n".join(report.summary(prefix)))
    return 0


def _exec(arguments):
    if not arguments.command:
        raise lab_error("exec needs a command: mrc-lab exec HOST -- CMD …")
    prefix = choose_prefix(arguments.prefix)
    lifecycle.require_root()
    shape = fabric(lab_directory(prefix).load().options)
    node = shape.node(arguments.node)
    os.environ["MRC_LAB"] = prefix
    if node.name in shape.hosts:
        os.environ["MRC_INSTANCE"] = processes.instance_of(prefix, node.name)
    argv = namespaces.enter(prefix, node.name, arguments.command)
    os.execvp(argv[0], argv)


def _link(arguments):
    changes.set_link(arguments.prefix, arguments.a, arguments.b, arguments.state == "up", arguments.carrier)
    return 0


def _switch(arguments):
    changes.set_switches(arguments.prefix, lambda shape: [shape.switch(arguments.name)], arguments.state == "up")
    return 0


def _plane(arguments):
    changes.set_plane(arguments.prefix, arguments.number, arguments.state == "up")
    return 0


def _impair(arguments):
    given = {name: getattr(arguments, name) for name in NAMES}
    values = parse_impairment("impair", given)
    if not values and not arguments.clear:
        allowed = any_of(["--" + name.replace("_", "-") for name in NAMES] + ["--clear"])
        raise lab_error(f"impair: nothing to do; allowed: {allowed}")
    changes.impair(arguments.prefix, arguments.a, arguments.b, values, arguments.clear, arguments.one_way)
    return 0


def main(argv):
    if argv[:1] == ["--complete"]:
        print("\n".join(completions(_parser(), argv[1:])))
        return 0
    # argparse would take options of exec's command for its own.
    command = []
    if "--" in argv and argv[0] == "exec":
        cut = argv.index("--")
        argv, command = argv[:cut], argv[cut + 1 :]
    arguments = _parser().parse_args(argv)
    arguments.command = command
    try:
        return arguments.run(arguments)
    except lab_error as error:
        print(f"mrc-lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
