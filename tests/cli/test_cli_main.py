"""The frame of every verb: exit codes, error lines, help, and what is imported when."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from reflect_gate import ReflectGateError, Source, __version__
from reflect_gate.cli import main
from reflect_gate.cli._app import VERBS, app, load
from reflect_gate.cli._output import COULD_NOT_RUN, INVALID, exit_code_of
from reflect_gate.errors import ReflectGateErrors

HEAVY = ("durable_rules_engine", "jsonschema", "jsonschema_rs", "openai", "orjson", "prometheus_client", "re2", "rich", "yaml")

Run = Callable[..., Any]


def test_version(process: Run) -> None:
    """`--version` names the program and its version."""
    assert process("--version") == (0, f"reflect-gate {__version__}\n", "")


def test_help_imports_nothing_heavy(environment: dict[str, str]) -> None:
    """`--help` starts no parser, validator, engine or client (docs/architecture.md, start-up)."""
    code = (
        "import sys; from reflect_gate.cli import main; code = main(['--help']);"
        f"print('heavy', [name for name in {HEAVY!r} if name in sys.modules]); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.splitlines()[-1] == "heavy []"


def test_no_arguments_is_a_usage_error_with_help(process: Run) -> None:
    """Without a verb the help is shown, and a hook that lost its arguments does not look successful."""
    code, out, err = process()
    assert (code, out) == (64, "")
    assert "evaluate" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["evalute"],
        ["evaluate", "--no-such-option"],
        ["evaluate", "--jobs", "0"],
        ["policy"],
        ["policy", "chek"],
        ["evaluate", "a", "b"],
    ],
)
def test_usage_errors_are_64(process: Run, arguments: list[str]) -> None:
    """Click's own 2, which harnesses read as "block", never comes out (docs/architecture.md, exit codes)."""
    code, out, err = process(*arguments)
    assert (code, out) == (64, "")
    assert err.startswith("error: ")
    assert "[usage]" in err


def test_misspelt_verb_names_the_nearest(here: Run) -> None:
    """A misspelt verb is answered with the one that was probably meant."""
    assert "no such command `evalute`, did you mean `evaluate`? [usage]" in here("evalute").err


def test_usage_error_as_json(here: Run) -> None:
    """`--error-format json` holds even for an error in the arguments themselves."""
    code, _, err = here("evaluate", "--no-such-option", "--error-format", "json")
    assert code == 64
    assert json.loads(err)["error"]["code"] == "usage"


def test_error_format_from_the_environment(process: Run) -> None:
    """`REFLECT_GATE_ERROR_FORMAT` does what the option does."""
    _, _, err = process("nothing", env={"REFLECT_GATE_ERROR_FORMAT": "json"})
    assert json.loads(err)["error"]["code"] == "usage"


def test_unknown_error_format_is_a_usage_error(here: Run) -> None:
    """A format that does not exist is not silently text."""
    assert here("completion", "bash", "--error-format", "xml").code == 64


def test_broken_pipe_is_quiet(environment: dict[str, str]) -> None:
    """A reader that went away ends the program without a word and without success."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "reflect_gate", "completion", "bash"],
        stdout=write,
        stderr=subprocess.PIPE,
        env=environment,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_full_disk_is_an_error(environment: dict[str, str]) -> None:
    """Output that could not be written is not a success."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "reflect_gate", "completion", "bash"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment,
            check=False,
        )
    assert done.returncode == 1
    assert b"[io]" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
def test_interrupt_is_130(environment: dict[str, str]) -> None:
    """An interrupt ends the program with the code that shells expect, without a traceback."""
    running = subprocess.Popen(
        [sys.executable, "-m", "reflect_gate", "evaluate"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert running.stdin is not None
    assert running.stderr is not None
    running.stdin.write(b"{}\n{}\n")
    running.stdin.flush()
    # Its word on the first line shows that it is in the middle of the batch.
    assert b"error: <stdin>:1" in running.stderr.readline()
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert b"Traceback" not in err


def test_unexpected_exception_is_one_line(here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the program itself is one line and exit code 1."""
    monkeypatch.setattr(app, "invoke", _explode)
    code, out, err = here("completion", "bash")
    assert (code, out) == (1, "")
    assert err == "error: internal error: KeyError: 'gone' (REFLECT_GATE_DEBUG=1 shows where) [internal]\n"


def test_debug_shows_the_traceback(here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`REFLECT_GATE_DEBUG=1` is for whoever has to find the fault."""
    monkeypatch.setattr(app, "invoke", _explode)
    monkeypatch.setenv("REFLECT_GATE_DEBUG", "1")
    assert "Traceback" in here("completion", "bash").err


def _explode(_context: click.Context) -> None:
    raise KeyError("gone")


@pytest.mark.parametrize(
    ("codes", "exit_code"),
    [
        (["policy-syntax"], INVALID),
        (["cannot-read"], COULD_NOT_RUN),
        (["engine-failed"], COULD_NOT_RUN),
        (["engine-failed", "policy-syntax"], INVALID),
    ],
)
def test_exit_code_of_errors(codes: list[str], exit_code: int) -> None:
    """What could not run is 1, what is invalid is 3; an invalid part decides."""
    assert exit_code_of(ReflectGateErrors([ReflectGateError(code, "no") for code in codes])) == exit_code


def test_errors_carry_their_place(here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error line is `error: file:line:col: message [code]`, and hostile names in it are harmless."""

    def fail(_context: click.Context) -> None:
        raise ReflectGateError("policy-syntax", "odd `\x1b[2J`", Source("rules/a.yaml", 3, 5))

    monkeypatch.setattr(app, "invoke", fail)
    assert here("completion", "bash").err == "error: rules/a.yaml:3:5: odd `\\x1b[2J` [policy-syntax]\n"


def test_table_of_verbs_repeats_their_help() -> None:
    """`--help` reads a table instead of the verbs; the two say the same."""
    for name, verb in VERBS.items():
        text = load(verb).help or ""
        assert (name, verb.help) == (name, " ".join(text.split("\n\n")[0].split()))


@pytest.mark.parametrize("name", [*VERBS, "policy show", "policy check", "policy test"])
def test_every_verb_has_help(here: Run, name: str) -> None:
    """Every verb explains itself and takes `--error-format`."""
    code, out, _ = here(*name.split(), "--help")
    assert code == 0
    assert out.startswith(f"Usage: reflect-gate {name}")
    assert "--error-format" in out


@pytest.mark.parametrize("name", ["evaluate", "explain", "demo", "completion", "policy show", "policy check", "policy test"])
def test_help_has_examples(here: Run, name: str) -> None:
    """Help shows how a verb is used, each example on its own line."""
    assert "\n  Examples:\n    " in here(*name.split(), "--help").out


def test_main_takes_the_process_arguments(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The installed script calls `main()` without arguments."""
    monkeypatch.setattr(sys, "argv", ["reflect-gate", "--version"])
    assert main() == 0
    assert capsys.readouterr().out == f"reflect-gate {__version__}\n"
