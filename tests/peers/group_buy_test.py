"""Group-buy settlement over the network: 8 tills in processes of their own, two of which are killed on the way.

A till charges an order by a line in the shop's ledger, with the token: a charge is worth what the highest token of
its order says, as a till that lost its lease may write late. Each order must be settled once.

    group_buy_test.py sockets    the tills speak to the server themselves
    group_buy_test.py program    the tills are `duelease work`, with a shell command
"""
import csv
import os
import signal
import subprocess
import sys
import time

from server import Connection, Server, eventually, fields

TILLS = 8
SAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/sample/orders.csv")


def till(name, port, ledger):
    out = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    with Connection(int(port)) as connection:
        while True:
            for order in connection.claim("settle", name, "COUNT", 3, "LEASE", "1s", "WAIT", "1s"):
                time.sleep(0.02)  # The bank takes its time.
                # One write, and so a whole line: also when this till is killed here, or right behind it.
                os.write(out, f"{order.id} {order.token} {order.payload} {name}\n".encode())
                time.sleep(0.005)
                connection.ask("COMPLETE", "settle", order.id, order.token)


def start_till(kind, name, server, ledger):
    if kind == "sockets":
        return subprocess.Popen([sys.executable, os.path.abspath(__file__), name, str(server.port), ledger])
    charge = f'cents=$(cat); sleep 0.02; echo "$DUELEASE_ID $DUELEASE_TOKEN $cents {name}" >>"{ledger}"'
    return subprocess.Popen([os.environ["DUELEASE_PROGRAM"], "--server", f"127.0.0.1:{server.port}", "work",
                             "--queue", "settle", "--name", name, "--lease", "1s", "--exec", charge],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def kill_at_work(till_process, name, connection):
    """Stopped to look whether it holds an order, and killed if so."""
    def killed():
        till_process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)  # A report that is on its way may arrive.
        _, ids = connection.ask("LIST", "settle", "STATE", "PROCESSING", "LIMIT", 100)
        if any(fields(connection.ask("ORDER", "settle", id_))["worker"] == name for id_ in ids):
            till_process.kill()
            return True
        till_process.send_signal(signal.SIGCONT)
        return False
    eventually(killed)


def charges(ledger):
    """By order: {token: cents}."""
    out = {}
    with open(ledger, encoding="ascii") as file:
        for line in file:
            id_, token, cents, _ = line.split()
            assert int(token) not in out.setdefault(id_, {}), f"{id_} was charged twice under one token"
            out[id_][int(token)] = int(cents)
    return out


def schedule(server):
    """The cents by order."""
    wanted = {}
    with open(SAMPLE, encoding="utf-8", newline="") as file, server.connect() as connection:
        for row in csv.DictReader(file):
            reply = connection.ask("SCHEDULE", "settle", row["order_id"], row["deadline"], "PAYLOAD",
                                   row["amount_cents"])
            if reply == "SCHEDULED":
                wanted[row["order_id"]] = int(row["amount_cents"])
            else:
                assert reply == ["DUPLICATE", "WAIT", row["order_id"]], reply
    return wanted


def main(kind):
    with Server() as server:
        wanted = schedule(server)
        ledger = f"{server.folder}/ledger"
        tills = [start_till(kind, f"till-{i}", server, ledger) for i in range(TILLS)]
        try:
            with server.connect() as connection:
                def stats():
                    return fields(connection.ask("STATS", "settle"))
                for i, victim in enumerate(tills[:2]):
                    eventually(lambda: stats()["SUCCESS"] >= 20 * (i + 1))
                    kill_at_work(victim, f"till-{i}", connection)
                eventually(lambda: stats()["SUCCESS"] == len(wanted))
                at_end = stats()
                tokens = {id_: fields(connection.ask("ORDER", "settle", id_)) for id_ in wanted}
        finally:
            for one in tills:
                one.kill()
                one.wait()
        charged = charges(ledger)
        reaped = sum(order["attempt"] - 1 for order in tokens.values())
        again = sum(len(of_order) - 1 for of_order in charged.values())
        print(f"{len(wanted)} orders settled; leases that ran out: {reaped}; charged again after a till died between "
              f"charge and report: {again}")
        assert (at_end["WAIT"], at_end["PROCESSING"], at_end["FAILED"]) == (0, 0, 0), at_end
        assert charged.keys() == wanted.keys(), "an order was lost, or charged and not in the list"
        for id_, of_order in charged.items():
            # What counts is the charge of the highest token, and that is the one which the server took.
            assert max(of_order) == tokens[id_]["token"], id_
            assert of_order[max(of_order)] == wanted[id_], id_
            assert tokens[id_]["state"] == "SUCCESS", id_
        # At least those of the killed; on a machine that stands still for a second, others too.
        assert reaped >= 2 and again <= reaped, (reaped, again)
        assert not server.violations(), server.violations()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(sys.argv[1])
    else:
        till(*sys.argv[1:])
