#!/usr/bin/env python3
"""How late orders are delivered by a server, and what idle connections cost it.

    bench/server_delay.py delay [--orders 1000] [--seconds 10] [--workers 16]
    bench/server_delay.py idle [--connections 10000] [--seconds 10]

Starts a server of its own (build/duelease, or DUELEASE_PROGRAM), at level sync, with its store under the temporary
folder (TMPDIR), which should be a disk. The clients are threads of this one process; on a machine of few cores
they compete with the server, so the figures are upper bounds. Each prints one line of JSON.

delay: orders due at random times; each worker waits with CLAIM ... WAIT, and completes. Measured from the due time
to the moment at which the worker has the order in its hands.
idle: resident memory before and with the connections, and the processor time meanwhile, in % of one core.
"""
import argparse
import json
import os
import random
import resource
import sys
import threading
import time

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, f"{root}/tests/peers")
os.environ.setdefault("DUELEASE_PROGRAM", f"{root}/build/duelease")
sys.dont_write_bytecode = True
from server import Server, eventually  # noqa: E402


def percentile(values, part):
    return round(values[min(int(part * len(values)), len(values) - 1)], 2)


def delay(arguments):
    with Server(in_memory=False) as server:
        late = []
        mutex = threading.Lock()

        def work(number):
            with server.connect() as connection:
                while True:
                    for order in connection.claim("q", f"w{number}", "WAIT", "2s"):
                        now = time.time() * 1000
                        with mutex:
                            late.append(now - order.due)
                        connection.ask("COMPLETE", "q", order.id, order.token)
                    with mutex:
                        if len(late) == arguments.orders:
                            return
        workers = [threading.Thread(target=work, args=(i,)) for i in range(arguments.workers)]
        for worker in workers:
            worker.start()
        start = int(time.time() * 1000) + 2000
        rng = random.Random(1)
        with server.connect() as connection:
            replies = connection.ask_all(
                [("SCHEDULE", "q", i, start + rng.randrange(arguments.seconds * 1000)) for i in range(arguments.orders)])
            assert set(replies) == {"SCHEDULED"}
        if time.time() * 1000 > start:
            sys.exit("the machine is too slow: orders were due before all were scheduled")
        for worker in workers:
            worker.join()
        late.sort()
        return {"orders": len(late), "workers": arguments.workers, "earliest_ms": percentile(late, 0),
                "p50_ms": percentile(late, 0.5), "p99_ms": percentile(late, 0.99), "latest_ms": percentile(late, 1)}


def resident_mb(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        [line] = [line for line in file if line.startswith("VmRSS:")]
    return round(int(line.split()[1]) / 1024, 1)


def cpu_seconds(server):
    with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as file:
        values = file.read().rsplit(")", 1)[1].split()
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


def idle(arguments):
    import socket
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Server("--max-connections", str(arguments.connections + 10), in_memory=False) as server:
        server.ask("PING")
        before = resident_mb(server)
        connections = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(arguments.connections)]
        for connection in connections:
            connection.sendall(b"PING\r\n")
        for connection in connections:
            assert connection.recv(100) == b"+PONG\r\n"
        eventually(lambda: f"connected_clients:{arguments.connections + 1}\r\n" in server.ask("INFO"))
        cpu, began = cpu_seconds(server), time.monotonic()
        time.sleep(arguments.seconds)
        busy = (cpu_seconds(server) - cpu) / (time.monotonic() - began)
        after = resident_mb(server)
        return {"connections": arguments.connections, "resident_mb_before": before, "resident_mb": after,
                "kb_a_connection": round((after - before) * 1024 / arguments.connections, 1),
                "cpu_percent": round(100 * busy, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for command, count, default in ((delay, "--orders", 1000), (idle, "--connections", 10000)):
        one = commands.add_parser(command.__name__)
        one.add_argument(count, type=int, default=default)
        one.add_argument("--seconds", type=int, default=10)
        one.set_defaults(run=command)
        if command is delay:
            one.add_argument("--workers", type=int, default=16)
    arguments = parser.parse_args()
    print(json.dumps(arguments.run(arguments)))


if __name__ == "__main__":
    main()
