#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/perf/*_bench.cpp: what they say in front of their figures."""

import json
import os
import pathlib
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# One short benchmark of each.
PROGRAMS = {"codec_bench": ["--benchmark_filter=^encode_packets/sack", "--benchmark_min_time=0"],
            "mrc-bench-core": ["--benchmark_filter=^sack/nscc:0/qps:1/", "--round-trips=1"],
            "mrc-bench-copies": ["--benchmark_filter=^run/read_ahead/1$", "--benchmark_min_time=0"]}


def said_by(program, *arguments):
    path = pathlib.Path(os.environ.get("MRC_BIN") or SOURCE / "build/bin") / program
    return subprocess.run([path, *PROGRAMS[program], *arguments], capture_output=True, text=True, check=True)


class context(unittest.TestCase):
    def test_names_the_machine_and_does_not_call_itself_a_debug_build(self):
        for program in PROGRAMS:
            with self.subTest(program):
                said = said_by(program)
                self.assertIn("Run on (", said.stderr)
                self.assertNotIn("DEBUG", said.stdout + said.stderr)

    def test_a_report_in_json_is_the_librarys_own(self):
        self.assertEqual(len(json.loads(said_by("codec_bench", "--benchmark_format=json").stdout)["benchmarks"]), 1)


if __name__ == "__main__":
    unittest.main()
