"""Checks who includes whom, and what lies at the top level.

    python3 tests/layers_test.py [repository]

First plants one breach of each rule in a copy of the repository and expects each to be found, then
checks the repository itself.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Who may know whom. A folder under src is a layer; below it, includes are written "layer/header.h".
ALLOWED = {
    "base": set(),
    "model": {"base"},
    "store": {"base", "model"},
    "worker": {"base", "model"},
    "reconcile": {"base", "model"},
    "engine": {"base", "model", "store"},
    "protocol": {"base"},
    "server": {"base", "protocol"},
    "client": {"base", "protocol"},
}

# Public headers. Those of VALUES are plain values that every layer may use. The others are an interface
# to a layer: the one of their name, else the engine. They may know what their layer may.
VALUES = {"result", "types", "callback", "clock", "options", "time_text"}
OWNERS = {"work_source": "worker"}
ALLOWED_PUBLIC = {
    "base": set(),
    "model": set(),
    "store": set(),
    "worker": {"worker"},
    "reconcile": {"reconcile"},
    "engine": {"engine", "worker"},
    "protocol": set(),
    "server": {"engine", "server"},
    "client": {"client", "worker"},
}

# Libraries, by the start of the included name, and the only layers that may see them.
LIBRARIES = {
    "rocksdb/": {"store", "bench/bare_rocksdb.cpp"},  # The bench measures beside RocksDB itself.
    "google/": {"store"},
    "boost/": {"engine", "server", "client", "include/duelease/asio.h", "bench/histogram.h"},
    "spdlog/": {"server", "tools", "bench"},
    "fmt/": {"server", "tools", "bench"},
    "nlohmann/": {"server", "tools", "bench"},
    "CLI/": {"tools", "bench"},
    "soci/": {"tools"},
    "hiredis/": {"tools", "bench"},
    "sqlite3.h": {"tools", "bench"},
    "libpq-fe.h": {"bench"},
    "xxhash": {"reconcile"},
}

# What a file may know besides, though its layer may not.
EXCEPTIONS = {("bench/bare_rocksdb.cpp", "store/rocks_layout.h")}

# Folders of customers of the library: they include the public headers and their own.
CUSTOMERS = {"tools", "bench", "tests/examples", "tests/consumer"}

TOP_LEVEL = re.compile(r"CMakeLists\.txt|src|include|tests|bench|tools|README\.md|\..*")
TOP_LEVEL_IGNORED = re.compile(r"build.*|compile_commands\.json|.*\.swp")  # As .gitignore.
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    """The layer or folder of customers that a file belongs to; None: it may include anything."""
    for folder in CUSTOMERS:
        if path.startswith(folder + "/"):
            return folder
    if path.startswith("include/"):
        return "include"
    if path.startswith("src/"):
        return path.split("/")[1]
    return None


def owner_of(header):
    """The layer that duelease/<header>.h is an interface to; "values" if it is none."""
    if header in VALUES:
        return "values"
    return OWNERS.get(header, header if header in ALLOWED else "engine")


def refusal(path, layer, quote, name):
    """Why the file may not include `name`; None if it may."""
    if (path, name) in EXCEPTIONS:
        return None
    for start, users in LIBRARIES.items():
        if name.startswith(start):
            return None if layer in users or path in users else f"{layer} must not know {start[:-1]}"
    if name.endswith(".pb.h"):
        return None if layer == "store" else f"{layer} must not know protobuf"

    folder, _, header = name.partition("/")
    if folder == "duelease":
        owner = owner_of(header.removesuffix(".h"))
        if layer == "include":
            own = owner_of(os.path.basename(path).removesuffix(".h"))
            if owner == "values" or owner in ALLOWED_PUBLIC.get(own, ()):
                return None
            return f"a header of {own} must not know the interface to the {owner}"
        if owner == "values" or layer in CUSTOMERS or owner in ALLOWED_PUBLIC[layer]:
            return None
        return f"{layer} must not know the interface to the {owner}"
    if folder in ALLOWED and header:
        if layer in CUSTOMERS or layer == "include":
            return f"{layer} must not know what is behind the public headers"
        return None if folder == layer or folder in ALLOWED[layer] else f"{layer} must not know {folder}"

    if quote == "<":
        return None  # The standard library, the system.
    if layer in CUSTOMERS:
        inside = os.path.normpath(os.path.join(os.path.dirname(path), name)).startswith(layer + "/")
        return None if inside else f"{layer} includes duelease/... and its own headers"
    return "write includes as layer/header.h"


def sources(root):
    for top in ("include", "src", "tools", "bench", "tests"):
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith((".h", ".cpp")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def include_faults(root):
    for path in sources(root):
        layer = layer_of(path)
        if layer is None:
            continue
        if layer not in CUSTOMERS and layer != "include" and layer not in ALLOWED:
            yield f"{path}: src/{layer} is no layer that tests/layers_test.py knows"
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = INCLUDE.match(line)
                reason = match and refusal(path, layer, *match.groups())
                if reason:
                    yield f"{path}:{number}: {match.group(2)}: {reason}"


def top_level(root):
    """What git has or would add; without git, what is there."""
    git = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"]
    if os.path.exists(os.path.join(root, ".git")):
        listing = subprocess.run(git, capture_output=True, text=True, check=False)
        if listing.returncode == 0:
            return sorted({line.split("/")[0].strip('"') for line in listing.stdout.splitlines()})
    return sorted(name for name in os.listdir(root) if not TOP_LEVEL_IGNORED.fullmatch(name))


def faults(root):
    found = list(include_faults(root))
    found += [f"{name}: not at the top level" for name in top_level(root) if not TOP_LEVEL.fullmatch(name)]
    return found


# Each breaks one rule.
PLANTS = [
    ("src/base/planted.h", "model/record.h"),
    ("src/model/planted.h", "store/store.h"),
    ("src/model/planted.h", "duelease/engine.h"),
    ("src/model/planted.h", "boost/asio.hpp"),
    ("src/store/planted.cpp", "engine/core.h"),
    ("src/engine/planted.cpp", "rocksdb/db.h"),
    ("src/engine/planted.cpp", "records.pb.h"),
    ("src/engine/planted.cpp", "server/session.h"),
    ("src/engine/planted.cpp", "duelease/server.h"),
    ("src/worker/planted.cpp", "duelease/engine.h"),
    ("src/worker/planted.cpp", "store/store.h"),
    ("src/reconcile/planted.cpp", "duelease/engine.h"),
    ("src/reconcile/planted.cpp", "store/store.h"),
    ("src/worker/planted.cpp", "xxhash.h"),
    ("src/protocol/planted.cpp", "duelease/engine.h"),
    ("src/protocol/planted.cpp", "model/record.h"),
    ("src/server/planted.cpp", "engine/core.h"),
    ("src/server/planted.cpp", "client/client.h"),
    ("src/client/planted.cpp", "store/store.h"),
    ("src/client/planted.cpp", "server/session.h"),
    ("src/client/planted.cpp", "duelease/engine.h"),
    ("src/client/planted.cpp", "model/validate.h"),
    ("src/store/planted.cpp", "sqlite3.h"),
    ("src/client/planted.cpp", "hiredis/hiredis.h"),
    ("src/store/planted.cpp", "keys.h"),
    ("src/novel/planted.cpp", "base/check.h"),
    ("include/duelease/planted.h", "rocksdb/db.h"),
    ("include/duelease/planted.h", "boost/asio.hpp"),
    ("include/duelease/planted.h", "google/protobuf/message.h"),
    ("include/duelease/planted.h", "base/check.h"),
    ("include/duelease/options.h", "duelease/engine.h"),
    ("include/duelease/client.h", "duelease/engine.h"),
    ("include/duelease/worker.h", "duelease/engine.h"),
    ("include/duelease/work_source.h", "duelease/engine.h"),
    ("include/duelease/reconcile.h", "duelease/client.h"),
    ("include/duelease/engine.h", "duelease/server.h"),
    ("tools/planted.cpp", "engine/core.h"),
    ("tools/planted.cpp", "../src/engine/core.h"),
    ("bench/planted.cpp", "rocksdb/db.h"),
    ("tests/examples/planted.cpp", "store/store.h"),
    ("planted.txt", "no header"),
]


def self_test(root, copy):
    for name in ("include", "src", "tools", "bench", "tests"):
        shutil.copytree(os.path.join(root, name), os.path.join(copy, name))
    before = faults(copy)
    for path, header in PLANTS:
        planted = os.path.join(copy, path)
        os.makedirs(os.path.dirname(planted), exist_ok=True)
        original = None
        if os.path.exists(planted):
            with open(planted, encoding="utf-8") as file:
                original = file.read()
        with open(planted, "w", encoding="utf-8") as file:
            file.write(f'#include "{header}"\n' + (original or ""))
        new = [fault for fault in faults(copy) if fault not in before and fault.startswith(path + ":")]
        if not new:
            sys.exit(f"layers: planted {header} in {path} and did not find it")
        if original is None:
            os.remove(planted)
        else:
            with open(planted, "w", encoding="utf-8") as file:
                file.write(original)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with tempfile.TemporaryDirectory() as folder:
        self_test(root, os.path.join(folder, "copy"))
    found = faults(root)
    for fault in found:
        print(fault)
    print(f"layers: {len(found)} faults; {len(PLANTS)} planted ones were found")
    sys.exit(1 if found else 0)


main()
