"""A server of the program, in a process of its own that a test may kill, and a bare connection to it.

DUELEASE_PROGRAM is the path of the program; DUELEASE_SANITIZED=1 says that it was built with a sanitizer.
"""
import fcntl
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace

PATIENCE = 120  # Seconds, for a loaded machine under a sanitizer.
# What the program is slower by under a sanitizer: times are multiplied by it, amounts of work divided.
SLOWER = 5 if os.environ.get("DUELEASE_SANITIZED") == "1" else 1
SKIPPED = 77    # What CTest takes for "not run".


def skip(why):
    print(f"SKIPPED: {why}", flush=True)
    sys.exit(SKIPPED)


def eventually(condition, patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it never came to be")
        time.sleep(0.005)


def free_port():
    """Below those that the system gives to outgoing connections: else a client that tries again and again while the
    server is away might be given the server's own port, and be connected to itself."""
    while True:
        port = random.randrange(20000, 32768)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def locked_folder(parent):
    """A new one, and what locks it. When this process is killed, tests/support/temporary_folder.h sweeps it away."""
    while True:
        folder = tempfile.mkdtemp(prefix="duelease-test-", dir=parent)
        try:
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.isdir(folder):  # Else it was swept away before it was locked.
                return folder, lock
            os.close(lock)
        except FileNotFoundError:
            pass


class Server:
    """With a new store; start() again after kill() or stop() goes on with it, at the same port."""

    def __init__(self, *options, in_memory=True, login=None):
        """`login`: the user and the password of everybody who connects."""
        self.options = options
        self.login = login
        # In memory, as the other tests: what a killed process wrote stays there too.
        memory = "/dev/shm" if in_memory and os.path.isdir("/dev/shm") else None
        self.folder, self.lock = locked_folder(memory)
        self.process = None
        if login:
            self.make_users_file()
        for attempt in range(5):
            self.port = free_port()
            try:
                self.start()
                return
            except AssertionError:  # Another test may have been quicker to take the port.
                if attempt == 4:
                    self.__exit__()
                    raise

    def make_users_file(self):
        user, password = self.login
        path = f"{self.folder}/users"
        with open(path, "wb") as file:
            subprocess.run([os.environ["DUELEASE_PROGRAM"], "password", user, "admin", "*"], stdout=file,
                           input=f"{password}\n".encode(), check=True)
        self.options += ("--users", path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self.lock)

    def log(self):
        with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as file:
            return file.read()

    def start(self):
        with open(f"{self.folder}/log", "wb") as log:
            self.process = subprocess.Popen(
                [os.environ["DUELEASE_PROGRAM"], "--store", f"{self.folder}/store", "serve",
                 "--port", str(self.port), *self.options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def listening():
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.log()}")
            return re.search(rf" port {self.port}\n", self.log())
        eventually(listening)

    def kill(self):
        """kill -9"""
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self):
        """SIGTERM; returns the exit code."""
        process, self.process = self.process, None
        process.send_signal(signal.SIGTERM)
        return process.wait(PATIENCE)

    def connect(self):
        connection = Connection(self.port)
        if self.login:
            connection.ask("AUTH", *self.login)
        return connection

    def ask(self, *words):
        """By a connection of its own."""
        with self.connect() as connection:
            return connection.ask(*words)

    def violations(self):
        """Of CHECK, those that are not zero; {} when all is well."""
        counts = fields(self.ask("CHECK"))
        assert counts, "CHECK looked at nothing"
        return {name: count for name, count in counts.items() if count != 0}


class Refusal(Exception):
    """An error reply."""


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def reset(self):
        """As a machine does whose process was killed with replies unread."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.close()

    def send(self, *words):
        self.socket.sendall(request(*words))

    def reply(self):
        """The next one, str (bytes that are no UTF-8 stay bytes), int, list or None. Raises Refusal for an error."""
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            raise Refusal(rest.decode())
        if kind == b":":
            return int(rest)
        if rest == b"-1":
            return None
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        assert kind == b"$", line
        data = self.file.read(int(rest) + 2)
        if len(data) < int(rest) + 2:
            raise ConnectionError("the server closed")
        try:
            return data[:-2].decode()
        except UnicodeDecodeError:
            return data[:-2]

    def ask(self, *words):
        self.send(*words)
        return self.reply()

    def ask_all(self, requests):
        """Pipelined, in pieces that cannot fill both ends' buffers."""
        replies = []
        for start in range(0, len(requests), 500):
            part = requests[start:start + 500]
            self.socket.sendall(b"".join(request(*words) for words in part))
            replies += [self.reply() for _ in part]
        return replies

    def claim(self, queue, worker, *words):
        return [order(reply) for reply in self.ask("CLAIM", queue, worker, *words)]


def request(*words):
    encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)


def order(reply):
    names = ("id", "token", "attempt", "lease_expires_at", "due", "payload", "key", "run", "queue")
    assert len(reply) == len(names), reply
    return SimpleNamespace(**dict(zip(names, reply)))


def fields(reply):
    """[name, value, name, value, ...] as a dict."""
    return dict(zip(reply[::2], reply[1::2]))
