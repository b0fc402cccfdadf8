"""What is refused, what is kept, and how files are written: other people's settings are not ours to break."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_gate.errors import ReflectGateError
from reflect_gate.hooks.dialects import DIALECTS
from reflect_gate.installing import files, planning
from reflect_gate.installing.harnesses import HARNESSES, Harness, Where, harness_of
from reflect_gate.installing.parts import Entries, Whole
from reflect_gate.installing.record import records

Place = Callable[..., Where]
posix = pytest.mark.skipif(os.name != "posix", reason="links and modes are POSIX")


def settings(home: Path, text: str | bytes) -> Path:
    """Make Claude Code's settings file."""
    file = home / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def refused(where: Where, name: str = "claude-code") -> ReflectGateError:
    """Install and return why it is refused; nothing at all has changed then."""
    with pytest.raises(ReflectGateError) as found:
        planning.install(harness_of(name), where)
    assert not list(records())
    return found.value


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ('{"a": 1,, }', "settings-syntax", "settings.json:1:9"),
        ("[]", "settings-shape", "settings.json:1:1"),
        ('{"hooks": []}', "settings-shape", "settings.json:1:11"),
        ('{\n  "hooks": {"Stop": {}}\n}', "settings-shape", "settings.json:2:21"),
        ('{"a": 1, "a": 2}', "settings-syntax", "settings.json:1:10"),
        ('{"a": "é"}'.encode("latin-1"), "settings-encoding", "settings.json"),
        ('{"a": 1}'.encode("utf-16"), "settings-encoding", "settings.json"),
        (b"x" * (files.MOST_BYTES + 1), "settings-size", "settings.json"),
    ],
)
def test_what_cannot_be_read_is_left_alone(text: str | bytes, code: str, place: str, home: Path, where: Place) -> None:
    """The error has the line; the file has its bytes; no command and no skill is written either."""
    file = settings(home, text)
    before = file.read_bytes()
    error = refused(where())
    assert error.code == code
    assert str(error.source).endswith(place)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["settings.json"]


@posix
def test_a_link_that_leads_out_is_refused(home: Path, tmp_path: Path, where: Place) -> None:
    """A checkout could bring one that leads to the user's own files, or anybody's."""
    target = tmp_path / "elsewhere.json"
    target.write_text("{}", "utf-8")
    file = settings(home, "{}")
    file.unlink()
    file.symlink_to(target)
    assert refused(where()).code == "settings-outside"
    file.unlink()
    (home / ".claude").rmdir()
    (home / ".claude").symlink_to(tmp_path)
    assert refused(where()).code == "settings-outside"
    assert target.read_text("utf-8") == "{}"


@posix
def test_a_link_that_stays_inside_is_followed(home: Path, where: Place) -> None:
    """Dotfiles are kept like this; the link stays one."""
    target = home / "dotfiles.json"
    target.write_text("{}\n", "utf-8")
    file = settings(home, "{}")
    file.unlink()
    file.symlink_to(target)
    planning.install(harness_of("claude-code"), where()).carry_out()
    assert file.is_symlink()
    assert "reflect-gate" in target.read_text("utf-8")
    planning.uninstall(harness_of("claude-code"), where()).carry_out()
    assert file.is_symlink()
    assert target.read_text("utf-8") == "{}\n"


@posix
def test_a_folder_that_the_users_variable_moves_counts(
    home: Path, tmp_path: Path, where: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the user's own word, and no checkout can say it."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    planning.install(harness_of("codex"), where()).carry_out()
    assert (tmp_path / "codex" / "hooks.json").exists()
    assert not (home / ".codex").exists()


@posix
def test_no_regular_file_is_read(home: Path, where: Place) -> None:
    """A folder, or a pipe that would never end."""
    file = home / ".claude" / "settings.json"
    file.mkdir(parents=True)
    assert refused(where()).code == "cannot-read"
    file.rmdir()
    os.mkfifo(file)
    # Somebody who holds the other end, so that a reader that waits would be seen to and not stand still for ever.
    timer = threading.Timer(5, lambda: os.close(os.open(file, os.O_RDWR)))
    timer.start()
    begun = time.monotonic()
    assert refused(where()).code == "cannot-read"
    waited = time.monotonic() - begun
    timer.cancel()
    assert waited < 5


@pytest.mark.parametrize("text", ["{s}{{}}", '{{"hooks":\n{s}{{}}}}', '{{\n{s}"hooks": {{\n"a": []}}}}'])
def test_a_file_does_not_grow_by_its_indentation(text: str, home: Path, where: Place) -> None:
    """Every line that is put in is indented like those around it, which a checkout may have made as wide as it likes."""
    file = settings(home, text.format(s=" " * 100_000))
    planning.install(harness_of("claude-code"), where()).carry_out()
    assert file.stat().st_size < 1_000_000
    file.write_bytes(file.read_bytes() + b"\n")
    planning.uninstall(harness_of("claude-code"), where()).carry_out()
    assert json.loads(file.read_text("utf-8")) == json.loads(text.format(s=""))


def test_what_could_not_be_read_again_is_not_written(home: Path, where: Place) -> None:
    """A file that is as large as it may be has no room for a hook."""
    settings(home, "{}".rjust(files.MOST_BYTES))
    assert refused(where()).code == "settings-size"


@posix
def test_modes_are_kept_and_copies_are_no_wider(home: Path, where: Place) -> None:
    """Settings hold keys: 0600 stays 0600, for the copy too."""
    file = settings(home, '{"env": {"KEY": "secret"}}')
    file.chmod(0o600)
    (backup,) = planning.install(harness_of("claude-code"), where()).carry_out()
    assert {path.stat().st_mode & 0o777 for path in (file, backup)} == {0o600}
    assert backup.read_text("utf-8") == '{"env": {"KEY": "secret"}}'
    (record,) = records()
    assert record.file.stat().st_mode & 0o777 == 0o600
    assert "secret" not in record.file.read_text("utf-8")


@posix
def test_a_copy_is_never_wider_for_a_moment(home: Path, where: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks while it is made, or after a crash just then, finds no keys."""
    settings(home, '{"env": {"KEY": "secret"}}').chmod(0o600)
    monkeypatch.setattr(os, "umask", lambda _: 0o022)
    modes: dict[str, int] = {}
    replace = Path.replace

    def watched(draft: Path, target: Path) -> Path:
        modes[target.suffix] = draft.stat().st_mode & 0o777
        return replace(draft, target)

    monkeypatch.setattr(Path, "replace", watched)
    planning.install(harness_of("claude-code"), where()).carry_out()
    assert modes[".bak"] == 0o600


@posix
def test_scripts_can_be_run(home: Path, where: Place) -> None:
    """Cline runs them as programs."""
    planning.install(harness_of("cline"), where()).carry_out()
    scripts = list((home / "Documents" / "Cline" / "Hooks").iterdir())
    assert len(scripts) == 8
    assert all(os.access(script, os.X_OK) for script in scripts)


def test_somebody_elses_script_is_not_replaced(home: Path, where: Place) -> None:
    """Cline has one script an event: the error says how to call ours from it, for each of them at once."""
    folder = home / "Documents" / "Cline" / "Hooks"
    folder.mkdir(parents=True)
    for name in ("TaskStart", "TaskCancel"):
        (folder / name).write_text("#!/bin/sh\nmine\n", "utf-8")
    error = refused(where(), "cline")
    assert [leaf.code for leaf in error.errors] == ["settings-occupied"] * 2
    assert "/opt/tools/bin/reflect-gate evaluate --hook cline" in error.message
    assert len(list(folder.iterdir())) == 2


def test_somebody_elses_plugin_is_not_taken_over(tmp_path: Path, where: Place) -> None:
    """A folder with another plugin's manifest is refused, and gets no hooks."""
    manifest = tmp_path / "plugin" / ".claude-plugin" / "plugin.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text('{"name": "mine"}', "utf-8")
    error = refused(Where("plugin", tmp_path / "plugin", where().program))
    assert (error.code, error.message) == ("settings-occupied", "is somebody else's: move it away")
    assert not (tmp_path / "plugin" / "hooks").exists()


def test_somebody_elses_command_file_is_left(home: Path, where: Place) -> None:
    """A command of the same name is no reason not to install the hooks; it stays, now and at the end."""
    file = home / ".cursor" / "commands" / "reflect.md"
    file.parent.mkdir(parents=True)
    file.write_text("mine", "utf-8")
    plan = planning.install(harness_of("cursor"), where())
    plan.carry_out()
    assert plan.notes == (f"{file} is somebody else's, and is left as it is",)
    planning.uninstall(harness_of("cursor"), where()).carry_out()
    assert file.read_text("utf-8") == "mine"
    assert not (home / ".cursor" / "hooks.json").exists()


def test_a_file_that_changes_meanwhile_is_not_overwritten(home: Path, where: Place) -> None:
    """The harness may write its settings while the user looks at the diff."""
    file = settings(home, "{}")
    plan = planning.install(harness_of("claude-code"), where())
    file.write_text('{"a": 1}', "utf-8")
    with pytest.raises(ReflectGateError, match="settings-changed"):
        plan.carry_out()
    assert file.read_text("utf-8") == '{"a": 1}'


def test_an_installation_that_was_cut_short_can_be_ended(home: Path, where: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is to be done is on the disk before anything is done."""
    file = settings(home, '{"a": 1}\n')
    plan = planning.install(harness_of("claude-code"), where())
    real = files.write

    def fails(path: Path, before: bytes | None, after: bytes | None, **more: Any) -> None:
        if path.suffix == ".md":
            raise ReflectGateError("cannot-write", "the disk is full")
        real(path, before, after, **more)

    with monkeypatch.context() as patched:
        patched.setattr(files, "write", fails)
        with pytest.raises(ReflectGateError, match="disk is full"):
            plan.carry_out()
    assert "reflect-gate" in file.read_text("utf-8")
    planning.uninstall(harness_of("claude-code"), where()).carry_out()
    assert [path.name for path in file.parent.rglob("*")] == ["settings.json"]
    assert file.read_text("utf-8") == '{"a": 1}\n'


def test_a_hand_edited_one_of_ours_keeps_what_the_user_set(home: Path, where: Place) -> None:
    """A longer timeout is the user's choice: as long as the command is right, a second run leaves it."""
    planning.install(harness_of("claude-code"), where()).carry_out()
    file = home / ".claude" / "settings.json"
    edited = file.read_text("utf-8").replace('"timeout": 5', '"timeout": 9')
    file.write_text(edited, "utf-8")
    assert planning.install(harness_of("claude-code"), where()).idle
    planning.uninstall(harness_of("claude-code"), where()).carry_out()
    assert not file.exists()


def test_a_copy_that_holds_more_is_left_and_told(home: Path, where: Place) -> None:
    """Copies go when they hold what the file holds; else they may be all that is left of something."""
    file = settings(home, '{"a": 1}')
    planning.install(harness_of("claude-code"), where()).carry_out()
    file.write_text(file.read_text("utf-8").replace('"a": 1', '"a": 2'), "utf-8")
    (left,) = planning.uninstall(harness_of("claude-code"), where()).carry_out()
    assert left.read_text("utf-8") == '{"a": 1}'
    assert json.loads(file.read_text("utf-8")) == {"a": 2}


@pytest.mark.parametrize("harness", [each for each in HARNESSES if each.name != "agents-md"], ids=lambda each: each.name)
def test_only_events_that_the_dialect_uses_are_asked_for(harness: Harness, where: Place) -> None:
    """Each installed event is read as something; nothing stands in front of a tool's use, where a failing hook could block."""
    parts = harness.parts(harness, where(harness.scopes[0]))
    events = [entry.event for part in parts if isinstance(part, Entries) for entry in part.entries]
    events += [part.file.stem for part in parts if isinstance(part, Whole) and part.executable]
    dialect = next(each for each in DIALECTS if each.name == harness.name)
    spelt = {name: other for part in parts if isinstance(part, Entries) for name, other in part.spellings.items()}
    for event in events:
        name = spelt.get(event, event)
        key = {"openhands": "event_type", "goose": "event", "cline": "hookName"}.get(harness.name, "hook_event_name")
        assert dialect.read({key: name}, name).kind != "other", event
        assert not re.match(r"(?i)pre_?tool|before_?tool", name)
