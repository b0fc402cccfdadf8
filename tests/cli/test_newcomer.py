"""Mistakes that people make on their first day, and what they are told."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from reflect_gate.cli import main
from reflect_gate.cli._app import app

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command line in an empty home and returns exit code, output and errors."""
    for name in ("REFLECT_GATE_MODEL", "REFLECT_GATE_BASE_URL", "REFLECT_GATE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("REFLECT_GATE_HOME", str(tmp_path / "gate"))
    monkeypatch.chdir(tmp_path)

    def go(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        return code, *capfd.readouterr()

    return go


class Terminal(io.TextIOWrapper):
    """Standard input at which somebody sits, and says nothing."""

    def isatty(self) -> bool:
        """Say that it is a terminal."""
        return True


@pytest.mark.parametrize("verb", ["evaluate", "capture"])
def test_a_terminal_is_told_that_it_is_read(verb: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever forgets the file does not wait without a word; a pipe is not told."""
    monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(b"")))
    assert "reading from the terminal: name a file, or end with Ctrl-D\n" in run(verb)[2]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "terminal" not in run(verb)[2]


def test_a_request_is_no_termination(run: Run) -> None:
    """One line that says which verb is meant, and nothing is kept."""
    code, out, err = run("capture", str(EXAMPLES / "admitted.json"))
    assert (code, out) == (3, "")
    assert "a request, which `evaluate` judges" in err
    assert err.count("error:") == 1


@pytest.mark.parametrize("keys", [("record",), ("reflection",)])
def test_half_a_request_is_held_to_the_schema(keys: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    """What is a request by one key alone is whatever its errors say."""
    file = tmp_path / "odd.json"
    file.write_text(json.dumps({key: {} for key in keys}), "utf-8")
    _, _, err = run("capture", str(file))
    assert "missing key `failure_id`" in err


def test_the_example_of_a_termination_is_one(run: Run) -> None:
    """It can be captured as it is, twice, and is one job."""
    code, first, _ = run("capture", str(EXAMPLES / "capture" / "termination.json"))
    assert code == 0
    code, again, err = run("capture", str(EXAMPLES / "capture" / "termination.json"))
    assert (code, again) == (0, first)
    assert "waits already" in err


def test_a_model_without_a_server_is_asked_where_it_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has a model of his own and named it alone is told of the variable for its server."""
    monkeypatch.setenv("REFLECT_GATE_MODEL", "qwen")
    code, _, err = run("worker", "--once")
    assert code == 3
    assert "`REFLECT_GATE_BASE_URL` for another server" in err


def test_what_comes_after_installing_is_said_once(run: Run) -> None:
    """Hooks alone learn nothing; a second run, a dry run and AGENTS.md have nothing to add."""
    told = "failures that are collected wait for `reflect-gate worker`"
    assert told not in run("init", "cursor", "--dry-run")[2]
    assert run("init", "cursor")[2].count(told) == 1
    assert told not in run("init", "cursor")[2]
    assert told not in run("init", "agents-md")[2]


def test_what_a_context_asks_for_can_be_typed(run: Run) -> None:
    """The line that says how to record an outcome works once its choice is made."""
    run("reflect", "when the importer meets grouped digits, strip the separators before int, because int takes none")
    _, out, _ = run("retrieve", "Make the importer accept grouped digits", "--format", "context")
    line = out.strip().splitlines()[-1].partition("reflect-gate ")[2]
    assert run(*line.replace("resolved|unchanged|worse", "resolved").replace(" N", " 0").split())[0] == 0


def test_policies_of_the_folder_that_are_not_in_force_are_told(run: Run, tmp_path: Path) -> None:
    """Whoever forgets `--policies .` beside his own rules learns why they are unknown; who gave it does not."""
    told = "`policies.yaml` of this folder is not in force: give `--policies .` to use it"
    assert run("policy", "init")[0] == 0
    assert run("policy", "new", "--ruleset", "german", "--policies", ".")[0] == 0
    code, _, err = run("policy", "test", "rules/german.yaml")
    assert code == 5
    assert told in err
    assert told in run("policy", "show", "--bundle", "ours")[2]
    assert told not in run("policy", "show", "--bundle", "theirs", "--policies", ".")[2]
    assert told not in run("policy", "show", "--bundle", "theirs", "--policies=.")[2]
    (tmp_path / "policies.yaml").unlink()
    assert told not in run("policy", "show", "--bundle", "ours")[2]


def test_policies_of_the_folder_that_are_in_force_are_not_told(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The home folder's, or those of the variable, may be the very ones."""
    run("policy", "init")
    monkeypatch.setenv("REFLECT_GATE_POLICIES", str(tmp_path / "policies.yaml"))
    code, _, err = run("policy", "show", "--bundle", "theirs")
    assert code == 3
    assert "not in force" not in err


def test_an_empty_list_says_so(run: Run) -> None:
    """On standard error, so that no line is counted; for programs the document says it."""
    run("store", "init")
    assert run("lessons", "list") == (0, "", "no lessons to list\n")
    assert run("decisions", "list") == (0, "", "no decisions to list\n")
    code, out, err = run("lessons", "list", "--format", "json")
    assert (code, err) == (0, "")
    assert json.loads(out)["lessons"] == []


def leaves(command: click.Command, path: str = "") -> list[tuple[str, click.Command]]:
    """Return the verbs that do something, each with its path."""
    if not isinstance(command, click.Group):
        return [(path, command)]
    context = click.Context(command)
    found = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
    return [leaf for name, child in found if child is not None for leaf in leaves(child, f"{path} {name}".strip())]


@pytest.mark.parametrize("path", [path for path, _ in leaves(app)])
def test_every_verb_has_an_example_of_itself(path: str) -> None:
    """`--help` shows how it is typed."""
    command = dict(leaves(app))[path]
    shown = command.get_help(click.Context(command, info_name=path)).partition("Examples:\n")[2]
    assert f"reflect-gate {path}" in " ".join(shown.split())
