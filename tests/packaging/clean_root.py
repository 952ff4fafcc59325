#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/quickstart.md shows, as a new user does it: two hosts, each with a root file system of a Debian release
that has our packages and what they depend on, and nothing of this machine but its kernel; on cables, then on switches.
A cable is pulled while bytes flow, and every byte is right. Then the examples of libmrc-dev, which are built there with
the release's compilers, by make and pkg-config and by CMake's package, carry a file.

usage: clean_root.py [RELEASE] [--build] [--packages FOLDER] [--write]

The release's packages come from where this machine's do, by apt's configuration. Ours are built in a root of the
release by scripts/setup and scripts/build, from the sources as they are here, which takes minutes: on another release
than this machine's, and with --build. On this machine's they are else those of the tree in MRC_BIN. FOLDER keeps what
is built, or without --build has it already. --write puts what the hosts say into docs/quickstart.md; else it has to be
there already, but for numbers.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from lab_support import DEADLINE_S, binary, check, need_root, skip  # noqa: E402
from lab.wait_until import wait_until  # noqa: E402
from setup_support import bridged, cabled, hosts_without_setup, ip, run  # noqa: E402

RELEASES = ("bookworm", "trixie")  # those of scripts/setup
# Of the sources' copy: what is made here has no part in what is built there.
LEFT_OUT = ("./build", "./.git")
DOCUMENT = ROOT / "docs/quickstart.md"
BEGIN, END = "<!-- as a test saw it: tests/packaging/clean_root.py -->\n", "<!-- to here -->\n"
INSTALLED = ("libmrc1", "mrcd")
TO_BUILD_WITH = ("g++", "make", "cmake", "pkg-config")
EXAMPLES = "/usr/share/doc/libmrc-dev/examples"
# A host's own layer above the root that both share, and file systems of its own.
ENTER = """
mount -t tmpfs tmpfs "$layer"
mkdir "$layer/upper" "$layer/work" "$layer/root"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$layer/upper,workdir=$layer/work" "$layer/root"
cd "$layer/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t bpf bpf sys/fs/bpf
mount --rbind /dev dev
mount -t tmpfs tmpfs run
hostname "$name"
cp "$id" etc/machine-id
exec chroot . /bin/sh -c 'echo UP; read end'
"""


def mirror(release):
    """Where apt has this machine's release from, which must have the other one, too."""
    said = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(COMPONENT)", "Created-By: Packages",
               f"Release: {own_release()}")
    found = sorted({line.split()[0] for line in said.splitlines() if line.split()[1] == "main"})
    if not found:
        skip("apt has no archive of this machine's release")
    with tempfile.TemporaryDirectory() as folder:
        got = subprocess.run(["/usr/lib/apt/apt-helper", "-o", "Acquire::Retries=1", "-o", "APT::Sandbox::User=root",
                              "download-file", f"{found[0].rstrip('/')}/dists/{release}/InRelease",
                              f"{folder}/InRelease"], text=True, capture_output=True, check=False)
    if got.returncode != 0:
        first, *_ = re.findall("^E: (.*)", got.stderr, re.M) or [f"status {got.returncode}"]
        skip(f"apt's archive does not give {release}: {first}")
    return found[0]


def own_release():
    return re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text("utf-8"), re.M)[1]


def own_packages(folder):
    build = pathlib.Path(binary("mrcd")).resolve().parents[1]
    run("cpack", "--config", str(build / "CPackConfig.cmake"), "-B", str(folder))
    return folder


def empty_root(release, root, archive):
    """The release's smallest system with apt."""
    run("mmdebstrap", "--variant=apt", "--skip=cleanup/apt/lists", release, str(root), archive)
    return root


def built_packages(release, root, archive, folder):
    """In a root that has the release, and what scripts/setup installs there."""
    empty_root(release, root, archive)
    (root / "mrc").mkdir()
    left_out = [f"--exclude={name}" for name in LEFT_OUT]
    with subprocess.Popen(["tar", "-C", str(ROOT), *left_out, "-c", "."], stdout=subprocess.PIPE) as sources:
        subprocess.run(["tar", "-C", str(root / "mrc"), "--no-same-owner", "-x"], stdin=sources.stdout, check=True)
    inside(root, "cd /mrc; scripts/setup; scripts/build; cpack --config build/CPackConfig.cmake -B /packages")
    folder.mkdir(parents=True, exist_ok=True)
    made = sorted((root / "packages").glob("*.deb"))
    for package in made:
        shutil.copy(package, folder)
    print(f"ok: {release} builds {', '.join(package.name for package in made)}")
    return folder


def make_root(release, packages, root, archive):
    """A root in which apt installs our packages, and nothing else but what they need."""
    empty_root(release, root, archive)
    (root / "packages").mkdir()
    said = install(root, packages, INSTALLED)
    check("mrcctl setup" in said, f"apt installs {', '.join(INSTALLED)} on {release}, and says what comes next")
    names = run("chroot", str(root), "dpkg-query", "-W", "-f", "${Package}\n").split()
    check(not [name for name in names if name.endswith("-dev")], f"{len(names)} packages are there, none to build with")


def inside(root, command):
    """With nothing of this machine's environment but the way to the archive."""
    proxies = [f"{name}={value}" for name, value in os.environ.items() if name.lower().endswith("_proxy")]
    return run("unshare", "--mount", "--propagation", "private", "sh", "-ec",
               'mount --rbind /dev "$0/dev"; mount -t proc proc "$0/proc"; mount -t sysfs sysfs "$0/sys"; '
               'cp -L /etc/resolv.conf "$0/etc"; command=$1; shift; '
               'exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@" chroot "$0" sh -ec "$command"',
               str(root), command, *proxies)


def install(root, packages, ours, others=()):
    """Packages of this tree, and of the release."""
    for name in ours:
        shutil.copy(next(packages.glob(f"{name}_*.deb")), root / "packages")
    files = " ".join(f"/packages/{name}_*.deb" for name in ours)
    return inside(root, "DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "
                        f"{files} {' '.join(others)}")


def build_examples(root, packages):
    """Returns the folders of what was built, in the root."""
    install(root, packages, ("libmrc-dev",), TO_BUILD_WITH)
    inside(root, f"cp -r {EXAMPLES} /root/by-make; make -C /root/by-make; "
                 f"cmake -S {EXAMPLES} -B /root/by-cmake; cmake --build /root/by-cmake")
    return ["/root/by-make", "/root/by-cmake"]


class hosts_of_root(hosts_without_setup):
    """Hosts whose programs and files are those of a root."""

    def __init__(self, names, folder, root):
        super().__init__(names, folder)
        self.root, self.keepers = root, {}
        for name in self.hosts():
            layer = self.folder / f"{name}.layer"
            layer.mkdir()
            environment = {**os.environ, "root": str(root), "layer": str(layer), "name": name,
                           "id": str(self.folder / f"{name}.id")}
            keeper = subprocess.Popen(["nsenter", f"--net=/run/netns/{self.netns(name)}", "--", "unshare", "--mount",
                                       "--uts", "--propagation", "private", "sh", "-ec", ENTER], env=environment,
                                      text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            if keeper.stdout.readline() != "UP\n":
                sys.exit(f"FAIL: {name} has no root")
            self.keepers[name] = keeper

    def start(self, name, *argv, **streams):
        if name not in self.keepers:
            return super().start(name, *argv, **streams)
        clean = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"]
        process = subprocess.Popen(["nsenter", f"--target={self.keepers[name].pid}", "--mount", "--uts", "--net",
                                    "--root", "--wd", "--", *clean, *argv], text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **streams)
        self.processes.append(process)
        return process

    def remove(self):
        super().remove()
        for keeper in self.keepers.values():
            keeper.communicate(timeout=DEADLINE_S)


@contextlib.contextmanager
def two_hosts(root, *others):
    with tempfile.TemporaryDirectory() as folder:
        hosts = hosts_of_root(("a", "b", *others), folder, root)
        try:
            yield hosts
        finally:
            hosts.remove()


class transcript:
    """Commands on the hosts, and what they say."""

    def __init__(self, hosts):
        self.hosts, self.text = hosts, ""

    def on(self, name, command, status=0):
        return self.end(name, command, self.hosts.start(name, "sh", "-c", command), status)

    def end(self, name, command, process, status=0):
        said = process.communicate(timeout=4 * DEADLINE_S)[0]
        check(process.returncode == status, f"{name}: {command}: {said if process.returncode != status else status}")
        self.text += f"root@{name}:~# {command}\n{said}"
        return said

    def on_both(self, command):
        started = {name: self.hosts.start(name, "sh", "-c", command) for name in ("a", "b")}
        return {name: self.end(name, command, process) for name, process in started.items()}


def start_daemons(hosts):
    for name in ("a", "b"):
        process = hosts.start(name, "mrcd", "--config", "/etc/mrc/mrcd.toml")
        while not (line := process.stdout.readline()).startswith("READY"):
            if not line:
                sys.exit(f"FAIL: mrcd on {name} does not start")
        hosts.daemons[name] = process


def port_states(hosts, name):
    said = hosts.start(name, "mrcctl", "-j", "port", "list").communicate(timeout=DEADLINE_S)[0]
    return [port["state"] for port in json.loads(said)]


def walk(hosts, pull):
    """From nothing to verified bytes; `pull()` takes the second cable out."""
    steps = transcript(hosts)
    steps.on_both("mrcctl setup --hosts 2 --yes")
    start_daemons(hosts)
    steps.on("a", "mrcctl setup --probe")
    far = hosts.start("b", "mrc-perf", "--once")
    check(far.stdout.readline() != "", "mrc-perf on b listens")
    command = "mrc-perf b --verify -D 4"
    near = hosts.start("a", "sh", "-c", command)
    flows = wait_until(lambda: carried(hosts) > 2000 or near.poll() is not None, DEADLINE_S) and near.poll() is None
    check(flows, f"bytes flow by the second cable {'' if flows else near.communicate()[0]}")
    pull()
    said = steps.end("a", command, near)
    check("verified" in said, "every byte is right, though a cable was pulled meanwhile")
    check(wait_until(lambda: port_states(hosts, "a")[1] != "up" or not pull.takes_carrier, DEADLINE_S),
          "the port is known to be down")
    steps.on("a", "mrcctl port list")
    far.communicate(timeout=DEADLINE_S)
    check(far.returncode == 0, "and b says so, too")
    return steps.text


def carry_file(hosts, folders):
    """By the examples, from a to b, the C program to the C++ one and back."""
    steps = transcript(hosts)
    steps.on_both("mrcctl setup --hosts 2 --yes")
    start_daemons(hosts)
    steps.on("a", "mrcctl setup --probe")
    address = json.loads(steps.on("a", "mrcctl -j hosts"))[0]["address"]
    want = steps.on("a", "head -c 5000001 /dev/urandom > /root/file; sha256sum < /root/file")
    for folder in folders:
        for sender, receiver in (("send_file_c", "send_file_cpp"), ("send_file_cpp", "send_file_c")):
            far = hosts.start("b", "sh", "-c", f"exec {folder}/{receiver} > /root/copy")
            line = far.stdout.readline()
            check("waits on port" in line, f"b: {receiver} {line.strip()}")
            steps.on("a", f"{folder}/{sender} {address} /root/file")
            steps.end("b", receiver, far)
            check(steps.on("b", "sha256sum < /root/copy") == want, f"{folder}: {sender} to {receiver}, as it was")


def carried(hosts):
    said = hosts.start("a", "mrcctl", "-j", "port", "list").communicate(timeout=DEADLINE_S)[0]
    return json.loads(said)[1]["tx_packets"]


class cable_of:
    """The far end of a host's second cable."""

    takes_carrier = True

    def __init__(self, hosts, node, device):
        self.hosts, self.node, self.device = hosts, node, device

    def __call__(self):
        ip("-n", self.hosts.netns(self.node), "link", "set", self.device, "down")


def without_numbers(text):
    """Nor what differs from run to run besides: who is heard first, how bytes leave, what is lost."""
    lines = [re.sub(r"transmit by \w+|(?<=  )(sent again|paths) .*", "", line) for line in text.splitlines()]
    heard = sorted(line for line in lines if line.startswith("heard "))
    lines = [heard.pop(0) if line.startswith("heard ") else line for line in lines]
    amounts = re.sub(r"\d[\d.]*( ([kMGTun]?(bit/s|s)|[KMG]i?B|B)\b)?", "#", "\n".join(lines))
    return re.sub(r"[-\s]+", " ", amounts)


def settle_document(text, write):
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    known, _, after = rest.partition(END)
    block = f"```console\n{text}```\n"
    if write:
        DOCUMENT.write_text(before + BEGIN + block + END + after, encoding="utf-8")
    else:
        check(without_numbers(known) == without_numbers(block), f"docs/quickstart.md shows what the hosts say:\n{text}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("release", nargs="?", choices=RELEASES, default=own_release())
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--packages", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    need_root()
    if not shutil.which("mmdebstrap"):
        skip("mmdebstrap is not installed")
    archive = mirror(chosen.release)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        work.chmod(0o755)
        root = work / "root"
        if chosen.build or not chosen.packages and chosen.release != own_release():
            packages = built_packages(chosen.release, work / "builder", archive, chosen.packages or work / "packages")
        else:
            packages = chosen.packages or own_packages(work / "packages")
        make_root(chosen.release, packages, root, archive)
        with two_hosts(root) as hosts:
            cabled(hosts)
            text = walk(hosts, cable_of(hosts, "b", "eth1"))
        with two_hosts(root, "sw") as hosts:
            bridged(hosts, "a", "b")
            walk(hosts, cable_of(hosts, "sw", "aeth1"))
        settle_document(text, chosen.write)
        built = build_examples(root, packages)
        with two_hosts(root) as hosts:
            cabled(hosts)
            carry_file(hosts, built)


if __name__ == "__main__":
    main()
