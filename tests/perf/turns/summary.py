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
    """By metric, of the values (dicts) of all rounds of one row and of its baseline's row, which may be None. A metric
    that the row does not have is left out."""
    result = {}
    for metric in metrics:
        values = [run[metric] for run in runs if metric in run]
        if values:
            baseline = [run[metric] for run in baseline_runs or [] if metric in run]
            result[metric] = spread(values) | {"ratio": ratio(values, baseline)}
    return result
