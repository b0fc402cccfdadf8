"""What the tests of capturing share: a failure with a lesson in it, the answers of a model, and an environment of their own."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from reflect_gate.resources import data_path
from reflect_store import EventStore, open_store

if __package__:
    from ..llm.server import Asked, ModelServer
else:
    from server import Asked, ModelServer  # type: ignore[import-not-found, no-redef] # run as a script

__all__ = ["ANSWER", "BASELINE", "GATE", "PRICED", "Ran", "World", "failure", "shown"]

GATE: Final = {"REFLECT": "15reflect"}
BASELINE: Final = {"REFLECT": "introspect"}

PRICED: Final = """
models:
  default: tiny
  known:
    tiny:
      doc: A model with a price.
      model: tiny
      price: {input: 0.40, cached: 0.10, output: 1.60}
"""

FAILURE: Final[dict[str, Any]] = {
    "failure_id": "cart-1",
    "outcome": "resolved",
    "task": "make total() work for new sessions",
    "repository": "acme/shop",
    "language": "python",
    "session": "monday",
    "traces": [
        {
            "id": "plan",
            "kind": "plan",
            "text": "load_cart() always returns a dict, so read cart['items'] and sum the prices.",
        },
        {
            "id": "test",
            "kind": "test_output",
            "text": "tests/test_cart.py::test_total_of_new_session FAILED\nTypeError: 'NoneType' object is not subscriptable",
            "error_class": "TypeError",
            "path": "tests/test_cart.py",
            "passed": False,
            "oracle": "authoritative",
        },
    ],
}

ANSWER: Final[dict[str, Any]] = {
    "skip": False,
    "tags": ["none-check", "session"],
    "reflection": {
        "outcome": "resolved",
        "failed_assumption": "The plan assumed that load_cart() always returns a dict, but for a new session it returns None.",
        "overlooked_evidence": "",
        "strategy_error": "",
        "violated_invariant": "",
        "evidence_ids": ["plan", "test"],
        "counterfactual": "A check for None before reading cart['items'] would have returned a total of zero.",
        "candidate_lesson": (
            "When a loader such as load_cart() may return None for a new session, check its result before subscripting it, "
            "because the plan's assumption that it always returns a dict does not hold for empty state."
        ),
        "scope": "task:checkout",
        "confidence": 0.7,
    },
}
"""An answer to `FAILURE` that the gate admits."""

_CLEARED: Final = ("REFLECT", "OPENAI_API_KEY", "OPENAI_BASE_URL", "FORCE_COLOR")


def failure(name: str = "cart-1", **changes: Any) -> dict[str, Any]:
    """Return a failure of that name."""
    return {**copy.deepcopy(FAILURE), "failure_id": name, **changes}


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class World:
    """A home folder of its own, and the environment in which commands run there."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root = root
        self.home = root / "home"
        kept = {
            name: value for name, value in os.environ.items() if name not in _CLEARED and not name.startswith("REFLECT_GATE_")
        }
        self.environ: dict[str, str] = {
            **kept,
            "REFLECT_GATE_HOME": str(self.home),
            "REFLECT_GATE_CACHE": str(cache),
            "REFLECT": "15reflect",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
            "PYTHONUTF8": "1",
        }

    def asks(self, server: ModelServer) -> None:
        """Let the environment name the server."""
        self.environ |= {"REFLECT_GATE_MODEL": "tiny", "REFLECT_GATE_BASE_URL": server.base_url}

    def priced(self) -> None:
        """Give the model a price."""
        self.home.mkdir(exist_ok=True)
        shipped = data_path("policies.yaml").read_text(encoding="utf-8")
        (self.home / "policies.yaml").write_text(shipped + PRICED, encoding="utf-8")

    def started(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a command and return its process."""
        return subprocess.Popen(
            [sys.executable, "-m", "reflect_gate", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.root,
            env={**self.environ, **(env or {})},
        )

    @contextmanager
    def running(self, *arguments: str, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
        """Start a command and yield its process, which is ended with a test that fails."""
        with self.started(*arguments, env=env) as process:
            try:
                yield process
            finally:
                process.kill()

    def run(self, *arguments: str, stdin: object = None, env: Mapping[str, str] | None = None) -> Ran:
        """Run a command; a document as `stdin` is sent as JSON."""
        data = stdin if isinstance(stdin, bytes) else b"" if stdin is None else json.dumps(stdin).encode()
        with self.running(*arguments, env=env) as process:
            out, err = process.communicate(data, timeout=120)
            return Ran(process.returncode, out.decode(), err.decode())

    def python(self, code: str) -> str:
        """Run code in a process of its own and return what it printed."""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=self.environ, cwd=self.root, check=True)
        return done.stdout.decode().strip()

    def store(self, name: str = "store.db") -> EventStore:
        """Return a store of the home folder, opened to be read."""
        return open_store(self.home / name, read_only=True)

    def noted(self) -> bool:
        """Return whether the outcome of a failure is in the log of calls."""
        return any(b'"outcome"' in path.read_bytes() for path in (self.home / "calls").glob("*"))

    def rows(self, table: Any, name: str = "store.db") -> list[Any]:
        """Return all rows of a table of a store."""
        with self.store(name) as store:
            return list(store.iterate(table))


def shown(asked: Asked) -> str:
    """Return what the model was shown of the evidence."""
    return str(asked.body["messages"][-1]["content"])
