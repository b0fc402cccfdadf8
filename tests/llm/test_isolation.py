"""R-x1, R-x2: the model is reached from one stage, through one module; everything else runs without it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reflect_gate
from reflect_gate.stages import _case

PACKAGE = Path(reflect_gate.__file__).parent
NETWORK = {"openai", "httpx", "httpx2", "requests", "aiohttp", "urllib3", "http", "urllib", "socket", "smtplib", "ftplib"}
# `urlsplit` reads an address and opens nothing; the replay server listens on this machine for tests.
MAY = {"llm/client.py": {"openai", "socket"}, "llm/settings.py": {"urllib"}, "llm/replay.py": {"http", "urllib"}}

STAGES = sorted(path.stem for path in (PACKAGE / "stages").glob("[a-z]*.py") if path.stem not in {"__init__", "reflect"})

SILENCE = """\
import sys, json, socket
sys.modules["openai"] = None
def refuse(*_, **__):
    raise AssertionError("the network was used")
socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
"""


def imported(path: Path) -> Iterator[str]:
    """Yield the top-level names of every absolute import of a module, wherever it stands; of types alone too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def quietly(script: str, stdin: str = "") -> str:
    """Run a script without openai and without a network; return what it prints, and fail where it complains."""
    done = subprocess.run([sys.executable, "-c", SILENCE + script], input=stdin, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.strip()


def test_only_the_client_imports_openai() -> None:
    """R-L1: one learned entry, one module; nobody else could open a connection either."""
    found = {
        str(path.relative_to(PACKAGE).as_posix()): names
        for path in PACKAGE.rglob("*.py")
        if (names := NETWORK & set(imported(path)))
    }
    assert {name: names for name, names in found.items() if name in MAY} == MAY
    assert {name for name, names in found.items() if "openai" in names} == {"llm/client.py"}
    assert {name for name, names in found.items() if names & (NETWORK - {"http", "urllib", "socket"})} == {"llm/client.py"}


def test_importing_the_client_imports_no_library() -> None:
    """The half second is paid by whoever asks."""
    assert quietly("import reflect_gate.llm.client, reflect_gate.llm.probe, reflect_gate.stages.reflect\nprint('fine')") == "fine"


@pytest.mark.parametrize("name", STAGES)
def test_every_other_stage_imports_neither_client_nor_library(name: str) -> None:
    """R-x1: standalone importable, and far from any model."""
    script = f"import reflect_gate.stages.{name}\nprint([m for m in sys.modules if m.startswith('reflect_gate.llm')])"
    assert quietly(script) == "[]"


def test_all_stages_run_in_silence(request_document: dict[str, Any]) -> None:
    """R-x1: the whole pipeline judges with openai unimportable and every connection refused."""
    script = (
        "from reflect_gate import load_bundle\n"
        "from reflect_gate.pipeline import STAGES, evaluate\n"
        "decision = evaluate(json.load(sys.stdin), load_bundle('structured', cache=False))\n"
        "loaded = [m for m in sys.modules if m.startswith(('openai', 'reflect_gate.llm')) and sys.modules[m]]\n"
        "print(json.dumps([decision.status, loaded, [stage.name for stage in STAGES]]))\n"
    )
    decided, loaded, stages = json.loads(quietly(script, json.dumps(request_document)))
    assert (decided, loaded) == ("admitted", [])
    assert "reflect" not in stages
    assert all(isinstance(name, str) for name in stages)


def test_evaluate_as_a_command_imports_neither(request_document: dict[str, Any], tmp_path: Path) -> None:
    """R-x1: `reflect-gate evaluate` in a hook."""
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request_document), encoding="utf-8")
    script = (
        "from reflect_gate.cli import main\n"
        f"code = main(['evaluate', {str(path)!r}, '--format', 'json'])\n"
        "print()\n"
        "print(code, [m for m in sys.modules if m.startswith(('openai', 'reflect_gate.llm')) and sys.modules[m]])\n"
    )
    assert quietly(script).splitlines()[-1] == "0 []"


def test_the_reflect_stage_is_none_of_the_judging_ones() -> None:
    """R-x2: the stages of a judgement measure and conclude; reflect has no such entry."""
    from reflect_gate.stages import reflect

    assert not any(isinstance(value, _case.Stage) for value in vars(reflect).values())
