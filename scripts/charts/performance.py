# SPDX-License-Identifier: Apache-2.0
"""The figures of docs/performance.md: one for each of these cases of `tests/perf/run`, whose name it has."""

import textwrap

from . import measurements, rows, style

TITLE_COLUMNS = 100


def goodput(case):
    series = rows.over(case["rows"], "gbps", rows.by_size)
    figure, (panel,) = style.panels(1, 1, height=style.height_of(len(series)))
    measurements.over_sizes(panel, series)
    return from_zero(figure, panel, "goodput, Gbit/s")


def cpu(case):
    figure, (panel,) = style.panels(1, 1, height=style.height_of(len(case["rows"])))
    measurements.by_row(panel, case["rows"], "cpu_s_per_gb")
    panel.set_xlabel("processor time of the whole machine, s/GB")
    return figure


def latency(case):
    return measurements.percentiles(rows.distributions(case["rows"], rows.by_way), 2)


def loss(case):
    series = rows.over(case["rows"], "gbps", rows.by_loss)
    figure, (panel,) = style.panels(1, 1, height=style.height_of(len(series)))
    lost = sorted({share for points in series.values() for share, _ in points})
    measurements.lines(panel, series)
    # Linear from none to the least, as wide as a tenfold.
    panel.set_xscale("symlog", linthresh=next((share for share in lost if share), 1), linscale=0.9)
    panel.set_xticks(lost, [f"{share:g} %" for share in lost])
    panel.minorticks_off()
    panel.set_xlabel("lost on every plane")
    return from_zero(figure, panel, "goodput, Gbit/s")


def stalls(case):
    figure, (panel,) = style.panels(1, 1)
    measurements.as_distributions(panel, map(rows.by_window, case["rows"]), "max_stall_us")
    panel.set_xscale("log")
    panel.set_xlabel("longest time between two arrivals, us")
    panel.set_ylabel("share of windows")
    style.beside(panel)
    return figure


def beside(case):
    return measurements.percentiles(rows.distributions(case["rows"], rows.by_point), 2)


def queue_pairs(case):
    series = rows.over(case["rows"], "gbps", rows.by_queue_pairs)
    figure, (panel,) = style.panels(1, 1, height=style.height_of(len(series)))
    counts = sorted({count for points in series.values() for count, _ in points})
    measurements.lines(panel, series)
    panel.set_xscale("log")
    panel.set_xticks(counts, [f"{count:,}" for count in counts])
    panel.minorticks_off()
    panel.set_xlabel("queue pairs")
    return from_zero(figure, panel, "goodput, Gbit/s")


def workers(case):
    figure, axes = style.panels(2, 2, share_y=False)
    for panel, metric, label in zip(axes, ("gbps", "mrcd_s_per_gb"),
                                    ("goodput, Gbit/s", "processor time of both mrcd, s/GB")):
        series = rows.over(case["rows"], metric, rows.by_workers)
        measurements.lines(panel, series)
        panel.set_xticks(sorted({count for points in series.values() for count, _ in points}))
        panel.set_xlabel("workers of either mrcd")
        panel.set_ylabel(label)
        panel.set_ylim(bottom=0)
    style.beside(axes[-1])
    return figure


def from_zero(figure, panel, label):
    panel.set_ylabel(label)
    panel.set_ylim(bottom=0)
    style.beside(panel)
    return figure


FIGURES = {"goodput": goodput, "cpu": cpu, "latency": latency, "loss": loss, "stalls": stalls, "beside": beside,
           "qps": queue_pairs, "workers": workers}


def draw(case, path):
    figure = FIGURES[case["case"]](case)
    figure.suptitle(textwrap.fill(case["about"], TITLE_COLUMNS))
    path.parent.mkdir(exist_ok=True)
    style.save(figure, path, case["case"])
