"""OpenCode's plugin, run under node: a prompt's lesson reaches the system prompt, and failures are handed over and outlive it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import pytest

from reflect_gate.installing.commands import Program
from reflect_gate.installing.extras import opencode_plugin

NODE: Final = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not on the path")

HOOK: Final = """
import json, sys, pathlib
payload = json.load(sys.stdin)
with open({log!r}, "a", encoding="utf-8") as stream:
    stream.write(json.dumps(payload) + "\\n")
if payload["hook"] == "chat.message" and "cart" in json.dumps(payload):
    print(json.dumps({{"context": "LESSON"}}))
"""
DRIVER: Final = """
import { ReflectGate } from "./plugin.mjs"
const hooks = await ReflectGate({ directory: "/work" })
const asked = { sessionID: "s-1" }
const system = async (sessionID) => {
  const output = { system: ["base"] }
  await hooks["experimental.chat.system.transform"]({ sessionID }, output)
  return output.system
}
const before = await system("s-1")
await hooks["chat.message"](asked, { parts: [{ type: "text", text: "count the cart" }] })
await hooks["chat.message"]({ sessionID: "s-2" }, { parts: [{ type: "text", text: "other" }] })
await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s-1", callID: "c" }, { args: { command: "pytest" } })
await hooks["tool.execute.after"]({ tool: "bash", sessionID: "s-1", callID: "c" }, { output: "1 failed", metadata: { exit: 1 } })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s-1" } } })
await hooks.event({ event: { type: "file.edited", properties: {} } })
console.log(JSON.stringify({ before, first: await system("s-1"), again: await system("s-1"), other: await system("s-2") }))
"""


def driven(folder: Path, program: Program) -> dict[str, Any]:
    """Run the plugin that calls `program` through a session, and return what the system prompts were."""
    (folder / "plugin.mjs").write_text(opencode_plugin(folder / "plugin.mjs", program).text, "utf-8")
    (folder / "driver.mjs").write_text(DRIVER, "utf-8")
    assert NODE is not None
    done = subprocess.run([NODE, "driver.mjs"], cwd=folder, capture_output=True, timeout=60, check=True)
    assert done.stderr == b""
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_a_lesson_reaches_the_system_prompt_and_events_are_handed_over(tmp_path: Path) -> None:
    """Each call of the model of that session, and no other; the tool's arguments come from before its use."""
    log = tmp_path / "log.ndjson"
    (tmp_path / "hook.py").write_text(HOOK.format(log=str(log)), "utf-8")
    told = driven(tmp_path, Program((sys.executable, str(tmp_path / "hook.py"))))
    assert told == {"before": ["base"], "first": ["base", "LESSON"], "again": ["base", "LESSON"], "other": ["base"]}
    deadline = time.monotonic() + 30
    while len(log.read_text("utf-8").splitlines()) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    payloads = {each["hook"]: each for each in map(json.loads, log.read_text("utf-8").splitlines())}
    assert set(payloads) == {"chat.message", "tool.execute.after", "session.idle"}
    assert payloads["tool.execute.after"]["input"]["args"] == {"command": "pytest"}
    assert payloads["tool.execute.after"]["directory"] == "/work"


def test_a_program_that_is_gone_harms_nobody(tmp_path: Path) -> None:
    """No error, no text, no wait."""
    told = driven(tmp_path, Program((str(tmp_path / "gone"),)))
    assert told["first"] == ["base"]


def test_what_is_no_answer_is_passed_over(tmp_path: Path) -> None:
    """Noise on standard output is not handed to the model."""
    (tmp_path / "noise.py").write_text("print('hello')", "utf-8")
    assert driven(tmp_path, Program((sys.executable, str(tmp_path / "noise.py"))))["first"] == ["base"]
