#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/plot-performance: generated blocks of a page, and rows of measurements as series of numbers. What draws them
needs python3-matplotlib, and stands aside here."""

import json
import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "scripts"), str(SOURCE / "tests/perf"), str(SOURCE / "tests/e2e")]

# pylint: disable=wrong-import-position
from charts import blocks, page, rows
from turns import cases, percentiles

MEASURED = SOURCE / "tests/check/performance_page/goodput.json"  # tests/perf/run goodput --at 64K
FIGURES = {"goodput", "cpu", "latency", "loss", "stalls", "beside", "qps", "workers"}
BEFORE = """# Title

By hand.

<!-- generated: beside -->
old beside
<!-- end -->
Between.
<!-- generated: goodput -->
old goodput
<!-- end -->

After, by hand."""


class generated_blocks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = pathlib.Path(folder.name) / "speed.md"
        self.page.write_text(BEFORE, encoding="utf-8")
        self.drawn = []
        self.measured = json.loads(MEASURED.read_text(encoding="utf-8"))

    def fill(self, names=FIGURES):
        page.fill(self.page, [self.measured], names, lambda case, path: self.drawn.append((case["case"], path)))
        return self.page.read_text(encoding="utf-8")

    def test_a_block_is_replaced_and_the_rest_stays(self):
        before, after = BEFORE.split("old goodput")
        text = self.fill()
        self.assertTrue(text.startswith(before))
        self.assertTrue(text.endswith(after))
        content = text.removeprefix(before).removesuffix(after)
        self.assertNotIn("old goodput", text)
        self.assertIn("(speed/goodput.svg)", content)
        self.assertIn(f"Linux {self.measured['machine']['kernel']}, ", content)
        for row in self.measured["cases"][0]["rows"]:
            self.assertIn(f"\n| 64K | {row['name']} | ", content)
            self.assertIn(f"| {row['summary']['gbps']['ratio']:.2f} |\n", content)
        self.assertEqual(self.drawn, [("goodput", self.page.with_suffix("") / "goodput.svg")])

    def test_filled_twice_it_is_the_same(self):
        first = self.fill()
        self.assertEqual(self.fill(), first)

    def test_a_missing_line_is_named_and_nothing_is_written(self):
        for text, missing in ((BEFORE.replace("<!-- generated: goodput -->\n", ""), "'<!-- generated: goodput -->'"),
                              (BEFORE.replace("<!-- end -->\n\n", "\n"), "'<!-- end -->' after '<!-- generated: good"),
                              (BEFORE.replace("old goodput\n<!-- end -->", "<!-- generated: cpu -->\n<!-- end -->"),
                               "'<!-- end -->' after '<!-- generated: goodput -->'")):
            self.page.write_text(text, encoding="utf-8")
            with self.assertRaises(ValueError) as raised:
                self.fill()
            self.assertIn(missing, str(raised.exception))
            self.assertIn(str(self.page), str(raised.exception))
            self.assertEqual((self.page.read_text(encoding="utf-8"), self.drawn), (text, []))

    def test_cases_without_a_figure_are_left_out(self):
        self.assertEqual((self.fill(FIGURES - {"goodput"}), self.drawn), (BEFORE, []))

    def test_the_page_has_a_block_for_each_figure(self):
        text = (SOURCE / "docs/performance.md").read_text(encoding="utf-8")
        self.assertEqual({line.split()[2] for line in text.splitlines() if line.startswith(blocks.BEGIN)}, FIGURES)
        for name in FIGURES:
            self.assertIn(f"\n{blocks.BEGIN}{name} -->\nnew\n{blocks.END}\n", blocks.replaced(text, name, "new"))


def row(name, point="", runs=(), **summary):
    return {"name": name, "point": point, "summary": summary, "runs": list(runs)}


class series(unittest.TestCase):
    def test_points_are_numbers(self):
        self.assertEqual([rows.size(text) for text in ("64", "4K", "64M")], [64, 4096, 64 << 20])
        self.assertEqual([rows.size_name(size) for size in (64, 4096, 64 << 20)], ["64", "4K", "64M"])
        self.assertEqual(rows.by_loss(row("MRC", "0.01%")), ("MRC", 0.01))
        self.assertEqual(rows.by_queue_pairs(row("MRC, shared memory, 1000 QP")), ("MRC, shared memory", 1000))
        self.assertEqual(rows.by_queue_pairs(row("MRC, 1 QP, sum of both")), ("MRC, sum of both", 1))
        self.assertEqual(rows.by_workers(row("1 worker", "2 clients")), ("2 clients", 1))
        self.assertEqual(rows.by_workers(row("4 workers", "2 clients")), ("2 clients", 4))
        self.assertEqual(rows.by_way(row("raw, placed, spinning on the memory", "8")),
                         ("8 bytes, spinning", "raw, placed"))

    def test_every_row_of_these_cases_has_its_place(self):
        every = cases.all_cases({})
        self.assertLessEqual(FIGURES, set(every))
        for name, place in (("goodput", rows.by_size), ("loss", rows.by_loss), ("qps", rows.by_queue_pairs),
                            ("workers", rows.by_workers), ("latency", rows.by_way), ("beside", rows.by_point)):
            places = [place(row(one.name, one.point)) for one in every[name].rows]
            self.assertEqual(len(set(places)), len(places), name)

    def test_a_series_is_in_the_order_of_its_numbers(self):
        found = rows.over([row("MRC, 16 QP", gbps=3), row("MRC, 1 QP", gbps=2), row("TCP, 1 QP")], "gbps",
                          rows.by_queue_pairs)
        self.assertEqual(found, {"MRC": [(1, 2), (16, 3)], "TCP": []})

    def test_windows_of_a_run_count_one_by_one(self):
        found = rows.by_window(row("MRC", runs=[{"max_stall_us": 9, "windows": [{"max_stall_us": 9},
                                                                                {"max_stall_us": 1}]},
                                                {"max_stall_us": 4}]))
        self.assertEqual([window["max_stall_us"] for window in found["runs"]], [9, 1, 4])

    def test_a_distribution_is_the_median_of_what_all_runs_have(self):
        runs = [{"percentiles": [[0, low], [1, low], [50, low + 1], [99, low + 2], [100, 900]]} for low in (1, 2, 7)]
        runs[0]["percentiles"].append([99.9, 30])
        found = rows.distributions([row("MRC, sleeping", "8", runs), row("TCP, sleeping", "8", [{"p50_us": 4}]),
                                    row("UDP, sleeping", "8")], rows.by_way)
        self.assertEqual(found, {"8 bytes, sleeping": {"MRC": [(0, 2), (50, 3), (99, 4)], "TCP": [(50, 4)]}})


class told_by_programs(unittest.TestCase):
    def test_percentiles_ascend(self):
        with tempfile.NamedTemporaryFile("w", encoding="ascii") as kept:
            kept.write("percentile,us\n0,1.500\n99.9,7.000\n100,8.250\n")
            kept.flush()
            self.assertEqual(percentiles.of_file(kept.name), [[0, 1.5], [99.9, 7], [100, 8.25]])
        said = ("sockperf: ---> <MAX> observation =  101.5\nsockperf: ---> percentile 99.900 =   30.250\n"
                "sockperf: ---> percentile 50.000 =    4.125\nsockperf: ---> <MIN> observation =    3.0\n")
        self.assertEqual(percentiles.of_sockperf(said), [[50, 4.125], [99.9, 30.25]])
        self.assertEqual(percentiles.of_raw({"p50": 4, "p90": 5, "p99": 6, "p999": 9}),
                         [[50, 4], [90, 5], [99, 6], [99.9, 9]])


if __name__ == "__main__":
    unittest.main()
