#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/suites: every way in which a test can end is counted as what it is."""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "scripts/suites"))

# pylint: disable=wrong-import-position
import changed
import command
import processor
import tree
from result import FAILED, PASSED, SKIPPED, complaints, result, suite_report, summary


def outcomes(directory, suite="outcomes", whole=False, **fields):
    subprocess.run(["cmake", "-S", str(SOURCE / "tests/check/ctest_outcomes"), "-B", directory], check=True,
                   capture_output=True)
    with contextlib.redirect_stdout(io.StringIO()):
        return tree.tree("release", directory, [], prefix="x.", **fields).test(suite, whole)


class ctest_report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="mrc-suites-") as directory:
            cls.by_name = {one.name: one for one in outcomes(directory)}
            cls.empty = outcomes(directory, "no_such_label")

    def test_outcomes(self):
        expected = {"x.passes": PASSED, "x.passes_in_part": PASSED, "x.fails": FAILED, "x.skips": SKIPPED,
                    "x.skips_silently": SKIPPED, "x.hangs": FAILED, "x.crashes": FAILED, "x.is_missing": FAILED,
                    "x.is_disabled": SKIPPED}
        self.assertEqual({name: one.outcome for name, one in self.by_name.items()}, expected)

    def test_reasons(self):
        self.assertEqual(self.by_name["x.skips"].reason, "not root")
        self.assertIn("gave no reason", self.by_name["x.skips_silently"].reason)
        self.assertEqual(self.by_name["x.hangs"].reason, "Timeout")
        self.assertEqual(self.by_name["x.crashes"].reason, "Exception: SegFault")
        self.assertEqual(self.by_name["x.passes_in_part"].parts,
                         [("suite.case", "no zero copy here"), ("suites a, b", "left out")])

    def test_labels_choose(self):
        for whole, fields, expected in ((False, {}, {"x.is_untrusted", "x.is_neither"}),
                                        (True, {}, {"x.is_whole", "x.is_untrusted", "x.is_neither"}),
                                        (False, {"only": "untrusted"}, {"x.is_untrusted"}),
                                        (True, {"without": "untrusted"}, {"x.is_whole", "x.is_neither"}),
                                        (False, {"without": "untrusted"}, {"x.is_neither"})):
            with tempfile.TemporaryDirectory(prefix="mrc-suites-") as directory:
                found = outcomes(directory, "choice", whole, **fields)
                named = tree.tree("release", directory, [], prefix="x.", **fields).names("choice", whole)
            self.assertEqual({one.name for one in found}, expected, (whole, fields))
            self.assertEqual(set(named), expected, (whole, fields))
            self.assertEqual({one.outcome for one in found}, {PASSED})

    def test_a_failure_of_a_suite_that_ran_aside_is_shown(self):
        with tempfile.TemporaryDirectory(prefix="mrc-suites-") as directory:
            outcomes(directory)
            with contextlib.redirect_stdout(io.StringIO()) as shown:
                tree.tree("release", directory, []).test("outcomes", aside=True)
            self.assertIn("is_missing", shown.getvalue())
            with contextlib.redirect_stdout(io.StringIO()) as shown:
                tree.tree("release", directory, []).test("choice", aside=True)
            self.assertEqual(shown.getvalue(), "")

    def test_a_suite_without_tests_fails(self):
        self.assertEqual([one.outcome for one in self.empty], [FAILED])


class changed_files(unittest.TestCase):
    def test_a_program_is_touched_by_what_it_was_compiled_from(self):
        with tempfile.TemporaryDirectory(prefix="mrc-suites-", dir=SOURCE / "build") as directory:
            build = pathlib.Path(directory)
            (build / "seen.h").write_text("#define STATUS 0\n", encoding="utf-8")
            (build / "unseen.h").write_text("#define STATUS 1\n", encoding="utf-8")
            (build / "main.c").write_text('#include "seen.h"\nint main(void) { return STATUS; }\n', encoding="utf-8")
            (build / "build.ninja").write_text(
                "rule cc\n  command = cc -MD -MF $out.d -c $in -o $out\n  deps = gcc\n  depfile = $out.d\n"
                "rule link\n  command = cc $in -o $out\nbuild main.o: cc main.c\nbuild program: link main.o\n",
                encoding="utf-8")
            subprocess.run(["ninja", "-C", directory], check=True, capture_output=True)
            folder = build.relative_to(SOURCE)
            objects = changed.sources_of_objects(build)
            touched = lambda name: changed.touches(str(build / "program"), build, objects, {f"{folder}/{name}"})
            self.assertTrue(touched("seen.h"))
            self.assertTrue(touched("main.c"))
            self.assertFalse(touched("unseen.h"))

    def test_a_script_is_touched_by_itself(self):
        script = "tests/check/suites_test.py"
        self.assertTrue(changed.touches(str(SOURCE / script), SOURCE / "build", {}, {script}))
        self.assertFalse(changed.touches(str(SOURCE / script), SOURCE / "build", {}, {"README.md"}))

    def test_a_source_that_leaves_no_dependencies_is_an_input(self):
        with tempfile.TemporaryDirectory(prefix="mrc-suites-", dir=SOURCE / "build") as directory:
            build = pathlib.Path(directory)
            for name, text in (("program", "#!/bin/sh\n"), ("model.py", ""), ("build.ninja",
                               "rule make\n  command = cp $in $out\nbuild program: make model.py\n")):
                (build / name).write_text(text, encoding="utf-8")
            (build / "program").chmod(0o755)
            folder = build.relative_to(SOURCE)
            self.assertTrue(changed.touches(str(build / "program"), build, {}, {f"{folder}/model.py"}))
            self.assertFalse(changed.touches(str(build / "program"), build, {}, {f"{folder}/other.py"}))

    def test_a_script_is_touched_by_what_it_imports(self):
        for module, script in (("scripts/suites/result.py", "tests/check/suites_test.py"),
                               ("vmtests/machine.py", "tests/check/vmtests_test.py"),
                               ("tests/e2e/manual.py", "tests/e2e/doctor_manual.py"),
                               ("tests/e2e/plane_walk.py", "tests/e2e/lab_cables.py"),
                               ("tests/e2e/lab_kernel_hosts.py", "tests/e2e/lab_xdp_ping.py")):
            touched = lambda other: changed.touches(str(SOURCE / other), SOURCE / "build", {}, {module})
            self.assertTrue(touched(script), module)
            self.assertFalse(touched("tests/e2e/doctor.py"), module)

    def test_what_every_script_imports_is_left_to_the_tests_named_for_it(self):
        module = "tests/e2e/lab_support.py"
        self.assertFalse(changed.touches(str(SOURCE / "tests/e2e/doctor.py"), SOURCE / "build", {}, {module}))
        self.assertEqual(changed.named({module}), {"e2e.transfer_xdp", "e2e.overlay"})

    def test_what_tests_run_or_read_is_named(self):
        for path, name in (("tests/api/transfer.c", "e2e.api_transfer"), ("tests/api/two_hosts.h", "e2e.api_transfer"),
                           ("tests/api/conformance/work.c", "e2e.api_conformance"),
                           ("tests/api/many_clients.c", "e2e.api_many_clients_2"),
                           ("tests/api/daemon_gone.c", "e2e.daemon_gone"),
                           ("tests/api/set_uid_target.c", "e2e.users"),
                           ("docs/mrcd.8", "unit.service_test"), ("docs/mrcd.toml", "unit.service_test"),
                           ("docs/interop.md", "unit.service_test"), ("docs/mrc-sim.1", "sim.mrc_sim_manual"),
                           ("docs/mrc-switch.1", "unit.switch_config_test"), ("docs/mrc-perf.1", "e2e.perf_manual"),
                           ("tests/vectors/golden.txt", "unit.codec_test"),
                           ("vmtests/suites/lab.toml", "unit.vmtests"),
                           ("agent/tools/mrcd/main.cpp", "e2e.mrcd_refusals")):
            self.assertIn(name, changed.named({path}), path)

    def test_every_program_on_libmrc_has_a_test(self):
        declared = (SOURCE / "tests/api/CMakeLists.txt").read_text(encoding="utf-8")
        programs = set(re.findall(r"^mrc_add_lab_program\((\w+) ", declared, re.MULTILINE))
        programs |= {name for names in re.findall(r"^foreach\(program ([\w ]+)\)", declared, re.MULTILINE)
                     for name in names.split()}
        programs -= {"honest_client"}  # of the sanitized tree
        self.assertGreater(len(programs), 5)
        for program in programs:
            self.assertTrue(changed.named({f"tests/api/{program}.c"}), program)

    def test_named_files_and_tests_exist(self):
        tracked = subprocess.run(["git", "-c", f"safe.directory={SOURCE}", "ls-files"], cwd=SOURCE, capture_output=True,
                                 text=True, check=True).stdout.splitlines()
        declared = "".join(path.read_text(encoding="utf-8") for path in (SOURCE / "tests").rglob("CMakeLists.txt"))
        for pattern, names in changed.NAMED_TESTS:
            matches = [match for path in tracked if (match := re.match(pattern, path))]
            self.assertTrue(matches, pattern)
            for name in {match.expand(name) for match in matches for name in names}:
                words = name.split(".", 1)[1].removeprefix("transfer_").removeprefix("api_").removesuffix("_2")
                self.assertRegex(declared, rf"\b{words}\b", name)

    def test_an_unknown_revision_is_named(self):
        with self.assertRaisesRegex(ValueError, "no-such-revision"):
            changed.files("no-such-revision")


class closing_lines(unittest.TestCase):
    def test_the_last_line_is_the_count(self):
        reports = [suite_report("unit", 1.0, [result("a", PASSED), result("b", SKIPPED, reason="not root")]),
                   suite_report("bpf", 2.0, [result("c", FAILED, reason="Timeout"), result("d", PASSED)])]
        lines = summary(reports)
        self.assertEqual(lines[-1], "2 passed, 1 failed, 1 skipped")
        self.assertIn("  b: not root", lines)
        self.assertIn("  c: Timeout", lines)

    def test_a_failure_says_what_was_wrong(self):
        output = "".join(f"ok: {number}\n" for number in range(50)) + "FAIL: the plane\nit is cut\n\nso\nok: 50\n"
        reports = [suite_report("e2e", 1.0, [result("a", PASSED, output=output),
                                             result("b", FAILED, reason="Failed", output=output)])]
        self.assertEqual(summary(reports)[-6:-2], ["  b: Failed", "    FAIL: the plane", "    it is cut", "    so"])

    def test_complaints_are_few_and_short(self):
        self.assertEqual(complaints(""), [])
        self.assertEqual(complaints("one\ntwo\n"), ["one", "two"])
        many = complaints("".join(f"FAIL: {number}\n" for number in range(100)))
        self.assertEqual((many[0], many[6], many[-1], len(many)), ("FAIL: 0", "[88 more lines]", "FAIL: 99", 13))
        self.assertEqual(len(complaints("x" * 1000)[0]), 246)


class processor_time(unittest.TestCase):
    def test_is_of_the_whole_machine(self):
        before = processor.busy_seconds()
        with open("/proc/stat", encoding="ascii") as lines:
            self.assertEqual(sum(re.match(r"cpu\d", line) is not None for line in lines), processor.COUNT)
        with tempfile.NamedTemporaryFile("w", encoding="ascii") as stat:
            ticks = os.sysconf("SC_CLK_TCK")
            seconds = (1, 2, 4, 8, 16, 32, 64, 0, 0, 0)
            stat.write(f"cpu  {' '.join(str(each * ticks) for each in seconds)}\n")
            stat.flush()
            self.assertEqual(processor.busy_seconds(stat.name), 1 + 2 + 4 + 32 + 64)
        self.assertGreaterEqual(processor.busy_seconds(), before)


class running_a_command(unittest.TestCase):
    def test_output_and_status(self):
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            status, output, _ = command.run(["sh", "-c", "echo out; echo err >&2; exit 5"], ".")
        self.assertEqual((status, output, shown.getvalue()), (5, "out\nerr\n", "out\nerr\n"))

    def test_a_process_left_behind_is_not_waited_for(self):
        with contextlib.redirect_stdout(io.StringIO()):
            status, output, seconds = command.run(["sh", "-c", "tail -f /dev/null & echo $!"], ".")
        subprocess.run(["kill", output.strip()], check=True)
        self.assertEqual(status, 0)
        self.assertLess(seconds, 30)

    def test_a_missing_command(self):
        status, output, _ = command.run(["/no/such/program"], ".")
        self.assertEqual((status, output), (127, "/no/such/program: No such file or directory\n"))


if __name__ == "__main__":
    unittest.main()
