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
# Boot sector: mov al, 0x2a; out 0xf4, al; hlt. Its write to isa-debug-exit ends QEMU with the status 0x2a * 2 + 1, none
# of QEMU's own.
EXIT_AT_ONCE = b"\xb0\x2a\xe6\xf4\xf4".ljust(510, b"\0") + b"\x55\xaa"
EXIT_STATUS = 0x2a * 2 + 1


@functools.cache
def kvm_works():
    """Nested KVM may be offered and crawl or hang: a boot sector that needs 0.2 s under emulation tells."""
    return os.access("/dev/kvm", os.R_OK | os.W_OK) and runs_code("kvm", KVM_PROBE_SECONDS)


def runs_code(accelerator, seconds):
    """Whether a boot sector comes to its end in this time."""
    with tempfile.NamedTemporaryFile(prefix="mrc-kvm-probe-") as sector:
        sector.write(EXIT_AT_ONCE)
        sector.flush()
        try:
            probe = subprocess.run(
                ["qemu-system-x86_64", "-accel", accelerator, "-display", "none", "-nodefaults", "-drive",
                 f"file={sector.name},format=raw,if=ide", "-device", "isa-debug-exit,iobase=0xf4"],
                stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return False
    return probe.returncode == EXIT_STATUS


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
            model = link.model.replace("{end}", "ab"[which])
            arguments += ["-netdev", backend, "-device", f"{model},netdev={name},mac={mac(index, which)}"]
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
    further = [*shape.qemu, *_cables(shape, number, share)]  # cards may be on buses of the suite's
    if not kvm_works():
        # A source of random numbers: without one, an emulated machine stands for seconds until it has gathered enough.
        further += ["-cpu", "qemu64,+rdrand"]
    return [*command, "--qemu-opts", *further] if further else command


def _environment():
    # virtme-run looks for depmod, modprobe and scripts of its own; a plain user's PATH lacks sbin.
    folder = packages.virtme()
    return {**os.environ, "PYTHONPATH": str(folder / "usr/lib/python3/dist-packages"),
            "PATH": f"{os.environ.get('PATH', '')}:{folder}/usr/bin:/usr/sbin:/sbin"}


def shell(kernel, one):
    """An interactive shell on this terminal, in the guest that a suite would run in."""
    if one.machine.count > 1:
        raise ValueError(f"suite {one.name} runs on {one.machine.count} machines; --shell is for suites of one")
    with new_share(1, keep=False) as share:
        _write_plan(one.machine, 0, share, [one], patience=1)
        return subprocess.run(_command(kernel, one.machine, 0, share, "shell"), cwd="/", env=_environment(),
                              check=False).returncode


def binaries():
    """The folder with what the suites run."""
    return pathlib.Path(os.environ.get("MRC_BIN") or SOURCE / "build/bin").resolve()


def _write_plan(shape, number, share, suites, patience):
    """What guest/run_suites.py reads."""
    ports = {mac(index, which): end.device for index, link in enumerate(shape.links)
             for which, end in enumerate(link.ends) if end.machine == number}
    plan = {"suites": [{"name": one.name, "seconds": one.seconds * patience, "modules": one.modules} for one in suites],
            "bin": str(binaries()), "ports": ports, "machines": shape.count,
            "time_scale": patience * (KVM_TIME_SCALE if kvm_works() else EMULATED_TIME_SCALE)}
    (share / f"machine{number}/plan.json").write_text(json.dumps(plan), encoding="utf-8")


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
        self.was_killed = False
        _write_plan(shape, number, share, suites, patience)
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
            self.was_killed = True
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
        """What the kernel reported on the console since the guest read its log for the last time."""
        return kernel_log.findings(kernel_log.after_last_mark(self.text("console")), kernel_log.allowed())


def _seconds_in_all(suites, patience):
    return (BOOT_SECONDS + sum(one.seconds + BETWEEN_SECONDS for one in suites)) * patience


@contextlib.contextmanager
def running(kernel, shape, suites, share, patience=1):
    """The machines that these suites want, started; they are gone afterwards."""
    guests = []
    try:
        for number in range(shape.count):
            guests.append(guest(kernel, shape, number, share, suites, _seconds_in_all(suites, patience), patience))
        yield guests
    finally:
        for one in guests:
            one.kill()


def wait(guests, suites, on_tick, patience=1):
    """Until all machines have ended; kills them when their time is over. on_tick(guests) is called twice a second."""
    to_boot, in_all = BOOT_SECONDS * patience, _seconds_in_all(suites, patience)
    begin = time.monotonic()
    while any(one.process.poll() is None for one in guests):
        on_tick(guests)
        is_up = all(one.said("booted.json") for one in guests)
        if time.monotonic() - begin > (in_all if is_up else to_boot):
            print(f"vmtests: did not {'finish' if is_up else 'boot'} within {in_all if is_up else to_boot} s",
                  file=sys.stderr)
            break
        with contextlib.suppress(subprocess.TimeoutExpired, StopIteration):
            next(one for one in guests if one.process.poll() is None).process.wait(TICK_SECONDS)
    for one in guests:
        one.kill()
    on_tick(guests)
