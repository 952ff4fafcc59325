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
# Looked into after the machine's own release and its backports: they have newer kernels, and virtme-ng.
NEWER_SUITES = ("stable", "testing")
UNSTABLE_SUITE = "sid"
INDEX_LIFE_SECONDS = 24 * 3600


class unavailable(Exception):
    """What the mirror did not give: no change of this project would repair it, a reason to skip."""


class broken(Exception):
    """A command of this machine failed, and nothing can be said about kernels."""


@contextlib.contextmanager
def _locked():
    """One process at a time changes the cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _output(*command, failure=broken, **options):
    ended = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if ended.returncode:
        said = [line for line in ended.stderr.splitlines() if line.startswith("E: ")] or ended.stderr.splitlines()[-1:]
        raise failure(f"{command[0]}: {' '.join(said[:2]) or f'ended with status {ended.returncode}'}")
    return ended.stdout


@functools.cache
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
    """One suite of the mirror, seen by an apt with lists, state and sources of its own."""

    def __init__(self, suite):
        self.suite, self.folder = suite, CACHE / "apt" / suite

    def _apt(self, program, *arguments, **options):
        settings = [f"Dir::Etc::SourceList={self.folder}/sources.list", "Dir::Etc::SourceParts=/dev/null",
                    "Dir::Etc::PreferencesParts=/dev/null", f"Dir::State={self.folder}/state",
                    f"Dir::State::status={self.folder}/state/status", f"Dir::Cache={self.folder}/cache",
                    # The sandbox user has no way into a home directory.
                    "APT::Sandbox::User=root", "Acquire::Retries=3",
                    # apt-get update calls a list that it could not fetch a warning otherwise.
                    "APT::Update::Error-Mode=any"]
        return _output(program, *(word for setting in settings for word in ("-o", setting)), *arguments, **options)

    def update(self):
        """Brings the package lists up to date, at most once a day."""
        stamp = self.folder / "updated"
        if stamp.exists() and time.time() - stamp.stat().st_mtime < INDEX_LIFE_SECONDS:
            return
        site, _ = _mirror()
        for name in ("state/lists/partial", "cache/archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "state/status").touch()
        (self.folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {site} {self.suite} main\n",
                                                  encoding="utf-8")
        print(f"vmtests: reading the package lists of {self.suite}", flush=True)
        self._apt("apt-get", "-q", "update", failure=unavailable)
        stamp.touch()

    def unpack(self, packages, folder):
        """The folder with the packages' files, fetched if they are not there yet."""
        if (folder / ".complete").exists():
            return folder
        scratch = folder.with_name(folder.name + ".new")
        for path in (folder, scratch):
            shutil.rmtree(path, ignore_errors=True)
        scratch.mkdir(parents=True)
        print(f"vmtests: fetching {', '.join(packages)} of {self.suite}", flush=True)
        self._apt("apt-get", "-q", "download", *packages, cwd=scratch, failure=unavailable)
        for file in sorted(scratch.glob("*.deb")):
            _output("dpkg-deb", "-x", str(file), str(scratch))
            file.unlink()
        (scratch / ".complete").touch()
        scratch.rename(folder)
        return folder

    def has(self, package):
        return package in self._apt("apt-cache", "pkgnames", package).split()

    def kernels(self):
        """Names of the packages of kernels for ordinary machines."""
        return [name for name in self._apt("apt-cache", "pkgnames", "linux-image-").split()
                if re.fullmatch(r"linux-image-[0-9][0-9.+a-z~-]*-amd64", name) and not re.search(r"-(rt|cloud)-", name)]

    def with_parts(self, image):
        """The packages that make up a kernel: newer releases have image and modules in packages of their own."""
        release = image.removeprefix("linux-image-")
        shown = self._apt("apt-cache", "depends", image)
        return [image, *dict.fromkeys(re.findall(rf"Depends: (linux-(?:binary|modules)-{re.escape(release)})$", shown,
                                                 re.M))]


def newest_of(names):
    """The newest of packages of kernels."""
    return max(names, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])


def that_are(kernel, names):
    """The packages of a kernel series such as 6.1, or of one release such as 6.1.0-50."""
    return [name for name in names if re.match(rf"linux-image-{re.escape(kernel)}(?![0-9])", name)]


def series_of(names):
    """The series, such as 6.1, that packages of kernels are of."""
    return sorted({re.match(r"linux-image-(\d+\.\d+)", name).group(1) for name in names},
                  key=lambda series: [int(number) for number in series.split(".")])


def _archives():
    """By distance from this machine's release; the lists of one are read when those before it did not do."""
    release = _mirror()[1]
    for suite in dict.fromkeys((release, f"{release}-backports", *NEWER_SUITES)):
        found = archive(suite)
        found.update()
        yield found


def virtme():
    """The folder that virtme-ng's package was unpacked to, in this run or before."""
    folder = CACHE / "virtme-ng"
    if (folder / ".complete").exists():
        return folder
    with _locked():
        for source in _archives():
            if source.has("virtme-ng"):
                return source.unpack(["virtme-ng"], folder)
    raise unavailable("the mirror has no virtme-ng")


def _kernel_package(kernel):
    """(archive, package) of a kernel."""
    if kernel == "newest":
        source = archive(UNSTABLE_SUITE)
        source.update()
        return source, newest_of(source.kernels())
    seen = []
    for source in _archives():
        names = source.kernels()
        if fitting := that_are(kernel, names):
            return source, newest_of(fitting)
        seen += names
    raise ValueError(f"the mirror has no kernel {kernel}; it has {', '.join(series_of(seen))} and newest")


def kernel_image(kernel):
    """The image of a packaged kernel: the newest of a series in the nearest suite that has it, one release, or the
    newest of all for `newest`. The modules are in lib/modules of the folder that the image is below. Raises ValueError
    when there is no such kernel."""
    with _locked():
        source, package = _kernel_package(kernel)
        folder = source.unpack(source.with_parts(package), CACHE / "kernels" / package)
        release = package.removeprefix("linux-image-")
        if not (folder / "lib").exists():
            (folder / "lib").symlink_to("usr/lib")  # newer Debian releases have their files there
        if not (folder / "lib/modules" / release / "modules.dep").exists():
            _output("/sbin/depmod", "-b", str(folder), release)
    for image in (folder / f"boot/vmlinuz-{release}", folder / f"usr/lib/modules/{release}/vmlinuz"):
        if image.exists():
            return image
    raise broken(f"package {package} has no kernel image where one was looked for")
