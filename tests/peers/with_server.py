"""with_server.py [--need PACKAGE COMMAND]... [--npm FOLDER] [--login] -- COMMAND...

Runs a client of some other language against a server of its own: DUELEASE_PORT tells it where. When it prints
the line "restart", the server is killed (kill -9) and started again, and it gets the line "restarted". It must
end with 0 and have printed "all well", so that a client that does nothing is not taken for one that works.

--need: the command must end with 0, else the test is skipped and names the Debian package.
--login: the server has a user, and the client gets DUELEASE_USER and DUELEASE_PASSWORD.
--npm: installs the packages of tests/peers/node there, once, and lets the client find them.
"""
import fcntl
import os
import shutil
import subprocess
import sys

from server import Server, skip


def install_npm_packages(folder):
    if not shutil.which("node") or not shutil.which("npm"):
        skip("install the packages nodejs and npm for this test")
    os.makedirs(folder, exist_ok=True)
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node")
    with open(f"{folder}/lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = open(f"{source}/package-lock.json", "rb").read()
        done = f"{folder}/installed"
        if not os.path.exists(done) or open(done, "rb").read() != wanted:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(f"{source}/{name}", folder)
            ran = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder,
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if ran.returncode != 0:
                print(ran.stdout + ran.stderr)
                skip("npm could not install ioredis and redis (tests/peers/node/package.json); is there a network?")
            with open(done, "wb") as file:
                file.write(wanted)
    return f"{folder}/node_modules"


def main(arguments):
    environment = dict(os.environ)
    login = None
    while arguments[0] != "--":
        if arguments[0] == "--need":
            package, command = arguments[1:3]
            if subprocess.run(command, shell=True, capture_output=True, check=False).returncode != 0:
                skip(f"install the package {package} for this test")
            arguments = arguments[3:]
        elif arguments[0] == "--npm":
            environment["NODE_PATH"] = install_npm_packages(arguments[1])
            arguments = arguments[2:]
        elif arguments[0] == "--login":
            login = ("shop", "open sesame")
            environment["DUELEASE_USER"], environment["DUELEASE_PASSWORD"] = login
            arguments = arguments[1:]
        else:
            sys.exit(__doc__)
    with Server(login=login) as server:
        environment["DUELEASE_PORT"] = str(server.port)
        said = []
        with subprocess.Popen(arguments[1:], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as peer:
            for line in peer.stdout:
                print(line, end="", flush=True)
                said.append(line.rstrip())
                if said[-1] == "restart":
                    server.kill()
                    server.start()
                    peer.stdin.write("restarted\n")
                    peer.stdin.flush()
        if peer.returncode != 0 or said[-1:] != ["all well"]:
            sys.exit(f"the client ended with {peer.returncode}\nthe log of the server:\n{server.log()}")
        if violations := server.violations():
            sys.exit(f"CHECK: {violations}")


if __name__ == "__main__":
    main(sys.argv[1:])
