"""redis-cli: its arguments, its standard input, its pipe mode; and redis-benchmark."""
import os
import re
import subprocess
import sys

from server import request

TO_THE_SERVER = ["-p", os.environ["DUELEASE_PORT"]]
if user := os.environ.get("DUELEASE_USER"):
    TO_THE_SERVER += ["--user", user, "-a", os.environ["DUELEASE_PASSWORD"]]
# About a password among the arguments.
NO_WARNING = {"redis-cli": ["--no-auth-warning"], "redis-benchmark": []}


def run(program, *words, stdin=b""):
    ran = subprocess.run([program, *TO_THE_SERVER, *NO_WARNING[program], *words], input=stdin, capture_output=True, timeout=120, check=False)
    return ran.returncode, ran.stdout, ran.stderr


def cli(*words, stdin=b""):
    code, out, err = run("redis-cli", *words, stdin=stdin)
    assert code == 0 and not err, (code, out, err)
    return out.decode()


def same(got, wanted):
    if got != wanted:
        raise AssertionError(f"{got!r:.500}, not {wanted!r:.500}")


def token_of(claimed):
    return claimed.splitlines()[1]


same(cli("PING"), "PONG\n")
# The last argument from standard input, with any bytes.
same(cli("-x", "SCHEDULE", "q", "bin", "NOW", "PAYLOAD", stdin=b"\0\xff\r\n'"), "SCHEDULED\n")
same(cli("SCHEDULE", "q", "bin", "NOW"), "DUPLICATE\nWAIT\nbin\n")
claimed = cli("--no-raw", "CLAIM", "q", "w")
assert r'"\x00\xff\r\n' in claimed and "(nil)" in claimed, claimed
token = re.search(r"\(integer\) (\d+)", claimed)[1]
same(cli("COMPLETE", "q", "bin", token, "RESULT", "two words"), "COMPLETED\n")
same(cli("COMPLETE", "q", "bin", token), "ALREADY\n")
same(cli("COMPLETE", "q", "bin", token + "0"), "STALE\n")

same(cli("SCHEDULE", "q", "late", "+200"), "SCHEDULED\n")
token = token_of(cli("CLAIM", "q", "w", "WAIT", "60s"))
same(cli("FAIL", "q", "late", token, "ERROR", "card refused", "RETRY", "+1h"), "WAIT\n")
same(cli("FAIL", "q", "late", token), "STALE\n")
assert "error\ncard refused\n" in cli("ORDER", "q", "late")
assert cli("LIST", "q", "STATE", "WAIT").endswith("late\n")
assert cli("WHY", "q", "late").startswith("due in "), cli("WHY", "q", "late")
assert cli("STATS", "q").startswith("WAIT\n1\n"), cli("STATS", "q")

# Lines on standard input, quoted as in a shell.
same(cli(stdin=b'SCHEDULE lines "a b" NOW PAYLOAD "\\x41\\n"\nPOP lines\n').splitlines()[:2], ["SCHEDULED", "a b"])

# Pipe mode: what goes in are the requests themselves. It counts replies, and ends with an ECHO of its own.
requests = b"".join(request("SCHEDULE", "p", i, "NOW", "PAYLOAD", b"\r\n\0") for i in range(10000))
out = cli("--pipe", stdin=requests)
assert "errors: 0, replies: 10000" in out, out
assert "SUCCESS\n0\n" in cli("STATS", "p") and cli("STATS", "p").startswith("WAIT\n10000\n")
# The same in line form.
out = cli("--pipe", stdin=b"".join(b"SCHEDULE line %d NOW\r\n" % i for i in range(1000)))
assert "errors: 0, replies: 1000" in out, out

for code, words in {"ERR": ["NONSENSE"], "INVALID": ["SCHEDULE", "q", "x" * 256, "NOW"],
                    "NOTFOUND": ["STATS", "none"]}.items():
    exit_code, out, err = run("redis-cli", "-e", *words)
    assert exit_code == 1 and (out + err).decode().startswith(code + " "), (exit_code, out, err)

code, out, err = run("redis-benchmark", "-q", "-n", "10000", "-c", "20", "-P", "16", "-r", "1000000000", "--csv",
                     "SCHEDULE", "bench", "order-__rand_int__", "+1h", "PAYLOAD", "x" * 64)
assert code == 0 and b"rror" not in out + err.replace(b"WARNING: Could not fetch server CONFIG", b""), (code, out, err)
print(out.decode())
waiting = int(cli("STATS", "bench").splitlines()[1])
assert 9900 < waiting <= 10000, waiting  # Random ids: a few may meet.

# One redis-cli that outlives the server: it connects again by itself.
with subprocess.Popen(["redis-cli", *TO_THE_SERVER, *NO_WARNING["redis-cli"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                      stderr=subprocess.STDOUT, text=True) as shell:
    shell.stdin.write("PING\n")
    shell.stdin.flush()
    same(shell.stdout.readline(), "PONG\n")
    print("restart", flush=True)
    sys.stdin.readline()
    shell.stdin.write("PING\nPING\n")
    shell.stdin.close()
    assert "PONG" in shell.stdout.read()
print("all well")
