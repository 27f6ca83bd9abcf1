#!/usr/bin/env python3
"""Redis' own load generator, redis-benchmark, on our server and on Redis: what one order a call costs.

    bench/redis_benchmark.py [--calls 150000] [--connections 16] [--pipeline 1] [--rounds 5]

Needs build/duelease (or DUELEASE_PROGRAM), redis-server and redis-benchmark. All folders lie under the temporary folder
(TMPDIR), which should be a disk. Rounds alternate. Prints one line of JSON.

Both schedule orders with a payload of 64 bytes, each on disk before it is answered: ours by SCHEDULE, Redis with AOF
`always` by a script that does what duelease-bench has it do. redis-benchmark sends from one thread that waits for all
its connections at once, where duelease-bench has a thread for each, and so takes less of the processors. It makes
up the ids and does not read replies, so it can neither claim nor complete.
"""
import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, f"{root}/tests/peers")
os.environ.setdefault("DUELEASE_PROGRAM", f"{root}/build/duelease")
sys.dont_write_bytecode = True
from redis_server import redis_cli, redis_server  # noqa: E402
from server import Server  # noqa: E402

DUE = "4000000000000"  # 2096: all of them wait.
ID = "order-__rand_int__"
IDS = "1000000000"
PAYLOAD = "x" * 64

with open(f"{root}/bench/redis_schedule.lua", encoding="ascii") as script:
    SCRIPT = script.read()


def calls_per_second(arguments, port, *words):
    out = subprocess.run(["redis-benchmark", "-p", str(port), "-c", str(arguments.connections), "-n",
                          str(arguments.calls), "-P", str(arguments.pipeline), "-r", IDS, "--csv", *words],
                         capture_output=True, check=True, text=True).stdout
    [row] = csv.DictReader(out.splitlines())
    return float(row["rps"])


def check(arguments, waiting):
    """Ids are drawn, so a few come twice and are refused."""
    if not 0.999 * arguments.calls <= int(waiting) <= arguments.calls:
        sys.exit(f"{waiting} orders wait after {arguments.calls} calls")


def ours(arguments):
    with Server(in_memory=False) as server:
        rate = calls_per_second(arguments, server.port, "SCHEDULE", "bench", ID, DUE, "PAYLOAD", PAYLOAD)
        stats = redis_cli(server.port, "STATS", "bench").splitlines()
        check(arguments, stats[stats.index("WAIT") + 1])
        return rate


def theirs(arguments, folder):
    with redis_server(pathlib.Path(folder, "redis"), "always") as redis:
        sha = redis_cli(redis.port, "SCRIPT", "LOAD", SCRIPT)
        rate = calls_per_second(arguments, redis.port, "EVALSHA", sha, "2", "waiting", "payloads", DUE, ID, PAYLOAD)
        check(arguments, redis_cli(redis.port, "ZCARD", "waiting"))
        return rate


def figures(rates):
    return {"calls_per_second": round(statistics.median(rates)), "lowest": round(min(rates)),
            "highest": round(max(rates))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=150_000)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--pipeline", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    rates = {"duelease": [], "redis": []}
    with tempfile.TemporaryDirectory(prefix="duelease-benchmark-") as folder:
        for _ in range(arguments.rounds):
            rates["duelease"].append(ours(arguments))
            rates["redis"].append(theirs(arguments, folder))
    found = {target: figures(of_target) for target, of_target in rates.items()}
    ratio = found["duelease"]["calls_per_second"] / found["redis"]["calls_per_second"]
    print(json.dumps({"rounds": arguments.rounds, "calls": arguments.calls, "connections": arguments.connections,
                      "pipeline": arguments.pipeline, **found, "ratio": round(ratio, 2)}))


if __name__ == "__main__":
    main()
