"""Install for every harness with real processes, prove delivery, take everything out again, and print a table.

`python tests/installing/everywhere.py` works in a temporary home. With `--keep DIR` the home is made there and left installed, to
be looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

if __package__:
    from .configs import of
else:
    from configs import of  # type: ignore[import-not-found, no-redef]

from reflect_gate.installing.commands import running
from reflect_gate.installing.harnesses import HARNESSES, Harness, Where
from reflect_gate.installing.parts import Entries

GATE: Final = [sys.executable, "-m", "reflect_gate"]
CASE: Final = "comments"


def called(home: Path, *arguments: str) -> tuple[int, str]:
    """Run reflect-gate with a home of its own and return exit code and output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REFLECT")}
    environment |= {"HOME": str(home), "USERPROFILE": str(home), "REFLECT_GATE_HOME": str(home / ".reflect-gate")}
    done = subprocess.run([*GATE, *arguments], env=environment, cwd=home, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def seeded(home: Path, harness: Harness) -> None:
    """Make the settings file of a harness as somebody has it."""
    where = Where("user", home, running())
    part = next((each for each in harness.parts(harness, where) if isinstance(each, Entries)), None)
    text = of(harness, where).get(CASE)
    if part is not None and text is not None:
        part.file.parent.mkdir(parents=True, exist_ok=True)
        part.file.write_bytes(text.encode())


def tree(home: Path) -> dict[str, bytes]:
    """Return the files of a home but for those of reflect-gate and the cache."""
    files = (path for path in home.rglob("*") if path.is_file())
    named = {str(path.relative_to(home)): path for path in files}
    return {name: path.read_bytes() for name, path in named.items() if not name.startswith((".reflect-gate", ".cache"))}


def row(home: Path, harness: Harness) -> tuple[str, ...]:
    """Return name, what a second run did, what the doctor found, and whether all is as it was."""
    before = tree(home)
    code, _ = called(home, "init", harness.name)
    _, again = called(home, "init", harness.name)
    _, out = called(home, "doctor", "--format", "json")
    checks: list[dict[str, Any]] = json.loads(out)["checks"]
    found = next(check for check in checks if check["name"] == f"hooks of {harness.name}")
    called(home, "uninstall", harness.name)
    second = "nothing to do" if "nothing to do" in again else "CHANGED"
    same = "identical" if tree(home) == before else "DIFFERS"
    return harness.name, str(code), second, found["status"], found["detail"].rpartition("; ")[2] or found["detail"], same


def main() -> int:
    """Print the table; exit code 1 where something is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", metavar="DIR", help="Install everything here and leave it.")
    chosen = parser.parse_args()
    users = [harness for harness in HARNESSES if "user" in harness.scopes]
    if chosen.keep:
        home = Path(chosen.keep).absolute()
        home.mkdir(parents=True, exist_ok=True)
        for harness in users:
            seeded(home, harness)
            sys.stdout.write(called(home, "init", harness.name)[1])
        return 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for harness in users:
            seeded(home, harness)
        rows = [row(home, harness) for harness in users]
    table = [("harness", "init", "second init", "doctor", "delivery", "after uninstall"), *rows]
    sys.stdout.write("".join(" | ".join(each) + "\n" for each in table))
    good = all(each[1:4] == ("0", "nothing to do", "ok") and each[5] == "identical" for each in rows)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
