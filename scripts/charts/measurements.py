# SPDX-License-Identifier: Apache-2.0
"""Ways to draw the rows of a case of `tests/perf/run --json`."""

from . import rows, style

# Of the axis of percentiles, which has as much room for each further nine.
NINES = (50, 90, 99, 99.9, 99.99, 99.999, 99.9999)


def lines(panel, series):
    """A line for each, with the spread of every point."""
    for index, (name, points) in enumerate(series.items()):
        if points:
            places, figures = zip(*points)
            panel.errorbar(places, [each["median"] for each in figures], yerr=spread(figures), capsize=2, label=name,
                           **style.look(index))


def spread(figures):
    return [[each["median"] - each["min"] for each in figures], [each["max"] - each["median"] for each in figures]]


def as_distributions(panel, of_rows, metric):
    """The share of a row's runs at or below each value."""
    for index, row in enumerate(of_rows):
        values = sorted(run[metric] for run in row["runs"] if metric in run)
        if values:
            panel.step(values, [(rank + 1) / len(values) for rank in range(len(values))], where="post",
                       label=row["name"], **style.look(index))
    panel.set_ylabel("share of runs")


def by_row(panel, of_rows, metric):
    """Each row's spread, one below the other."""
    found = [(row["name"], row["summary"][metric]) for row in of_rows if metric in row["summary"]]
    figures = [each for _, each in found]
    panel.errorbar([each["median"] for each in figures], range(len(found)), xerr=spread(figures), capsize=2,
                   color=style.COLOURS[0], marker="o", linestyle="none")
    panel.set_yticks(range(len(found)), [name for name, _ in found])
    panel.set_ylim(len(found) - 0.5, -0.5)
    panel.set_xlim(left=0)


def percentiles(distributions, columns):
    """A panel for each; both scales logarithmic, that of percentiles in what is above them."""
    figure, axes = style.panels(len(distributions), columns, height=0.8 + 2.6 * -(-len(distributions) // columns))
    most = max((points[-1][0] for series in distributions.values() for points in series.values()), default=0)
    ticks = [percentile for percentile in NINES if percentile <= most]
    names = list(dict.fromkeys(name for series in distributions.values() for name in series))
    handles = {}
    for index, (panel, (title, series)) in enumerate(zip(axes, distributions.items())):
        panel.set_title(title)
        for name, points in series.items():
            handles[name], = panel.plot([100 / (100 - percentile) for percentile, _ in points],
                                        [us for _, us in points], label=name,
                                        **style.look(names.index(name)) | {"markevery": 0.1})
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xticks([100 / (100 - percentile) for percentile in ticks], ticks)
        panel.minorticks_off()
        if index % columns == 0:
            panel.set_ylabel("us")
        if index + columns >= len(axes):
            panel.set_xlabel("percentile")
    style.beside(axes[min(columns, len(axes)) - 1], handles=[handles[name] for name in names])
    return figure


def over_sizes(panel, series):
    sizes = sorted({size for points in series.values() for size, _ in points})
    lines(panel, series)
    panel.set_xscale("log", base=2)
    panel.set_xticks(sizes, [rows.size_name(size) for size in sizes])
    panel.set_xlabel("bytes of a message")
