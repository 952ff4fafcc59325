# SPDX-License-Identifier: Apache-2.0
"""Comparisons in turns: what tests/perf/run runs."""
