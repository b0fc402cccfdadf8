"""What `init` puts in, `uninstall` takes out: to the byte, for every harness and every file that people have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_gate.installing import planning
from reflect_gate.installing.entries import handlers
from reflect_gate.installing.harnesses import HARNESSES, Where, harness_of
from reflect_gate.installing.jsonc import parse
from reflect_gate.installing.parts import Entries
from reflect_gate.installing.record import recorded

if __package__:
    from .configs import CASES, MARKED, of
else:
    from configs import CASES, MARKED, of  # type: ignore[import-not-found, no-redef]

Place = Callable[..., Where]


def settings_of(name: str, where: Where) -> Entries | None:
    """Return the settings file of a harness and what goes into it."""
    harness = harness_of(name)
    return next((part for part in harness.parts(harness, where) if isinstance(part, Entries)), None)


def written(name: str, text: str | None, where: Where) -> Path | None:
    """Make the settings file of a harness as somebody has it; return where it is."""
    part = settings_of(name, where)
    if part is not None and text is not None:
        part.file.parent.mkdir(parents=True, exist_ok=True)
        part.file.write_bytes(text.encode("utf-8"))
    return part.file if part else None


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return every file and folder under a folder, with the bytes of the files."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


def put_in(name: str, where: Where) -> None:
    """Install."""
    planning.install(harness_of(name), where).carry_out()


def take_out(name: str, where: Where) -> None:
    """Uninstall."""
    planning.uninstall(harness_of(name), where).carry_out()


def scope_of(name: str) -> str:
    """Return the usual scope of a harness."""
    return harness_of(name).scopes[0]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_nothing_is_left(name: str, case: str, where: Place) -> None:
    """Every file and folder is as it was; in between a second run has nothing to do."""
    place = where(scope_of(name))
    written(name, of(harness_of(name), place)[case], place)
    before = tree(place.root)
    put_in(name, place)
    assert tree(place.root) != before
    again = planning.install(harness_of(name), place)
    assert again.idle
    assert not again.carry_out()
    take_out(name, place)
    assert tree(place.root) == before
    assert recorded(name, place.scope, place.root) is None


KINDS = [(name, case) for name, case in CASES if name in {"claude-code", "cursor", "openhands", "hermes", "cline"}]


@pytest.mark.parametrize(("name", "case"), KINDS)
def test_without_the_record_all_of_ours_goes(name: str, case: str, where: Place) -> None:
    """On another machine nothing is known of what was there before, and whatever is ours is found all the same."""
    place = where(scope_of(name))
    file = written(name, of(harness_of(name), place)[case], place)
    before = file.read_bytes() if file and file.exists() else None
    put_in(name, place)
    record = recorded(name, place.scope, place.root)
    assert record is not None
    record.forget()
    take_out(name, place)
    part = settings_of(name, place)
    if part is None or file is None or not file.exists():
        return
    text = file.read_bytes().decode("utf-8").removeprefix("\ufeff")
    assert not handlers(text, part)
    if before and before.strip(b" \r\n{}") and case not in {"an empty event", "empty hooks", "hooks of nothing"}:
        # What the file needs beside the handlers may have been the user's.
        left = file.read_bytes()
        assert left == before or part.defaults


EDITED = [
    (name, case) for name, case in CASES if case not in {"absent", "empty", "blank", "a remark alone"} and "object" not in case
]


@pytest.mark.parametrize(("name", "case"), EDITED)
def test_what_the_user_edits_meanwhile_stays(name: str, case: str, where: Place) -> None:
    """Only our part goes, and the rest is what it would be if we had never been there."""
    place = where(scope_of(name))
    text = of(harness_of(name), place)[case]
    assert text is not None
    assert MARKED in text
    file = written(name, text, place)
    assert file is not None
    put_in(name, place)
    file.write_bytes(file.read_bytes().replace(MARKED.encode(), b"light blue"))
    take_out(name, place)
    assert file.read_bytes().decode("utf-8") == text.replace(MARKED, "light blue")


@pytest.mark.parametrize("name", [name for name, case in CASES if case == "comments"])
def test_an_older_one_is_replaced_where_it_stands(name: str, where: Place) -> None:
    """Entries of another path are ours too: they are renewed, none is added, and all of them go."""
    old, new = where("user", "/old place/bin/reflect-gate"), where()
    text = of(harness_of(name), old)["comments"]
    file = written(name, text, old)
    assert file is not None
    put_in(name, old)
    first = file.read_text("utf-8")
    put_in(name, new)
    second = file.read_text("utf-8")
    part = settings_of(name, new)
    assert part is not None
    assert [one.event for one in handlers(second, part)] == [one.event for one in handlers(first, part)]
    assert "/old place" not in second
    assert second.count("\n") == first.count("\n")
    take_out(name, new)
    assert file.read_text("utf-8") == text


def test_what_an_older_one_put_in_too_much_goes(home: Path, where: Place) -> None:
    """An event that is not asked for any more, and a second one beside the first; what others have there stays."""
    ours = '{"type": "command", "command": "/old/reflect-gate hook --harness claude-code"}'
    theirs = '{"type": "command", "command": "mine"}'
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(
        f'{{"hooks": {{"PreToolUse": [{{"hooks": [{ours}]}}], "Notification": [{{"hooks": [{theirs}, {ours}]}}],\n'
        f' "Stop": [{{"hooks": [{ours}, {theirs}]}}, {{"matcher": "x", "hooks": [{ours}]}}]}}}}\n',
        "utf-8",
    )
    put_in("claude-code", where())
    hooks = parse(file.read_text("utf-8"), "").value["hooks"]
    assert "PreToolUse" not in hooks
    assert hooks["Notification"] == [{"hooks": [{"type": "command", "command": "mine"}]}]
    assert len(hooks["Stop"]) == 1
    assert [handler["command"] for handler in hooks["Stop"][0]["hooks"]] == ["/opt/tools/bin/reflect-gate", "mine"]
    take_out("claude-code", where())
    left = parse(file.read_text("utf-8"), "").value["hooks"]
    assert {event: [group["hooks"] for group in groups] for event, groups in left.items()} == {
        event: [[{"type": "command", "command": "mine"}]] for event in ("Notification", "Stop")
    }


@pytest.mark.parametrize("name", [name for name, case in CASES if case == "tabs"])
def test_a_hook_that_the_user_adds_behind_ours_stays(name: str, where: Place) -> None:
    """Beside ours in the same list, which then is not empty when ours goes; also where `init` had made the file."""
    place = where()
    put_in(name, place)
    part = settings_of(name, place)
    assert part is not None
    text = part.file.read_text("utf-8")
    end = _end_of_list(text, part)
    mine = '{"hooks": [{"command": "mine"}]}' if part.grouped else '{"command": "mine"}'
    part.file.write_text(f"{text[:end].rstrip()}, {mine}{text[end:]}", "utf-8")
    take_out(name, place)
    left = parse(part.file.read_text("utf-8"), "").value
    assert "reflect-gate" not in part.file.read_text("utf-8")
    assert list((left if part.bare else left["hooks"]).keys()) == [part.entries[0].event]


def _end_of_list(text: str, part: Entries) -> int:
    root = parse(text, "")
    hooks = root if part.bare else root.get("hooks")
    assert hooks is not None
    events = hooks.get(part.entries[0].event)
    assert events is not None
    return events.end - 1


def test_every_harness_is_tried() -> None:
    """None of the table is missing above."""
    assert {name for name, _ in CASES} == {harness.name for harness in HARNESSES}


@pytest.mark.parametrize("name", [harness.name for harness in HARNESSES if "project" in harness.scopes])
def test_a_project_is_left_as_it_was(name: str, where: Place) -> None:
    """The same in a project, whose files are somebody else's too."""
    place = where("project")
    (place.root / "AGENTS.md").write_text("# Rules\n\nBe kind.\n", "utf-8")
    before = tree(place.root)
    put_in(name, place)
    assert planning.install(harness_of(name), place).idle
    take_out(name, place)
    assert tree(place.root) == before


@pytest.mark.parametrize("text", ["", "# Rules\n", "# Rules", "# Rules\r\n\r\nBe kind.\r\n", "# Rules\n\n\n"])
def test_a_block_goes_without_a_trace(text: str, where: Place) -> None:
    """Also when it was written anew, and when text was added behind it."""
    place = where("project")
    file = place.root / "AGENTS.md"
    file.write_bytes(text.encode())
    put_in("agents-md", place)
    put_in("agents-md", place)
    assert file.read_bytes().startswith(text.encode())
    file.write_bytes(file.read_bytes() + b"\nMore.\n")
    take_out("agents-md", place)
    assert file.read_bytes().replace(b"\r\n", b"\n").split() == [*text.encode().split(), b"More."]


def test_half_a_block_is_refused(where: Place) -> None:
    """What belongs to it cannot be told, so nothing is cut."""
    place = where("project")
    file = place.root / "AGENTS.md"
    put_in("agents-md", place)
    file.write_text(file.read_text("utf-8").replace("<!-- reflect-gate init: end -->", ""), "utf-8")
    with pytest.raises(Exception, match=r"AGENTS\.md:1:1: .* once each.*settings-shape"):
        planning.uninstall(harness_of("agents-md"), place)


def test_a_shared_file_stays_as_long_as_one_uses_it(home: Path, where: Place) -> None:
    """Codex and Goose read skills from one folder: the last one takes the skill out."""
    skill = home / ".agents" / "skills" / "reflect-gate" / "SKILL.md"
    put_in("codex", where())
    put_in("goose", where())
    take_out("codex", where())
    assert skill.exists()
    take_out("goose", where())
    assert tree(home) == {}


def test_a_plugin_folder_is_whole(home: Path, tmp_path: Path, where: Place) -> None:
    """Manifest, hooks, command and skill at the places where they are looked for; the manifest does not name the hooks."""
    del home
    place = Where("plugin", tmp_path / "plugin", where().program)
    put_in("claude-code", place)
    files = {name for name, data in tree(place.root).items() if data is not None}
    assert files == {
        ".claude-plugin/plugin.json",
        "hooks/hooks.json",
        "commands/reflect.md",
        "skills/reflect-gate/SKILL.md",
    }
    assert "hooks" not in parse((place.root / ".claude-plugin/plugin.json").read_text("utf-8"), "").value
    take_out("claude-code", place)
    assert not place.root.exists()
