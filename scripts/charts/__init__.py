# SPDX-License-Identifier: Apache-2.0
"""Charts of documents: what plot-results and plot-performance are made of."""
