"""Proving that a hook reaches its model: a made-up event through the command that stands in the settings, and what came of it.

Everything happens in a temporary home with one lesson in it; nothing of the user's is read or written.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from ..errors import ReflectGateError
from ..resources import data_path
from .finding import Installed
from .warming import RULES

__all__ = ["PROBES", "Delivery", "Done", "Probe", "Run", "deliver", "prepared"]

_LESSON: Final = "When the doctor probes a hook, look for this text in its answer, since a silent hook looks like a missing one."
_TASK: Final = "The doctor probes a hook and looks for this text in its answer; a silent hook looks like a missing one."
_SESSION: Final = "reflect-gate-doctor"
_SECONDS: Final = 20.0
_MOST: Final = 65_536
_WHEN: Final = "2026-01-01T00:00:00Z"

_Payload: TypeAlias = dict[str, Any]

Done: TypeAlias = "subprocess.CompletedProcess[bytes]"

Run: TypeAlias = Callable[[Sequence[str], bytes, Path], Done]
"""Runs a command with a payload on standard input and a home folder."""


class Probe(NamedTuple):
    """An event of a harness that can carry a lesson: its name in the settings, and its payload for a folder.

    `silent` says that the harness takes no text from any hook: then what is looked for is the failure that it keeps.
    """

    event: str
    payload: Callable[[str], _Payload]
    silent: bool = False


class Delivery(NamedTuple):
    """What came of a probe: whether it arrived, in how many seconds, and what is wrong in words."""

    arrived: bool
    seconds: float
    fault: str = ""


def _nested(event: str, **more: Any) -> Callable[[str], _Payload]:
    def payload(folder: str) -> _Payload:
        common = {"session_id": _SESSION, "transcript_path": "", "cwd": folder, "hook_event_name": event}
        return {**common, "prompt": _TASK, **more}

    return payload


def _cursor(folder: str) -> _Payload:
    return {
        "conversation_id": _SESSION,
        "generation_id": "1",
        "hook_event_name": "postToolUse",
        "cursor_version": "3",
        "workspace_roots": [folder],
        "transcript_path": None,
        "tool_name": "Shell",
        "tool_input": {"command": "probe"},
        "tool_output": json.dumps({"exitCode": 1, "output": f"Error: {_TASK}"}),
    }


def _copilot(folder: str) -> _Payload:
    return {"sessionId": _SESSION, "timestamp": 0, "cwd": folder, "source": "new", "initialPrompt": _TASK}


def _openhands(folder: str) -> _Payload:
    return {
        "event_type": "UserPromptSubmit",
        "tool_name": None,
        "tool_input": None,
        "tool_response": None,
        "message": _TASK,
        "session_id": _SESSION,
        "working_dir": folder,
        "metadata": {},
    }


def _cline(folder: str) -> _Payload:
    return {
        "clineVersion": "3",
        "hookName": "UserPromptSubmit",
        "taskId": _SESSION,
        "workspaceRoots": [folder],
        "userPromptSubmit": {"prompt": _TASK, "attachments": []},
    }


def _goose(folder: str) -> _Payload:
    return {
        "event": "PostToolUseFailure",
        "session_id": _SESSION,
        "tool_name": "developer__shell",
        "tool_input": {"command": "probe"},
        "working_dir": folder,
        "tool_call_id": "1",
    }


def _hermes(folder: str) -> _Payload:
    extra = {"user_message": _TASK, "is_first_turn": True, "turn_id": "1"}
    return {
        "hook_event_name": "pre_llm_call",
        "tool_name": None,
        "tool_input": None,
        "session_id": _SESSION,
        "cwd": folder,
        "profile": "default",
        "extra": extra,
    }


def _opencode(folder: str) -> _Payload:
    parts = [{"type": "text", "text": _TASK}]
    return {"hook": "chat.message", "directory": folder, "input": {"sessionID": _SESSION}, "output": {"parts": parts}}


PROBES: Final[Mapping[str, Probe]] = {
    "claude-code": Probe("UserPromptSubmit", _nested("UserPromptSubmit")),
    "codex": Probe("UserPromptSubmit", _nested("UserPromptSubmit", turn_id="1", model="any", permission_mode="default")),
    "gemini": Probe("BeforeAgent", _nested("BeforeAgent", timestamp=_WHEN)),
    "cursor": Probe("postToolUse", _cursor),
    "copilot": Probe("sessionStart", _copilot),
    "openhands": Probe("user_prompt_submit", _openhands),
    "cline": Probe("UserPromptSubmit", _cline),
    "goose": Probe("PostToolUseFailure", _goose, silent=True),
    "hermes": Probe("pre_llm_call", _hermes),
    "opencode": Probe("chat.message", _opencode),
}


def prepared(home: Path) -> None:
    """Make a home with one lesson in it, and compile what a hook there needs: what is measured is a hook, not the first one."""
    from reflect_store import draft, new_lesson, open_store

    from ..policy import load_bundle

    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    lesson = new_lesson(_LESSON, "", failures=["doctor"], evidence=["doctor"], confidence=0.5)
    envelope = {"lesson_id": "l-doctor", "signature": "d" * 64, "project": {}, "red_flag": False, "bundle": "d" * 64}
    with open_store(home / "store.db", create=True) as store:
        store.append([draft("lesson-admitted", {"lesson": lesson, "envelope": envelope, "decision_id": "doctor"})])
    load_bundle(policies=data_path("policies.yaml"), enable=RULES)


def deliver(one: Installed, probe: Probe, run: Run | None = None) -> Delivery:
    """Run an installed hook on a made-up event and return what came back; `run` is a process unless given."""
    with tempfile.TemporaryDirectory(prefix="reflect-gate-") as folder:
        home = Path(folder) / "home"
        prepared(home)
        payload = probe.payload(folder)
        command = [str(one.file)] if one.script and one.file.suffix != ".ps1" else list(one.argv)
        begun = time.monotonic()
        try:
            done = (run or _process)(command, json.dumps(payload).encode(), home)
        except subprocess.TimeoutExpired:
            return Delivery(False, _SECONDS, f"did not end within {_SECONDS:g} seconds")
        except OSError as error:
            return Delivery(False, 0.0, f"cannot be started: {(error.strerror or '').lower()}")
        fault = _fault(done, payload, probe, home)
        return Delivery(not fault, time.monotonic() - begun, fault)


def _process(command: Sequence[str], payload: bytes, home: Path) -> Done:
    return subprocess.run(  # noqa: S603 - one of our own commands, without a shell
        command,
        input=payload,
        capture_output=True,
        env=_environment(home),
        cwd=home,
        timeout=_SECONDS,
        check=False,
    )


def _environment(home: Path) -> dict[str, str]:
    """Return the environment of a harness: the user's, without what would lead a hook to the user's own lessons."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REFLECT")}
    cache = os.environ.get("REFLECT_GATE_CACHE")
    return {**kept, "REFLECT_GATE_HOME": str(home), **({"REFLECT_GATE_CACHE": cache} if cache else {})}


def _fault(done: Done, payload: _Payload, probe: Probe, home: Path) -> str:
    if done.returncode != 0:
        return f"ended with exit code {done.returncode}, and a hook never does"
    if done.stderr:
        return "wrote to standard error, and a hook never does"
    if probe.silent:
        kept = any((home / "hooks").glob("*.jsonl"))
        return ("said something to a harness that takes no text" if done.stdout else "") if kept else "kept no failure"
    if not done.stdout:
        return "said nothing, though there is a lesson for it"
    return _misread(done.stdout[:_MOST], payload, probe)


def _misread(stdout: bytes, payload: _Payload, probe: Probe) -> str:
    """Return what is wrong with an answer: the lesson has to stand where this harness looks for it, and nothing else may."""
    from ..hooks.dialects import read

    try:
        answer = json.loads(stdout)
    except ValueError:
        return "said what is no JSON"
    said = next((text for text in _texts(answer) if _LESSON in text), None)
    if said is None:
        return "said something else than the lesson"
    found = read(payload, event=probe.event)
    if found is None:
        raise ReflectGateError("internal", f"no dialect reads the probe of `{probe.event}`")
    dialect, event = found
    return "" if answer == dialect.context(event, said) else "said the lesson in another harness's form"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
