# SPDX-License-Identifier: Apache-2.0
"""The kinds of fabrics that a lab can have."""

from .plain_networks import bridges, cables, routers
from .topology import clos

KINDS = {"srv6": clos, "direct": cables, "bridge": bridges, "router": routers}


def fabric(options):
    """Nodes and links of a lab, by its options alone."""
    return KINDS[options.fabric](options)
