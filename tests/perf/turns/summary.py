# SPDX-License-Identifier: Apache-2.0
"""What rounds of runs amount to: medians with their spread, and ratios to the baseline of the same round, which hold
when the machine's speed drifts from round to round."""

import statistics


def spread(values):
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def ratio(values, baseline):
    """Median of the ratios round by round. None where there is no baseline, or one of its values is 0."""
    if not baseline or len(baseline) != len(values) or not all(baseline):
        return None
    return statistics.median(mine / theirs for mine, theirs in zip(values, baseline))


def summary(runs, baseline_runs, metrics):
    """By metric, of the values (dicts, by round) of one row and of its baseline's row. A metric that the row does not
    have is left out, and of ratios the rounds that one of both lacks."""
    result = {}
    for metric in metrics:
        values = {number: run[metric] for number, run in runs.items() if metric in run}
        if values:
            baseline = {number: run[metric] for number, run in baseline_runs.items() if metric in run}
            both = [number for number in values if number in baseline]
            result[metric] = spread(values.values()) | {
                "ratio": ratio([values[number] for number in both], [baseline[number] for number in both])}
    return result
