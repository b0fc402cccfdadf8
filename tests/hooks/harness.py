"""Harnesses that are none: what each dialect's hooks are told in a session of one's own, step by step.

A step is what happens in a session: it begins, a prompt, a command fails, it passes, a turn ends, the session ends. The payloads
have the shape of the golden ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

__all__ = ["COMMAND", "HARNESSES", "Harness", "Step", "Told"]

Step: TypeAlias = Literal["start", "prompt", "fail", "pass", "turn", "end"]
Tells: TypeAlias = Literal["fail", "prompt", "first prompt", "start", "nothing"]

COMMAND: Final = "pytest -q tests/test_cart.py"
_RAN: Final = {"command": COMMAND}
_AT: Final = "2027-02-03T04:05:06.000Z"


class Told(NamedTuple):
    """What a step tells: the session, its folder, the prompt or the output, the id of the call and of the turn."""

    session: str
    cwd: str
    text: str = ""
    call: str = ""
    turn: str = "t-1"


class Harness(NamedTuple):
    """A dialect: the payload of each step that it has, and at which of them a lesson can reach the model."""

    name: str
    payload: Callable[[Step, Told], dict[str, Any] | None]
    tells: Tells = "fail"


def _claude_code(step: Step, told: Told) -> dict[str, Any]:
    events: Mapping[Step, dict[str, Any]] = {
        "start": {"hook_event_name": "SessionStart", "source": "startup"},
        "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": told.text},
        "fail": {"hook_event_name": "PostToolUseFailure", "error": f"Exit code 1\n{told.text}", "is_interrupt": False},
        "pass": {"hook_event_name": "PostToolUse", "tool_response": {"stdout": told.text, "stderr": ""}},
        "turn": {"hook_event_name": "Stop"},
        "end": {"hook_event_name": "SessionEnd", "reason": "other"},
    }
    tool = {"tool_name": "Bash", "tool_input": _RAN, "tool_use_id": told.call} if step in {"fail", "pass"} else {}
    return {"session_id": told.session, "transcript_path": "", "cwd": told.cwd, "prompt_id": told.turn, **tool, **events[step]}


def _codex(step: Step, told: Told) -> dict[str, Any]:
    code = 1 if step == "fail" else 0
    after = {"hook_event_name": "PostToolUse", "tool_response": {"output": told.text, "metadata": {"exit_code": code}}}
    events: Mapping[Step, dict[str, Any]] = {
        "start": {"hook_event_name": "SessionStart", "source": "startup", "permission_mode": "default"},
        "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": told.text, "turn_id": told.turn},
        "fail": {**after, "tool_name": "Bash", "tool_input": _RAN, "tool_use_id": told.call, "turn_id": told.turn},
        "pass": {**after, "tool_name": "Bash", "tool_input": _RAN, "tool_use_id": told.call, "turn_id": told.turn},
        "turn": {"hook_event_name": "Stop", "turn_id": told.turn, "stop_hook_active": False},
        "end": {"hook_event_name": "SessionEnd", "reason": "other"},
    }
    return {"session_id": told.session, "transcript_path": "", "cwd": told.cwd, "model": "m", **events[step]}


def _gemini(step: Step, told: Told) -> dict[str, Any]:
    tool = {"hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_input": _RAN}
    failed = {"error": {"message": "Command exited with code 1", "type": "shell_execute_error"}}
    events: Mapping[Step, dict[str, Any]] = {
        "start": {"hook_event_name": "SessionStart", "source": "startup"},
        "prompt": {"hook_event_name": "BeforeAgent", "prompt": told.text},
        "fail": {**tool, "tool_response": {"llmContent": f"Output: {told.text}\nExit Code: 1", **failed}},
        "pass": {**tool, "tool_response": {"llmContent": f"Output: {told.text}\nExit Code: 0"}},
        "turn": {"hook_event_name": "AfterAgent", "prompt": "x", "prompt_response": told.text},
        "end": {"hook_event_name": "SessionEnd", "reason": "exit"},
    }
    return {"session_id": told.session, "transcript_path": "", "cwd": told.cwd, "timestamp": _AT, **events[step]}


def _cursor(step: Step, told: Told) -> dict[str, Any]:
    shown = json.dumps({"exitCode": 1 if step == "fail" else 0, "stdout": told.text})
    tool = {"tool_name": "Shell", "tool_input": _RAN, "tool_use_id": told.call, "cwd": told.cwd, "tool_output": shown}
    events: Mapping[Step, dict[str, Any]] = {
        "start": {"hook_event_name": "sessionStart", "session_id": told.session, "composer_mode": "agent"},
        "prompt": {"hook_event_name": "beforeSubmitPrompt", "prompt": told.text, "attachments": []},
        "fail": {"hook_event_name": "postToolUse", **tool},
        "pass": {"hook_event_name": "postToolUse", **tool},
        "turn": {"hook_event_name": "stop", "status": "completed", "loop_count": 0},
        "end": {"hook_event_name": "sessionEnd", "session_id": told.session, "final_status": "completed"},
    }
    common = {"conversation_id": told.session, "generation_id": told.turn, "cursor_version": "3.18.0", "transcript_path": None}
    return {**common, "workspace_roots": [told.cwd], **events[step]}


def _copilot(step: Step, told: Told) -> dict[str, Any]:
    tool = {"toolName": "bash", "toolArgs": _RAN}
    events: Mapping[Step, dict[str, Any]] = {
        "start": {"source": "new", "initialPrompt": told.text},
        "prompt": {"prompt": told.text},
        "fail": {**tool, "error": f"{told.text}\nexit code 1"},
        "pass": {**tool, "toolResult": {"resultType": "success", "textResultForLlm": told.text}},
        "turn": {"stopReason": "end_turn"},
        "end": {"reason": "complete"},
    }
    return {"sessionId": told.session, "timestamp": 1_801_631_106_000 + len(told.call), "cwd": told.cwd, **events[step]}


def _vscode(step: Step, told: Told) -> dict[str, Any] | None:
    tool = {"hookEventName": "PostToolUse", "tool_name": "runInTerminal", "tool_input": _RAN, "tool_use_id": told.call}
    events: Mapping[Step, dict[str, Any]] = {
        "start": {"hookEventName": "SessionStart", "source": "new"},
        "prompt": {"hookEventName": "UserPromptSubmit", "prompt": told.text},
        "fail": {**tool, "tool_response": f"{told.text}\nCommand exited with code 1"},
        "pass": {**tool, "tool_response": f"{told.text}\nCommand exited with code 0"},
        "turn": {"hookEventName": "Stop", "stop_hook_active": False},
    }
    common = {"timestamp": _AT, "cwd": told.cwd, "sessionId": told.session, "transcript_path": ""}
    return {**common, **events[step]} if step in events else None


def _openhands(step: Step, told: Told) -> dict[str, Any]:
    seen = {"content": [{"type": "text", "text": told.text}], "is_error": False, "exit_code": 1 if step == "fail" else 0}
    tool = {"event_type": "PostToolUse", "tool_name": "terminal", "tool_input": _RAN, "tool_response": seen}
    events: Mapping[Step, dict[str, Any]] = {
        "start": {"event_type": "SessionStart"},
        "prompt": {"event_type": "UserPromptSubmit", "message": told.text},
        "fail": tool,
        "pass": tool,
        "turn": {"event_type": "Stop", "metadata": {"reason": "finished"}},
        "end": {"event_type": "SessionEnd"},
    }
    return {"message": None, "session_id": told.session, "working_dir": told.cwd, "metadata": {}, **events[step]}


def _cline(step: Step, told: Told) -> dict[str, Any] | None:
    ran = {"toolName": "execute_command", "parameters": _RAN}
    events: Mapping[Step, dict[str, Any]] = {
        "start": {"hookName": "TaskStart", "taskStart": {"taskMetadata": {"taskId": told.session, "initialTask": ""}}},
        "prompt": {"hookName": "UserPromptSubmit", "userPromptSubmit": {"prompt": told.text, "attachments": []}},
        "fail": {"hookName": "PostToolUse", "postToolUse": {**ran, "result": f"Exit code 1\n{told.text}", "success": False}},
        "pass": {"hookName": "PostToolUse", "postToolUse": {**ran, "result": told.text, "success": True}},
        "end": {"hookName": "TaskComplete", "taskComplete": {"taskMetadata": {}}},
    }
    common = {"clineVersion": "3.90.0", "taskId": told.session, "workspaceRoots": [told.cwd]}
    return {**common, **events[step]} if step in events else None


def _goose(step: Step, told: Told) -> dict[str, Any]:
    tool = {"tool_name": "developer__shell", "tool_input": _RAN, "tool_call_id": told.call}
    events: Mapping[Step, dict[str, Any]] = {
        "start": {"event": "SessionStart"},
        "prompt": {"event": "UserPromptSubmit", "message": told.text},
        "fail": {"event": "PostToolUseFailure", **tool},
        "pass": {"event": "PostToolUse", **tool},
        "turn": {"event": "Stop", "last_assistant_message": told.text},
        "end": {"event": "SessionEnd"},
    }
    return {"session_id": told.session, "working_dir": told.cwd, **events[step]}


def _hermes(step: Step, told: Told) -> dict[str, Any] | None:
    tool = {"hook_event_name": "post_tool_call", "tool_name": "terminal", "tool_input": _RAN}
    failed = {"status": "error", "error_type": "nonzero_exit", "error_message": "exit code 1"}
    events: Mapping[Step, dict[str, Any]] = {
        "start": {"hook_event_name": "on_session_start", "extra": {"model": "m"}},
        "prompt": {
            "hook_event_name": "pre_llm_call",
            "extra": {"user_message": told.text, "is_first_turn": told.turn == "t-1", "turn_id": told.turn},
        },
        "fail": {**tool, "extra": {"result": told.text, "tool_call_id": told.call, **failed}},
        "pass": {**tool, "extra": {"result": told.text, "tool_call_id": told.call, "status": "ok"}},
        "end": {"hook_event_name": "on_session_end", "extra": {"failed": False, "turn_exit_reason": "done"}},
    }
    return {"session_id": told.session, "cwd": told.cwd, "profile": "default", **events[step]} if step in events else None


def _opencode(step: Step, told: Told) -> dict[str, Any] | None:
    ran = {"tool": "bash", "sessionID": told.session, "callID": told.call, "args": _RAN}
    seen = {"title": "t", "output": told.text, "metadata": {"exit": 1 if step == "fail" else 0}}
    parts = {"message": {"id": told.turn}, "parts": [{"type": "text", "text": told.text}]}
    events: Mapping[Step, dict[str, Any]] = {
        "start": {"event": {"type": "session.created", "properties": {"info": {"id": told.session}}}},
        "prompt": {"input": {"sessionID": told.session, "messageID": told.turn}, "output": parts},
        "fail": {"hook": "tool.execute.after", "input": ran, "output": seen},
        "pass": {"hook": "tool.execute.after", "input": ran, "output": seen},
        "turn": {"event": {"type": "session.idle", "properties": {"sessionID": told.session}}},
        "end": {"event": {"type": "session.deleted", "properties": {"info": {"id": told.session}}}},
    }
    return {"directory": told.cwd, **events[step]}


HARNESSES: Final[tuple[Harness, ...]] = (
    Harness("claude-code", _claude_code),
    Harness("codex", _codex),
    Harness("gemini", _gemini),
    Harness("cursor", _cursor),
    Harness("copilot", _copilot, "start"),
    Harness("vscode", _vscode),
    Harness("openhands", _openhands, "prompt"),
    Harness("cline", _cline),
    Harness("goose", _goose, "nothing"),
    Harness("hermes", _hermes, "first prompt"),
    Harness("opencode", _opencode, "prompt"),
)
"""All dialects."""
