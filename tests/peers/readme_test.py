"""README shows the examples of tests/peers/examples as they are, or links to them."""
import os
import sys

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
LANGUAGES = {"py": "python", "sh": "bash", "js": "js", "php": "php"}


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


readme = read("README.md")
wrong = []
for name in sorted(os.listdir(f"{root}/tests/peers/examples")):
    path = f"tests/peers/examples/{name}"
    shown = f"```{LANGUAGES[name.split('.')[1]]}\n{read(path)}```\n" in readme
    if not shown and f"]({path})" not in readme:
        wrong.append(f"README neither shows {path} as it is nor links to it")
    if name == "worker.py" and not shown:
        wrong.append(f"README does not show {path} as it is")
sys.exit("\n".join(wrong) or 0)
