# SPDX-License-Identifier: Apache-2.0
"""The pinned BPF maps of a lab's hosts, as bpftool prints them."""

import ipaddress
import json
import pathlib
import re
import subprocess

from lab_support import ROOT, binary

MAX_QPS = 16384  # MRC_MAX_QPS
GOOD, KEPT, ASSUMED_BAD = "MRC_PATH_GOOD", "MRC_PATH_KEPT", "MRC_PATH_ASSUMED_BAD"  # as bpftool prints them


def bpftool(*arguments):
    done = subprocess.run(["bpftool", "-j", "map", *arguments], capture_output=True, check=True)
    return json.loads(done.stdout)


def dump_all(paths):
    """Rows of many pinned arrays, by path; one process for all."""
    batch = "".join(f"map dump pinned {path}\n" for path in paths)
    done = subprocess.run(["bpftool", "-j", "batch", "file", "-"], input=batch, capture_output=True, text=True,
                          check=True)
    return {path: [row["formatted"] for row in entry["output"]]
            for path, entry in zip(paths, json.loads(done.stdout), strict=True)}


def enumerators(enum):
    """Names of one of the maps' enums in their order."""
    text = (pathlib.Path(ROOT) / "include/mrc/abi/maps.h").read_text(encoding="utf-8")
    body = re.sub(r"/\*.*?\*/", "", re.search(rf"enum {enum} \{{(.*?)\n\}}", text, re.S).group(1), flags=re.S)
    return [name.strip() for name in body.split(",") if name.strip()]


def verdict_names():
    return enumerators("mrc_verdict")


def used_paths(rows):
    """Rows of `paths` that are somebody's, by their numbers."""
    return {number: row for number, row in enumerate(rows) if row["state"] != "MRC_PATH_UNUSED"}


def sum_verdicts(rows):
    """Counts by name, over all CPUs."""
    return {name: sum(cpu["value"] for cpu in row["values"]) for name, row in zip(verdict_names(), rows)}


class host_maps:
    def __init__(self, instance):
        self.instance, self.pins = instance, f"/sys/fs/bpf/mrc/{instance}"

    def rows(self, name):
        """Every row of an array, by its number."""
        return [entry["formatted"]["value"] for entry in bpftool("dump", "pinned", f"{self.pins}/{name}")]

    def row(self, name, number):
        key = [str(byte) for byte in number.to_bytes(4, "little")]
        return bpftool("lookup", "pinned", f"{self.pins}/{name}", "key", *key)["formatted"]["value"]

    def some_rows(self, name, numbers):
        """Rows of an array by their numbers; one process for all."""
        keys = [" ".join(map(str, number.to_bytes(4, "little"))) for number in numbers]
        lookups = "".join(f"map lookup pinned {self.pins}/{name} key {key}\n" for key in keys)
        if not keys:
            return {}
        done = subprocess.run(["bpftool", "-j", "batch", "file", "-"], input=lookups, capture_output=True, text=True,
                              check=True)
        return {number: entry["output"]["formatted"]["value"]
                for number, entry in zip(numbers, json.loads(done.stdout), strict=True)}

    def queue_pairs(self):
        """Rows of those that there are, by number. mrcctl says which they are: bpftool takes seconds for all 16,384."""
        listed = subprocess.run([binary("mrcctl"), "--json", "--instance", self.instance, "qp", "list"],
                                capture_output=True, check=True)
        return self.some_rows("qps", [qp["qpn"] & (MAX_QPS - 1) for qp in json.loads(listed.stdout)])

    def peer(self, address):
        """The row of a peer's MRC address."""
        parsed = ipaddress.ip_address(address)
        mapped = parsed if parsed.version == 6 else ipaddress.IPv6Address(f"::ffff:{parsed}")
        key = [str(byte) for byte in mapped.packed]
        return bpftool("lookup", "pinned", f"{self.pins}/peers", "key", *key)["formatted"]["value"]

    def verdicts(self):
        return sum_verdicts(dump_all([f"{self.pins}/verdicts"])[f"{self.pins}/verdicts"])

    def paths_to(self, address, plane):
        """Numbers of the path rows toward the T0 of a peer on one plane."""
        peer = self.peer(address)
        first = peer["group_base"] + plane * peer["uplinks"]
        return list(range(first, first + peer["uplinks"]))

    def states(self, numbers):
        return {row["state"] for row in self.some_rows("paths", numbers).values()}

    def sum(self, name, field):
        return sum(row[field] for row in self.rows(name))
