# SPDX-License-Identifier: Apache-2.0
"""The report for reading: throughput over time as a text plot, and what a newcomer wants to know."""

ROWS = 30
BAR = 40
PHASES = ("before the cut", "plane dark", "plane back")


def every_byte_matched(result):
    """Three digests: the file's by Python, what was read and sent, what arrived."""
    return (result["verified"] is True and result["bytes"] == result["file_bytes"]
            and result["sha256_file"] == result["sha256_sent"] == result["sha256_received"])


def text(result):
    verdict = "every byte matched" if result["verified"] else f"FAILED: {result['error'] or result['status']}"
    return "\n".join([
        "", *plot(result), "",
        f"sent            {result['bytes']} bytes in {result['duration_ms'] / 1e3:.2f} s, "
        f"{result['goodput_gbps']:.2f} Gbit/s, {result['payload_bytes']} bytes a packet, {result['memory']} memory",
        *stalls(result),
        f"packets         {planes(result['plane_tx_packets'])}",
        f"sent again      {result['retransmits']} packets ({result['spurious']} needlessly), "
        f"{result['timeouts']} time-outs",
        *paths(result),
        f"SHA-256 sent    {result['sha256_sent'] or 'unknown'}",
        f"SHA-256 arrived {result['sha256_received'] or 'unknown'}",
        f"result          {verdict}",
    ])


def planes(packets):
    return "  ".join(f"plane {plane} {count}" for plane, count in enumerate(packets))


def stalls(result):
    lines = [f"longest stall   {result['max_stall_us']:.0f} us between two arrivals of new bytes"]
    if len(result["stalls_us"]) == len(PHASES):
        lines.append("                " + ", ".join(f"{value:.0f} us {phase}"
                                                   for phase, value in zip(PHASES, result["stalls_us"])))
    return lines


def path_states(sample):
    return (f"{sample['paths_good']} good, {sample['paths_skip']} skipped, {sample['paths_kept']} kept though bad, "
            f"{sample['paths_assumed_bad']} assumed bad, {sample['paths_denied']} denied")


def paths(result):
    lines = []
    dark = [sample for sample in result["intervals"]
            if result["cut_at_ms"] and result["cut_at_ms"] <= sample["t_ms"]
            and sample["t_ms"] <= result.get("restored_ordered_ms", float("inf"))]
    if dark:
        lines.append(f"paths, dark     {path_states(dark[-1])}")
    return [*lines, f"paths, at last  {path_states(result)}"]


def rows(result):
    """(time, Gbit/s, packets per plane) in at most ROWS equal pieces, up to the last byte."""
    samples, last_bytes = [], 0
    for sample in result["intervals"]:
        if sample["bytes"] > last_bytes or sample["bytes"] < result["bytes"]:
            samples.append({**sample, "new_bytes": sample["bytes"] - last_bytes})
        last_bytes = sample["bytes"]
    group = -(-len(samples) // ROWS) or 1
    for first in range(0, len(samples), group):
        part = samples[first:first + group]
        seconds = sum(sample["seconds"] for sample in part)
        yield (part[-1]["t_ms"], sum(sample["new_bytes"] for sample in part) * 8e-9 / seconds,
               [sum(counts) for counts in zip(*(sample["plane_rx_packets"] for sample in part))])


def plot(result):
    lines = list(rows(result))
    if not lines:
        return ["no sample was taken"]
    top = max(rate for _, rate, _ in lines) or 1
    header = "".join(f"{f'plane {plane}':>9}" for plane in range(result["planes"]))
    yield f"{'time':>8}  {'Gbit/s':>7}  {'':{BAR}}{header}   packets that arrived"
    pending = [(result[key], what) for key, what in (("cut_at_ms", f"plane {result['cut_plane']} is dark"),
                                                     ("restored_at_ms", f"plane {result['cut_plane']} is back"))
               if result.get(key)]
    for time_ms, rate, packets in lines:
        mark = ""
        while pending and pending[0][0] <= time_ms:
            mark += f"  <- {pending.pop(0)[1]}"
        bar = "#" * round(BAR * rate / top)
        yield f"{time_ms / 1e3:7.2f}s  {rate:7.2f}  {bar:{BAR}}" + "".join(f"{count:9}" for count in packets) + mark
    for time_ms, what in pending:
        yield f"{time_ms / 1e3:7.2f}s  {what}, after the last byte"
