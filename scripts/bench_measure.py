"""Measuring processes for scripts/bench: CPU seconds, wall seconds and peak memory, and bars to hold them to.

Linux counts into a process's `ru_maxrss` the memory of the process that it was forked from. So that a
script of some 10 MiB does not hide how much a command of 5 MiB needs, commands are started by a shell,
which is smaller, in the background; the shell ends, and this process, which has made itself the
"subreaper" of its descendants, inherits the command and waits for it with `wait4`. What that returns holds
the command and every descendant that the command waited for (a pool of worker processes, for example).
"""

import ctypes
import os
import pathlib
import shlex
import signal
import statistics
import subprocess
import threading
import time
from typing import NamedTuple

MIB = 1 << 20
PR_SET_CHILD_SUBREAPER = 36


class Trouble(Exception):
    """Something that is neither a figure nor a bar: what is measured did not run, or cannot be built."""


class Job(NamedTuple):
    """A command, where its output goes, the files that it gets through a pipe, and the exit codes that are fine."""

    argv: list
    out: str = os.devnull
    piped: tuple = ()
    codes: tuple = (0,)


class Run(NamedTuple):
    """One measurement: seconds, seconds, MiB, and whether it was stopped for taking too long."""

    cpu: float
    wall: float
    peak: float
    stopped: bool = False


def adopt_descendants():
    """Makes this process inherit what its children leave running."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise Trouble("prctl(PR_SET_CHILD_SUBREAPER) failed; this script needs Linux")


def measure(jobs, work, limit=None):
    """Runs the jobs at once: the sum of their CPU seconds, the wall time until the last has ended, the largest
    peak. What `cat` needs for a pipe is not counted. The folder `work` gets a named pipe and standard error.

    Each job waits until the named pipe is opened for writing, which is done when the shell has ended: one
    that ended before would be waited for by the shell.
    """
    gate, errors = work / "gate", work / "stderr"
    gate.unlink(missing_ok=True)
    os.mkfifo(gate)
    for job in jobs:
        remove_output(job)
    script = "\n".join(shell_line(job, gate, errors) for job in jobs)
    started = subprocess.run(["/bin/sh", "-c", script], stdout=subprocess.PIPE, check=True)
    pids = [int(word) for word in started.stdout.split()]
    stopped = threading.Event()
    timer = threading.Timer(limit or threading.TIMEOUT_MAX, stop, (pids, stopped))
    timer.daemon = True
    timer.start()
    with open(gate, "wb"):
        begin = time.perf_counter()
        ended = [os.wait4(pid, 0)[1:] for pid in pids]
        wall = time.perf_counter() - begin
    timer.cancel()
    reap_the_rest()
    for job, (status, _) in zip(jobs, ended):
        if not stopped.is_set():
            check_code(job, os.waitstatus_to_exitcode(status), errors)
    cpu = sum(usage.ru_utime + usage.ru_stime for _, usage in ended)
    return Run(cpu, wall, max(usage.ru_maxrss for _, usage in ended) * 1024 / MIB, stopped.is_set())


def remove_output(job):
    """Emptying a large file takes CPU time, which the command would be charged for."""
    if str(job.out) != os.devnull:
        pathlib.Path(job.out).unlink(missing_ok=True)


def shell_line(job, gate, errors):
    """Starts one job in the background, its standard input empty or a pipe, and prints its process id."""
    pipe = f"cat {shlex.join(map(str, job.piped))} | " if job.piped else ""
    argv = shlex.join(map(str, job.argv))
    gate, out, errors = (shlex.quote(str(path)) for path in (gate, job.out, errors))
    return f"{pipe}(: <{gate}; exec {argv}) >{out} 2>{errors} & echo $!"


def stop(pids, stopped):
    stopped.set()
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def reap_the_rest():
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def check_code(job, code, errors):
    if code not in job.codes:
        with open(errors, encoding="utf-8", errors="replace") as file:
            raise Trouble(f"{shlex.join(map(str, job.argv))} ended with {code}: {file.read(2000)}")


class Others:
    """How much of the machine was not ours: used by other processes, or given to other machines."""

    def __init__(self):
        self.begin = self.now()

    def now(self):
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
        used = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        return used - sum(os.times()[:4]), time.perf_counter()

    def cores(self):
        """Cores taken by others since this was made, on average."""
        (used, clock), (used_before, clock_before) = self.now(), self.begin
        return max(0.0, (used - used_before) / (clock - clock_before))


def start_up(argv, codes, times):
    """Wall milliseconds of a command that has next to nothing to do."""
    runs = []
    for _ in range(times):
        begin = time.perf_counter()
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        runs.append((time.perf_counter() - begin) * 1000)
        if done.returncode not in codes:
            raise Trouble(f"{shlex.join(map(str, argv))} ended with {done.returncode}")
    return runs


def median(runs, field):
    return statistics.median(getattr(run, field) for run in runs)


def summary(runs, size):
    """What a table and the JSON say of one row."""
    row = {"bytes": size, "runs": [run._asdict() for run in runs], "stopped": any(run.stopped for run in runs)}
    for field in ("cpu", "wall", "peak"):
        row[field] = {
            "median": median(runs, field),
            "min": min(getattr(run, field) for run in runs),
            "max": max(getattr(run, field) for run in runs),
        }
    row["gb_per_s"] = size / 1e9 / row["wall"]["median"]
    return row


def bar(what, value, at_most=None, at_least=None, unit="", spread=None):
    """A figure and the bar that it is held to; without a bar it is only told."""
    met = None if at_most is None and at_least is None else value is not None
    if met and at_most is not None:
        met = value <= at_most
    if met and at_least is not None:
        met = value >= at_least
    told = {"what": what, "value": value, "unit": unit, "spread": spread}
    return {**told, "at_most": at_most, "at_least": at_least, "met": met}


def table(header, rows, right):
    """Lines of text in columns; the columns whose numbers are in `right` are aligned to the right."""
    texts = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in texts) for column in range(len(header))]
    aligned = lambda cell, column: cell.rjust(widths[column]) if column in right else cell.ljust(widths[column])
    lines = ["  ".join(aligned(cell, column) for column, cell in enumerate(row)).rstrip() for row in texts]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def bars_table(bars):
    """The bars as text: the figure, its spread over the rounds, the bar, and whether it is met."""

    def text(number, unit):
        return "-" if number is None else f"{number:.3g}{unit}"

    rows = []
    for each in bars:
        limit = f"<= {each['at_most']:g}" if each["at_most"] is not None else ""
        limit = f">= {each['at_least']:g}" if each["at_least"] is not None else limit
        spread = f"[{each['spread'][0]:.3g}..{each['spread'][1]:.3g}]" if each["spread"] else ""
        verdict = {True: "met", False: "MISSED", None: ""}[each["met"]]
        rows.append((each["what"], text(each["value"], each["unit"]), spread, limit, verdict))
    return table(("what", "value", "rounds", "bar", ""), rows, {1, 2})
