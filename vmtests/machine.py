# SPDX-License-Identifier: Apache-2.0
"""Boots one kernel with virtme-ng, waits for it with a deadline, and brings back what the guest left."""

import dataclasses
import functools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import packages

SOURCE = pathlib.Path(__file__).resolve().parents[1]
MEMORY = "1G"
CPUS = "2"
KVM_PROBE_SECONDS = 2
CONSOLE_LINES = 60
# Boot sector: mov al, 0; out 0xf4, al; hlt. Its write to isa-debug-exit ends QEMU with status 1.
EXIT_AT_ONCE = b"\xb0\x00\xe6\xf4\xf4".ljust(510, b"\0") + b"\x55\xaa"


@dataclasses.dataclass
class outcome:
    status: int | None  # of the suite; None: it did not come to its end
    output: str
    boot_seconds: str
    console: str


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


def _command(kernel, suite, share):
    image, modules = packages.kernel_image(kernel)
    release = image.name.removeprefix("vmlinuz-")
    command = ["/usr/bin/python3", "-m", "virtme.commands.run", "--kimg", str(image), "--mods=auto", "--force-9p",
               "--memory", MEMORY, "--cpus", CPUS, "--root", "/",
               # virtme-run checks the shared folder against a list that is empty without this; our init ignores it.
               "--overlay-rwdir", "/var", "--rwdir", f"{share}={share}",
               # The first init= counts; virtme-run appends its own.
               "--kopt", f"init={SOURCE}/vmtests/guest-init", "--kopt", f"mrc_source={SOURCE}",
               "--kopt", f"mrc_bin={os.environ.get('MRC_BIN') or SOURCE / 'build/bin'}", "--kopt", f"mrc_suite={suite}",
               # An emulated guest that is starved of CPU for a moment finds its timer interrupts missing, and panics.
               "--kopt", "no_timer_check", "--kopt", "mitigations=off"]
    if not kvm_works():
        command.append("--disable-kvm")
    if suite != "shell":
        # Keeps the console on standard output, away from any terminal.
        command += ["--show-boot-console", "--script-sh", "true"]
    return command, release, modules


def _environment():
    # virtme-run looks for depmod and modprobe; a plain user's PATH lacks sbin.
    return {**os.environ, "PYTHONPATH": str(packages.virtme()), "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}


def shell(kernel, share):
    """An interactive shell in the guest, on this terminal."""
    command, _, _ = _command(kernel, "shell", share)
    return subprocess.run(command, cwd="/", env=_environment(), check=False).returncode


def boot(kernel, suite, share, seconds):
    """Runs one suite on one kernel."""
    command, _, _ = _command(kernel, suite, share)
    with open(share / "console", "wb") as console:
        # cwd: virtme-run takes guest paths relative to it. A session of its own: one kill ends QEMU too.
        # `timeout` is for the case that this process is killed: the machine must not outlive it for long.
        process = subprocess.Popen(["timeout", "--signal=KILL", str(seconds + 30), *command], cwd="/",
                                   env=_environment(), stdin=subprocess.DEVNULL, stdout=console,
                                   stderr=subprocess.STDOUT, start_new_session=True)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        print(f"vmtests: kernel {kernel} did not finish within {seconds} s", file=sys.stderr)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return _collect(share)


def _collect(share):
    def text(name):
        path = share / name
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    console = "\n".join(text("console").splitlines()[-CONSOLE_LINES:])
    status = text("status").strip()
    return outcome(int(status) if status else None, text("output"), text("boot_seconds").strip() or "-", console)


def new_share():
    """A folder that host and guest both write to. It lies in the cache: the guest sees it at the same place."""
    packages.CACHE.mkdir(parents=True, exist_ok=True)
    return pathlib.Path(tempfile.mkdtemp(prefix=f"run-{int(time.time())}-", dir=packages.CACHE))
