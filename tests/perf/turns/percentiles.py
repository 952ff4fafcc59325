# SPDX-License-Identifier: Apache-2.0
"""The distribution of a run's latencies, as each program tells it: [[percentile, us], ...], ascending."""

import csv
import re

OF_SOCKPERF = re.compile(r"percentile (\d+\.\d+) =\s+([\d.]+)")
OF_RAW = {"p50": 50, "p90": 90, "p99": 99, "p999": 99.9}


def of_file(path):
    """Of mrc-perf's, as --percentiles writes it."""
    with open(path, encoding="ascii", newline="") as file:
        return [[float(line["percentile"]), float(line["us"])] for line in csv.DictReader(file)]


def of_sockperf(said):
    return sorted([float(percentile), float(us)] for percentile, us in OF_SOCKPERF.findall(said))


def of_raw(lat_us):
    """Of mrc-bench-raw's report."""
    return [[percentile, lat_us[name]] for name, percentile in OF_RAW.items()]
