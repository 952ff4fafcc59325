# SPDX-License-Identifier: Apache-2.0
"""FRR of a newer Debian suite, unpacked into a folder of the test's own and never installed: bookworm's is older than
the static SIDs of FRR 10.3. zebra, mgmtd and staticd run in the network namespaces of a lab's switches."""

import contextlib
import pathlib
import re
import subprocess

from lab_support import DEADLINE_S, check, skip

from lab.wait_until import wait_until

SUITE = "trixie"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
PACKAGES = ("frr", "libpam-modules")
DAEMONS = ("mgmtd", "zebra", "staticd")
ANSWER_S = 60  # of the mirror


def _mirror():
    """Debian's archive as this machine's apt knows it, or None."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(SITE)"], text=True,
                          capture_output=True, check=False)
    # That of a release; its updates may come from elsewhere.
    sites = re.findall(r"^Debian [a-z]+ (\S+)$", done.stdout, re.M)
    return sites[0] if sites else None


def _apt(folder, *arguments):
    for part in ("lists/partial", "cache/archives/partial", "etc"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    settings = {"Dir::State": folder, "Dir::State::status": folder / "status", "Dir::Cache": folder / "cache",
                "Dir::Etc": folder / "etc", "Dir::Etc::sourcelist": folder / "etc/sources.list",
                "Dir::Etc::sourceparts": "-", "APT::Install-Recommends": "false", "APT::Sandbox::User": "root",
                "Acquire::Retries": "0", "Acquire::http::Timeout": ANSWER_S}
    options = [f"-o{key}={value}" for key, value in settings.items()]
    return subprocess.run(["apt-get", "-q", "-y", *options, *arguments], text=True, capture_output=True, check=False)


def unpacked(directory):
    """A root with FRR in it; skips the test where it cannot be had."""
    mirror = _mirror()
    if not mirror:
        skip("this machine's apt knows no archive of Debian")
    folder, root = pathlib.Path(directory, "apt"), pathlib.Path(directory, "frr")
    (folder / "etc").mkdir(parents=True)
    (folder / "etc/sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror} {SUITE} main\n", encoding="utf-8")
    for arguments in (("update",), ("--download-only", "install", *PACKAGES)):
        done = _apt(folder, *arguments)
        if done.returncode != 0 or "Err:" in done.stdout:
            skip(f"FRR of {SUITE} cannot be had: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    for package in sorted(folder.glob("cache/archives/*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    _complete(root)
    return root


def _complete(root):
    """What the packages' scripts would have made."""
    for name in ("bin", "sbin", "lib", "lib64"):
        if not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    for name in ("dev", "proc", "run", "tmp", "var/tmp", "var/log/frr", "var/lib/frr", "etc/frr", "etc/pam.d"):
        (root / name).mkdir(parents=True, exist_ok=True)
    allow = "auth sufficient pam_permit.so\naccount sufficient pam_permit.so\n"
    for name, text in (("passwd", "root:x:0:0:root:/root:/bin/sh\n"),
                       ("group", "root:x:0:\nfrr:x:200:root\nfrrvty:x:201:root\n"), ("shadow", "root:*:1::::::\n"),
                       ("nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\n"), ("pam.d/frr", allow),
                       ("pam.d/other", allow)):
        (root / "etc" / name).write_text(text, encoding="utf-8")


class _router:
    """FRR in one namespace, with its sockets in a folder of its own."""

    def __init__(self, fabric, root, name):
        script = f"mount --bind /dev {root}/dev; mount -t proc proc {root}/proc; exec chroot {root} \"$@\""
        self._inside = ["nsenter", f"--net=/run/netns/{fabric.prefix}-{name}", "unshare", "--mount", "sh", "-ec",
                        script, "sh"]
        self._root, self._folder = root, f"/run/{name}"
        (root / self._folder[1:]).mkdir()
        self._daemons = []

    def start(self):
        for daemon in DAEMONS:
            with open(self._root / f"tmp/{pathlib.Path(self._folder).name}.{daemon}.log", "wb") as log:
                self._daemons.append(subprocess.Popen(
                    [*self._inside, f"/usr/lib/frr/{daemon}", "-u", "root", "-g", "root", "--log", "stdout",
                     "--vty_socket", self._folder, "-P", "0", "-z", f"{self._folder}/zserv.api",
                     "-i", f"{self._folder}/{daemon}.pid"], stdin=subprocess.DEVNULL, stdout=log,
                    stderr=subprocess.STDOUT))
            sockets = self._root / self._folder[1:]
            answers = wait_until(lambda: (sockets / f"{daemon}.vty").exists(), DEADLINE_S)  # noqa: B023
            if not answers:
                raise RuntimeError(f"{daemon} does not start: {self.said(daemon)}")

    def read(self, text):
        """What it complained of. While it starts, FRR locks its configuration for a moment."""
        name = f"tmp/{pathlib.Path(self._folder).name}.conf"
        (self._root / name).write_text(text, encoding="utf-8")
        complaints = []

        def is_read():
            done = subprocess.run([*self._inside, "/usr/bin/vtysh", "--vty_socket", self._folder, "-f", f"/{name}"],
                                  text=True, capture_output=True, check=False)
            complaints[:] = [line for line in (done.stdout + done.stderr).splitlines() if "%" in line or "rror" in line]
            return not any("locked" in line for line in complaints)

        wait_until(is_read, DEADLINE_S)
        return complaints

    def said(self, daemon):
        return (self._root / f"tmp/{pathlib.Path(self._folder).name}.{daemon}.log").read_text("utf-8", "replace")

    def stop(self):
        for process in self._daemons:
            process.terminate()
        for process in self._daemons:
            process.wait(DEADLINE_S)


@contextlib.contextmanager
def frr_switches(fabric, directory, configurations):
    """FRR on these switches with these configurations, by name, once the kernel has all of their routes."""
    root = unpacked(directory)
    routers = {}
    try:
        for name, text in configurations.items():
            before = [line.removeprefix("!   ") for line in text.splitlines() if line.startswith("!   ")]
            fabric.inside(name, "sh", "-ec", "\n".join(before))
            routers[name] = _router(fabric, root, name)
            routers[name].start()
            complaints = routers[name].read(text)
            check(not complaints, f"FRR of {name} takes all of its configuration {complaints or ''}")
        for name, text in configurations.items():
            wanted = {line.split()[2] for line in text.splitlines() if line.startswith("ipv6 route ")} | {
                line.split()[1] for line in text.splitlines() if line.startswith("   sid ")}

            def missing():
                has = {line.split()[0] for line in fabric.inside(name, "ip", "-6", "route", "show").splitlines()}
                return wanted - has  # noqa: B023

            done = wait_until(lambda: not missing(), DEADLINE_S)  # noqa: B023
            check(done, f"the kernel of {name} has its {len(wanted)} routes" +
                  ("" if done else f" but {missing()}; {routers[name].said('staticd')[-500:]}"))
            shown = fabric.inside(name, "ip", "-6", "route", "show")
            check("proto 196" in shown and "flavors next-csid lblen 48 nflen 16" in shown, f"by FRR, {name}'s uSID too")
        yield
    finally:
        for router in routers.values():
            router.stop()
