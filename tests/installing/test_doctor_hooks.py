"""`doctor` proves that hooks deliver: a made-up event through what stands in the settings, and the lesson in the answer."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from reflect_gate.cli import main
from reflect_gate.cli._doctor_hooks import hook_checks
from reflect_gate.hooks.running import options, respond
from reflect_gate.installing import delivering, finding, planning
from reflect_gate.installing.commands import Program, running
from reflect_gate.installing.delivering import PROBES, Delivery, deliver
from reflect_gate.installing.finding import installed, spelt
from reflect_gate.installing.harnesses import HARNESSES, Where, harness_of

Place = Callable[..., Where]
posix = pytest.mark.skipif(os.name != "posix", reason="scripts and modes are POSIX")
WITH_HOOKS = [harness.name for harness in HARNESSES if harness.name != "agents-md"]


def put_in(name: str, where: Where) -> None:
    """Install."""
    planning.install(harness_of(name), where).carry_out()


def here(command: Sequence[str], payload: bytes, home: Path) -> delivering.Done:
    """Answer a hook's payload in this process, as the command line would."""
    from reflect_gate.hooks import wiring

    words = list(command) if "evaluate" in command else Path(command[0]).read_text("utf-8").split()[-4:]
    chosen = options(words[words.index("evaluate") :])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFLECT_GATE_HOME", str(home))
        said = respond(json.loads(payload), chosen, wiring.collect, wiring.recall)
    return subprocess.CompletedProcess(list(command), 0, said, b"")


@pytest.mark.parametrize("name", WITH_HOOKS)
def test_a_lesson_arrives_in_every_harness(name: str, where: Place) -> None:
    """In the form that this harness reads; where it reads none, the failure is kept (R-P4)."""
    place = where()
    put_in(name, place)
    probe = PROBES[name]
    harness = harness_of(name)
    one = next(each for each in installed(harness, place) if each.event in spelt(harness, place, probe.event))
    assert deliver(one, probe, here)._replace(seconds=0) == Delivery(True, 0, "")


def faulty(name: str, where: Where, out: bytes, code: int = 0, err: bytes = b"") -> str:
    """Return what the doctor says of a hook that answers so."""
    probe = PROBES[name]
    one = next(each for each in installed(harness_of(name), where) if each.event == probe.event)
    return deliver(one, probe, lambda command, _payload, _home: subprocess.CompletedProcess(command, code, out, err)).fault


def test_what_does_not_arrive_is_told_apart(where: Place) -> None:
    """Silence, noise, other forms and other codes each have their own words."""
    put_in("claude-code", where())
    put_in("goose", where())
    said = delivering._LESSON
    other = json.dumps({"additionalContext": said}).encode()
    right = json.dumps({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": said}}).encode()
    faults = {
        faulty("claude-code", where(), b""): "said nothing, though there is a lesson for it",
        faulty("claude-code", where(), b"profile\n" + right): "said what is no JSON",
        faulty("claude-code", where(), b"{}"): "said something else than the lesson",
        faulty("claude-code", where(), other): "said the lesson in another harness's form",
        faulty("claude-code", where(), right, 2): "ended with exit code 2, and a hook never does",
        faulty("claude-code", where(), right, 0, b"x"): "wrote to standard error, and a hook never does",
        faulty("goose", where(), b""): "kept no failure",
        faulty("claude-code", where(), right): "",
    }
    assert all(found == told for found, told in faults.items())
    assert len(faults) == 8


def findings() -> dict[str, tuple[str, str, str]]:
    """Return what the doctor finds of each harness."""
    return {finding.name.removeprefix("hooks of "): finding[1:] for finding in hook_checks()}


def test_none_is_no_trouble() -> None:
    """And says how to begin."""
    assert findings() == {"hooks": ("ok", "no harness has them", "reflect-gate init")}


def test_a_program_that_is_gone_is_told_with_what_to_do(where: Place) -> None:
    """The environment was removed, and every event would fail."""
    put_in("codex", where(program="/gone/bin/reflect-gate"))
    status, detail, fix = findings()["codex"]
    assert (status, fix) == ("fail", "reflect-gate init codex")
    assert "`/gone/bin/reflect-gate` is not there" in detail
    assert main(["init", "codex"]) == 0
    assert main(["doctor"]) == 0


def test_a_missing_event_is_told(home: Path) -> None:
    """An older version installed fewer."""
    assert main(["init", "cursor"]) == 0
    file = home / ".cursor" / "hooks.json"
    document = json.loads(file.read_text("utf-8"))
    del document["hooks"]["sessionEnd"]
    file.write_text(json.dumps(document), "utf-8")
    status, detail, fix = findings()["cursor"]
    assert (status, fix) == ("warn", "reflect-gate init cursor")
    assert "nothing is installed for sessionEnd" in detail


def test_a_broken_settings_file_and_a_switch_are_told(home: Path) -> None:
    """With their places; neither hides what comes after."""
    assert main(["init", "claude-code"]) == 0
    (home / ".claude" / "settings.json").write_text('{"hooks": ', "utf-8")
    (home / ".gemini").mkdir()
    assert main(["init", "gemini"]) == 0
    file = home / ".gemini" / "settings.json"
    file.write_text(file.read_text("utf-8").replace("{", '{"hooksConfig": {"enabled": false},', 1), "utf-8")
    found = findings()
    assert found["claude-code"][0] == "warn"
    assert "settings.json:1:11: expected a value" in found["claude-code"][1]
    assert found["gemini"][:1] == ("warn",)
    assert "`hooksConfig.enabled`" in found["gemini"][1]


@posix
def test_a_script_that_cannot_be_run_is_told(home: Path) -> None:
    """A checkout on another file system loses the bit."""
    assert main(["init", "cline"]) == 0
    script = home / "Documents" / "Cline" / "Hooks" / "PostToolUse"
    script.chmod(0o644)
    assert findings()["cline"][::2] == ("fail", f"chmod +x {script}")


@posix
def test_a_script_that_was_hollowed_out_is_told(home: Path) -> None:
    """Its mark is there and its command is not."""
    assert main(["init", "cline"]) == 0
    script = home / "Documents" / "Cline" / "Hooks" / "TaskStart"
    script.write_text("#!/bin/sh\n# reflect-gate init\ntrue\n", "utf-8")
    status, detail, fix = findings()["cline"]
    assert (status, fix) == ("warn", "reflect-gate init cline")
    assert "nothing is installed for TaskStart" in detail


@posix
@pytest.mark.parametrize("name", ["claude-code", "cline", "opencode"])
def test_a_checkouts_program_is_not_run(name: str, project: Path, tmp_path: Path, where: Place) -> None:
    """A repository brings settings that name a program of its own: the doctor says so, and leaves it alone."""
    evil = project / "reflect-gate"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", "utf-8")
    evil.chmod(0o755)
    put_in(name, where("project", str(evil)))
    (finding,) = hook_checks()
    assert finding.status == "warn"
    assert "which is not this program, and was not run" in finding.detail
    assert not (tmp_path / "ran").exists()


@posix
def test_a_checkouts_words_for_this_interpreter_are_not_run(
    project: Path, tmp_path: Path, where: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the program is an interpreter with a module, another word before that would run anything."""
    this = Program((sys.executable, "-m", "reflect_gate"), windows=False)
    monkeypatch.setattr(finding, "running", lambda: this)
    evil = project / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n", "utf-8")
    words = (sys.executable, str(evil), "-m", "reflect_gate")
    put_in("claude-code", where("project")._replace(program=Program(words, windows=False)))
    (found,) = hook_checks()
    assert found.status == "warn"
    assert "other words than `init` would, and was not run" in found.detail
    assert not (tmp_path / "ran").exists()


@posix
def test_a_checkouts_script_with_more_in_it_is_not_run(project: Path, tmp_path: Path) -> None:
    """Its last line is ours, and another one is not."""
    assert main(["init", "cline", "--project"]) == 0
    script = project / ".clinerules" / "hooks" / "UserPromptSubmit"
    script.write_text(script.read_text("utf-8").replace("exec", f"touch {tmp_path}/ran\nexec"), "utf-8")
    (finding,) = hook_checks()
    assert (finding.status, (tmp_path / "ran").exists()) == ("warn", False)


@posix
@pytest.mark.parametrize("name", ["claude-code", "cline"])
def test_a_real_process_delivers(name: str, home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The command as it stands, in exec form, and the script as Cline runs it; the user's own home stays as it is."""
    assert main(["init", name]) == 0
    before = sorted(str(path) for path in home.rglob("*"))
    capfd.readouterr()
    assert main(["doctor", "--format", "json"]) == 0
    checks = {check["name"]: check for check in json.loads(capfd.readouterr().out)["checks"]}
    found = checks[f"hooks of {name}"]
    assert found["status"] == "ok", found
    assert re.search(r"hands a lesson over, in \d+\.\d s$", found["detail"])
    assert sorted(str(path) for path in home.rglob("*")) == before
    assert {"queue", "store", "model"} <= set(checks)


def test_what_the_queue_and_the_store_hold_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Before the first failure nothing is there, which is no trouble; a store that is none is."""

    def check(name: str) -> dict[str, str]:
        main(["doctor", "--format", "json"])
        found: dict[str, str] = next(each for each in json.loads(capfd.readouterr().out)["checks"] if each["name"] == name)
        return found

    assert check("store")["detail"].endswith("is made by the first lesson")
    assert check("queue")["detail"].endswith("is made by the first failure")
    assert check("model")["status"] == "warn"
    (tmp_path / "gate").mkdir(mode=0o700)
    (tmp_path / "gate" / "store.db").write_bytes(b"no store" * 100)
    (tmp_path / "gate" / "store.db").chmod(0o600)
    assert check("store")["status"] == "fail"


def test_the_program_beside_this_interpreter_is_there() -> None:
    """Else the tests above would prove nothing."""
    assert Path(running().words[0]).exists()
