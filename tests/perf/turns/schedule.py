# SPDX-License-Identifier: Apache-2.0
"""Rounds of a case's rows: one lab after the other, in each its rows in their order."""

from lab_support import terminated

from . import foreign_load


class measured:
    """The outcomes of a row by round, but for rounds in which it failed: there, why."""

    def __init__(self, row):
        self.row, self.by_round, self.failures = row, {}, {}

    @property
    def outcomes(self):
        return list(self.by_round.values())

    @property
    def runs(self):
        """Values by round."""
        return {number: outcome.values for number, outcome in self.by_round.items()}

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


def line_of(error):
    """What is the matter, in one line."""
    text = str(error) if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())


def in_lab(results, place, number, settings, on_run, on_failure):
    """A round of these rows. After one that fails, the others have a fresh lab."""
    left = list(results)
    while left:
        result = left[0]
        try:
            with place() as at:
                while left:
                    result = left.pop(0)
                    result.by_round[number] = with_processor_time(foreign_load.undisturbed(
                        lambda: result.row.run(at, settings.seconds), settings.limit, settings.repeats))
                    on_run(result.row, result.by_round[number], number)
        except terminated:
            raise
        except (Exception, SystemExit) as error:  # whatever it is, what others have measured is not lost
            result.failures[number] = line_of(error)
            on_failure(result.row, result.failures[number], number)
            left = [other for other in left if other is not result]


def measure(rows, places, settings, on_run, on_failure):
    """`settings`: runs, seconds, limit and repeats (foreign_load.undisturbed). on_run(row, outcome, round) hears of
    each run that counts, on_failure(row, error, round) of each that failed, or whose lab did."""
    results = [measured(row) for row in rows]
    for number in range(settings.runs):
        for place in dict.fromkeys(row.lab for row in rows):
            in_lab([result for result in results if result.row.lab == place], places[place], number, settings, on_run,
                   on_failure)
    return results
