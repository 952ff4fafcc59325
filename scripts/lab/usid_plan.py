# SPDX-License-Identifier: Apache-2.0
"""The fabric's SRv6 plan, as the hosts' configuration has it (mrcd(8), [fabric] and [[usid]]): which switch and host
has which uSID. Written here a second time, so that a switch and a host that disagree about a plan carry nothing."""

import ipaddress

from .errors import lab_error

USUAL = {
    "usid_block": "fcbb:bb00::/32",
    "leaf_usid": ["2PII", "3PII", "4PII", "5PII", "6PII", "7PII"],
    "spine_usid": ["1PII"],
    "host_usid": "8PII",
}
USID_BITS = 16


def _bits_of(where, pattern):
    """Sixteen of "0", "1", "P" and "I"."""
    if isinstance(pattern, str) and len(pattern) in (4, USID_BITS):
        each = USID_BITS // len(pattern)
        try:
            return "".join(digit * each if digit in "PI" else f"{int(digit, 16 if each > 1 else 2):0{each}b}"
                           for digit in pattern)
        except ValueError:
            pass
    raise lab_error(f"{where} is {pattern!r}; allowed: 4 hexadecimal digits or 16 bits, with P for the plane and I for "
                    "the number")


def _filled(bits, plane, number):
    """The uSID: the lowest bits of both numbers stand last."""
    left = {"P": plane, "I": number}
    out = ""
    for bit in reversed(bits):
        if bit in left:
            left[bit], bit = left[bit] >> 1, str(left[bit] & 1)
        out = bit + out
    return int(out, 2)


class usid_plan:
    """Of the tables of mrcd's configuration that were given to the lab."""

    def __init__(self, config):
        fabric = {**USUAL, **config.get("fabric", {})}
        try:
            self.block = ipaddress.IPv6Network(fabric["usid_block"])
        except ValueError as error:
            raise lab_error(f"fabric.usid_block: {error}") from error
        self._patterns = {
            role: [_bits_of(f"fabric.{role}_usid", each) for each in patterns]
            for role, patterns in (("leaf", fabric["leaf_usid"]), ("spine", fabric["spine_usid"]),
                                   ("host", [fabric["host_usid"]]))}
        self._given = {(role, entry.get("plane"), entry[role]): entry.get("usid")
                       for entry in config.get("usid", []) for role in ("leaf", "spine") if role in entry}

    def prefix(self, role, plane, number):
        """What a switch matches, and what it looks up after the shift: the block with one uSID."""
        usid = self._given.get((role, plane, number)) or self._by_pattern(role, plane, number)
        length = self.block.prefixlen + USID_BITS
        value = int(self.block.network_address) | usid << (128 - length)
        return f"{ipaddress.IPv6Address(value)}/{length}"

    def _by_pattern(self, role, plane, number):
        for bits in self._patterns[role]:
            if number < 1 << bits.count("I"):
                return _filled(bits, plane, number)
            number -= 1 << bits.count("I")
        raise lab_error(f"fabric.{role}_usid has no room for so many; add a pattern")


def block_bits_of(prefix):
    """Of a uSID's prefix."""
    return int(prefix.partition("/")[2]) - USID_BITS
