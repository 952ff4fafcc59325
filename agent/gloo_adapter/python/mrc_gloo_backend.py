# SPDX-License-Identifier: Apache-2.0
"""PyTorch from 2.5 on calls load() when it is imported, by the entry point that mrc_gloo's metadata name in the group
torch.backends: there mrc-gloo.pth is not needed. Nothing happens unless GLOO_DEVICE_TRANSPORT=MRC."""

import os


def load():
    """Makes PyTorch know Gloo's transport MRC, if it is asked for. OSError: as mrc_gloo.load()."""
    if os.environ.get("GLOO_DEVICE_TRANSPORT") == "MRC":
        import mrc_gloo
        mrc_gloo.load()
