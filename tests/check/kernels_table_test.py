#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/kernels-table: rows and columns of several reports, the place between the marks, and what it refuses."""

import json
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "scripts/kernels-table"
BEGIN, END = "<!-- begin of the table: scripts/kernels-table -->", "<!-- end of the table -->"


def finding(probe, state, scope="host", on="host"):
    return {"scope": scope, "probe": probe, "on": on, "state": state, "found": "", "cost": "", "remedy": ""}


def report(kernel, *findings, ports=()):
    return {"kernel": kernel, "machine": "x86_64", "runs": True, "findings": list(findings),
            "ports": [{"port": port, "driver": driver} for port, driver in ports], "modes": []}


class KernelsTable(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def run_program(self, *arguments, status=0):
        done = subprocess.run([PROGRAM, *arguments], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def refuses(self, words, *arguments):
        said = self.run_program(*arguments, status=2)
        self.assertEqual(said.count("\n"), 1)
        for word in words:
            self.assertIn(word, said)

    def test_columns_by_release_and_rows_by_probe(self):
        new = self.write("new", report("6.12.1", finding("tap", "works"), finding("live_frames", "works", "scratch")))
        old = self.write("old", report("6.1.0-9", finding("tap", "broken"),
                                       finding("xdp_native", "slower", "scratch", "veth")))
        self.assertEqual(self.run_program(new, old).splitlines(), [
            "| | 6.1.0-9 (x86_64) | 6.12.1 (x86_64) |",
            "|---|---|---|",
            "| TAP device | no, mrcd does not run | yes |",
            "| native XDP on veth | no, mrcd runs with less | not tried |",
            "| live frames (XDP transmit) | not tried | yes |",
        ])

    def test_settings_are_left_out(self):
        one = self.write("one", report("6.1", finding("huge_pages", "slower"), finding("bpffs", "broken"),
                                       finding("payload", "works"), finding("mtu", "slower", "port", "eth0"),
                                       ports=[("eth0", "veth")]))
        self.assertEqual(len(self.run_program(one).splitlines()), 2)

    def test_ports_have_rows_by_driver(self):
        old = self.write("old", report("6.1", finding("af_xdp_zero_copy", "slower", "port", "eth0"),
                                       finding("xdp_native", "works", "port", "eth1"), finding("tap", "works"),
                                       ports=[("eth0", "virtio_net"), ("eth1", "veth")]))
        new = self.write("new", report("6.12", finding("af_xdp_zero_copy", "works", "port", "p7"),
                                       finding("redirect", "untried", "port", "p7"), finding("tap", "works"),
                                       ports=[("p7", "virtio_net")]))
        self.assertEqual(self.run_program(old, new).splitlines()[2:], [
            "| TAP device | yes | yes |",
            "| virtio_net port: AF_XDP, zero copy | no, mrcd runs with less | yes |",
            "| veth port: native XDP | yes | - |",
            "| virtio_net port: XDP redirect into it | - | not tried |",
        ])

    def test_queues_and_ports_of_one_driver_share_a_row(self):
        one = self.write("one", report("6.1", finding("af_xdp_copy", "works", "port", "eth0"),
                                       finding("af_xdp_copy", "broken", "port", "eth0"),
                                       finding("af_xdp_copy", "untried", "port", "eth1"),
                                       finding("redirect", "works", "port", "eth0"),
                                       finding("redirect", "untried", "port", "eth1"),
                                       ports=[("eth0", "veth"), ("eth1", "veth")]))
        self.assertEqual(self.run_program(one).splitlines()[2:], [
            "| veth port: AF_XDP, copy mode | no, mrcd does not run |",
            "| veth port: XDP redirect into it | not tried |",
        ])

    def test_a_port_without_a_driver_has_no_rows(self):
        one = self.write("one", report("6.1", finding("redirect", "works", "port", "eth0"), ports=[("eth0", "")]))
        self.assertEqual(len(self.run_program(one).splitlines()), 2)

    def test_a_probe_that_is_new_has_a_row(self):
        one = self.write("one", report("6.1", finding("teleport", "untried", on="door")))
        self.assertIn("| teleport on door | not tried |", self.run_program(one))

    def test_replaces_what_stands_between_the_marks_only(self):
        page = self.write("page.md", f"before\n{BEGIN}\nold\n{END}\nafter\n")
        one = self.write("one", report("6.1", finding("tap", "works")))
        self.run_program("--write", page, one)
        self.run_program("--write", page, one)
        self.assertEqual(page.read_text(encoding="utf-8"),
                         f"before\n{BEGIN}\n| | 6.1 (x86_64) |\n|---|---|\n| TAP device | yes |\n{END}\nafter\n")

    def test_refusals(self):
        one = self.write("one", report("6.1", finding("tap", "works")))
        again = self.write("again", report("6.1"))
        strange = self.write("strange", report("6.2", finding("tap", "perhaps")))
        page = self.write("page.md", f"{END}\n{BEGIN}\n")
        self.refuses(["no reports"])
        self.refuses(["--write"], "--write")
        self.refuses(["'--nonsense'", "--help"], "--nonsense", one)
        self.refuses(["absent"], self.folder / "absent")
        self.refuses(["mrc-doctor"], self.write("other", []))
        self.refuses(["6.1", "two reports"], one, again)
        self.refuses(["'perhaps'", "works, slower, broken, untried"], strange)
        self.refuses([BEGIN], "--write", page, one)

    def test_the_page_has_its_marks(self):
        page = (ROOT / "docs/kernels.md").read_text(encoding="utf-8")
        self.assertRegex(page, rf"{BEGIN}\n\| \| .* \|\n\|---(\|---)+\|\n(\| .* \|\n)+{END}\n")


if __name__ == "__main__":
    unittest.main()
