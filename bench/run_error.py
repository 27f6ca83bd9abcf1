#!/usr/bin/env python3
"""What other clients notice of a run that ends in ERROR with many waiting orders.

    bench/run_error.py [--orders 1000000] [--clients 4] [--seconds 10]

Starts a server of its own (build/duelease, or DUELEASE_PROGRAM), at level sync, with its store under the temporary
folder (TMPDIR), which should be a disk. The clients are processes that schedule orders of another queue, each one
after the other, with a pause of a millisecond: first for some seconds while the server does nothing else, then until
the last order of the run is ABORTED. Prints one line of JSON: the time from RUN ERROR to its reply, how long the
sweep went on, and what a SCHEDULE took.
"""
import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, f"{root}/tests/peers")
os.environ.setdefault("DUELEASE_PROGRAM", f"{root}/build/duelease")
sys.dont_write_bytecode = True
from server import Connection, Server, fields  # noqa: E402

LATER = 4_000_000_000_000  # 2096


def load(server, count):
    """The orders of the run."""
    server.ask("RUN", "OPEN", "batch", "r")
    server.ask("RUN", "START", "batch", "r")
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as rows:
        rows.write("id,due\n")
        for i in range(count):
            rows.write(f"order-{i:07},{LATER + i}\n")
        rows.flush()
        subprocess.run([os.environ["DUELEASE_PROGRAM"], "--server", f"127.0.0.1:{server.port}", "import", "--queue",
                        "batch", "--id", "id", "--due", "due", "--run", "r", rows.name], check=True,
                       stdout=subprocess.DEVNULL)


def schedule_on(number, port, stop, into):
    """Sends `into` a list of (when it was sent, how many ms it took)."""
    took = []
    with Connection(port) as connection:
        while not stop.is_set():
            began = time.monotonic()
            assert connection.ask("SCHEDULE", "other", f"{number}-{len(took)}", LATER) == "SCHEDULED"
            took.append((began, (time.monotonic() - began) * 1000))
            time.sleep(0.001)
    into.put(took)


def spread(took):
    values = sorted(ms for _, ms in took)
    if not values:
        return {"calls": 0}
    at = lambda part: round(values[min(int(part * len(values)), len(values) - 1)], 2)  # noqa: E731
    return {"calls": len(values), "p50_ms": at(0.5), "p99_ms": at(0.99), "highest_ms": at(1)}


def measure(arguments):
    with Server(in_memory=False) as server:
        load(server, arguments.orders)
        stop, into = multiprocessing.Event(), multiprocessing.Queue()
        clients = [multiprocessing.Process(target=schedule_on, args=(i, server.port, stop, into), daemon=True)
                   for i in range(arguments.clients)]
        with server.connect() as connection:
            for client in clients:
                client.start()
            time.sleep(1)
            quiet = time.monotonic()
            time.sleep(arguments.seconds)
            error = time.monotonic()
            assert connection.ask("RUN", "ERROR", "batch", "r", "REASON", "measured") == "ERROR"
            acknowledged = time.monotonic()
            while fields(connection.ask("RUN", "SHOW", "batch", "r"))["ABORTED"] < arguments.orders:
                time.sleep(0.02)
            swept = time.monotonic()
        stop.set()
        took = [call for _ in clients for call in into.get()]
        for client in clients:
            client.join()
        assert server.violations() == {}
        return {"orders": arguments.orders, "clients": arguments.clients,
                "acknowledged_ms": round((acknowledged - error) * 1000, 2), "sweep_seconds": round(swept - error, 2),
                "quiet": spread([call for call in took if quiet <= call[0] < error]),
                "sweep": spread([call for call in took if error <= call[0] < swept])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=1_000_000)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=10)
    print(json.dumps(measure(parser.parse_args())))


if __name__ == "__main__":
    main()
