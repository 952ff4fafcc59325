# SPDX-License-Identifier: Apache-2.0
"""Real queues behind `impair --rate` on kernel switches.

An XDP switch has only a virtual queue, which signals but does not delay. A kernel switch forwards through qdiscs,
so there the rate is a token bucket on the port, and packets wait in it.
"""

import re

RATE = re.compile(r"(\d+(?:\.\d+)?)([kmg])bit", re.IGNORECASE)
UNITS = {"k": 1e3, "m": 1e6, "g": 1e9}

BURST_PACKETS = 8  # enough for a timer that fires late at 10 Gbit/s, too little to hide the queue
QUEUE_SECONDS = 0.002
QUEUE_PACKETS = 64  # at least, for slow rates


def bits_per_second(text):
    """The rate as a number; None when it is not one, or zero."""
    match = RATE.fullmatch(text)
    return float(match.group(1)) * UNITS[match.group(2).lower()] or None if match else None


def tc_command(port, mtu, rate):
    """The shell line that gives a port this rate, or with None takes its queue away."""
    if rate is None:
        return f"tc qdisc delete dev {port.device} root 2>/dev/null || true"
    frame = mtu + 14
    bits = bits_per_second(rate)
    limit = max(int(bits / 8 * QUEUE_SECONDS), QUEUE_PACKETS * frame)
    return f"tc qdisc replace dev {port.device} root tbf rate {bits:.0f}bit burst {BURST_PACKETS * frame} limit {limit}"
