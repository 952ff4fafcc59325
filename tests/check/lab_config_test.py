#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The configurations that mrc-lab writes: TOML that says what was meant, with the user's own merged into them."""

import pathlib
import sys
import tempfile
import tomllib
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from lab import options, toml_text  # noqa: E402
from lab.config_files import host_config, merged, switch_config  # noqa: E402
from lab.errors import lab_error  # noqa: E402
from lab.fabrics import fabric  # noqa: E402


class TomlText(unittest.TestCase):
    def test_reads_back_as_it_was(self):
        for table in (
            {},
            {"a": 1, "b": True, "c": 1.5, "d": 1e300, "e": -7, "f": [1, 2], "g": []},
            {"text": 'quote " backslash \\ tab \t bell \x07 delete \x7f umlaut ä'},
            {"table": {"empty": {}, "deep": {"x": 1}}, "after": 2},
            {"entries": [{"a": 1, "inner": {"b": 2}, "list": [{"c": 3}]}, {"a": 4}, {}]},
            {"mixed": [1, {"a": 2}], "odd key": {"1.2": 3, "": 4}},
        ):
            self.assertEqual(tomllib.loads(toml_text.render(table)), table)

    def test_refuses_what_it_cannot_write(self):
        with self.assertRaises(TypeError):
            toml_text.render({"a": {"b": None}})


class Merged(unittest.TestCase):
    def test_tables_are_merged_and_values_replaced(self):
        self.assertEqual(merged({"a": {"x": 1, "y": 2}, "b": 3}, {"a": {"y": 4, "z": 5}, "c": {"d": 6}}),
                         {"a": {"x": 1, "y": 4, "z": 5}, "b": 3, "c": {"d": 6}})

    def test_ports_of_the_same_device_are_merged_and_others_added(self):
        self.assertEqual(merged({"port": [{"device": "p0", "plane": 0}, {"device": "p1", "plane": 1}]},
                                {"port": [{"device": "p1", "queues": 2}, {"device": "p7", "plane": 7}]}),
                         {"port": [{"device": "p0", "plane": 0}, {"device": "p1", "plane": 1, "queues": 2},
                                   {"device": "p7", "plane": 7}]})

    def test_what_is_no_table_where_the_lab_has_one_is_left_for_mrcd_to_refuse(self):
        self.assertEqual(merged({"port": [{"device": "p0"}], "host": {}}, {"port": ["p0"], "host": 1}),
                         {"port": [{"device": "p0"}, "p0"], "host": 1})


class Configs(unittest.TestCase):
    def test_every_table_of_the_lab_can_be_set(self):
        """Once a second table of the same name ended the lab's text: cannot redefine existing table."""
        extra = {"daemon": {"user": "root", "log_level": "debug"}, "fabric": {"hosts_per_leaf": 7},
                 "transmit": {"payload": 1024}, "port": [{"device": "p1", "gateway": "auto"}]}
        shape = fabric(options.lab_options(ipv4=True, extra_config=extra))
        config = tomllib.loads(toml_text.render(host_config("lab0", shape, shape.node("h1"))))
        self.assertEqual(config["daemon"], {"instance": "lab0-h1", "user": "root", "log_level": "debug",
                                            "state_dir": "/run/mrc-lab/lab0/settings/h1"})
        self.assertEqual(config["fabric"]["hosts_per_leaf"], 7)
        self.assertEqual(config["fabric"]["planes"], 4)
        self.assertEqual(config["transmit"], {"engine": "auto", "payload": 1024})
        self.assertEqual([port["gateway"] for port in config["port"]], ["fe80::1", "auto", "fe80::1", "fe80::1"])

    def test_switches_have_theirs(self):
        shape = fabric(options.lab_options(extra_config={"transmit": {"payload": 1024}}))
        config = tomllib.loads(toml_text.render(switch_config("lab0", shape, shape.node("p0t0-0"))))
        self.assertEqual(sorted(port["host_facing"] for port in config["port"]), [False, False, True])
        self.assertEqual({"name", "usid", "forward", "pin", "share", "mode", "port", "route"}, set(config))


class Files(unittest.TestCase):
    def load(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(text)
            file.flush()
            return options.load_extra_config(file.name)

    def test_a_file_is_read(self):
        self.assertEqual(self.load("[transport]\nbase_rtt_us = 50\n"), {"transport": {"base_rtt_us": 50}})

    def test_a_wrong_file_is_refused_in_one_line(self):
        for text, word in (("[transport", "not TOML"), ("[daemon]\na = 2026-01-01\n", "no key of mrcd takes that")):
            with self.assertRaisesRegex(lab_error, word):
                self.load(text)
        with self.assertRaisesRegex(lab_error, "No such file"):
            options.load_extra_config("/nonexistent.toml")


if __name__ == "__main__":
    unittest.main()
