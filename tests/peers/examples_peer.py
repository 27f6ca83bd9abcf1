"""examples_peer.py INTERPRETER EXTENSION: the worker and the producer of one language, run as a user would."""
import os
import subprocess
import sys
import tempfile

from server import Connection, Refusal, eventually, fields

interpreter, extension = sys.argv[1:]
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "examples")
server = Connection(int(os.environ["DUELEASE_PORT"]))


def success_count():
    try:
        return fields(server.ask("STATS", "unpaid"))["SUCCESS"]
    except Refusal:  # The queue is there from its first order on.
        return 0


def produce(*words):
    ran = subprocess.run([interpreter, f"{folder}/producer.{extension}", *words], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and not ran.stderr, ran
    return ran.stdout


with tempfile.TemporaryFile("w+") as said, \
     subprocess.Popen([interpreter, f"{folder}/worker.{extension}"], stdin=subprocess.DEVNULL, stdout=said,
                      stderr=said) as worker:
    try:
        assert "SCHEDULED" in produce("4711", "+500ms", "2 sacks of rice")
        eventually(lambda: success_count() == 1)
        assert "DUPLICATE" in produce("4711", "NOW", "2 sacks of rice")
        assert "SCHEDULED" in produce("4712", "NOW", "")
        eventually(lambda: fields(server.ask("ORDER", "unpaid", "4712"))["failures"] == 1)
        assert "SCHEDULED" in produce("4713", "NOW", "olives")
        eventually(lambda: success_count() == 2)
        failed = fields(server.ask("ORDER", "unpaid", "4712"))
        assert (failed["state"], failed["error"]) == ("WAIT", "an order of nothing"), failed
        assert worker.poll() is None, "it goes on"
    finally:
        worker.kill()
        worker.wait()
        said.seek(0)
        text = said.read()
        print(text)
for line in ("nobody paid 4711: cancelling 2 sacks of rice\n", "nobody paid 4713: cancelling olives\n"):
    assert text.count(line) == 1
print("all well")
