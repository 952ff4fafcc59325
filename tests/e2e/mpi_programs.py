#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Open MPI's ranks by libmrc-fi, on hosts of a lab and within one, one case a run: what calls of MPI give, which is
compared with what they give by TCP; collectives while a plane is cut; a rank that is killed. Counters of mrcd
tell that ranks speak by MRC, and by nothing else."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from lab_support import DEADLINE_S, ROOT, check, lab, left_behind, need_binaries, need_root, skip
from libfabric_programs import LIBRARIES, PROVIDERS, check_nothing_is_left
from pinned_maps import host_maps
from transfer_support import wait_until

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from lab.processes import instance_of  # noqa: E402

PYTHON = "/usr/bin/python3"  # Debian's, which has its mpi4py
PROGRAMS = os.path.join(ROOT, "tests/mpi")
LIMIT_S = 100
PAYLOAD_BYTES = 3072  # at most, of a packet
CUT_PLANE = 1
CUT_ROUND, MORE_ROUNDS = 5, 50

BY_MRC = ["--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include", "mrc", "--mca", "btl",
          "self"]
BY_TCP = ["--mca", "pml", "ob1", "--mca", "btl", "self,tcp"]


class mpirun:
    """On h0, with `ranks` = {host: how many}; by its end, or earlier, all of its ranks have ended."""

    def __init__(self, fabric, folder, ranks, by, *program):
        self.folder = folder
        self.log = os.path.join(folder, "mpirun.log")
        words = ["mpirun", "--allow-run-as-root", "-H", ",".join(f"{host}:{count}" for host, count in ranks.items()),
                 "--mca", "plm_rsh_agent", os.path.join(PROGRAMS, "enter_host"), "--mca", "mpi_yield_when_idle", "1",
                 "--mca", "osc", "pt2pt",
                 "--wdir", folder, *[word for name in ("FI_PROVIDER_PATH", "FI_LOG_LEVEL", "FI_LOG_PROV")
                                     for word in ("-x", name)],
                 *by, *program]
        env = {**os.environ, **PROVIDERS, "MRC_LAB": fabric.prefix, "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1",
               "MRC_INSTANCE": instance_of(fabric.prefix, "h0")}
        as_h0 = ["unshare", "--uts", "--", "bash", "-c", 'hostname h0 && exec "$@"', "h0", *words]
        with open(self.log, "wb") as output:
            self.process = subprocess.Popen(fabric.enter("h0", *as_h0), env=env, stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=output)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def wait_for(self, text):
        def there():
            return text in self.said() or self.process.poll() is not None
        if not wait_until(there, LIMIT_S) or text not in self.said():
            sys.exit(f"FAIL: no '{text}' from {self.process.args[-1]}: {self.said()}")

    def succeeds(self):
        try:
            status = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            sys.exit(f"FAIL: {self.process.args[-1]} hangs after {self.said()}")
        if status != 0:
            sys.exit(f"FAIL: {self.process.args[-1]}: status {status}: {self.said()}")
        return self.said()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)  # it ends its ranks
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(DEADLINE_S)
            self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def running(fabric, *what, files=()):
    """`files`, {name: content}, are in the folder that ranks begin in."""
    with tempfile.TemporaryDirectory() as folder:
        for name in files:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(files[name])
        started = mpirun(fabric, folder, *what)
        try:
            yield started
        finally:
            started.end()


class accepted_packets:
    """What mrcd has taken of MRC's packets since: from its ports, and from queue pairs of its own host."""

    def __init__(self, fabric, hosts):
        self.maps = {host: host_maps(instance_of(fabric.prefix, host)) for host in hosts}
        self.before = self.counted()

    def counted(self):
        found = {host: maps.verdicts() for host, maps in self.maps.items()}
        return {host: (verdicts["MRC_AGENT_ACCEPTED"], verdicts["MRC_AGENT_LOCAL"]) for host, verdicts in found.items()}

    def since(self, host):
        now, before = self.counted()[host], self.before[host]
        return now[0] - before[0], now[1] - before[1]


def results(said):
    """What ranks said of each call, and the SHA-256 of what it gave them, in whatever order."""
    return sorted(re.findall(r"^(rank \d+ .*) ([0-9a-f]{64})$", said, re.M))


# Every rank sends as much, at the least, to its neighbour: messages of tests/mpi/every_call.py.
NEIGHBOURS_BYTES = 6 << 20


def calls(fabric):
    """Two ranks a host: every second neighbour is on the same one."""
    ranks = {"h0": 2, "h1": 2}
    counters = accepted_packets(fabric, ranks)
    with running(fabric, ranks, BY_MRC, PYTHON, os.path.join(PROGRAMS, "every_call.py")) as job:
        by_mrc = results(job.succeeds())
    counted = {host: counters.since(host) for host in ranks}
    check_nothing_is_left(fabric)
    again = accepted_packets(fabric, ranks)
    with running(fabric, ranks, BY_TCP, PYTHON, os.path.join(PROGRAMS, "every_call.py")) as job:
        by_tcp = results(job.succeeds())
    check(len(by_tcp) > 200, f"ranks tell {len(by_tcp)} results of calls")
    check(by_mrc == by_tcp, f"they are those of TCP, but for: {sorted(set(by_mrc) ^ set(by_tcp))}")
    for host, by in counted.items():
        check(min(by) > NEIGHBOURS_BYTES / PAYLOAD_BYTES,
              f"{host} has got {by[0]} packets of MRC by its ports, and {by[1]} from its own queue pairs")
        check(again.since(host)[1] == 0, "and none while TCP was used")


@contextlib.contextmanager
def rounds(fabric, how):
    """A rank on each host, until the file is there that is given with them."""
    with tempfile.TemporaryDirectory() as folder:
        enough = pathlib.Path(folder) / "enough"
        with running(fabric, {"h0": 1, "h1": 1}, how, PYTHON, os.path.join(PROGRAMS, "rounds.py"),
                     str(enough)) as job:
            yield job, enough


def cut_between_rounds(fabric, how):
    """How many there were."""
    with rounds(fabric, how) as (job, enough):
        job.wait_for(f"round {CUT_ROUND}\n")
        fabric.run("plane", str(CUT_PLANE), "down")
        when_cut = job.said().count("\nround ")
        job.wait_for(f"round {when_cut + MORE_ROUNDS}\n")
        enough.touch()
        said = job.succeeds()
    check("rank 0 complete" in said and "rank 1 complete" in said,
          f"plane {CUT_PLANE} is cut after {when_cut} rounds, and every number of them and {MORE_ROUNDS} more is right")
    return when_cut + MORE_ROUNDS


def cut(fabric):
    cut_between_rounds(fabric, BY_MRC)
    check_nothing_is_left(fabric)


def killed(fabric):
    with rounds(fabric, BY_MRC) as (job, _):
        job.wait_for(f"round {CUT_ROUND}\n")
        os.kill(int(re.search(r"^rank 1 process (\d+)$", job.said(), re.M)[1]), signal.SIGKILL)
        check(wait_until(lambda: job.process.poll() is not None, DEADLINE_S), "the job ends")
        said = job.said()
        check(job.process.returncode != 0 and "rank 1" in said.partition("mpirun noticed that process")[2],
              f"with Open MPI's own words: {said.partition('mpirun noticed')[2]}")
    check_nothing_is_left(fabric)


HPCC_INPUT = """HPLinpack benchmark input file
of a test
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
200          Ns
1            # of NBs
40           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0                               Number of additional problem sizes for PTRANS
1200                            values of N
0                               number of additional blocking sizes for PTRANS
40                              values of NB
"""


def need_program(name):
    if shutil.which(name) is None:
        skip(f"{name} is not installed (scripts/setup --test)")


def hpcc(fabric):
    """HPC Challenge: linear algebra, transposition, random access, FFT, bandwidth and latency; it checks itself."""
    need_program("hpcc")
    counters = accepted_packets(fabric, ["h0", "h1"])
    with running(fabric, {"h0": 1, "h1": 1}, BY_MRC, "hpcc", files={"hpccinf.txt": HPCC_INPUT}) as job:
        job.succeeds()
        with open(os.path.join(job.folder, "hpccoutf.txt"), encoding="utf-8") as output:
            said = output.read()
    check("Success=1" in said and "FAILED" not in said, f"hpcc finds all results right: {said.count('PASSED')} passed")
    for host in ("h0", "h1"):
        check(counters.since(host)[0] > 1000, f"{host} has got {counters.since(host)[0]} packets of MRC")
    check_nothing_is_left(fabric)


def netpipe(fabric):
    need_program("NPopenmpi")
    counters = accepted_packets(fabric, ["h0", "h1"])
    with running(fabric, {"h0": 1, "h1": 1}, BY_MRC, "NPopenmpi", "-i", "-u", "300000", "-n", "3") as job:
        said = job.succeeds()
    check(said.count("Integrity check passed") > 30, "messages of all sizes arrive whole")
    for host in ("h0", "h1"):
        check(counters.since(host)[0] > 1000, f"{host} has got {counters.since(host)[0]} packets of MRC")
    check_nothing_is_left(fabric)


CASES = {"calls": calls, "cut": cut, "killed": killed, "hpcc": hpcc, "netpipe": netpipe}


def need_mpi():
    if subprocess.run([PYTHON, "-c", "import mpi4py.MPI"], check=False, capture_output=True).returncode != 0:
        skip("openmpi-bin or python3-mpi4py is not installed (scripts/setup --test)")
    if not os.path.exists(os.path.join(LIBRARIES, "libmrc-fi.so")):
        skip("libmrc-fi is not built")


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: mpi_programs.py CASE; cases: {', '.join(CASES)}")
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl")
    need_mpi()
    with lab("mpi", "--planes", "2", "--hosts", "2", "--ipv4") as fabric:
        CASES[sys.argv[1]](fabric)
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
