"""Every sample input of a folder through a real hook's process, and what each would say were there a lesson; prints a table.

`python tests/hooks/samples.py [FOLDER]`. Ends with 1 where a process exits with anything but 0, prints a traceback, or says
something while there is no lesson. `--ratio N` also prints how many times a bare interpreter's start a silent hook takes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from reflect_gate.hooks.dialects import read
from reflect_gate.hooks.reading import payload_of
from reflect_gate.hooks.running import Options, respond

LESSON: Final = "A lesson on record."
HOOK: Final = [sys.executable, "-c", "from reflect_gate.cli import entry; entry()", "evaluate", "--hook", "auto"]
_NAMES: Final = {
    "claude-code": "claude-code",
    "codex": "codex",
    "gemini-cli": "gemini",
    "cursor": "cursor",
    "copilot-cli": "copilot",
    "vscode": "vscode",
    "openhands": "openhands",
    "cline": "cline",
    "cline-sdk": "cline",
    "goose": "goose",
    "hermes": "hermes",
    "opencode": "opencode",
}


class Row(NamedTuple):
    """What became of one file: its dialect and kind, the process, and the bytes that would be said with a lesson at hand."""

    file: str
    dialect: str
    kind: str
    code: int
    out: int
    err: int
    would_say: str

    @property
    def expected(self) -> str:
        """The dialect that the file's name promises; empty for what is not a hook's payload."""
        return _NAMES.get(self.file.split(".")[0], "")

    @property
    def wrong(self) -> bool:
        """Whether the hook broke its promise."""
        return bool(self.code or self.err or self.out) or (bool(self.expected) and self.dialect != self.expected)

    @property
    def line(self) -> str:
        """The row as a line of the table."""
        mark = "WRONG" if self.wrong else "ok"
        streams = f"{self.code} {self.out:4} {self.err:4}"
        return f"{mark:5} {self.file:46} {self.dialect:12} {self.kind:13} {streams} {self.would_say}".rstrip()


def process(data: bytes, arguments: list[str], home: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a hook as a harness does, with a home of its own."""
    environment = {**os.environ, "REFLECT_GATE_HOME": str(home), "REFLECT_GATE_CACHE": str(home / "cache")}
    environment.pop("REFLECT_GATE_DISABLE", None)
    return subprocess.run(arguments, input=data, capture_output=True, env=environment, check=False, timeout=60)


def row(file: Path, home: Path) -> Row:
    """Send one file."""
    data = file.read_bytes()
    arguments = [*HOOK, data.decode()] if "argv-last" in file.name else HOOK
    done = process(b"" if arguments is not HOOK else data, arguments, home)
    payload = payload_of(data)
    found = read(payload) if payload is not None else None
    said = respond(payload, Options(), lambda _event: None, lambda _event: LESSON) if payload is not None else b""
    names = (found[0].name, found[1].kind) if found else ("-", "-")
    return Row(file.name, *names, done.returncode, len(done.stdout), len(done.stderr), said.decode("ascii"))


def ratio(times: int, home: Path, event: str) -> float:
    """Return how many times a bare interpreter's start a silent hook takes: the quotient of the medians, taken in turns."""
    data = json.dumps({"hook_event_name": event, "transcript_path": "", "session_id": "s", "cwd": "/"}).encode()
    bare: list[float] = []
    hook: list[float] = []
    for _ in range(times):
        for arguments, into in (([sys.executable, "-c", "pass"], bare), (HOOK, hook)):
            start = time.perf_counter()
            process(data, arguments, home)
            into.append(time.perf_counter() - start)
    return statistics.median(hook) / statistics.median(bare)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parents[3] / "shared" / "hooks-samples")
    parser.add_argument("--ratio", type=int, default=0)
    chosen = parser.parse_args()
    files = sorted(file for file in chosen.folder.iterdir() if file.is_file() and file.name != "README.md")
    with tempfile.TemporaryDirectory() as folder:
        rows = [row(file, Path(folder)) for file in files]
        lines = [row_.line for row_ in rows]
        said, wrong = sum(1 for row_ in rows if row_.would_say), sum(row_.wrong for row_ in rows)
        lines.append(f"{len(rows)} files, {wrong} wrong; {said} would carry a lesson, {len(rows) - said} are silent")
        for event in ("Notification", "SessionStart", "Stop") if chosen.ratio else ():
            found = ratio(chosen.ratio, Path(folder), event)
            lines.append(f"silent hook / bare interpreter, {event}: {found:.2f} (budget 8)")
    print("\n".join(lines))  # noqa: T201 - the report
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
