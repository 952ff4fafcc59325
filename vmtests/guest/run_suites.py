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


def kernel_messages(since=None):
    """The kernel log, from the marker on."""
    log = subprocess.run(["dmesg"], capture_output=True, check=False).stdout.decode(errors="replace")
    return log if since is None else log.rpartition(since)[2]


def mark(text):
    pathlib.Path("/dev/kmsg").write_text(f"mrc-vmtests: {text}\n", encoding="utf-8")
    return f"mrc-vmtests: {text}"


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


def missing_module(modules):
    return next((name for name in modules if subprocess.run(["modprobe", name], check=False).returncode), None)


def run_program(one, plan, folder):
    """(exit status, or None after the deadline) of a suite's program."""
    environment = {**os.environ, "MRC_BIN": plan["bin"], "MRC_VM_RESULTS": str(folder),
                   "MRC_VM_SHARED": str(folder.parents[2] / "shared"), "MRC_VM_MACHINES": str(plan["machines"]),
                   "MRC_TIME_SCALE": str(plan["time_scale"])}
    with open(folder / "output", "a", encoding="utf-8") as output:
        absent = missing_module(one["modules"])
        if absent:
            output.write(f"SKIP: this kernel has no module {absent}\n")
            return 77
        process = subprocess.Popen([str(SOURCE / "vmtests/suites" / one["name"])], stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True)
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


def run_suite(one, plan, folder, exceptions):
    """Runs a suite; returns whether the machine is fit for the next."""
    folder.mkdir(parents=True)
    begin = time.monotonic()
    marker = mark(f"suite {one['name']}")
    before = leftovers.state()
    status = run_program(one, plan, folder)
    left = leftovers.left(before)
    log = scan_for_leaks(kernel_messages(marker))
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
        subprocess.run(["modprobe", "virtio_net"], check=False)
    for device in sorted(os.listdir("/sys/class/net")):
        address = pathlib.Path(f"/sys/class/net/{device}/address").read_text(encoding="ascii").strip()
        if address in ports:
            subprocess.run(shlex.split(f"ip link set {device} name {ports[address]}"), check=True)


def main():
    share = pathlib.Path(os.environ["MRC_VM_SHARE"]) / f"machine{os.environ['MRC_VM_MACHINE']}"
    plan = json.loads((share / "plan.json").read_text(encoding="utf-8"))
    exceptions = kernel_log.allowed()
    name_devices(plan["ports"])
    log = kernel_messages()
    (share / "dmesg").write_text(log, encoding="utf-8")
    write(share / "booted.json", {
        "release": os.uname().release,
        "seconds": float(pathlib.Path("/proc/uptime").read_text(encoding="ascii").split()[0]),
        "findings": [vars(each) for each in kernel_log.findings(log, exceptions)]})
    for one in plan["suites"]:
        if not run_suite(one, plan, share / "results" / one["name"], exceptions):
            break
    write(share / "ended.json", True)


if __name__ == "__main__":
    main()
