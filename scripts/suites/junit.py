# SPDX-License-Identifier: Apache-2.0
"""Reads the file that ctest --output-junit writes."""

import re
import xml.etree.ElementTree as xml

from result import FAILED, PASSED, SKIPPED, result, skip_reason, skipped_parts


def read(path, log, prefix=""):
    """One result for each test of the file; names get the prefix. The log is what ctest printed meanwhile."""
    return [_result(case, log, prefix) for case in xml.parse(path).getroot().iter("testcase")]


def _result(case, log, prefix):
    name = case.get("name", "?")
    output = case.findtext("system-out") or ""
    one = result(prefix + name, PASSED, float(case.get("time") or 0), output=output)
    status = case.get("status")
    skipped = case.find("skipped")
    if status == "run":
        one.parts = skipped_parts(output)
    elif status == "notrun" and skipped is not None and "SKIP_RETURN_CODE" in skipped.get("message", ""):
        one.outcome, one.reason = SKIPPED, skip_reason(output)
    elif status == "disabled":
        one.outcome, one.reason = SKIPPED, "disabled in CMake"
    else:
        one.outcome, one.reason = FAILED, _verdict(name, log)
    return one


def _verdict(name, log):
    """Failed, Timeout, Exception: SegFault, …: ctest prints it, and leaves it out of the file."""
    match = re.search(rf"Test +#\d+: {re.escape(name)} \.+\*\*\*(.+?) +[\d.]+ sec", log)
    return match.group(1) if match else "failed"
