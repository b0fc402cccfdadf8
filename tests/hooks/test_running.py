"""A hook as a process: exit code 0 and zero bytes, whatever happens (R-P1; the table of hostile inputs is `samples.py`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from reflect_gate.hooks.event import Event
from reflect_gate.hooks.running import DEADLINE, Options, options, respond, wanted

PROGRAM: Final = [sys.executable, "-m", "reflect_gate"]
START: Final[dict[str, Any]] = {"session_id": "s", "transcript_path": "", "cwd": "/", "hook_event_name": "SessionStart"}
FAILED: Final[dict[str, Any]] = {**START, "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "error": "Exit code 1"}


def run(*arguments: str, data: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program as a harness does."""
    return subprocess.run(
        [*PROGRAM, *arguments], input=data, capture_output=True, check=False, timeout=60, env={**os.environ, **environ}
    )


def silent(done: subprocess.CompletedProcess[bytes]) -> bool:
    """Return whether a process ended well and said nothing."""
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    "arguments",
    [
        ["hook"],
        ["hook", "--harness"],
        ["hook", "--no-such-option", "x"],
        ["hook", "--deadline", "soon"],
        ["hook", "a", "b", "c"],
        ["evaluate", "--hook", "claude-code"],
        ["evaluate", "--hook=claude-code", "--policies", "nowhere.yaml"],
        ["--error-format", "json", "evaluate", "--hook", "claude-code", "--no-such-option"],
        ["evaluate", "--hook", "no-such-harness", "--bundle", "none"],
    ],
)
def test_no_argument_is_an_error(arguments: list[str]) -> None:
    """An error of usage would be shown to the user, or block a prompt (anthropics/claude-code#80697)."""
    assert silent(run(*arguments, data=json.dumps(START).encode()))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REFLECT_GATE_HOME", "not/absolute"),
        ("REFLECT_GATE_HOME", "/dev/null"),
        ("REFLECT", "nonsense"),
        ("REFLECT_GATE_POLICIES", "/no"),
    ],
)
def test_a_broken_environment_is_silent(name: str, value: str) -> None:
    """A home that is none, a route that is none, policies that are none: nobody is told by a hook."""
    assert silent(run("hook", data=json.dumps(FAILED).encode(), **{name: value}))
    assert silent(run("hook", data=json.dumps(START).encode(), **{name: value}))


def test_a_store_that_is_none_is_silent(home: Path) -> None:
    """A file of something else where the store should be."""
    home.mkdir()
    for name in ("store.db", "introspect.db"):
        (home / name).write_bytes(b"this is no store" * 400)
    assert silent(run("hook", data=json.dumps({**START, "source": "startup"}).encode()))


def test_a_pipe_that_stays_open_ends_with_the_deadline() -> None:
    """Half a payload and no end: the hook is gone after its deadline, silent (anthropics/claude-code#90585)."""
    with subprocess.Popen(
        [*PROGRAM, "hook", "--deadline", "0.3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b'{"session_id":')
        process.stdin.flush()
        assert process.wait(60) == 0
        assert process.stdout is not None
        assert process.stderr is not None
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX shuts the streams")
@pytest.mark.parametrize("shut", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_shut_are_no_error(shut: str) -> None:
    """A harness may start a hook without any of the three."""
    command = f'"{sys.executable}" -m reflect_gate hook {shut}'
    done = subprocess.run(["/bin/sh", "-c", command], input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_payload_may_be_the_last_argument() -> None:
    """Codex hands its older notification over so; standard input is then not read."""
    assert options(["hook", "--harness", "codex", '{"type":"agent-turn-complete","a":"b=c"}']) == Options(
        "codex", "", DEADLINE, '{"type":"agent-turn-complete","a":"b=c"}'
    )


@pytest.mark.parametrize("value", ["1", "true", "YES"])
def test_switched_off_is_silent_before_anything_is_read(value: str) -> None:
    """What reflect-gate starts carries the switch, so that no hook feeds itself; not even the payload is read."""
    with subprocess.Popen(
        [*PROGRAM, "hook", "--deadline", "600"], stdin=subprocess.PIPE, env={**os.environ, "REFLECT_GATE_DISABLE": value}
    ) as hook:
        assert hook.wait(60) == 0


def test_help_is_the_programs_own() -> None:
    """Who asks for help is no harness."""
    done = run("hook", "--help")
    assert done.returncode == 0
    assert b"REFLECT_GATE_DISABLE" in done.stdout
    assert not wanted(["hook", "-h"])


@pytest.mark.parametrize(
    ("arguments", "is_hook"),
    [
        ([], False),
        (["hook"], True),
        (["evaluate", "x.json"], False),
        (["evaluate", "x.json", "--hook", "codex"], True),
        (["explain", "--hook"], False),
    ],
)
def test_which_command_lines_are_hooks(arguments: list[str], is_hook: bool) -> None:
    """`hook`, and `evaluate` with `--hook`; `evaluate` without it keeps its exit codes."""
    assert wanted(arguments) is is_hook


def test_a_hook_imports_nothing_that_it_does_not_need() -> None:
    """The start is a budget: no click, no store, no engine for an event of no interest."""
    payload = json.dumps({**START, "hook_event_name": "Notification"})
    code = (
        "import sys; from reflect_gate.cli import main; code = main(['hook', sys.argv[1]]); "
        "heavy = {'click', 'threading', 'sqlite3', 'jsonschema', 'yaml', 'orjson', 're2', 'subprocess', 'dataclasses'}; "
        "print(code, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, payload], capture_output=True, text=True, check=True)
    assert done.stdout == "0 []\n"


def test_what_a_library_prints_does_not_reach_the_harness() -> None:
    """Whatever is written below, through Python or not, one document is said and nothing else (thedotmack/claude-mem#3910)."""
    code = (
        "import os, sys\nfrom reflect_gate.hooks.running import main\n"
        "def collect(event):\n    print('x', file=sys.stderr); os.write(1, b'z'); os.write(2, b'z'); raise SystemExit(2)\n"
        "def recall(event):\n    print('x'); os.write(1, b'z'); return 'A lesson.'\n"
        "main(['hook', sys.argv[1]], (lambda event: None) if sys.argv[2] == 'say' else collect, recall)\n"
    )
    run_ = [sys.executable, "-c", code, json.dumps(START)]
    said = subprocess.run([*run_, "say"], capture_output=True, check=False)
    assert json.loads(said.stdout)["hookSpecificOutput"]["additionalContext"] == "A lesson."
    assert (said.returncode, said.stderr) == (0, b"")
    assert silent(subprocess.run([*run_, "exit"], capture_output=True, check=False))


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe without a reader is POSIX's")
def test_a_reader_that_has_gone_is_no_error() -> None:
    """A harness that gave up has closed its end; the lesson is lost, and nothing is said of it."""
    code = (
        "import sys; from reflect_gate.hooks.running import main; "
        "sys.exit(main(['hook', sys.argv[1]], print, lambda _: 'A lesson.'))"
    )
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run([sys.executable, "-c", code, json.dumps(START)], stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_failure_to_collect_costs_no_answer() -> None:
    """The queue may be full while there is a lesson."""

    def collect(_event: Event) -> None:
        raise OSError("no space")

    said = respond(START, Options(), collect, lambda _event: "A lesson.")
    assert json.loads(said)["hookSpecificOutput"]["hookEventName"] == "SessionStart"


def test_nothing_is_recalled_where_nothing_can_be_said() -> None:
    """An event that takes no context asks for none: what is given must be seen."""
    asked: list[Event] = []

    def recall(event: Event) -> str:
        asked.append(event)
        return "A lesson."

    assert respond({**START, "hook_event_name": "Stop"}, Options(), lambda _event: None, recall) == b""
    assert asked == []
