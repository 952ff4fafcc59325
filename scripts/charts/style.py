# SPDX-License-Identifier: Apache-2.0
"""How every chart looks, and how it becomes a file. Needs python3-matplotlib."""

import pathlib
import sys

try:
    import matplotlib
except ImportError:
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: matplotlib is missing: apt install python3-matplotlib")

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend comes first)

# Okabe and Ito's colours without yellow, which is too pale for a line on white.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"]
LINES = ["-", "--", "-.", ":"]
MARKERS = ["o", "s", "^", "D", "v", "P"]
WIDTH = 9.0

matplotlib.rcParams.update({"font.size": 9, "axes.titlesize": 9, "figure.titlesize": 11, "lines.linewidth": 1.3,
                            "lines.markersize": 4, "svg.fonttype": "none"})


def panels(count, columns, share_y=True, height=0):
    """A figure, and its axes in reading order. `height`: inches, if it is to be higher than usual."""
    rows = -(-count // columns)
    figure, axes = pyplot.subplots(rows, columns, sharex=True, sharey=share_y, squeeze=False, layout="constrained",
                                   figsize=(WIDTH, max(height, 3.4 if rows == 1 else 0.5 + 1.9 * rows)))
    every = [each for row in axes for each in row]
    for index, each in enumerate(every):
        each.set_visible(index < count)
        # A panel with nothing below it carries the axis that it shares.
        each.tick_params(labelbottom=index + columns >= count)
        each.grid(color="#dddddd", linewidth=0.6)
        each.spines[["top", "right"]].set_visible(False)
    return figure, every[:count]


def height_of(names):
    """Inches for so many names below each other, beside a panel."""
    return 0.7 + 0.19 * names


def look(index):
    """Of a row's line. No two of 36 rows have the same colour and marker, so that single points can be told apart."""
    again = index // len(COLOURS)
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[(index + again) % len(MARKERS)],
            "linestyle": LINES[again % len(LINES)]}


def beside(panel, **more):
    """The legend, to the right of a panel. `more`: of pyplot.legend."""
    panel.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, **more)


def save(figure, path, salt):
    # Neither a date nor a random name of an element: the same results are the same file.
    matplotlib.rcParams["svg.hashsalt"] = salt
    about = {"Date": None, "Creator": None} if path.suffix == ".svg" else {}
    figure.savefig(path, metadata=about, dpi=100)
    pyplot.close(figure)
    if path.suffix == ".svg":
        first, rest = path.read_text(encoding="utf-8").split("\n", 1)
        lines = [line.rstrip() for line in rest.splitlines()]
        path.write_text("\n".join([first, "<!-- SPDX-License-Identifier: Apache-2.0 -->", *lines, ""]),
                        encoding="utf-8")
