#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/perf/run: its statistics, and the rule by which runs are thrown away."""

import collections
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import signal
import subprocess
import sys
import types
import unittest
from unittest import mock

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests/perf"), str(SOURCE / "tests/e2e")]

# pylint: disable=wrong-import-position
import lab_support
from turns import cases, foreign_load, many_clients, report, schedule, spinners, stall_windows, summary
from turns.foreign_load import load, outcome, process, usage
from turns.schedule import measured, with_processor_time


CASE = cases.case("about it", {"gbps": "Gbit/s"}, "TCP", ())


class statistics(unittest.TestCase):
    def test_ratios_are_of_the_same_round(self):
        # The machine is twice as fast in each round as in the last: medians apart would say 4 to 2.
        ours, theirs = [3, 6, 4], [2, 4, 8]
        self.assertEqual(summary.ratio(ours, theirs), 1.5)
        found = summary.summary(by_round(ours), by_round(theirs), {"gbps": "Gbit/s", "p50_us": "us"})
        self.assertEqual(found, {"gbps": {"min": 3, "median": 4, "max": 6, "ratio": 1.5}})

    def test_a_round_that_one_of_both_lacks_gives_no_ratio(self):
        ours, theirs = by_round([3, 6, 4]), by_round([2, 4, 8])
        del ours[0], theirs[2]
        self.assertEqual(summary.summary(ours, theirs, {"gbps": ""})["gbps"],
                         {"min": 4, "median": 5, "max": 6, "ratio": 1.5})

    def test_no_ratio_without_a_baseline(self):
        self.assertIsNone(summary.ratio([1, 2], []))
        self.assertIsNone(summary.ratio([1, 2], [1]))
        self.assertIsNone(summary.ratio([1, 2], [1, 0]))
        self.assertIsNone(summary.summary(by_round([1]), {}, {"gbps": ""})["gbps"]["ratio"])


def by_round(values):
    return {number: {"gbps": value} for number, value in enumerate(values)}


class foreign(unittest.TestCase):
    STAT = "7 (a ) b) S 3 7 7 0 -1 {flags} 1 2 3 4 {times} 20 0 1 0 99 5"

    def parsed(self, times, flags=0x400000, environment=b""):
        return foreign_load.parse_process(self.STAT.format(flags=flags, times=times), environment)

    def test_time_of_a_process_has_that_of_children_it_waited_for(self):
        ticks = foreign_load.TICKS
        found = self.parsed(f"{ticks} {2 * ticks} {3 * ticks} {4 * ticks}")
        self.assertEqual((found.parent, found.begun, found.seconds), (3, 99, 10))

    def test_own_processes_and_kernel_threads_are_not_foreign(self):
        mark = f"MRC_PERF_RUN={os.getpid()}".encode()
        seen = {1: self.parsed("1 0 0 0"), 2: self.parsed("1 0 0 0", environment=b"A=1\0" + mark + b"\0B=2\0"),
                3: self.parsed("1 0 0 0", flags=0x200040), 4: self.parsed("1 0 0 0", environment=mark + b"7\0")}
        self.assertEqual(list(foreign_load.foreign_of(seen, os.getpid())), [1, 4])

    def test_a_process_started_here_is_own_and_others_are_read(self):
        foreign_load.mark_own()
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
            seen = foreign_load.processes()
            child.stdin.close()
        self.assertFalse(seen[child.pid].is_foreign(os.getpid()))
        self.assertTrue(seen[child.pid].is_foreign(1))
        self.assertGreater(foreign_load.now().busy, 0)

    def test_steal_is_no_busy_time(self):
        ticks = foreign_load.TICKS
        line = "cpu  " + " ".join(str(ticks * value) for value in (1, 2, 3, 40, 50, 6, 7, 80, 0, 0))
        self.assertEqual(foreign_load.parse_machine(line + "\ncpu0 1"), (19, 80))

    def test_shares_are_of_all_cores(self):
        found = foreign_load.between(usage(at=10, busy=5, steal=1, foreign={7: took(2)}),
                                     usage(at=14, busy=11, steal=1.4, foreign={7: took(4)}), cores=2)
        self.assertEqual((found.seconds, found.own_cpu_s, round(found.steal, 6), found.foreign), (4, 4, 0.05, 0.25))

    def test_what_begins_or_ends_meanwhile_counts_for_what_it_took_meanwhile(self):
        before = {7: took(2), 8: took(100, parent=7), 9: took(50, parent=8)}
        self.assertEqual(foreign_load.foreign_seconds(before, before | {10: took(3, parent=7)}), 3)
        # 9 took a second more, 8 half a one; each was waited for, and 7 has it all.
        self.assertEqual(foreign_load.foreign_seconds(before, {7: took(153.5)}), 1.5)
        # The number is another process's now.
        self.assertEqual(foreign_load.foreign_seconds({7: took(5), 8: took(9, parent=7)},
                                                      {7: took(14), 8: took(2, begun=1)}), 2)

    def test_a_process_that_nobody_waits_for_hides_nothing_of_others(self):
        before = {1: took(10), 7: took(2), 8: took(1000, parent=1)}
        self.assertEqual(foreign_load.foreign_seconds(before, {1: took(10), 7: took(5)}), 3)

    def test_nothing_is_less_than_zero(self):
        found = foreign_load.between(usage(0, 5, 1, {7: took(2)}), usage(1, 5, 1, {7: took(4)}), cores=1)
        self.assertEqual((found.own_cpu_s, found.steal, found.foreign), (0, 0, 2))


def took(seconds, parent=1, begun=0):
    return process(parent, begun, seconds, False, b"")


class undisturbed(unittest.TestCase):
    """Each run lasts a second of one core and gives its number; `taken` is what others took of it."""

    def outcome(self, taken, repeats, limit=0.1):
        self.runs, at, foreign_s = 0, 0, 0
        states = []
        for share in taken:
            states += [usage(at, 0, 0, {7: took(foreign_s)}), usage(at + 1, 0, 0, {7: took(foreign_s + share)})]
            at, foreign_s = at + 1, foreign_s + share
        states = iter(states)

        def run():
            self.runs += 1
            return {"number": self.runs}
        cores = foreign_load.CORES
        return foreign_load.undisturbed(run, limit / cores, repeats, lambda: next(states))

    def test_a_quiet_run_counts(self):
        found = self.outcome([0.05], repeats=3)
        self.assertEqual((found.values["number"], found.thrown_away, found.disturbed), (1, 0, False))

    def test_disturbed_runs_are_thrown_away_and_counted(self):
        found = self.outcome([0.5, 0.4, 0.05], repeats=3)
        self.assertEqual((found.values["number"], found.thrown_away, found.disturbed), (3, 2, False))

    def test_the_least_disturbed_stands_and_says_so_when_repeats_are_over(self):
        found = self.outcome([0.5, 0.2, 0.4], repeats=2)
        self.assertEqual((self.runs, found.values["number"], found.thrown_away, found.disturbed), (3, 2, 2, True))

    def test_without_repeats_the_only_run_stands(self):
        found = self.outcome([0.5], repeats=0)
        self.assertEqual((self.runs, found.thrown_away, found.disturbed), (1, 0, True))


class tables(unittest.TestCase):
    QUIET = load(seconds=1, own_cpu_s=3, steal=0, foreign=0)

    def results(self):
        ours, theirs = (measured(cases.row("1M", name, "xdp", None)) for name in ("MRC", "TCP"))
        ours.by_round = {0: outcome({"gbps": 3.0, "memory": "shared"}, self.QUIET, 2, False),
                         1: outcome({"gbps": 5.0, "memory": "shared"}, self.QUIET, 1, True)}
        theirs.by_round = dict.fromkeys(range(2), outcome({"gbps": 2.0}, self.QUIET, 0, False))
        return report.case_object("goodput", CASE, [ours, theirs])

    def test_a_row_names_its_memory_and_each_run(self):
        row = self.results()["rows"][0]
        self.assertEqual((row["memory"], row["thrown_away"], row["disturbed"]), ("shared", 3, 1))
        self.assertEqual([run["disturbed"] for run in row["runs"]], [False, True])
        self.assertEqual(row["summary"]["gbps"], {"min": 3.0, "median": 4.0, "max": 5.0, "ratio": 2.0})

    def test_a_table_says_what_foreign_load_did(self):
        text = report.table(self.results())
        self.assertIn("| 1M | MRC | 4 (3 to 5) | 2.00 |", text)
        self.assertIn("4 runs count; 3 were thrown away", text)
        self.assertIn("1 of those that count were disturbed", text)

    def test_processor_time_is_that_of_the_machine_by_gigabyte(self):
        found = with_processor_time(outcome({"bytes": 2_000_000_000}, self.QUIET, 0, False))
        self.assertEqual(found.values["cpu_s_per_gb"], 1.5)
        self.assertNotIn("cpu_s_per_gb", with_processor_time(outcome({}, self.QUIET, 0, False)).values)


class rows_that_fail(unittest.TestCase):
    """Two rounds of rows in one lab; `fails(name, round)` is what a run does instead of ending well."""

    def rounds(self, fails, lab=contextlib.nullcontext, names=("TCP", "MRC", "UDP")):
        self.labs, self.told, self.begun = 0, [], collections.Counter()

        def run_of(name):
            def run(_at, _seconds):
                self.begun[name] += 1
                fails(name, self.begun[name])
                return {"gbps": float(self.begun[name])}
            return run

        @contextlib.contextmanager
        def place():
            self.labs += 1
            with lab():
                yield None
        settings = types.SimpleNamespace(runs=2, seconds=1, limit=1, repeats=0)
        results = schedule.measure([cases.row("1M", name, "lab", run_of(name)) for name in names], {"lab": place},
                                   settings, lambda row, *_: self.told.append(row.name),
                                   lambda row, error, number: self.told.append((row.name, error, number)))
        return {row["name"]: row for row in report.case_object("goodput", CASE, results)["rows"]}

    def test_a_program_that_fails_is_told_of_and_the_others_go_on(self):
        def fails(name, times):
            if (name, times) == ("MRC", 1):
                sys.exit("FAIL: mrc-perf:\n no such device")
        rows = self.rounds(fails)
        error = "FAIL: mrc-perf: no such device"
        self.assertEqual(rows["MRC"]["failures"], [{"round": 0, "error": error}])
        self.assertEqual([run["gbps"] for run in rows["MRC"]["runs"]], [2.0])
        self.assertEqual(rows["MRC"]["summary"]["gbps"]["ratio"], 1, "to the round that both have")
        self.assertEqual([len(rows[name]["runs"]) for name in ("TCP", "UDP")], [2, 2])
        self.assertEqual(self.told, ["TCP", ("MRC", error, 0), "UDP", "TCP", "MRC", "UDP"])
        self.assertEqual(self.labs, 3, "what comes after it has a fresh lab")

    def test_the_table_has_what_failed_and_what_was_measured(self):
        def fails(name, _):
            if name == "MRC":
                raise KeyError("goodput_gbps")
        rows = self.rounds(fails)
        text = report.table({"case": "goodput", "about": "", "baseline": "TCP", "metrics": CASE.metrics,
                             "rows": list(rows.values())})
        self.assertIn("| 1M | MRC **failed** | - | - |", text)
        self.assertIn("- **failed**, round 2: 1M MRC: KeyError: 'goodput_gbps'", text)
        self.assertIn("| 1M | UDP | 1.5 (1 to 2) | 1.00 |", text)

    def test_a_lab_that_fails_costs_no_row_what_it_has(self):
        @contextlib.contextmanager
        def falls_apart():
            if self.labs == 1:
                sys.exit("FAIL: mrc-lab up")
            yield
            if self.labs == 2:
                sys.exit("FAIL: mrc-lab down")
        rows = self.rounds(lambda *_: None, falls_apart)
        self.assertEqual({name: [failure["error"] for failure in row["failures"]] for name, row in rows.items()},
                         {"TCP": ["FAIL: mrc-lab up"], "MRC": [], "UDP": ["FAIL: mrc-lab down"]})
        self.assertEqual([len(rows[name]["runs"]) for name in ("TCP", "MRC", "UDP")], [1, 2, 2])

    def test_being_terminated_is_no_failure_of_a_row(self):
        def fails(*_):
            lab_support.end_by_signal()
        self.assertRaises(lab_support.terminated, self.rounds, fails)

    def test_exit_status_of_a_run_with_failures(self):
        loader = importlib.machinery.SourceFileLoader("perf_run", str(SOURCE / "tests/perf/run"))
        program = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(program)
        failed = {"point": "1M", "name": "MRC", "failures": [{"round": 0, "error": "FAIL: x"}], "runs": [],
                  "summary": {}, "thrown_away": 0, "disturbed": 0}
        results = {"cases": [{"case": "goodput", "about": "", "baseline": "TCP", "metrics": {}, "rows": [failed]}]}
        for as_json in (True, False):
            said = io.StringIO()
            with self.assertRaises(SystemExit) as ended, contextlib.redirect_stdout(said):
                program.tell(results, as_json)
            self.assertEqual(ended.exception.code, "tests/perf/run: 1 runs failed")
            self.assertIn("FAIL: x", said.getvalue())


class clients_that_share(unittest.TestCase):
    def test_as_few_clients_as_have_them_all(self):
        self.assertEqual(many_clients.shares(1), [1])
        self.assertEqual(many_clients.shares(4096), [4096])
        self.assertEqual(many_clients.shares(10000), [3334, 3333, 3333])


class workers_that_wait(unittest.TestCase):
    def test_what_waited_meanwhile_counts_of_all_workers(self):
        before = [{"waited_ns": 5_000_000, "lag_log2": [1, 100, 0]}, {"waited_ns": 0, "lag_log2": [0, 7, 0]}]
        after = [{"waited_ns": 7_000_000, "lag_log2": [2, 101, 0]}, {"waited_ns": 1_000_000, "lag_log2": [0, 9, 1]}]
        self.assertEqual(spinners.between(before, after), {"waited_ms": 3, "lag_p50_us": 8.192})
        self.assertEqual(spinners.between(before, before), {"waited_ms": 0})

    def test_a_process_on_each_cpu(self):
        with spinners.spinners() as running:
            where = [os.sched_getaffinity(process.pid) for process in running]
        self.assertEqual(where, [{cpu} for cpu in sorted(os.sched_getaffinity(0))])
        self.assertTrue(all(process.returncode is not None for process in running), "which is gone afterwards")


class windows_of_stalls(unittest.TestCase):
    class fabric:
        prefix = "none"

        def host(self, _name):
            return {"pid": os.getpid(), "leaf": 0}

    def setUp(self):
        self.planes, self.signals, self.now, self.resent = [], [], 100, 0
        for what in (mock.patch.object(stall_windows.changes, "set_link", lambda *link: self.planes.append(link[-2])),
                     mock.patch.object(stall_windows, "note", lambda _: None),
                     mock.patch.object(stall_windows.time, "monotonic", lambda: self.now)):
            what.start()
            self.addCleanup(what.stop)

    def see(self, watch, later=0.05, phase=None, by_plane=(9, 9, 9, 9)):
        self.now += later
        self.resent += 1
        watch({"bytes": 1, "phase": watch.phases if phase is None else phase, "paths_assumed_bad": 0,
               "plane_rx_packets": by_plane, "retransmits": self.resent, "max_stall_us": 1}, self)

    def send_signal(self, number):
        self.signals.append(number)

    def test_a_window_ends_after_half_a_second_and_the_plane_is_back(self):
        watch = stall_windows.windows(self.fabric(), True)
        self.see(watch)
        self.assertEqual((self.signals, self.planes), ([signal.SIGUSR1], [False]))
        self.see(watch, later=0.6, phase=0)
        self.assertEqual(len(self.signals), 1, "mrc-perf has not taken the mark yet")
        self.see(watch)
        self.assertEqual(len(self.signals), 1, "packets still come by the plane that is cut")
        self.see(watch, by_plane=(9, 0, 9, 9))
        self.assertEqual((self.signals, self.planes), ([signal.SIGUSR1] * 2, [False, True]))
        self.assertEqual(watch.found[0]["retransmits"], 3)
        self.see(watch, by_plane=(9, 0, 9, 9))
        self.assertEqual(len(self.planes), 2, "the next one waits until all planes are in use")
        self.see(watch)
        self.assertEqual(self.planes, [False, True, False])

    def test_quiet_windows_cut_nothing_and_the_last_one_ends_the_transfer(self):
        watch = stall_windows.windows(self.fabric(), False)
        while signal.SIGINT not in self.signals:
            self.see(watch, later=0.3)
        self.assertEqual((self.planes, len(watch.found)), ([], stall_windows.WINDOWS))
        self.assertEqual(self.signals.count(signal.SIGUSR1), 2 * stall_windows.WINDOWS)
        phases = [{"from_ms": 10 * number, "to_ms": 10 * number + 10, "max_stall_us": number}
                  for number in range(2 * stall_windows.WINDOWS + 1)]
        self.assertEqual([window["max_stall_us"] for window in watch.with_stalls(phases)],
                         list(range(1, 2 * stall_windows.WINDOWS, 2)))
        self.assertRaises(SystemExit, watch.with_stalls, phases[1:])

    def test_the_worst_windows_of_all_runs_have_their_causes(self):
        causes = dict.fromkeys(stall_windows.CAUSES, 0)
        found = [causes | {"max_stall_us": 1000 * (number + 1), "retransmits": 7 * number} for number in range(9)]
        lines = stall_windows.tables([{"name": "MRC", "runs": [{"windows": found[:4]}, {"windows": found[4:]}]}])
        self.assertIn("| MRC | median of 9 | 5 | 0 | 0 | 0 | 28 |", lines)
        self.assertIn("| MRC | worst | 9 | 0 | 0 | 0 | 56 |", lines)
        self.assertEqual(sum(line.startswith("| MRC") for line in lines), 1 + stall_windows.WORST)
        self.assertEqual(stall_windows.tables([{"name": "MRC", "runs": [{"gbps": 1}]}]), [])


class declared_cases(unittest.TestCase):
    def test_every_point_has_its_baseline_and_every_row_its_lab(self):
        for builds in ({}, {"before": ("/nonexistent", ""), "after": ("/nonexistent", "64")}):
            places = cases.places(builds)
            for name, one in cases.all_cases(builds).items():
                points = {row.point for row in one.rows}
                self.assertEqual({row.point for row in one.rows if row.name == one.baseline}, points, name)
                self.assertEqual(len({(row.point, row.name) for row in one.rows}), len(one.rows), name)
                self.assertLessEqual({row.lab for row in one.rows}, set(places), name)


if __name__ == "__main__":
    unittest.main()
