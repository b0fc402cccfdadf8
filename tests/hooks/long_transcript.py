"""What a transcript of many megabytes costs: a hook at the end of its session, and reading all of it.

    python tests/hooks/long_transcript.py --megabytes 500

Prints, as JSON, seconds of the processor and the peak of the memory of a process of its own for each, beside those of the same
on a transcript of 1 MB: what is bounded does not grow with the file.
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
    from .records import WRITERS
else:
    from records import WRITERS  # type: ignore[import-not-found, no-redef]

__all__ = ["HOOK", "long_transcript", "measured"]

_TURN: Final = 4_000
_TOLD: Final = """
import json, resource
used = resource.getrusage(resource.RUSAGE_SELF)
told = {"seconds": round(used.ru_utime + used.ru_stime, 2), "peak MB": round(used.ru_maxrss / 1024), "found": found}
"""
HOOK: Final = """
import sys
from reflect_gate.hooks.running import main
main(["hook", sys.argv[2]])
found = 0
"""
_WHOLE: Final = """
import sys
from reflect_gate.hooks.transcripts import read_transcript
found = sum(bool(entry.failed) for entry in read_transcript(sys.argv[1]).entries)
"""


def long_transcript(folder: Path, megabytes: int) -> Path:
    """Write a transcript of about that size, which ends with a failure and its repair; return its file."""
    end = WRITERS["claude-code"](folder).read_bytes()
    text = "x" * _TURN
    turn = json.dumps({"type": "user", "uuid": "f", "sessionId": "s", "message": {"content": text}}).encode() + b"\n"
    many = turn * 1_000
    file = folder / "long.jsonl"
    with file.open("wb") as stream:
        while stream.tell() < megabytes * 1_000_000:
            stream.write(many if megabytes > 8 else turn)
        stream.write(end)
    return file


def measured(code: str, file: Path, home: Path) -> dict[str, Any]:
    """Run code on a transcript in a process of its own, and return its processor time, its peak memory and what it found."""
    payload = {"session_id": "s", "transcript_path": str(file), "cwd": "/", "hook_event_name": "SessionEnd"}
    environ = {**os.environ, "REFLECT_GATE_HOME": str(home), "REFLECT_GATE_CACHE": str(home / "cache")}
    out = home.parent / "told.json"
    # A hook's streams lead nowhere.
    program = f"{code}{_TOLD}open({str(out)!r}, 'w').write(json.dumps(told))"
    subprocess.run([sys.executable, "-c", program, str(file), json.dumps(payload)], env=environ, check=True)
    found: dict[str, Any] = json.loads(out.read_text("utf-8"))
    jobs = list((home / "queue" / "wal").glob("*.wal"))
    return {**found, "found": found["found"] or len(jobs)}


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=500)
    options = parser.parse_args()
    told: dict[str, Any] = {}
    for megabytes in (1, options.megabytes):
        with tempfile.TemporaryDirectory() as folder:
            file = long_transcript(Path(folder), megabytes)
            for name, code in (("hook", HOOK), ("whole", _WHOLE)):
                told[f"{name}, {megabytes} MB"] = measured(code, file, Path(folder) / name)
    print(json.dumps(told, indent=1))  # noqa: T201 - the report
    return 0 if all(each["found"] == 1 for each in told.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
