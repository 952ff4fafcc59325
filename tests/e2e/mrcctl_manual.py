#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page of mrcctl and its --help name the same commands and options, and wrong command lines are answered
with what is allowed."""

import re

from lab_support import check, need_binaries
from manual import between, check_refused, described, page
from mrcctl_help import help_of, help_texts, names_below, offered_by

EVERYWHERE = {"-h", "--help", "-j", "--json", "--instance"}
OBJECTS = ("status", "client", "qp", "path", "port", "peer", "counters", "event", "top", "diagnose", "metrics",
           "capture", "trace", "ev-profile", "ev-format", "cc-profile", "probe", "run", "adopt", "hosts", "setup",
           "config")
REFUSED = {
    (): OBJECTS,
    ("nonsense",): ("'nonsense'", *OBJECTS),
    ("client",): ("list", "show"),
    ("session",): ("list", "show"),
    ("client", "show", "x"): ("SESSION", "mrcctl client show --help"),
    ("peer",): ("list", "show"),
    ("peer", "show"): ("PEER", "mrcctl peer show --help"),
    ("qp",): ("list", "show"),
    ("qp", "nonsense"): ("'nonsense'", "list", "show"),
    ("qp", "show"): ("QPN", "mrcctl qp show --help"),
    ("qp", "show", "x"): ("QPN", "mrcctl qp show --help"),
    ("path", "list", "--plane", "8"): ("--plane", "8", "0", "7"),
    ("path", "list", "--state", "x"): ("--state", "good", "kept", "assumed_bad", "denied"),
    ("fabric",): ("map", "show"),
    ("fabric", "show", "--switch-config", "ios"): ("--switch-config", "ios", "iproute2", "frr", "sonic"),
    ("fabric", "show", "--uplink", "eth"): ("--uplink", "'eth' is no port's name", "u{}"),
    ("fabric", "show", "--upper", "10.0.0.1"): ("--upper", "'10.0.0.1' is no IPv6 address"),
    ("counters", "--diff", "0"): ("--diff", "0.01", "86400"),
    ("event", "--since", "-1"): ("--since", "0", "86400"),
    ("top", "--once", "--iterations", "2"): ("--once", "--iterations"),
    ("top", "--nonsense"): ("'--nonsense'", "mrcctl top --help"),
    ("diagnose", "--seconds", "0"): ("--seconds", "0.2", "60"),
    ("metrics", "--listen", "localhost"): ("--listen", "'localhost' is no address to listen at", "IPv4:PORT",
                                             "[IPv6]:PORT"),
    ("metrics", "--listen", "0", "-o", "file"): ("--listen", "--output"),
    ("metrics", "--listen", "0", "-j"): ("--listen", "--json"),
    ("capture",): ("--write", "mrcctl capture --help"),
    ("capture", "-w", "-", "--plane", "8"): ("--plane", "0", "7"),
    ("capture", "-w", "-", "--psn", "x"): ("--psn", "'x' is no range of PSNs", "FIRST-LAST"),
    ("capture", "-w", "-", "--sample", "1/0"): ("--sample", "'1/0'", "1/N"),
    ("capture", "-w", "-", "--snaplen", "1"): ("--snaplen", "64", "4064"),
    ("capture", "-w", "-", "-j"): ("pcapng", "--json"),
    ("trace", "--kind", "dance"): ("--kind", "dance", "send", "loss", "state"),
    ("trace", "--qp", "0"): ("--qp", "1", "16777215"),
    ("trace", "--seconds", "0"): ("--seconds", "0.01", "86400"),
    ("trace", "--merge", "a"): ("--merge", "mrcctl trace --help"),
    ("trace", "--merge", "a", "b", "--seconds", "1"): ("--merge", "--seconds"),
    ("ev-profile", "nonsense"): ("'nonsense'", "list", "show", "create", "set", "online", "offline", "delete",
                                 "replace", "deny", "allow", "query", "events"),
    ("ev-profile", "deny", "0", "12@"): ("'12@' is no EV", "hexadecimal digits, @, port", "00000801@2"),
    ("ev-profile", "deny", "0", "xy@1"): ("'xy@1' is no EV", "00000801@2"),
    ("ev-profile", "replace", "7", "1@1"): ("'1@1' replaces nothing", "OLD=NEW"),
    ("ev-profile", "create", "7", "--mode", "all"): ("--mode", "all", "auto", "exp", "gen"),
    ("ev-profile", "create", "7", "--events", "denied"): ("'denied'", "good, assumed_bad, none"),
    ("ev-profile", "create", "7", "--field", "mask=3"): ("'mask=3' has no width", "width=1 to width=32"),
    ("ev-profile", "create", "7", "--field", "width=8,size=3"): ("'size=3'", "width=, init=, min=, max=, mask="),
    ("ev-profile", "events", "--follow", "--seconds", "1"): ("--follow", "--seconds"),
    ("ev-format", "create", "2", "--mode", "stev"): ("--widths", "mrcctl ev-format create --help"),
    ("cc-profile", "set", "3", "target=5"): ("'target=5' is no setting", "target_delay", "max_cwnd"),
    ("cc-profile", "set", "3", "base_rtt=1.5"): ("'base_rtt=1.5'", "a number that fits"),
    ("config",): ("show",),
    ("probe",): ("DEST", "mrcctl probe --help"),
    ("probe", "fd00::1", "--count", "0"): ("--count", "1", "1000"),
    ("probe", "fd00::1", "-i", "-1"): ("--interval", "0", "86400"),
    ("run",): ("COMMAND", "mrcctl run --help"),
    ("adopt",): ("--unit or --cgroup", "list", "hosts", "undo"),
    ("adopt", "nonsense"): ("'nonsense'", "list", "hosts", "undo"),
    ("adopt", "--unit", "a", "--cgroup", "b"): ("--unit", "--cgroup"),
    ("adopt", "undo", "x"): ("NUMBER", "mrcctl adopt undo --help"),
    ("hosts", "--write", "x", "--remove", "x"): ("--write", "--remove"),
    ("setup", "--hosts", "1"): ("--hosts", "2", "65"),
    ("setup", "--wait", "0"): ("--wait", "1", "3600"),
    ("setup", "--dry-run", "--force"): ("--dry-run", "--force"),
    ("setup", "--restore", "--start"): ("--restore", "--start"),
    ("setup", "--probe", "--dry-run"): ("--probe", "--dry-run"),
    ("setup", "here"): ("'here'", "mrcctl setup --help"),
    ("port", "disable"): ("PORT", "mrcctl port disable --help"),
}


def commands():
    """Every command with its --help."""
    for words, text in help_texts().items():
        # `adopt` is an object that does something by itself.
        if words and (not names_below(text) or offered_by(text) - {"-h", "--help"}):
            yield " ".join(words), text


def main():
    need_binaries("mrcctl")
    text = page("mrcctl.8")
    synopsis = between(text, ".SH SYNOPSIS", ".SH DESCRIPTION")
    sections = {" ".join(word for word in title.split() if word.islower()): body
                for title, body in re.findall(r"^\.SS (.*)\n((?:(?!\.S[SH]).*\n)*)", text, re.MULTILINE)}
    offered = dict(commands())
    check(sections.keys() == offered.keys(), f"the manual describes the commands of --help: {', '.join(offered)}")
    for command, help_text in offered.items():
        check(f"mrcctl {command}" in synopsis, f"{command} stands in the synopsis")
        own = offered_by(help_text) - EVERYWHERE
        check(described(sections[command]) == own, f"{command}: the manual has its options {sorted(own) or ''}")
        check(EVERYWHERE <= offered_by(help_text), f"{command} takes -j and --instance")
    check(described(between(text, ".SH OPTIONS", ".SH COMMANDS")) == offered_by(help_of()), "and the general options")
    check_refused("mrcctl", REFUSED)


if __name__ == "__main__":
    main()
