"""Records of one small session in every format: a test fails, a file is edited, the test passes; or it is cut off before that."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

__all__ = ["COMMAND", "FAILS", "PASSES", "TASK", "WRITERS", "lines"]

TASK: Final = "Make the cart count empty lines"
COMMAND: Final = "pytest -q tests/test_cart.py"
FAILS: Final = "E   ValueError: invalid literal for int()\n1 failed, 4 passed"
PASSES: Final = "5 passed"
EDIT: Final = {"file_path": "cart.py", "old_string": "int(x)", "new_string": "int(x or 0)"}
_AT: Final = "2027-02-03T04:05:06.000Z"


def lines(records: list[dict[str, Any]]) -> str:
    """Return records as JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records)


def claude_code(folder: Path) -> Path:
    """Lines of messages with blocks."""
    common: dict[str, Any] = {"sessionId": "s", "version": "2.1", "cwd": "/w", "isSidechain": False}

    def use(name: str, call: str, given: object) -> dict[str, Any]:
        block = {"type": "tool_use", "id": call, "name": name, "input": given}
        return {**common, "uuid": f"a{call}", "parentUuid": "u", "type": "assistant", "message": {"content": [block]}}

    def result(call: str, text: str, failed: bool) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "content": [{"type": "text", "text": text}]}
        block |= {"is_error": True} if failed else {}
        return {**common, "uuid": f"r{call}", "parentUuid": "u", "type": "user", "message": {"content": [block]}}

    aside = {**result("9", "boom", True), "isSidechain": True}
    records: list[dict[str, Any]] = [
        {"type": "summary", "summary": "x", "leafUuid": "y"},
        {**common, "uuid": "u", "parentUuid": None, "type": "user", "message": {"role": "user", "content": TASK}},
        use("Bash", "1", {"command": COMMAND}),
        result("1", f"Exit code 1\n{FAILS}", True),
        aside,
        use("Edit", "2", EDIT),
        result("2", "The file was updated.", False),
        use("Bash", "3", {"command": COMMAND}),
        result("3", PASSES, False),
        {"type": "of-tomorrow"},
    ]
    return _written(folder / "claude.jsonl", lines(records))


def codex(folder: Path) -> Path:
    """Lines of payloads; the exit code stands in an event."""

    def item(**payload: Any) -> dict[str, Any]:
        return {"timestamp": _AT, "type": "response_item", "payload": payload}

    def event(**payload: Any) -> dict[str, Any]:
        return {"timestamp": _AT, "type": "event_msg", "payload": payload}

    def ran(call: str, output: str, code: int) -> list[dict[str, Any]]:
        given = json.dumps({"command": ["bash", "-lc", COMMAND]})
        end = event(type="exec_command_end", call_id=call, aggregated_output=output, exit_code=code)
        seen = item(
            type="function_call_output", call_id=call, output=json.dumps({"output": output, "metadata": {"exit_code": code}})
        )
        return [item(type="function_call", call_id=call, name="shell", arguments=given), *([end] if call == "1" else []), seen]

    patch = "*** Begin Patch\n*** Update File: cart.py\n+int(x or 0)\n*** End Patch"
    records: list[dict[str, Any]] = [
        {"timestamp": _AT, "type": "session_meta", "payload": {"id": "s", "cwd": "/w"}},
        event(type="user_message", message=TASK),
        *ran("1", FAILS, 1),
        item(type="custom_tool_call", call_id="2", name="apply_patch", input=patch),
        item(type="custom_tool_call_output", call_id="2", output="Success."),
        *ran("3", PASSES, 0),
        {"timestamp": _AT, "type": "compacted", "payload": {"message": "x"}},
    ]
    return _written(folder / "rollout.jsonl", lines(records))


def gemini(folder: Path) -> Path:
    """Lines of messages with calls; a message is written again as its calls go on."""

    def message(call: str, name: str, args: object, output: str, status: str) -> dict[str, Any]:
        result = [{"functionResponse": {"id": call, "response": {"output": output}}}]
        made = {"id": call, "name": name, "args": args, "result": result, "status": status}
        return {"id": f"g{call}", "timestamp": _AT, "type": "gemini", "content": "", "toolCalls": [made]}

    records: list[dict[str, Any]] = [
        {"sessionId": "s", "projectHash": "0", "startTime": _AT, "kind": "main"},
        {"id": "u", "timestamp": _AT, "type": "user", "content": [{"text": TASK}]},
        message("1", "run_shell_command", {"command": COMMAND}, "", "executing"),
        message("1", "run_shell_command", {"command": COMMAND}, f"Output: {FAILS}\nExit Code: 1", "success"),
        {"$set": {"lastUpdated": _AT}},
        message("2", "replace", EDIT, "ok", "success"),
        message("3", "run_shell_command", {"command": COMMAND}, PASSES, "success"),
    ]
    return _written(folder / "chat.jsonl", lines(records))


def copilot(folder: Path) -> Path:
    """Lines of dotted events."""

    def event(of: str, **data: Any) -> dict[str, Any]:
        return {"type": of, "id": "e", "timestamp": _AT, "data": data}

    def ran(call: str, tool: str, given: object, output: str, success: bool) -> list[dict[str, Any]]:
        start = event("tool.execution_start", toolCallId=call, toolName=tool, arguments=given)
        return [start, event("tool.execution_complete", toolCallId=call, success=success, result={"content": output})]

    records: list[dict[str, Any]] = [
        event("session.start", sessionId="s"),
        event("user.message", content=TASK),
        *ran("1", "bash", {"command": COMMAND}, FAILS, False),
        *ran("2", "edit", EDIT, "ok", True),
        *ran("3", "bash", {"command": COMMAND}, PASSES, True),
    ]
    return _written(folder / "events.jsonl", lines(records))


def openhands(folder: Path) -> Path:
    """A folder with a file an event."""

    def event(kind: str, **rest: Any) -> dict[str, Any]:
        return {"id": "e", "timestamp": _AT, "source": "agent", "kind": kind, **rest}

    def ran(call: str, tool: str, action: object, output: str, code: int) -> list[dict[str, Any]]:
        seen = {"content": [{"type": "text", "text": output}], "is_error": False, "exit_code": code}
        made = event("ActionEvent", thought=[], action=action, tool_name=tool, tool_call_id=call)
        return [made, event("ObservationEvent", tool_name=tool, tool_call_id=call, observation=seen)]

    message = {"role": "user", "content": [{"type": "text", "text": TASK}]}
    records: list[dict[str, Any]] = [
        {**event("MessageEvent", llm_message=message), "source": "user"},
        *ran("1", "terminal", {"command": COMMAND}, FAILS, 1),
        *ran("2", "file_editor", {"command": "str_replace", "path": "cart.py"}, "ok", 0),
        *ran("3", "terminal", {"command": COMMAND}, PASSES, 0),
    ]
    place = folder / "events"
    place.mkdir()
    for number, record in enumerate(records):
        _written(place / f"event-{number:05}-x.json", json.dumps(record, indent=1))
    return place


def swe_agent(folder: Path) -> Path:
    """One document; observations have no exit codes."""

    def step(action: str, observation: str) -> dict[str, Any]:
        return {"action": action, "observation": observation, "thought": "", "response": "", "state": {}}

    steps = [step(COMMAND, FAILS), step("edit 3:3\nint(x or 0)\nend_of_edit", "ok"), step(COMMAND, PASSES)]
    history = [{"role": "system", "content": "You help."}, {"role": "user", "content": TASK}]
    document = {"trajectory": steps, "history": history, "info": {"exit_status": "submitted"}}
    return _written(folder / "x.traj", json.dumps(document, indent=2))


def mini_swe_agent(folder: Path) -> Path:
    """One document of messages."""

    def ran(command: str, output: str, code: int) -> list[dict[str, Any]]:
        said = {"role": "assistant", "content": "Next.", "extra": {"actions": [{"command": command}]}}
        return [said, {"role": "user", "content": f"<returncode>{code}</returncode>\n{output}", "extra": {"returncode": code}}]

    messages = [
        {"role": "user", "content": TASK},
        *ran(COMMAND, FAILS, 1),
        *ran("sed -i s/a/b/ cart.py", "", 0),
        *ran(COMMAND, PASSES, 0),
    ]
    document = {"info": {"exit_status": "Submitted"}, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    return _written(folder / "x.traj.json", json.dumps(document))


def atif(folder: Path) -> Path:
    """One document of steps."""

    def ran(number: int, tool: str, given: object, output: str) -> dict[str, Any]:
        call = {"tool_call_id": f"c{number}", "function_name": tool, "arguments": given}
        seen = {"results": [{"source_call_id": f"c{number}", "content": output}]}
        return {"step_id": number, "source": "agent", "message": "", "tool_calls": [call], "observation": seen}

    steps = [
        {"step_id": 1, "source": "user", "message": TASK},
        ran(2, "bash", {"command": COMMAND}, FAILS),
        ran(3, "edit_file", EDIT, "ok"),
        ran(4, "bash", {"command": COMMAND}, PASSES),
    ]
    return _written(folder / "atif.json", json.dumps({"schema_version": "ATIF-v1.6", "session_id": "s", "steps": steps}))


def _written(file: Path, text: str) -> Path:
    file.write_text(text, "utf-8")
    return file


WRITERS: Final[Mapping[str, Callable[[Path], Path]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "gemini": gemini,
    "copilot": copilot,
    "openhands": openhands,
    "swe-agent": swe_agent,
    "mini-swe-agent": mini_swe_agent,
    "atif": atif,
}
