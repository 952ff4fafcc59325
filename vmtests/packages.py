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
# Beside the machine's own release: where newer kernels and virtme-ng are, by distance. The lists of the unstable suite
# are read only when its kernel is asked for.
NEWER_SUITES = ("bookworm-backports", "trixie")
UNSTABLE_SUITES = ("sid",)
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


class archive:
    """Some suites of the mirror, seen by an apt with lists, state and sources of its own."""

    def __init__(self, folder, suites):
        self.folder, self.suites = CACHE / folder, suites

    def apt(self, program, *arguments, cwd=None):
        options = [f"Dir::Etc::SourceList={self.folder}/sources.list", "Dir::Etc::SourceParts=/dev/null",
                   "Dir::Etc::PreferencesParts=/dev/null", f"Dir::State={self.folder}/state",
                   f"Dir::State::status={self.folder}/state/status", f"Dir::Cache={self.folder}/cache",
                   # The sandbox user has no way into a home directory.
                   "APT::Sandbox::User=root", "Acquire::Retries=3"]
        return _output(program, *(word for option in options for word in ("-o", option)), *arguments, cwd=cwd)

    @functools.cache
    def update(self):
        """Brings the package lists up to date, at most once a day."""
        stamp = self.folder / "updated"
        if stamp.exists() and time.time() - stamp.stat().st_mtime < INDEX_LIFE_SECONDS:
            return
        site, release = _mirror()
        for name in ("state/lists/partial", "cache/archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "state/status").touch()
        suites = self.suites or (release, *NEWER_SUITES)
        (self.folder / "sources.list").write_text(
            "".join(f"deb [signed-by={KEYRING}] {site} {suite} main\n" for suite in suites), encoding="utf-8")
        print("vmtests: reading the package lists of " + ", ".join(suites), flush=True)
        self.apt("apt-get", "-q", "update")
        stamp.touch()

    def unpack(self, packages, folder):
        """The folder with the packages' files, fetched if they are not there yet."""
        if (folder / ".complete").exists():
            return folder
        scratch = folder.with_name(folder.name + ".new")
        for path in (folder, scratch):
            shutil.rmtree(path, ignore_errors=True)
        scratch.mkdir(parents=True)
        print(f"vmtests: fetching {', '.join(packages)}", flush=True)
        self.apt("apt-get", "-q", "download", *packages, cwd=scratch)
        for file in sorted(scratch.glob("*.deb")):
            _output("dpkg-deb", "-x", str(file), str(scratch))
            file.unlink()
        (scratch / ".complete").touch()
        scratch.rename(folder)
        return folder

    def newest_kernel(self, kernel):
        """Name of the newest package of a kernel series such as 6.1, of one release such as 6.1.0-50, of any for ''."""
        pattern = rf"linux-image-{re.escape(kernel)}(?![0-9])[0-9.+a-z~-]*-amd64" if kernel \
            else r"linux-image-[0-9][0-9.+a-z~-]*-amd64"
        names = [name for name in self.apt("apt-cache", "pkgnames", f"linux-image-{kernel}").split()
                 if re.fullmatch(pattern, name) and not re.search(r"-(rt|cloud|unsigned|dbg)", name)]
        if not names:
            raise unavailable(f"the mirror has no kernel {kernel} in the suites that were looked at")
        return max(names, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])

    def with_parts(self, image):
        """The packages that make up a kernel: newer releases have image and modules in packages of their own."""
        release = image.removeprefix("linux-image-")
        shown = self.apt("apt-cache", "depends", image)
        return [image, *dict.fromkeys(re.findall(rf"Depends: (linux-(?:binary|modules)-{re.escape(release)})$", shown,
                                                 re.M))]


RELEASED = archive("apt", None)
UNSTABLE = archive("apt-unstable", UNSTABLE_SUITES)


def virtme():
    """The folder that virtme-ng's package was unpacked to."""
    with _locked():
        RELEASED.update()
        return RELEASED.unpack(["virtme-ng"], CACHE / "virtme-ng")


def kernel_image(kernel):
    """(image, release) of a packaged kernel: the newest of a series, one release, or the newest of all for `newest`.
    The modules are in lib/modules of the folder that the image is below."""
    source = UNSTABLE if kernel == "newest" else RELEASED
    with _locked():
        source.update()
        package = source.newest_kernel("" if kernel == "newest" else kernel)
        folder = source.unpack(source.with_parts(package), CACHE / "kernels" / package)
        release = package.removeprefix("linux-image-")
        if not (folder / "lib").exists():
            (folder / "lib").symlink_to("usr/lib")  # newer Debian releases have their files there
        if not (folder / "lib/modules" / release / "modules.dep").exists():
            _output("/sbin/depmod", "-b", str(folder), release)
    for image in (folder / f"boot/vmlinuz-{release}", folder / f"usr/lib/modules/{release}/vmlinuz"):
        if image.exists():
            return image, release
    raise unavailable(f"package {package} has no kernel image where one was looked for")
