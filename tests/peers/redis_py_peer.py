"""redis-py."""
import os
import sys
import threading

import redis


def connect():
    return redis.Redis(port=int(os.environ["DUELEASE_PORT"]), username=os.environ.get("DUELEASE_USER"),
                       password=os.environ.get("DUELEASE_PASSWORD"))


def same(got, wanted):
    if got != wanted:
        raise AssertionError(f"{got!r:.500}, not {wanted!r:.500}")


def refused(code, *words):
    try:
        reply = client.execute_command(*words)
    except redis.ResponseError as error:
        # redis-py takes the code "ERR" off, and no other.
        wanted = "unknown verb" if code == "ERR" else code
        assert str(error).startswith(wanted), error
    else:
        raise AssertionError(f"{words}: {reply}")


client = connect()
ask = client.execute_command
binary = bytes(range(256)) + b"\r\n"

assert client.ping()
same(ask("SCHEDULE", "q", "bin", "NOW", "PAYLOAD", binary), b"SCHEDULED")
same(ask("SCHEDULE", "q", "bin", "NOW"), [b"DUPLICATE", b"WAIT", b"bin"])
[[id_, token, attempt, _, _, payload, key, run, queue]] = ask("CLAIM", "q", "w")
same((id_, attempt, payload, key, run, queue), (b"bin", 1, binary, None, None, b"q"))
same(ask("COMPLETE", "q", "bin", token, "RESULT", binary), b"COMPLETED")
same(ask("COMPLETE", "q", "bin", token), b"ALREADY")
same(ask("COMPLETE", "q", "bin", token + 1), b"STALE")

waited = []
waiter = threading.Thread(target=lambda: waited.extend(connect().execute_command("CLAIM", "q", "w", "WAIT", "60s")))
waiter.start()
same(ask("SCHEDULE", "q", "late", "+200"), b"SCHEDULED")
waiter.join()
same([order[0] for order in waited], [b"late"])
token = waited[0][1]
same(ask("FAIL", "q", "late", token, "ERROR", "card refused", "RETRY", "+1h"), b"WAIT")
same(ask("FAIL", "q", "late", token), b"STALE")

order = ask("ORDER", "q", "late")
order = dict(zip(order[::2], order[1::2]))
same((order[b"state"], order[b"failures"], order[b"error"]), (b"WAIT", 1, b"card refused"))
same(ask("ORDER", "q", "none"), None)
same(ask("LIST", "q", "STATE", "WAIT"), [None, [b"late"]])
assert ask("WHY", "q", "late").startswith(b"due in "), ask("WHY", "q", "late")
stats = ask("STATS", "q")
stats = dict(zip(stats[::2], stats[1::2]))
same((stats[b"WAIT"], stats[b"SUCCESS"], stats[b"leases"]), (1, 1, 0))

pipeline = client.pipeline(transaction=False)
for i in range(1000):
    pipeline.execute_command("SCHEDULE", "p", i, "NOW")
same(pipeline.execute(), [b"SCHEDULED"] * 1000)
orders = ask("CLAIM", "p", "w", "COUNT", 1000)
same(len({order[0] for order in orders}), 1000)
for order in orders:
    pipeline.execute_command("COMPLETE", "p", order[0], order[1])
same(pipeline.execute(), [b"COMPLETED"] * 1000)

refused("ERR", "NONSENSE")
refused("INVALID", "SCHEDULE", "q", "x" * 256, "NOW")
refused("NOTFOUND", "STATS", "none")
pipeline.execute_command("NONSENSE")
pipeline.execute_command("WHY", "q", "none")
same([type(reply) for reply in pipeline.execute(raise_on_error=False)], [redis.ResponseError, bytes])

print("restart", flush=True)
sys.stdin.readline()
try:
    ask("PING")  # The old connection has died; the library tells, and makes another.
except redis.ConnectionError:
    pass
same(dict(zip(*[iter(ask("ORDER", "q", "bin"))] * 2))[b"result"], binary)
print("all well")
