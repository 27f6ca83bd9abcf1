"""Every workload over one target, small: that it runs, and that each order is completed once. No time is asserted.

    python3 tests/bench/smoke_test.py TARGET

DUELEASE_BENCH is the path of the program.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77  # What CTest takes for "not run".

# Options, and how many orders each case completes in a round; 0: none, `open` counts what waits by itself.
WORKLOADS = {
    "lifecycle": ("--orders 40 --batch 10 --connections 3", [40]),
    "payload": ("--orders 8 --batch 4 --payload 65536 --connections 2", [8]),
    "backlog": ("--orders 20 --batch 10 --waiting 30 --connections 2", [20]),
    "schedule": ("--orders 20 --batch 7 --connections 2", [20]),
    "claim": ("--orders 20 --batch 7 --connections 2", [20]),
    "delay": ("--rate 40 --seconds 0.5 --workers 3", [20]),
    "drain": ("--orders 5 --completes 50", [65]),
    "open": ("--orders 30", [0]),
}
# How many calls of each kind they time; None: it depends on how the connections meet.
CALLS = {
    "lifecycle": {"schedule": 4, "claim": None, "complete": None},
    "payload": {"schedule": 2, "claim": None, "complete": None},
    "backlog": {"schedule": 2, "claim": None, "complete": None},
    "schedule": {"schedule": 3},
    "claim": {"claim": None},
    "delay": {"delay": 20, "complete": 20},
    "drain": {"schedule": 5, "claim": 15, "complete": 15},
    "open": {},
}
# The same for every target, so one is enough.
SEVERAL_CASES = {
    "lifecycle": ("--orders 20 --batch 1,10 --connections 2,3 --seconds 60", [20, 20, 20, 20]),
    "payload": ("--orders 8 --batch 4 --payload 0,16", [8, 8]),
    "backlog": ("--orders 20 --batch 10 --waiting 10,30", [20, 20]),
    "drain": ("--orders 5 --completes 0,50", [15, 65]),
}
NOT_FOR_LIMITS = {"delay", "drain", "open"}


def run(workload, options, target, folder):
    command = [os.environ["DUELEASE_BENCH"], workload, *options.split(), "--targets", target, "--rounds", "1",
               "--folder", f"{folder}/bench", "--json", "--plot", f"{folder}/plot.svg"]
    start = time.monotonic()
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(ran.stdout) if ran.stdout else {}
    report["took_ms"] = (time.monotonic() - start) * 1000
    [why] = report.get("skipped", {}).values() or [None]
    if why and "not installed" in why:
        print(f"SKIPPED: {target}: {why}", flush=True)
        sys.exit(SKIPPED)
    if target in ("rocksdb", "disk") and workload in NOT_FOR_LIMITS:
        assert ran.returncode == 1 and why == "a limit, which has no queue", (ran, why)
        return None
    assert ran.returncode == 0, f"{command}\n{ran.stderr}"
    return report


def check(report, workload, completed, single):
    """`single`: it ran with the options of WORKLOADS."""
    assert [one["workload"] for one in report["results"]] == [workload] * len(completed)
    for one, orders in zip(report["results"], completed):
        [measured] = one["targets"]
        assert measured["completed"] == [orders], measured
        assert measured["resident_bytes"] > 1_000_000, measured
        for figure in measured["figures"]:
            assert figure["lowest"] <= figure["median"] <= figure["highest"], figure
            assert figure["median"] > 0, figure
        latencies = measured["latencies_ms"]
        limit = measured["target"] in ("rocksdb", "disk")
        assert set(latencies) == (set() if limit else set(CALLS[workload])), latencies
        for call, latency in latencies.items():
            assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["p99_9"], (call, latency)
            assert latency["p99_9"] <= latency["max"] <= report["took_ms"], (call, latency)
            wanted = CALLS[workload][call] if single else None
            assert latency["count"] == wanted if wanted else 0 < latency["count"] <= orders, (call, latency)


def processes_in(folder):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if folder.encode() in file.read() and int(pid) != os.getpid():
                    found.append(pid)
        except OSError:
            pass  # It is gone.
    return found


def interrupt(target, folder):
    """In the middle of a round: the servers are ended and what was made is removed."""
    with subprocess.Popen(
            [os.environ["DUELEASE_BENCH"], "lifecycle", "--orders", "100000000", "--batch", "10", "--targets", target,
             "--folder", f"{folder}/bench"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as bench:
        while len(processes_in(folder)) < 3 or not os.listdir(f"{folder}/bench"):  # It, its child, the server.
            assert bench.poll() is None, bench.stderr.read()
            time.sleep(0.01)
        bench.terminate()
        said = bench.communicate()[1]
        assert bench.returncode == 1 and said.endswith(": interrupted\n"), (bench.returncode, said)
    assert processes_in(folder) == []


def wrong_words(folder):
    for words, complaint in ((["lifecycle", "--targets", "mysql"], "no such target: mysql"),
                             (["lifecycle", "--batch", "0"], "--batch"),
                             (["lifecycle", "--payload", "65537"], "--payload"),
                             (["lifecycle", "--seconds", "nan"], "nan is no number"),
                             (["delay", "--seconds", "NaN"], "NaN is no number"),
                             (["sprint"], "A subcommand is required")):
        ran = subprocess.run([os.environ["DUELEASE_BENCH"], *words, "--folder", f"{folder}/bench"],
                             capture_output=True, text=True, check=False)
        assert ran.returncode > 100 and complaint in ran.stderr, (words, ran)


def leaves_nothing(folder):
    """Neither after a picture that cannot be written, which is told before anything is measured, nor when all is well."""
    words = [os.environ["DUELEASE_BENCH"], "lifecycle", "--orders", "1", "--batch", "1", "--targets", "engine",
             "--rounds", "1", "--folder", f"{folder}/a/b"]
    ran = subprocess.run([*words, "--plot", f"{folder}/none/plot.svg"], capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and "cannot write" in ran.stderr and ran.stdout == "", ran
    subprocess.run(words, capture_output=True, check=True)
    assert not os.path.exists(f"{folder}/a"), os.listdir(folder)


def unreachable_folder(target, folder):
    """PostgreSQL as another user: told before anything is measured."""
    os.mkdir(f"{folder}/closed", 0o700)
    ran = subprocess.run([os.environ["DUELEASE_BENCH"], "lifecycle", "--targets", target, "--folder",
                          f"{folder}/closed/bench"], capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and f"may not pass {folder}/closed;" in ran.stderr, ran
    os.rmdir(f"{folder}/closed")


def main():
    target = sys.argv[1]
    # In memory where there is such a place: a test of a database syncs much.
    folder = tempfile.mkdtemp(prefix="duelease-bench-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    os.chmod(folder, 0o755)  # PostgreSQL may run as another user.
    try:
        several = SEVERAL_CASES if target == "engine" else {}
        for workload, (options, completed) in [*WORKLOADS.items(), *several.items()]:
            report = run(workload, options, target, folder)
            if report:
                check(report, workload, completed, single=options == WORKLOADS[workload][0])
                with open(f"{folder}/plot.svg", encoding="utf-8") as file:
                    assert file.read().endswith("</svg>\n")
        if target == "engine":
            wrong_words(folder)
            leaves_nothing(folder)
        if target == "postgres" and os.geteuid() == 0:
            unreachable_folder(target, folder)
        if target == "server":
            interrupt(target, folder)
        assert not os.path.exists(f"{folder}/bench"), "it left something behind"
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
