"""Waiting for changes of policy files, with a clock of the test's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from reflect_gate.policy.watching import changes, snapshot


def script(*steps: Callable[[], object]) -> Callable[[float], None]:
    """Return a sleep that does one step a call, and fails when it is called more often."""
    left = list(steps)

    def sleep(_seconds: float) -> None:
        left.pop(0)()

    return sleep


def nothing() -> None:
    """Let a period pass."""


def touch(path: Path, text: str) -> Callable[[], None]:
    """Write a file with a time of change that no clock decides."""

    def write() -> None:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(len(text), len(text)))

    return write


def test_change_is_told_once_it_is_over(folder: Path) -> None:
    """A file that is being written is waited for: one event, with every file that differs."""
    rules, cases = folder / "rules" / "speed.yaml", folder / "rules" / "speed.cases.yaml"
    steps = script(nothing, touch(rules, "a"), touch(cases, "bb"), nothing)
    assert next(changes(lambda: [folder], steps)) == sorted([str(rules), str(cases)])


def test_new_and_removed_files_are_changes(folder: Path) -> None:
    """A file that appears or vanishes changes what the cases say."""
    new, old = folder / "rules" / "new.yaml", folder / "rules" / "speed.yaml"
    found = changes(lambda: [folder], script(touch(new, "x"), nothing, old.unlink, nothing))
    assert next(found) == [str(new)]
    assert next(found) == [str(old)]


def test_change_that_is_taken_back_is_none(folder: Path) -> None:
    """What is as it was needs no run."""
    new = folder / "rules" / "new.yaml"
    other = folder / "rules" / "other.yaml"
    steps = script(touch(new, "x"), new.unlink, nothing, touch(other, "y"), nothing)
    assert next(changes(lambda: [folder], steps)) == [str(other)]


def test_folders_are_asked_for_anew(folder: Path) -> None:
    """A folder that the policies name later is watched from then on."""
    more: list[Path] = [folder / "policies.yaml"]
    lexicons = folder / "rules" / "lexicons"
    found = changes(lambda: more, script(lambda: more.append(lexicons), nothing))
    assert next(found) == [str(lexicons / "noise.yaml")]


def test_missing_file_is_not_there(folder: Path) -> None:
    """What cannot be read is no error: it may come back."""
    assert snapshot([folder / "gone.yaml"]) == {}
