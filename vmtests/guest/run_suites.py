# SPDX-License-Identifier: Apache-2.0
"""In a test VM: runs the suites of plan.json in turn, and writes for each what came of it.

After each suite the kernel log is read and the machine compared with what it was before. When either is not as it
should be, or the suite did not end in time, the machine ends here: suites that are left need a fresh one.
"""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(os.environ["MRC_SOURCE"])
sys.path[:0] = [str(SOURCE / "vmtests"), str(SOURCE / "vmtests/guest"), str(SOURCE / "scripts")]

import kernel_log  # noqa: E402
import leftovers  # noqa: E402

TERMINATE_SECONDS = 10
LEAK_FILE = pathlib.Path("/sys/kernel/debug/kmemleak")


class kernel_messages:
    """The kernel log, read piece by piece: a mark ends each, and is where the next begins."""

    def __init__(self):
        self.last_mark = None

    def read(self, what):
        """What the kernel said since the last reading; `what` names it."""
        first, self.last_mark = self.last_mark, kernel_log.MARK + what
        pathlib.Path("/dev/kmsg").write_text(self.last_mark + "\n", encoding="utf-8")
        log = subprocess.run(["dmesg"], capture_output=True, check=True).stdout.decode(errors="replace")
        return kernel_log.between(log, first, self.last_mark)


def scan_for_leaks(log):
    """Where the kernel looks for unreferenced memory: twice, for the first scan only finds what may be one."""
    if not LEAK_FILE.exists():
        return log
    for _ in range(2):
        LEAK_FILE.write_text("scan", encoding="ascii")
    return log + LEAK_FILE.read_text(encoding="utf-8", errors="replace")


def ask_for_blocked_tasks(output):
    """A suite that hangs: what waits in the kernel goes to the kernel log, what runs to the suite's output."""
    pathlib.Path("/proc/sysrq-trigger").write_text("w", encoding="ascii")
    command = ["ps", "--ppid", "2", "-p", "2", "--deselect", "-o", "pid,ppid,stat,wchan:24,time,args", "--forest"]
    shown = subprocess.run(command, capture_output=True, check=False).stdout.decode(errors="replace")
    output.write("processes at the deadline:\n" + shown)
    output.flush()


def load_module(name):
    """Whether this kernel has the module, which then is loaded."""
    loaded = subprocess.run(["modprobe", name], capture_output=True, text=True, check=False)
    if loaded.returncode == 0 or pathlib.Path("/sys/module", name).exists():
        return True
    base = ["-b", "/run/kernel"] if pathlib.Path("/run/kernel/lib/modules", os.uname().release).exists() else []
    if subprocess.run(["modinfo", *base, name], capture_output=True, check=False).returncode == 0:
        raise RuntimeError(f"modprobe {name} failed: {loaded.stderr.strip()}")
    return False


def environment_of(plan, folder):
    return {**os.environ, "MRC_BIN": plan["bin"], "MRC_VM_RESULTS": str(folder),
            "MRC_VM_SHARED": str(folder.parents[2] / "shared"), "MRC_VM_MACHINES": str(plan["machines"]),
            "MRC_TIME_SCALE": str(plan["time_scale"])}


def run_program(one, plan, folder):
    """(exit status, or None after the deadline) of a suite's program."""
    with open(folder / "output", "a", encoding="utf-8") as output:
        try:
            absent = [name for name in one["modules"] if not load_module(name)]
        except RuntimeError as error:
            output.write(f"FAIL: {error}\n")
            return 1
        if absent:
            output.write(f"SKIP: this kernel has no module {', '.join(absent)}\n")
            return 77
        process = subprocess.Popen([str(SOURCE / "vmtests/suites" / one["name"])], stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, env=environment_of(plan, folder),
                                   start_new_session=True)
        try:
            return process.wait(one["seconds"])
        except subprocess.TimeoutExpired:
            ask_for_blocked_tasks(output)
            for number, seconds in ((signal.SIGTERM, TERMINATE_SECONDS), (signal.SIGKILL, TERMINATE_SECONDS)):
                try:
                    os.killpg(process.pid, number)
                    process.wait(seconds)
                    break
                except (subprocess.TimeoutExpired, ProcessLookupError):
                    pass
            return None


def run_suite(one, plan, folder, messages, exceptions):
    """Runs a suite; returns whether the machine is fit for the next."""
    folder.mkdir(parents=True)
    begin = time.monotonic()
    before = leftovers.state()
    status = run_program(one, plan, folder)
    left = leftovers.left(before)
    log = scan_for_leaks(messages.read(f"end of suite {one['name']}"))
    (folder / "dmesg").write_text(log, encoding="utf-8")
    found = [vars(each) for each in kernel_log.findings(log, exceptions)]
    write(folder / "result.json", {"status": status, "seconds": time.monotonic() - begin,
                                   "deadline": one["seconds"], "left": left, "findings": found})
    return status is not None and not left and not found


def write(path, value):
    """Whoever sees the file sees all of it."""
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps(value), encoding="utf-8")
    scratch.rename(path)


def name_devices(ports):
    """Gives the links' devices, known by their addresses, the names that the suite has for them."""
    if ports:
        load_module("virtio_net")
    wanted = set(ports.values())
    for device in sorted(os.listdir("/sys/class/net")):
        address = pathlib.Path(f"/sys/class/net/{device}/address").read_text(encoding="ascii").strip()
        if address in ports:
            subprocess.run(shlex.split(f"ip link set {device} name {ports[address]}"), check=True)
            wanted.remove(ports[address])
    if wanted:
        sys.exit(f"this kernel sees no device for {', '.join(sorted(wanted))}")


def become_a_shell(plan, share):
    """With what the plan's suite would find."""
    one = plan["suites"][0]
    absent = [name for name in one["modules"] if not load_module(name)]
    print(f"suite {one['name']} is {SOURCE}/vmtests/suites/{one['name']}"
          + (f"; this kernel has no module {', '.join(absent)}" if absent else ""), flush=True)
    folder = share / "results" / one["name"]
    folder.mkdir(parents=True)
    os.execvpe("bash", ["bash", "--norc", "-i"], environment_of(plan, folder))


def main():
    share = pathlib.Path(os.environ["MRC_VM_SHARE"]) / f"machine{os.environ['MRC_VM_MACHINE']}"
    plan = json.loads((share / "plan.json").read_text(encoding="utf-8"))
    name_devices(plan["ports"])
    if "--shell" in sys.argv:
        become_a_shell(plan, share)
    exceptions = kernel_log.allowed()
    messages = kernel_messages()
    log = messages.read("end of the boot")
    (share / "dmesg").write_text(log, encoding="utf-8")
    write(share / "booted.json", {
        "release": os.uname().release,
        "seconds": float(pathlib.Path("/proc/uptime").read_text(encoding="ascii").split()[0]),
        "findings": [vars(each) for each in kernel_log.findings(log, exceptions)]})
    for one in plan["suites"]:
        if not run_suite(one, plan, share / "results" / one["name"], messages, exceptions):
            break
    write(share / "ended.json", True)


if __name__ == "__main__":
    main()
