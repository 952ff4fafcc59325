#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes golden.txt and hostile.txt; with --check compares them with the committed files.

The output is a pure function of the sources in this directory: no clock, no randomness.
"""

import argparse
import difflib
import pathlib
import sys
import zlib

import golden_cases
import hostile_cases
import mrc_scapy as mrc
from classify import classify

HERE = pathlib.Path(__file__).resolve().parent
HEADER = (
    "# SPDX-License-Identifier: Apache-2.0\n"
    "# Written by generate.py; see README.md. Do not edit.\n"
)
NOT_SHOWN = ("mig_req", "se", "tver", "var_res", "inv_res", "type", "nxt")  # always 0 when sent
DECIMAL = ("ip", "hop_limit", "sport", "dport", "outer_hop_limit", "ip_df", "ack_psn_offset",
           "sack_offset", "pad", "a", "rtx", "ts", "tsr", "m", "pr", "op", "restore_cwnd")  # fmt: skip


def expect(condition, message):
    if not condition:
        sys.exit(f"generate.py: {message}")


def text_of(key, value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str) or key in DECIMAL:
        return str(value)
    return f"{value:#x}"


def block(name, pairs):
    lines = [f"[{name}]"]
    lines += [f"{key} = {text_of(key, value)}".rstrip() for key, value in pairs]
    return "\n".join(lines) + "\n"


def golden_block(case):
    """Encodes a case, lets scapy dissect the result again, and lists what it read."""
    transport = mrc.transport_bytes(case.opcode, case.fields, case.payload)
    if case.literal is not None:
        expect(transport == case.literal, f"{case.name}: differs from protocol.md §12")
    inner = mrc.inner_packet(case.network, transport)
    whole = mrc.encapsulate(inner, case.outer) if case.outer else inner

    packet = mrc.decode(whole)
    seen = {}
    for header, field, value in mrc.transport_fields(packet):
        if field.startswith("res") and field != "restore_cwnd":
            expect(value == 0, f"{case.name}: reserved bits set in {header}.{field}")
        elif field not in NOT_SHOWN:
            expect(field not in seen, f"{case.name}: {field} appears twice")
            seen[field] = value
    for field, value in case.fields.items():
        expect(seen.get(field) == value, f"{case.name}: {field} does not survive a round trip")
    expect(mrc.payload_of(packet) == case.payload, f"{case.name}: payload differs")
    expect(classify(whole).word == "accept", f"{case.name}: not acceptable")

    network = case.network
    pairs = list(network.items())
    pairs.append(("ev", mrc.ev_of(network.get("flow_label", 0), network["sport"], network["ip"])))
    pairs += list((case.outer or {}).items()) + list(seen.items())
    if case.opcode in mrc.DATA:
        pairs.append(("payload", case.payload))
    if case.literal is not None:
        pairs.append(("transport", transport))
    return block(case.name, pairs + [("icrc", mrc.icrc(inner[:-4])), ("bytes", whole)])


def hostile_block(case):
    result = classify(case.data)
    expect(result.word == case.expect,
           f"{case.name}: expected {case.expect}, the reference rules say {result.word}")  # fmt: skip
    pairs = [("expect", case.expect), ("ours", str(int(result.ours))), ("why", case.why)]
    pairs += list(result.identity.items())
    return block(case.name, pairs + [("bytes", case.data)])


def unique(cases):
    names = [case.name for case in cases]
    expect(len(names) == len(set(names)), "two vectors have the same name")
    return cases


def check_oracles():
    """The constants that protocol.md prints, and that were not computed by this code."""
    expect(zlib.crc32(b"\xff" * 8) ^ 0xFFFFFFFF == 0xDEBB20E3, "ICRC seed differs from protocol.md §12")
    first = golden_cases.section_12()[0]
    transport = mrc.transport_bytes(first.opcode, first.fields, first.payload)
    packet = mrc.inner_packet(first.network, transport)
    expect(packet == golden_cases.SECTION_12_PACKET, "the packet of protocol.md §12 differs")
    expect(mrc.icrc(packet[:-4]) == 0xF5C57C83, "the ICRC of protocol.md §12 differs")


def files():
    check_oracles()
    golden = [golden_block(case) for case in unique(golden_cases.golden_cases())]
    hostile = [hostile_block(case) for case in unique(hostile_cases.hostile_cases())]
    return {
        "golden.txt": HEADER + "\n" + "\n".join(golden),
        "hostile.txt": HEADER + "\n" + "\n".join(hostile),
    }


def check(name, text):
    """True when the committed file is what we would write; prints a diff otherwise."""
    path = HERE / name
    committed = path.read_text() if path.exists() else ""
    if committed == text:
        return True
    for line in difflib.unified_diff(
        committed.splitlines(), text.splitlines(), f"{name} (committed)", f"{name} (generated)",
        n=3, lineterm="",
    ):  # fmt: skip
        print(line if len(line) <= 400 else f"{line[:400]}… ({len(line)} characters)")
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="compare, write nothing, exit 1 on a difference"
    )
    arguments = parser.parse_args()
    generated = files()
    if arguments.check:
        return 0 if all([check(name, text) for name, text in generated.items()]) else 1
    for name, text in generated.items():
        (HERE / name).write_text(text)
        print(f"{name}: {sum(line.startswith('[') for line in text.splitlines())} vectors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
