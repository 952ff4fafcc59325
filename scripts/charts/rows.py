# SPDX-License-Identifier: Apache-2.0
"""Rows of a case of `tests/perf/run --json` as series of numbers."""

import re
import statistics

UNITS = {"K": 1 << 10, "M": 1 << 20}
WAY = re.compile(r", (sleeping|spinning)( on the memory)?")
QUEUE_PAIRS = re.compile(r",? ?\b(\d+) QP\b")
WORKERS = re.compile(r"(\d+) workers?")
# Of runs that kept no distribution.
PERCENTILES = {"p50_us": 50, "p99_us": 99, "p999_us": 99.9}


def size(text):
    """Bytes of "8", "64K" or "1M"."""
    return int(text.rstrip("KM")) * UNITS.get(text[-1], 1)


def size_name(number):
    for unit, factor in reversed(UNITS.items()):
        if number >= factor:
            return f"{number / factor:g}{unit}"
    return f"{number:g}"


def by_size(row):
    return row["name"], size(row["point"])


def by_loss(row):
    return row["name"], float(row["point"].rstrip("%"))


def by_queue_pairs(row):
    """"MRC, 16 QP, both directions" is MRC, both directions, at 16."""
    found = QUEUE_PAIRS.search(row["name"])
    return QUEUE_PAIRS.sub("", row["name"], 1), int(found[1])


def by_workers(row):
    return row["point"], int(WORKERS.search(row["name"])[1])


def over(rows, metric, place):
    """{series: [(where, least, median and most)]}, of all series, those without this metric too, so that each has the
    same look in every chart; place(row): its series, and where it stands."""
    series = {}
    for row in rows:
        name, where = place(row)
        points = series.setdefault(name, [])
        if metric in row["summary"]:
            points.append((where, row["summary"][metric]))
    return {name: sorted(points, key=lambda point: point[0]) for name, points in series.items()}


def by_window(row):
    """The row with each window of its runs, where they have several, as a run."""
    return row | {"runs": [window for run in row["runs"] for window in run.get("windows", [run])]}


def by_way(row):
    """A panel for each size and way to wait."""
    found = WAY.search(row["name"])
    title = f"{row['point']} bytes" + (f", {found[1]}" if found else "")
    return title, WAY.sub("", row["name"], 1)


def by_point(row):
    return row["point"], row["name"]


def distribution(run):
    if "percentiles" in run:
        return {percentile: us for percentile, us in run["percentiles"]}
    return {percentile: run[name] for name, percentile in PERCENTILES.items() if name in run}


def distributions(rows, place):
    """{panel: {series: [(percentile, us)]}}, medians of runs; place(row): its panel and series. What not all runs of a
    row have is left out, and so are the 100th and, for the chart's size, those between tenths below the 90th."""
    panels = {}
    for row in rows:
        runs = [found for found in map(distribution, row["runs"]) if found]
        shared = sorted(set.intersection(*map(set, runs))) if runs else []
        panel, name = place(row)
        points = [(percentile, statistics.median(run[percentile] for run in runs)) for percentile in shared
                  if 90 <= percentile < 100 or percentile < 90 and percentile % 10 == 0]
        if points:
            panels.setdefault(panel, {})[name] = points
    return panels
