#!/usr/bin/env python3
"""What idle connections cost a server.

    bench/server_idle.py [--connections 10000] [--seconds 10]

Starts a server of its own (build/duelease, or DUELEASE_PROGRAM) with its store under the temporary folder (TMPDIR).
Prints one line of JSON: resident memory before and with the connections, and the processor time meanwhile, in % of
one core.
"""
import argparse
import json
import os
import resource
import socket
import sys
import time

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, f"{root}/tests/peers")
os.environ.setdefault("DUELEASE_PROGRAM", f"{root}/build/duelease")
sys.dont_write_bytecode = True
from server import Server, eventually  # noqa: E402


def resident_mb(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        [line] = [line for line in file if line.startswith("VmRSS:")]
    return round(int(line.split()[1]) / 1024, 1)


def cpu_seconds(server):
    with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as file:
        values = file.read().rsplit(")", 1)[1].split()
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


def idle(arguments):
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
    parser.add_argument("--connections", type=int, default=10000)
    parser.add_argument("--seconds", type=int, default=10)
    print(json.dumps(idle(parser.parse_args())))


if __name__ == "__main__":
    main()
