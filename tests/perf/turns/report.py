# SPDX-License-Identifier: Apache-2.0
"""Results of cases as one JSON object, and that as tables of Markdown."""

import os
import platform

from . import stall_windows
from .summary import summary


def machine():
    return {"kernel": platform.release(), "cores": os.cpu_count(), "architecture": platform.machine()}


def case_object(name, one, results):
    by_row = {(result.row.point, result.row.name): result for result in results}
    rows = []
    for result in results:
        baseline = by_row.get((result.row.point, one.baseline))
        rows.append({"point": result.row.point, "name": result.row.name,
                     "memory": next((values["memory"] for values in result.runs.values() if "memory" in values), None),
                     "thrown_away": result.thrown_away, "disturbed": result.disturbed,
                     "summary": summary(result.runs, baseline.runs if baseline else {}, one.metrics),
                     "failures": [{"round": number, "error": error} for number, error in result.failures.items()],
                     "runs": [outcome.values | {"steal": outcome.load.steal, "foreign": outcome.load.foreign,
                                                "disturbed": outcome.disturbed} for outcome in result.outcomes]})
    return {"case": name, "about": one.about, "baseline": one.baseline, "metrics": one.metrics, "rows": rows}


def number(value):
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def cells(figures):
    if figures is None:
        return ["-", "-"]
    spread = f"{number(figures['median'])} ({number(figures['min'])} to {number(figures['max'])})"
    return [spread, "-" if figures["ratio"] is None else f"{figures['ratio']:.2f}"]


def table(found):
    """One row a line; a column for each figure, and one for its ratio to the baseline's in the same round."""
    head = ["at", "what"]
    for metric, unit in found["metrics"].items():
        head += [f"{metric}, {unit}", f"times {found['baseline']}"]
    lines = [f"**{found['case']}**: {found['about']}", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in found["rows"]:
        line = [row["point"], row["name"] + (" **failed**" if row["failures"] else "")]
        for metric in found["metrics"]:
            line += cells(row["summary"].get(metric))
        lines.append("| " + " | ".join(line) + " |")
    return "\n".join([*lines, "", *stall_windows.tables(found["rows"]), *remarks(found["rows"])])


def remarks(rows):
    """What foreign load did to the case, and what failed."""
    runs = sum(len(row["runs"]) for row in rows)
    thrown_away, disturbed = (sum(row[name] for row in rows) for name in ("thrown_away", "disturbed"))
    said = [f"{runs} runs count; {thrown_away} were thrown away, which foreign load had disturbed."]
    if disturbed:
        said.append(f"**{disturbed} of those that count were disturbed, too**, and no repeat was better: "
                    "do not rely on them.")
    for row in rows:
        said += [f"- **failed**, round {failure['round'] + 1}: {' '.join(filter(None, (row['point'], row['name'])))}: "
                 f"{failure['error']}" for failure in row["failures"]]
    return said
