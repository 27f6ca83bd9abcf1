#!/usr/bin/env python3
"""An import of many rows beside redis-cli --pipe, and a reconcile of rows that change nothing.

    bench/import_million.py [--rows 1000000] [--rounds 3]

Needs build/duelease (or DUELEASE_PROGRAM) and redis-server. All folders lie under the temporary folder (TMPDIR), which
should be a disk. Rounds alternate, so that a slow minute of the machine hits both. Prints one line of JSON.

import: a CSV file becomes the orders of a new store, at level interval: opening and closing the store counts. Each is
tested for duplicates, and has its row as payload.
redis: the same ids with their due times as scores, into a sorted set with ZADD, by redis-cli --pipe; the append-only
file is synced every second. The sorted set has no payloads and no states.
reconcile: the same file once more with --cancel-missing, on the store (seconds), and by a server of it, where the last
sequence and the bytes of the store's files are looked at before and after: a reconcile that finds nothing to change
writes nothing.

Memory is the highest resident size of each process; of redis that of the server and the client together.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, f"{root}/tests/peers")
os.environ.setdefault("DUELEASE_PROGRAM", f"{root}/build/duelease")
sys.dont_write_bytecode = True
from redis_server import redis_cli, redis_server  # noqa: E402
from server import Server  # noqa: E402


def write_rows(arguments, folder):
    """rows.csv, and rows.resp for redis-cli --pipe."""
    rng = random.Random(1)
    first = int(time.time() * 1000) + 86_400_000
    with open(f"{folder}/rows.csv", "w", encoding="ascii") as csv, open(f"{folder}/rows.resp", "wb") as resp:
        csv.write("id,due,customer,amount\n")
        for i in range(arguments.rows):
            due = first + rng.randrange(365 * 86_400_000)
            csv.write(f"order-{i:07},{due},customer-{rng.randrange(100_000)},{rng.randrange(100_000)}\n")
            words = (b"ZADD", b"orders", b"%d" % due, b"order-%07d" % i)
            resp.write(b"*4\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))


def peak_mb(pid):
    """None: it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            found = re.search(r"VmHWM:\s+(\d+) kB", file.read())
    except OSError:
        return None
    return int(found[1]) / 1024 if found else None


def run(*command, stdin=None):
    """Seconds, highest resident MB, and what it printed."""
    with tempfile.TemporaryFile() as out:
        began = time.monotonic()
        process = subprocess.Popen(command, stdin=stdin, stdout=out)
        peak = 0
        while process.poll() is None:
            peak = max(peak, peak_mb(process.pid) or 0)
            time.sleep(0.01)
        seconds = time.monotonic() - began
        out.seek(0)
        text = out.read().decode()
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{text}")
    return seconds, peak, text


def duelease(command, rows, *words):
    """The same, of the summary of an import or a reconcile of that file."""
    seconds, peak, text = run(os.environ["DUELEASE_PROGRAM"], "--json", command, *words, "--queue", "orders", "--id",
                              "id", "--due", "due", rows)
    return seconds, peak, json.loads(text.splitlines()[-1])


def import_round(arguments, folder):
    store = f"{folder}/store"
    shutil.rmtree(store, ignore_errors=True)
    seconds, peak, summary = duelease("import", f"{folder}/rows.csv", "--store", store, "--durability", "interval")
    assert summary["scheduled"] == arguments.rows, summary
    shutil.rmtree(store)
    return seconds, peak


def redis_round(arguments, folder):
    with redis_server(pathlib.Path(folder, "redis"), "everysec") as redis:
        with open(f"{folder}/rows.resp", "rb") as rows:
            seconds, peak, _ = run("redis-cli", "-p", redis.port, "--pipe", stdin=rows)
        peak += peak_mb(redis.process.pid)
        count = redis_cli(redis.port, "ZCARD", "orders")
        assert int(count) == arguments.rows, count
    return seconds, peak


def bytes_of(folder):
    """But for what RocksDB notes down about itself."""
    return {name: os.path.getsize(f"{folder}/{name}") for name in os.listdir(folder) if not name.startswith("LOG")}


def settled_bytes_of(folder):
    """When nothing is compacted any more."""
    while True:
        before = bytes_of(folder)
        time.sleep(3)
        if bytes_of(folder) == before:
            return before


def sequence_of(server):
    return int(re.search(r"last_sequence:(\d+)\r", server.ask("INFO"))[1])


def reconcile(arguments, folder):
    rows = f"{folder}/rows.csv"
    with Server(in_memory=False) as server:
        server.stop()
        store = f"{server.folder}/store"
        duelease("import", rows, "--store", store, "--durability", "interval")
        seconds, peak, summary = duelease("reconcile", rows, "--store", store, "--cancel-missing")
        assert summary["unchanged"] == arguments.rows, summary
        server.start()
        files, sequence = settled_bytes_of(store), sequence_of(server)
        by_server, _, summary = duelease("reconcile", rows, "--server", f"127.0.0.1:{server.port}", "--cancel-missing")
        assert summary["unchanged"] == arguments.rows, summary
        files_after = bytes_of(store)
        return {"seconds": round(seconds, 2), "peak_mb": round(peak), "seconds_by_server": round(by_server, 2),
                "sequences_used": sequence_of(server) - sequence, "store_bytes": sum(files.values()),
                "bytes_written": sum(files_after.values()) - sum(files.values()),
                "files_unchanged": files == files_after}


def figures(arguments, rounds):
    rates = [arguments.rows / seconds for seconds, _ in rounds]
    return {"rows_per_second": round(statistics.median(rates)), "lowest": round(min(rates)),
            "highest": round(max(rates)), "peak_mb": round(max(peak for _, peak in rounds))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duelease-import-") as folder:
        write_rows(arguments, folder)
        ours, theirs = [], []
        for _ in range(arguments.rounds):
            ours.append(import_round(arguments, folder))
            theirs.append(redis_round(arguments, folder))
        print(json.dumps({"rows": arguments.rows, "rounds": arguments.rounds, "import": figures(arguments, ours),
                          "redis": figures(arguments, theirs), "reconcile": reconcile(arguments, folder)}))


if __name__ == "__main__":
    main()
