# SPDX-License-Identifier: Apache-2.0
"""Boots one kernel with virtme-ng, in as many machines as its suites want, waits with a deadline, and brings back what
the guests left."""

import contextlib
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import kernel_log
import packages

SOURCE = pathlib.Path(__file__).resolve().parents[1]
BOOT_SECONDS = 120
# After a suite: its end, its clean-up, the leak scans.
BETWEEN_SECONDS = 45
KVM_PROBE_SECONDS = 2
CONSOLE_LINES = 60
TICK_SECONDS = 0.5
# By how much tests make their time limits longer, which are several times what is needed on an ordinary machine.
EMULATED_TIME_SCALE, KVM_TIME_SCALE = 5, 2
# Boot sector: mov al, 0; out 0xf4, al; hlt. Its write to isa-debug-exit ends QEMU with status 1.
EXIT_AT_ONCE = b"\xb0\x00\xe6\xf4\xf4".ljust(510, b"\0") + b"\x55\xaa"


@functools.cache
def kvm_works():
    """Nested KVM may be offered and crawl or hang: a boot sector that needs 0.2 s under emulation tells."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    with tempfile.NamedTemporaryFile(prefix="mrc-kvm-probe-") as sector:
        sector.write(EXIT_AT_ONCE)
        sector.flush()
        try:
            probe = subprocess.run(
                ["qemu-system-x86_64", "-accel", "kvm", "-display", "none", "-nodefaults", "-drive",
                 f"file={sector.name},format=raw,if=ide", "-device", "isa-debug-exit,iobase=0xf4"],
                stdin=subprocess.DEVNULL, capture_output=True, timeout=KVM_PROBE_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return False
    return probe.returncode == 1


def mac(link, end):
    return f"52:54:00:6d:{link:02x}:{end:02x}"


def _cables(shape, number, share):
    """QEMU's arguments for the ends of links that machine `number` has. Both ends in one machine: a hub of its own;
    ends in two: a pair of datagram sockets, which work whichever machine starts first."""
    arguments = []
    for index, link in enumerate(shape.links):
        inside = link.ends[0].machine == link.ends[1].machine
        for which, end in enumerate(link.ends):
            if end.machine != number:
                continue
            name = f"link{index}{'ab'[which]}"
            socket, far = (share / f"link{index}{letter}" for letter in ("ab", "ba")[which])
            backend = f"hubport,id={name},hubid={index}" if inside else (
                f"dgram,id={name},local.type=unix,local.path={socket},remote.type=unix,remote.path={far}")
            arguments += ["-netdev", backend, "-device", f"{link.model},netdev={name},mac={mac(index, which)}"]
    return arguments


def _command(kernel, shape, number, share, init):
    command = ["/usr/bin/python3", "-m", "virtme.commands.run", *kernel.options, "--force-9p",
               "--memory", f"{shape.memory_mb}M", "--cpus", str(shape.cpus), "--root", "/",
               # virtme-run checks the shared folder against a list that is empty without this, and packs the overlay
               # module for it; our init makes its own overlays.
               "--overlay-rwdir", "/var", "--rwdir", f"{share}={share}",
               # For guest/init, which mounts it with a cache.
               "--rodir", "/mnt=/"]
    options = [
        # The first init= counts; virtme-run appends its own.
        f"init={SOURCE}/vmtests/guest/init", f"mrc_source={SOURCE}", f"mrc_machine={number}", f"mrc_init={init}",
        # An emulated guest that is starved of CPU for a moment finds its timer interrupts missing, and panics.
        "no_timer_check", "mitigations=off",
        # The same starvation is no lock-up.
        "watchdog_thresh=60", "rcupdate.rcu_cpu_stall_timeout=120",
        # Ordinary grace periods are slow under emulation: `unshare --net` took 1.5 s, and so 0.4 s, on a busy host.
        "rcupdate.rcu_expedited=1",
        # All of it: the console is what a machine that hangs leaves.
        "loglevel=7", "log_buf_len=4M", "net.ifnames=0", *shape.kernel_options]
    for option in options:
        command += ["--kopt", option]
    if not kvm_works():
        # Emulated CPUs' counters are apart; 6.1 notices and takes another clock by itself, the newest does not.
        command += ["--disable-kvm", "--kopt", "tsc=unstable"]
    if init != "shell":
        # Keeps the console on standard output, away from any terminal.
        command += ["--show-boot-console", "--script-sh", "true"]
    further = [*_cables(shape, number, share), *shape.qemu]
    return [*command, "--qemu-opts", *further] if further else command


def _environment():
    # virtme-run looks for depmod, modprobe and scripts of its own; a plain user's PATH lacks sbin.
    folder = packages.virtme()
    return {**os.environ, "PYTHONPATH": str(folder / "usr/lib/python3/dist-packages"),
            "PATH": f"{os.environ.get('PATH', '')}:{folder}/usr/bin:/usr/sbin:/sbin"}


def shell(kernel, shape):
    """An interactive shell in the guest, on this terminal."""
    with new_share(shape.count, keep=False) as share:
        return subprocess.run(_command(kernel, shape, 0, share, "shell"), cwd="/", env=_environment(),
                              check=False).returncode


@contextlib.contextmanager
def new_share(machines, keep):
    """A folder that host and guests write to. It lies in the cache: guests see it at the same place."""
    packages.CACHE.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"run-{int(time.time())}-", dir=packages.CACHE))
    for number in range(machines):
        (folder / f"machine{number}").mkdir()
    (folder / "shared").mkdir()
    try:
        yield folder
    finally:
        if keep:
            print(f"vmtests: kept {folder}")
        else:
            shutil.rmtree(folder)


class guest:
    """One machine that runs, and its folder."""

    def __init__(self, kernel, shape, number, share, suites, seconds, patience):
        self.folder = share / f"machine{number}"
        ports = {mac(index, which): end.device for index, link in enumerate(shape.links)
                 for which, end in enumerate(link.ends) if end.machine == number}
        plan = {"suites": [{"name": one.name, "seconds": one.seconds * patience, "modules": one.modules}
                           for one in suites],
                "bin": os.environ.get("MRC_BIN") or str(SOURCE / "build/bin"), "ports": ports, "machines": shape.count,
                "time_scale": patience * (KVM_TIME_SCALE if kvm_works() else EMULATED_TIME_SCALE)}
        (self.folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        with open(self.folder / "console", "wb") as console:
            # cwd: virtme-run takes guest paths relative to it. A session of its own: one kill ends QEMU too.
            # `timeout` is for the case that this process is killed: the machine must not outlive it for long.
            self.process = subprocess.Popen(
                ["timeout", "--signal=KILL", str(int(seconds) + 30),
                 *_command(kernel, shape, number, share, shape.init)],
                cwd="/", env=_environment(), stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT,
                start_new_session=True)

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def text(self, name):
        path = self.folder / name
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def said(self, name):
        """What the guest wrote as JSON, or None."""
        text = self.text(name)
        return json.loads(text) if text else None

    def console(self):
        return "\n".join(self.text("console").splitlines()[-CONSOLE_LINES:])

    def last_words(self):
        """What the kernel reported on the console, for a machine that did not come to its end."""
        return kernel_log.findings(self.text("console"), kernel_log.allowed())


def run(kernel, shape, suites, share, on_tick, patience=1):
    """Boots the machines for these suites, and returns them when all have ended or their time was over. on_tick(guests)
    is called twice a second; `patience` makes the time longer."""
    to_boot = BOOT_SECONDS * patience
    in_all = to_boot + sum(one.seconds + BETWEEN_SECONDS for one in suites) * patience
    begin = time.monotonic()
    guests = [guest(kernel, shape, number, share, suites, in_all, patience) for number in range(shape.count)]
    try:
        while any(one.process.poll() is None for one in guests):
            on_tick(guests)
            is_up = all(one.said("booted.json") for one in guests)
            if time.monotonic() - begin > (in_all if is_up else to_boot):
                print(f"vmtests: kernel {kernel.asked} did not {'finish' if is_up else 'boot'} within "
                      f"{in_all if is_up else to_boot} s", file=sys.stderr)
                break
            try:
                next(one for one in guests if one.process.poll() is None).process.wait(TICK_SECONDS)
            except (subprocess.TimeoutExpired, StopIteration):
                pass
    finally:
        for one in guests:
            one.kill()
    on_tick(guests)
    return guests
