"""kill -9 under load: a server is killed again and again while processes schedule, claim and complete.

Each process writes down what was acknowledged to it, as it is acknowledged. In the end nothing acknowledged may be
missing, and no order may have been handed to two workers while the first one's lease ran.
"""
import json
import multiprocessing
import os
import random
import sys
import time

from server import Connection, Refusal, Server, fields, order, request

SECONDS = float(os.environ.get("DUELEASE_KILL_SECONDS", 12))
PRODUCERS = 2
WORKERS = 3
LEASE_MS = 1500


class Journal:
    """Of one process, in its memory; written out when it ends."""

    def __init__(self, path):
        self.path = path
        self.entries = []

    def note(self, *entry):
        self.entries.append(entry)

    def save(self):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(self.entries, file)


def again_and_again(port, stop, journal, round_):
    """round_(connection) until told to stop; a new connection whenever the old one dies."""
    while not stop.is_set():
        try:
            with Connection(port) as connection:
                while not stop.is_set():
                    round_(connection)
        except (ConnectionError, Refusal):  # Killed. (Or just about to be: no other refusal is expected.)
            time.sleep(0.02)
    journal.save()


def produce(number, port, stop, path):
    journal = Journal(path)
    rng = random.Random(number)
    count = 0

    def round_(connection):
        nonlocal count
        ids = [f"{number}-{count + i}" for i in range(rng.randint(1, 20))]
        count += len(ids)
        requests = [("SCHEDULE", "q", id_, f"+{rng.randint(0, 300)}", "PAYLOAD", id_) for id_ in ids]
        connection.socket.sendall(b"".join(request(*words) for words in requests))
        for id_ in ids:
            if connection.reply() == "SCHEDULED":
                journal.note("scheduled", id_)
        time.sleep(0.02)  # The workers have to keep up.
    again_and_again(port, stop, journal, round_)


def work(number, port, stop, path):
    journal = Journal(path)
    rng = random.Random(1000 + number)
    claims = 0
    sent = None  # When the claim was first sent that is not answered yet.

    def round_(connection):
        nonlocal claims, sent
        if sent is None:
            claims += 1
            sent = time.monotonic()
        # By REQUEST, the claim that a dead connection did not answer is asked for again.
        reply = connection.ask("CLAIM", "q", f"w{number}", "COUNT", 10, "LEASE", LEASE_MS, "WAIT", "100ms",
                               "REQUEST", claims)
        first_sent, sent = sent, None
        answered = time.monotonic()
        for claimed in map(order, reply):
            assert claimed.payload == claimed.id
            journal.note("claimed", claimed.id, claimed.token, first_sent, answered)
            if rng.random() < 0.05:
                continue  # Forgets it: its lease runs out.
            if rng.random() < 0.1:
                # Noted before it is asked: what a dying server did not acknowledge may have been done.
                journal.note("given back", claimed.id, claimed.token)
                connection.ask("FAIL", "q", claimed.id, claimed.token, "RETRY", "NOW")
                continue
            if connection.ask("COMPLETE", "q", claimed.id, claimed.token) in ("COMPLETED", "ALREADY"):
                journal.note("completed", claimed.id, claimed.token)
    again_and_again(port, stop, journal, round_)


def drain(server):
    """The orders that are left, as the last worker."""
    with server.connect() as connection:
        while True:
            orders = connection.claim("q", "last", "COUNT", 1000)
            replies = connection.ask_all([("COMPLETE", "q", claimed.id, claimed.token) for claimed in orders])
            assert set(replies) <= {"COMPLETED"}, replies
            stats = fields(connection.ask("STATS", "q"))
            if not orders and stats["WAIT"] == 0 and stats["PROCESSING"] == 0:
                return stats
            time.sleep(0.05)


def judge(entries, states):
    """What is wrong, in words."""
    scheduled = {entry[1] for entry in entries if entry[0] == "scheduled"}
    completed = {}
    claims = {}
    wrong = []
    for kind, id_, *rest in entries:
        if kind == "completed":
            if completed.setdefault(id_, rest[0]) != rest[0]:
                wrong.append(f"{id_} was completed by two tokens")
        elif kind == "claimed":
            claims.setdefault(id_, {})[rest[0]] = rest[1:]
    wrong += [f"{id_} was acknowledged and is {states.get(id_)}" for id_ in scheduled if states.get(id_) != "SUCCESS"]
    wrong += [f"{id_} was acknowledged as completed and is {states.get(id_)}" for id_ in completed
              if states.get(id_) != "SUCCESS"]
    given_back = {(entry[1], entry[2]) for entry in entries if entry[0] == "given back"}
    for id_, tokens in claims.items():
        last = max(tokens)
        if id_ in completed and completed[id_] < last:
            wrong.append(f"{id_} was handed out again after it was completed")
        for token, later in zip(sorted(tokens), sorted(tokens)[1:]):
            # A lease is as long as this after the request went out, at least, but for the millisecond that is under way;
            # the other may have had it at the latest when it was answered.
            early = tokens[token][0] + (LEASE_MS - 1) / 1000 - tokens[later][1]
            if early > 0 and (id_, token) not in given_back:
                wrong.append(f"{id_} was handed out again {early:.3f} s before its lease was over")
    return wrong


def test_judge():
    good = [("scheduled", "a"), ("claimed", "a", 1, 0.0, 0.1), ("claimed", "a", 2, 1.6, 1.7), ("completed", "a", 2)]
    assert judge(good, {"a": "SUCCESS"}) == []
    assert len(judge(good, {})) == 2  # Lost.
    assert len(judge(good, {"a": "WAIT"})) == 2
    assert len(judge(good + [("completed", "a", 1)], {"a": "SUCCESS"})) == 1
    assert len(judge(good + [("claimed", "a", 3, 1.7, 1.8)], {"a": "SUCCESS"})) == 2
    assert judge([("claimed", "a", 1, 0.0, 0.1), ("claimed", "a", 2, 0.2, 0.3)], {}) != []
    assert judge([("claimed", "a", 1, 0.0, 0.1), ("given back", "a", 1), ("claimed", "a", 2, 0.2, 0.3)], {}) == []


def main():
    test_judge()
    context = multiprocessing.get_context("fork")
    stop = context.Event()
    kills = 0
    with Server() as server:
        jobs = []
        for i in range(PRODUCERS + WORKERS):
            target = produce if i < PRODUCERS else work
            jobs.append(context.Process(target=target, args=(i, server.port, stop, f"{server.folder}/journal{i}")))
        for job in jobs:
            job.start()
        end = time.monotonic() + SECONDS
        rng = random.Random(7)
        while time.monotonic() < end:
            time.sleep(rng.uniform(0.3, 2))
            server.kill()
            server.start()
            kills += 1
        stop.set()
        for job in jobs:
            job.join()
            assert job.exitcode == 0, "a client failed"
        entries = []
        for i in range(len(jobs)):
            with open(f"{server.folder}/journal{i}", encoding="utf-8") as file:
                entries += json.load(file)
        stats = drain(server)
        states = {}
        with server.connect() as connection:
            for state in ("WAIT", "PROCESSING", "SUCCESS", "FAILED", "ABORTED"):
                cursor = []
                while True:
                    cursor, ids = connection.ask("LIST", "q", "STATE", state, "LIMIT", 1000, *cursor)
                    states.update(dict.fromkeys(ids, state))
                    if cursor is None:
                        break
                    cursor = ["AFTER", cursor]
        kinds = [entry[0] for entry in entries]
        print(f"killed {kills} times; acknowledged: {kinds.count('scheduled')} scheduled, "
              f"{kinds.count('claimed')} claimed, {kinds.count('completed')} completed; at the end {stats}")
        wrong = judge(entries, states)
        wrong += [f"CHECK: {name} {count}" for name, count in server.violations().items()]
        if min(map(kinds.count, ("scheduled", "claimed", "completed"))) < 100:
            wrong.append("too little happened")
    if wrong:
        sys.exit("\n".join(wrong[:20]))


if __name__ == "__main__":
    main()
