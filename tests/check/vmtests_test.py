#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""vmtests without a machine: declarations of suites, the reading of kernel logs, verdicts and the table."""

import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "vmtests"))

# pylint: disable=wrong-import-position
import kernel_log
import kernels
import machine
import packages
import results
import suites

SPLAT = """\
[   1.0] mrc-vmtests: suite lab
[   2.0] ------------[ cut here ]------------
[   2.0] WARNING: CPU: 0 PID: 9 at net/core/dev.c:1 f+0x1/0x2
[   2.0] Call Trace:
[   2.0] ---[ end trace 0000000000000000 ]---
[   3.0] p0: link becomes ready
"""
LOGS = {  # what the kernel prints: the kind of finding
    "BUG: KASAN: slab-out-of-bounds in f+0x1": "sanitizer",
    "BUG kmalloc-128 (Not tainted): Right Redzone overwritten": "sanitizer",
    "WARNING: possible circular locking dependency detected": "lockdep",
    "WARNING: suspicious RCU usage": "lockdep",
    "INFO: task mrcd:12 blocked for more than 120 seconds.": "hung task",
    "watchdog: BUG: soft lockup - CPU#0 stuck for 26s!": "lock-up",
    "rcu: INFO: rcu_preempt self-detected stall on CPU": "lock-up",
    "kmemleak: 3 new suspected memory leaks": "leak",
    "unregister_netdevice: waiting for p0 to become free. Usage count = 2": "leak",
    "BUG: kernel NULL pointer dereference, address: 0000000000000000": "bug",
    "Oops: 0000 [#1] PREEMPT SMP": "bug",
    "Kernel panic - not syncing: Fatal exception": "panic",
    "Out of memory: Killed process 12 (mrcd)": "memory",
    "WARNING: net/core/dev.c:1 at f+0x1/0x2, CPU#0: mrcd/12": "warning",
    "DEBUG_LOCKS_WARN_ON(lock->magic != lock)": "lockdep",
    "page_pool_release_retry() stalled pool shutdown: id 7, 3 inflight 60 sec": "leak",
    "irq 24: nobody cared (try booting with the \"irqpoll\" option)": "device",
    "NETDEV WATCHDOG: CPU: 0: transmit queue 0 timed out 5000 ms": "device",
    "virtio_net virtio0: output.0:id 12 is not a head!": "device",
    "unchecked MSR access error: RDMSR from 0x1 at rIP: 0x2": "warning",
    "Call Trace:": "warning",
}
HEALTHY = ["veth: link becomes ready", "kmemleak: Kernel memory leak detector initialized", "debug: mounted",
           "kasan: KernelAddressSanitizer initialized", "NET: Registered PF_INET6 protocol family",
           "rcu: Preemptible hierarchical RCU implementation.", "Spectre V2 : Vulnerable",
           "RCU CPU stall warnings timeout set to 120 (rcu_cpu_stall_timeout)."]


def said(status=0, findings=(), left=()):
    return {"status": status, "seconds": 3.0, "deadline": 60, "findings": list(findings), "left": list(left)}


class kernel_logs(unittest.TestCase):
    def test_every_kind_of_report_is_found(self):
        for line, kind in LOGS.items():
            self.assertEqual([each.kind for each in kernel_log.findings(f"[    1.0] {line}\n")], [kind], line)

    def test_a_healthy_kernel_reports_nothing(self):
        self.assertEqual(kernel_log.findings("\n".join(HEALTHY)), [])

    def test_a_splat_is_one_finding_that_says_where(self):
        found, = kernel_log.findings(SPLAT)
        self.assertIn("net/core/dev.c:1", found.line)
        self.assertIn("end trace", found.report)
        self.assertNotIn("link becomes ready", found.report)

    def test_two_splats_are_two_findings(self):
        self.assertEqual(len(kernel_log.findings(SPLAT + SPLAT)), 2)

    def test_an_allowed_line_needs_its_reason(self):
        exceptions = kernel_log.allowed('[[allow]]\nline = "BUG: K.SAN"\nreason = "known"\n')
        self.assertEqual(kernel_log.findings("BUG: KASAN: x", exceptions), [])
        with self.assertRaises(ValueError):
            kernel_log.allowed('[[allow]]\nline = "x"\nreason = " "\n')
        kernel_log.allowed()  # the committed list


    def test_every_line_is_read_once(self):
        log = "a\n[1.0] mrc-vmtests: one\nb\nc\n[2.0] mrc-vmtests: two\nd\n"
        marks = [kernel_log.MARK + word for word in ("one", "two")]
        self.assertEqual(kernel_log.between(log, None, marks[0]), "a\n")
        self.assertEqual(kernel_log.between(log, *marks), "b\nc\n")
        self.assertEqual(kernel_log.after_last_mark(log), "d\n")
        self.assertEqual(kernel_log.after_last_mark("a\n"), "a\n")

    def test_a_log_that_was_not_read_is_a_finding(self):
        for log in ("", "b\n[2.0] mrc-vmtests: two\n", "[1.0] mrc-vmtests: one\nb\n"):
            lines = kernel_log.between(log, kernel_log.MARK + "one", kernel_log.MARK + "two")
            self.assertIn("lost lines", kernel_log.findings(lines)[0].line)


class declarations(unittest.TestCase):
    def test_all_that_are_here_are_good(self):
        self.assertIn("load", suites.names())
        for name in suites.names():
            self.assertTrue(suites.load(name).about)

    def test_links_and_machines(self):
        one = suites.parse("x", 'about = "a"\nseconds = 1\n[machine]\ncount = 2\n[[link]]\nends = ["0:p0", "1:q0"]\n')
        self.assertEqual([(end.machine, end.device) for end in one.machine.links[0].ends], [(0, "p0"), (1, "q0")])

    def test_a_mistake_is_named(self):
        good = 'about = "a"\nseconds = 1\n'
        for text, words in ((good + "second = 1\n", "unknown second"), ('about = "a"\n', "seconds is missing"),
                            (good + "quick = 1\n", "must be bool"),
                            (good + '[machine]\ninit = "x"\n', "plain, systemd"),
                            (good + '[[link]]\nends = ["0:p0", "1:p0"]\n', "a machine below 1"), ("about", "x.toml")):
            with self.assertRaisesRegex(ValueError, words):
                suites.parse("x", text)

    def test_suites_that_differ_in_memory_only_share_a_boot(self):
        texts = ("", "[machine]\nmemory_mb = 2048\n", "[machine]\ncpus = 4\n")
        groups = suites.by_machine([suites.parse(str(number), 'about = "a"\nseconds = 1\n' + text)
                                    for number, text in enumerate(texts)])
        self.assertEqual([(shape.memory_mb, [one.name for one in group]) for shape, group in groups],
                         [(2048, ["0", "1"]), (1024, ["2"])])


class cables(unittest.TestCase):
    def arguments(self, ends, count):
        shape = suites.parse("x", f'about = "a"\nseconds = 1\n[machine]\ncount = {count}\n[[link]]\nends = {ends}\n')
        # pylint: disable=protected-access
        return [" ".join(machine._cables(shape.machine, number, pathlib.Path("/s"))) for number in range(count)]

    def test_both_ends_in_one_machine_share_a_hub(self):
        text, = self.arguments(["0:a", "0:b"], 1)
        self.assertEqual(text.count("hubid=0"), 2)
        self.assertEqual(text.count("mac="), 2)

    def test_ends_in_two_machines_send_to_each_other(self):
        first, second = self.arguments(["0:a", "1:b"], 2)
        self.assertIn("local.path=/s/link0a,remote.type=unix,remote.path=/s/link0b", first)
        self.assertIn("local.path=/s/link0b,remote.type=unix,remote.path=/s/link0a", second)


class boot_sector(unittest.TestCase):
    def test_emulation_runs_it(self):
        self.assertTrue(machine.runs_code("tcg", 60))

    def test_that_qemu_does_not_start_is_no_success(self):
        self.assertFalse(machine.runs_code("no-such-accelerator", 60))


class kernel_packages(unittest.TestCase):
    NAMES = [f"linux-image-{release}-amd64" for release in ("6.1.0-9", "6.1.0-50", "6.12.9+deb12", "6.12.10+deb12")]

    def test_a_series_is_no_other(self):
        self.assertEqual(packages.that_are("6.1", self.NAMES), self.NAMES[:2])
        self.assertEqual(packages.that_are("6.1.0-50", self.NAMES), self.NAMES[1:2])
        self.assertEqual(packages.that_are("6.2", self.NAMES), [])

    def test_numbers_are_compared_not_letters(self):
        self.assertEqual(packages.newest_of(self.NAMES), self.NAMES[3])
        self.assertEqual(packages.newest_of(self.NAMES[:2]), self.NAMES[1])

    def test_series(self):
        self.assertEqual(packages.series_of(self.NAMES), ["6.1", "6.12"])


class kernel_arguments(unittest.TestCase):
    def test_what_is_no_kernel_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            for argument, words in (("six", "allowed: a series"), ("/nonexistent/x", "no folder"),
                                    (folder, "0 kernel images")):
                with self.assertRaisesRegex(ValueError, words):
                    kernels.find(argument)
            (pathlib.Path(folder) / ".config").touch()
            with self.assertRaisesRegex(ValueError, "not built"):
                kernels.find(folder)


class verdicts(unittest.TestCase):
    def verdict(self, what, output=""):
        one = results.of_guest("6.1", "lab", what, output)
        return one.verdict, one.note

    def test_each_way_to_end(self):
        splat = {"line": "WARNING: x", "kind": "warning", "report": ""}
        self.assertEqual(self.verdict(said()), (results.PASSED, ""))
        self.assertEqual(self.verdict(said(77), "SKIP: no module\n"), (results.SKIPPED, "no module"))
        self.assertEqual(self.verdict(said(), "/a/b_test.cpp:7: Skipped\nno such flag\n\n"),
                         (results.PASSED, "b_test.cpp:7: no such flag"))
        self.assertEqual(self.verdict(said(3)), (results.FAILED, "ended with status 3"))
        self.assertEqual(self.verdict(said(None)), (results.FAILED, "did not end within 60 s"))
        self.assertEqual(self.verdict(said(0, [splat])), (results.FAILED, "kernel log: WARNING: x"))
        self.assertEqual(self.verdict(said(77, left=["file a"])), (results.FAILED, "left behind: file a"))

    def test_the_worst_machine_counts(self):
        every = [results.result("6.1", "x", verdict) for verdict in (results.PASSED, results.FAILED, results.SKIPPED)]
        self.assertEqual(results.joined(every).verdict, results.FAILED)

    def test_exit_status(self):
        def status(*verdicts, others=()):
            return results.exit_status([results.result("6.1", "x", verdict) for verdict in verdicts] +
                                       [results.result("6.12", "x", verdict) for verdict in others])
        self.assertEqual([status(results.PASSED, results.SKIPPED), status(results.SKIPPED), status(),
                          status(results.PASSED, results.FAILED)], [0, 77, 1, 1])
        self.assertEqual([status(results.PASSED, others=[results.SKIPPED]),
                          status(results.FAILED, others=[results.SKIPPED])], [77, 1])

    def test_table(self):
        lines = results.table([results.result("6.1", "load", results.PASSED, 12.3),
                               results.result("6.12", "load", results.FAILED, 4, "ended with status 1"),
                               results.result("6.12", "rxe", results.SKIPPED, 0, "no module")],
                              {"6.1": "6.1.0-50-amd64"}, {"6.1": 9.6})
        self.assertEqual(lines[1].split(), ["kernel", "boot", "load", "rxe"])
        self.assertEqual(lines[2].split(), ["6.1", "(6.1.0-50-amd64)", "10", "s", "passed", "12", "s", "-"])
        self.assertIn("  6.12 rxe: skipped: no module", lines)


if __name__ == "__main__":
    unittest.main()
