# SPDX-License-Identifier: Apache-2.0
"""Makes PyTorch know Gloo's transport MRC.

Imported by mrc-gloo.pth where GLOO_DEVICE_TRANSPORT=MRC, it loads libmrc-gloo.so as soon as the program has imported
torch. Without that file: python3 -m mrc_gloo SCRIPT [ARGUMENT]…, or `import mrc_gloo` before init_process_group.
MRC_GLOO_LIBRARY names the library where the dynamic linker does not find it.
"""

import ctypes
import importlib.abc
import importlib.util
import os
import sys

MODULE = "torch.distributed"  # imported with torch, when libtorch is loaded


def load():
    """Loads the library, whose constructor registers the transport. OSError: it, or what it needs, is not there."""
    ctypes.CDLL(os.environ.get("MRC_GLOO_LIBRARY") or "libmrc-gloo.so")


class _torch_finder(importlib.abc.MetaPathFinder):
    """Finds torch.distributed as the others do, and loads the library after it."""

    def __init__(self):
        self.searching = False

    def find_spec(self, fullname, path, target=None):
        if fullname != MODULE or self.searching:
            return None
        self.searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.searching = False
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_load(module):
                execute(module)
                load()
            spec.loader.exec_module = execute_and_load
            sys.meta_path.remove(self)
        return spec


def install():
    if MODULE in sys.modules:
        load()
    else:
        sys.meta_path.insert(0, _torch_finder())


def main():
    import runpy  # for `python3 -m mrc_gloo` only: programs shall not pay for it
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print("usage: python3 -m mrc_gloo SCRIPT [ARGUMENT]…\n\n"
              "Runs a PyTorch script, the collectives of whose Gloo process groups go over MRC: every host needs a "
              "running mrcd.", file=sys.stdout if len(sys.argv) > 1 else sys.stderr)
        return 0 if len(sys.argv) > 1 else 2
    os.environ["GLOO_DEVICE_TRANSPORT"] = "MRC"
    del sys.argv[0]
    if not getattr(sys.flags, "safe_path", False):  # as `python3 SCRIPT` does: modules beside the script are found
        sys.path[0] = os.path.dirname(os.path.realpath(sys.argv[0]))
    install()
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
install()
