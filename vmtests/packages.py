# SPDX-License-Identifier: Apache-2.0
"""Debian packages for the VM tests, fetched and unpacked in a cache; the system's own sources stay as they are."""

import contextlib
import fcntl
import functools
import os
import pathlib
import re
import shutil
import subprocess
import time

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "mrc-vmtests"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Beside the machine's own release: where newer kernels and virtme-ng are, by distance.
NEWER_SUITES = ("bookworm-backports", "trixie")
INDEX_LIFE_SECONDS = 24 * 3600


class unavailable(Exception):
    """Something that no change of this project would repair: a reason to skip."""


@contextlib.contextmanager
def _locked():
    """One process at a time changes the cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _output(*command, **options):
    ended = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if ended.returncode:
        raise unavailable(f"`{' '.join(command[:1])} …` failed: {ended.stderr.strip().splitlines()[-1:] or '?'}")
    return ended.stdout


def _mirror():
    """(address, release) of the Debian mirror that this machine installs from."""
    release = re.search(r"^VERSION_CODENAME=(\S+)", pathlib.Path("/etc/os-release").read_text(encoding="utf-8"), re.M)
    if not release:
        raise unavailable("/etc/os-release names no Debian release")
    targets = _output("apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)",
                      "Created-By: Packages")
    for line in targets.splitlines():
        site, suite, component = line.split()
        if suite == release.group(1) and component == "main":
            return site, suite
    raise unavailable(f"apt knows no mirror of Debian's {release.group(1)}/main here")


def _apt(program, *arguments, cwd=None):
    """apt with lists, state and sources of its own."""
    apt = CACHE / "apt"
    options = [f"Dir::Etc::SourceList={apt}/sources.list", "Dir::Etc::SourceParts=/dev/null",
               "Dir::Etc::PreferencesParts=/dev/null", f"Dir::State={apt}/state",
               f"Dir::State::status={apt}/state/status", f"Dir::Cache={apt}/cache",
               # The sandbox user has no way into a home directory.
               "APT::Sandbox::User=root", "Acquire::Retries=3"]
    return _output(program, *(word for option in options for word in ("-o", option)), *arguments, cwd=cwd)


@functools.cache
def _index():
    """Brings the package lists up to date, at most once a day."""
    apt = CACHE / "apt"
    stamp = apt / "updated"
    if stamp.exists() and time.time() - stamp.stat().st_mtime < INDEX_LIFE_SECONDS:
        return
    site, release = _mirror()
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "state/status").touch()
    suites = (release, *NEWER_SUITES)
    (apt / "sources.list").write_text(
        "".join(f"deb [signed-by={KEYRING}] {site} {suite} main\n" for suite in suites), encoding="utf-8")
    print("vmtests: reading the package lists of " + ", ".join(suites), flush=True)
    _apt("apt-get", "-q", "update")
    stamp.touch()


def _unpack(package, folder):
    """The folder with the package's files, fetched if they are not there yet."""
    if (folder / ".complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    scratch = folder.with_name(folder.name + ".new")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    print(f"vmtests: fetching {package}", flush=True)
    _apt("apt-get", "-q", "download", package, cwd=scratch)
    archive, = scratch.glob("*.deb")
    _output("dpkg-deb", "-x", str(archive), str(scratch))
    archive.unlink()
    (scratch / ".complete").touch()
    scratch.rename(folder)
    return folder


def virtme():
    """The folder that holds virtme-ng's Python packages."""
    with _locked():
        _index()
        folder = _unpack("virtme-ng", CACHE / "virtme-ng")
    return folder / "usr/lib/python3/dist-packages"


def _newest(kernel):
    """Name of the newest package of a kernel series such as 6.1, or of one release such as 6.1.0-50."""
    pattern = rf"linux-image-{re.escape(kernel)}(?![0-9])[0-9.+a-z~-]*-amd64"
    names = [name for name in _apt("apt-cache", "pkgnames", f"linux-image-{kernel}").split()
             if re.fullmatch(pattern, name) and not re.search(r"-(rt|cloud|unsigned|dbg)", name)]
    if not names:
        raise unavailable(f"the mirror has no kernel {kernel} in the suites that were looked at")
    return max(names, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])


def kernel_image(kernel):
    """(image, folder with lib/modules) of the newest packaged kernel of that series."""
    with _locked():
        _index()
        package = _newest(kernel)
        folder = _unpack(package, CACHE / "kernels" / package)
        release = package.removeprefix("linux-image-")
        if not (folder / "lib").exists():
            (folder / "lib").symlink_to("usr/lib")  # newer Debian releases have their files there
        if not (folder / "lib/modules" / release / "modules.dep").exists():
            _output("/sbin/depmod", "-b", str(folder), release)
    return folder / f"boot/vmlinuz-{release}", folder
