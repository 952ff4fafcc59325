# SPDX-License-Identifier: Apache-2.0
"""What scripts/mrc-lab is made of: a multi-plane Clos from network namespaces and veth pairs."""
