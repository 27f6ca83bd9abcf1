"""A redis-server of a script's own, with an append-only file."""
import contextlib
import shutil
import subprocess
from types import SimpleNamespace

from server import eventually, free_port


@contextlib.contextmanager
def redis_server(folder, appendfsync):
    """Its data lies in `folder`, which it makes and removes. Yields its port and its process."""
    folder.mkdir()
    port = str(free_port())
    process = subprocess.Popen(["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly",
                                "yes", "--appendfsync", appendfsync, "--dir", folder], stdout=subprocess.DEVNULL)
    try:
        eventually(lambda: subprocess.run(["redis-cli", "-p", port, "PING"], capture_output=True,
                                          check=False).stdout == b"PONG\n")
        yield SimpleNamespace(port=port, process=process)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def redis_cli(port, *words):
    """What it answers."""
    return subprocess.run(["redis-cli", "-e", "-p", str(port), *words], capture_output=True, check=True,
                          text=True).stdout.strip()
