# SPDX-License-Identifier: Apache-2.0
"""What KERNEL on the command line means, and how virtme-ng is told to boot it."""

import dataclasses
import pathlib
import re
import subprocess

import packages


@dataclasses.dataclass
class kernel:
    asked: str  # what the command line says
    options: list  # of virtme-run


def find(asked):
    """The kernel for a series (6.1), a release (6.1.0-50), `newest`, a folder with an image and modules, or a kernel
    tree. Raises packages.unavailable when the mirror did not give it, ValueError for a bad argument."""
    if asked == "newest" or re.fullmatch(r"[0-9]+\.[0-9][0-9.+a-z~-]*", asked):
        return kernel(asked, ["--kimg", str(packages.kernel_image(asked)), "--mods=auto"])
    if "/" not in asked and not pathlib.Path(asked).is_dir():
        raise ValueError(f"'{asked}' is no kernel; allowed: a series such as 6.1, a release such as 6.1.0-50, newest, "
                         "a folder with a kernel image and modules, or a kernel tree")
    return _of_folder(asked, pathlib.Path(asked).resolve())


def _of_folder(asked, folder):
    if not folder.is_dir():
        raise ValueError(f"'{asked}' is no folder")
    if (folder / ".config").exists():
        if not (folder / "arch/x86/boot/bzImage").exists():
            raise ValueError(f"kernel tree '{asked}' is not built: it has no arch/x86/boot/bzImage")
        return kernel(asked, ["--kdir", str(folder), "--mods=auto"])
    images = [path for pattern in ("bzImage", "vmlinuz*", "boot/vmlinuz*", "usr/lib/modules/*/vmlinuz")
              for path in sorted(folder.glob(pattern)) if path.is_file()]
    if len(images) != 1:
        raise ValueError(f"folder '{asked}' has {len(images)} kernel images instead of one; looked for bzImage, "
                         "vmlinuz*, boot/vmlinuz* and usr/lib/modules/*/vmlinuz")
    release = _release(images[0])
    if not (folder / "lib/modules" / release).is_dir():
        raise ValueError(f"folder '{asked}' has {images[0].name} of release {release}, but no lib/modules/{release}")
    return kernel(asked, ["--kimg", str(images[0]), "--mods=auto"])


def _release(image):
    said = subprocess.run(["file", "--brief", str(image)], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version (\S+)", said)
    if not found:
        raise ValueError(f"{image} is no kernel image: {said.strip()}")
    return found.group(1)
