# SPDX-License-Identifier: Apache-2.0
"""Rounds of a case's rows: one lab after the other, in each its rows in their order."""

from . import foreign_load


class measured:
    """The outcomes of a row, one a round."""

    def __init__(self, row):
        self.row, self.outcomes = row, []

    @property
    def runs(self):
        return [outcome.values for outcome in self.outcomes]

    @property
    def thrown_away(self):
        return sum(outcome.thrown_away for outcome in self.outcomes)

    @property
    def disturbed(self):
        return sum(outcome.disturbed for outcome in self.outcomes)


def with_processor_time(outcome):
    """Of the machine's, foreign processes left out, for each 10^9 bytes, where bytes were moved."""
    moved = outcome.values.get("bytes")
    if moved:
        outcome.values["cpu_s_per_gb"] = outcome.load.own_cpu_s / (moved / 1e9)
    return outcome


def measure(rows, places, settings, on_run):
    """`settings`: runs, seconds, limit and repeats (foreign_load.undisturbed). on_run(row, outcome, round) hears of
    each run that counts."""
    results = [measured(row) for row in rows]
    for number in range(settings.runs):
        for place in dict.fromkeys(row.lab for row in rows):
            with places[place]() as at:
                for result in results:
                    if result.row.lab == place:
                        outcome = with_processor_time(foreign_load.undisturbed(
                            lambda: result.row.run(at, settings.seconds), settings.limit, settings.repeats))
                        result.outcomes.append(outcome)
                        on_run(result.row, outcome, number)
    return results
