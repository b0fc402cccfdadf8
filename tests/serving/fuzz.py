"""Requests that schemathesis makes from the OpenAPI document, right ones and wrong ones: none may be a server's error.

`python tests/serving/fuzz.py --examples 40 --phases examples,coverage,fuzzing [--program PATH]` starts a server of its own and
prints what schemathesis says; the exit code is schemathesis's.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

if __package__:
    from .load import served
else:
    sys.path[:0] = [str(Path(__file__).parent)]
    from load import served  # type: ignore[import-not-found, no-redef] # run as a script

__all__ = ["run"]

_CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def run(url: str, *, examples: int, phases: str, program: str = "", seconds: int = 1_800) -> tuple[int, str]:
    """Try the server at `url`, and return the exit code and what was printed.

    Args:
        url: the server, without tokens.
        examples: requests that are made up for each operation at most.
        phases: those of schemathesis, joined by commas.
        program: schemathesis, where it is not in this environment.
        seconds: after which it is given up.
    """
    command = [program] if program else [sys.executable, "-m", "schemathesis.cli"]
    options = ["--checks", _CHECKS, "--max-examples", str(examples), "--seed", "1", "--no-shrink", "--phases", phases]
    done = subprocess.run(
        [*command, "run", f"{url}/openapi.json", *options],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout + done.stderr


def main() -> int:
    """Start a server, try it, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=40)
    parser.add_argument("--phases", default="examples,coverage,fuzzing")
    parser.add_argument("--program", default="")
    given = parser.parse_args()
    with served() as gate:
        code, told = run(gate.url, examples=given.examples, phases=given.phases, program=given.program)
        faults = [line for line in gate.lines if line["event"] == "fault" or line.get("status") == 500]
        asked = sum(line["event"] == "request" for line in gate.lines)
    print(told)  # noqa: T201 - a script
    print({"requests": asked, "faults": faults})  # noqa: T201
    return code or bool(faults)


if __name__ == "__main__":
    sys.exit(main())
