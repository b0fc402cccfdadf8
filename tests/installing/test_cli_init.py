"""`init` and `uninstall` as they are typed: what they print, what they write, how they end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.cli import main
from reflect_gate.installing.commands import running

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command line and returns exit code, output and errors."""

    def go(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        return code, *capfd.readouterr()

    return go


def report(run: Run, *arguments: str) -> dict[str, Any]:
    """Run with `--format json` and return the report, held to its schema."""
    code, out, _ = run(*arguments, "--format", "json")
    assert code == 0
    document: dict[str, Any] = json.loads(out)
    schemas.check("install-report", document, "report")
    return document


def test_a_dry_run_shows_the_diff_and_writes_nothing(home: Path, run: Run) -> None:
    """The diff is of whole lines, and the file stays away."""
    code, out, _ = run("init", "cursor", "--dry-run")
    assert code == 0
    assert '+  "version": 1,' in out
    assert "cursor (user): nothing was changed" in out
    assert list(home.iterdir()) == []


def test_installed_by_the_program_that_runs(home: Path, run: Run) -> None:
    """The whole path of this program stands in the file; a second run has nothing to do; `uninstall` leaves nothing."""
    code, out, _ = run("init", "claude-code")
    assert code == 0
    settings = json.loads((home / ".claude" / "settings.json").read_text("utf-8"))
    handler = settings["hooks"]["SessionStart"][0]["hooks"][0]
    assert [handler["command"], *handler["args"]] == list(running().hook("claude-code"))
    assert run("init", "claude-code")[1] == "claude-code (user): nothing to do\n"
    assert run("uninstall", "claude-code")[0] == 0
    assert list(home.iterdir()) == []
    assert run("uninstall", "claude-code")[1] == "claude-code (user): nothing to do\n"
    del out


def test_the_first_hook_finds_its_bundle_compiled(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `recalling` loads is in the cache when `init` ends: loading it builds nothing."""
    from reflect_gate.policy import build, load_bundle

    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "fresh"))
    assert run("init", "goose")[0] == 0
    monkeypatch.setattr(build, "build_bundle", lambda _request: pytest.fail("was built anew"))
    assert load_bundle(None, enable=("retrieval",)).name == "structured"


def test_a_broken_policy_is_told_and_installs_all_the_same(run: Run, home: Path, tmp_path: Path) -> None:
    """The hooks stay silent with it, which nobody would find out from them."""
    (tmp_path / "gate").mkdir()
    (tmp_path / "gate" / "policies.yaml").write_text("policies: 1\nbundels: {}\n", "utf-8")
    code, _, err = run("init", "gemini")
    assert code == 0
    assert "warning: " in err
    assert "hooks stay silent until this is mended" in err
    assert (home / ".gemini" / "settings.json").exists()


def test_without_a_name_what_is_here_is_listed(home: Path, run: Run) -> None:
    """Found, installed, and what would be done; nothing is."""
    (home / ".codex").mkdir()
    (home / ".gemini").mkdir()
    run("init", "codex", "--project")
    _, out, _ = run("init")
    lines = {line.split()[0]: line.split(maxsplit=1)[1] for line in out.splitlines()}
    assert lines["codex"] == "installed (project)"
    assert lines["gemini"] == "found  → reflect-gate init gemini"
    assert lines["cursor"] == "-"
    listed = {row["name"]: row for row in report(run, "init")["harnesses"]}
    assert (listed["codex"]["found"], listed["codex"]["installed"]) == (True, ["project"])


def test_all_that_are_found_are_installed(home: Path, run: Run) -> None:
    """And all that were installed are taken out, wherever the folder has gone."""
    for folder in (".claude", ".cursor", ".hermes"):
        (home / folder).mkdir()
    done = report(run, "init", "--all")["installations"]
    assert [one["harness"] for one in done] == ["claude-code", "cursor", "hermes"]
    assert (home / ".hermes" / "config.yaml").read_text("utf-8").startswith("hooks:\n")
    taken = report(run, "uninstall", "--all")["installations"]
    assert {change["action"] for one in taken for change in one["changes"]} == {"removed"}
    assert sorted(path.name for path in home.rglob("*")) == [".claude", ".cursor", ".hermes"]


def test_one_that_cannot_be_done_keeps_no_other_from_it(home: Path, run: Run) -> None:
    """With `--all` its error is told, and the exit code is its own."""
    for folder in (".codex", ".cursor"):
        (home / folder).mkdir()
    (home / ".codex" / "hooks.json").write_text("[]", "utf-8")
    code, out, err = run("init", "--all")
    assert code == 3
    assert "hooks.json:1:1: expected an object [settings-shape]" in err
    assert "cursor (user)" in out
    assert (home / ".cursor" / "hooks.json").exists()


def test_a_path_of_this_machine_in_a_project_is_told(run: Run) -> None:
    """It is no use to others who work on it."""
    assert "commit none of them" in run("init", "codex", "--project")[1]
    assert "commit none of them" not in run("init", "gemini", "--project", "--command", "reflect-gate")[1]


def test_a_harness_that_reads_anothers_settings_is_told(run: Run) -> None:
    """Cursor runs what stands in Claude Code's settings as well."""
    run("init", "claude-code")
    assert "Cursor: the hooks of claude-code are read too" in run("init", "cursor")[1]


def test_a_project_of_claude_gets_the_file_that_is_not_committed(project: Path, run: Run) -> None:
    """The path of this machine does not go to others; the nearest checkout above is meant, not the folder within."""
    assert run("init", "claude-code", "--project")[0] == 0
    assert sorted(path.name for path in (project / ".claude").iterdir()) == ["commands", "settings.local.json", "skills"]


def test_two_places_of_one_harness_are_told(run: Run) -> None:
    """Both would run."""
    run("init", "codex")
    _, out, _ = run("init", "codex", "--project")
    assert "installed for the user too, and both run; one will do: reflect-gate uninstall codex --user" in out


def test_in_the_home_folder_a_file_is_told_once(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the user's file is where a project's would be: it is no second place, and nothing to take out."""
    monkeypatch.chdir(home)
    assert "one will do" not in run("init", "codex")[1]
    listed = {row["name"]: row for row in report(run, "init")["harnesses"]}
    assert listed["codex"]["installed"] == ["user"]
    run("init", "claude-code", "--project")
    listed = {row["name"]: row for row in report(run, "init")["harnesses"]}
    assert listed["claude-code"]["installed"] == ["project"]


def test_hooks_that_are_switched_off_are_told(home: Path, run: Run) -> None:
    """Installed is not running."""
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"disableAllHooks": true}', "utf-8")
    _, out, _ = run("init", "claude-code")
    assert "has `disableAllHooks`, which switches hooks off" in out


def test_other_words_may_start_it(home: Path, run: Run) -> None:
    """In a container the program lies elsewhere."""
    run("init", "gemini", "--command", "docker exec tools reflect-gate")
    text = (home / ".gemini" / "settings.json").read_text("utf-8")
    assert '"docker exec tools reflect-gate evaluate --hook gemini"' in text


def test_a_plugin_names_no_path(tmp_path: Path, run: Run) -> None:
    """It is for other machines."""
    folder = tmp_path / "plugin"
    assert run("init", "claude-code", "--plugin", str(folder))[0] == 0
    hooks = json.loads((folder / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]
    assert hooks["Stop"][0]["hooks"][0]["command"] == "reflect-gate"
    assert run("uninstall", "claude-code", "--plugin", str(folder))[0] == 0
    assert not folder.exists()


def test_a_file_that_cannot_be_read_is_3_with_its_line(home: Path, run: Run) -> None:
    """And is as it was."""
    (home / ".cursor").mkdir()
    (home / ".cursor" / "hooks.json").write_text('{\n  "version": 1,,\n}', "utf-8")
    code, out, err = run("init", "cursor")
    assert (code, out) == (3, "")
    assert "hooks.json:2:16: expected a name in quotes, found `,` [settings-syntax]" in err
    assert (home / ".cursor" / "hooks.json").read_text("utf-8") == '{\n  "version": 1,,\n}'


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("init", "curser"), 3, "`curser` is no harness, did you mean `cursor`?"),
        (("init", "hermes", "--project"), 64, "`hermes` has no hooks for `--project`"),
        (("init", "codex", "--plugin", "x"), 64, "`codex` has no hooks for `--plugin`"),
        (("init", "claude-code", "--plugin", "x", "--user"), 64, "`--plugin` goes with neither"),
        (("init", "--all", "--project"), 64, "`--all` goes with `--user` alone"),
        (("init", "--user"), 64, "say which harness"),
        (("uninstall",), 64, "say which harness"),
        (("init", "codex", "--command", "'"), 64, "give the words that start reflect-gate"),
    ],
)
def test_what_makes_no_sense_is_told(arguments: tuple[str, ...], code: int, message: str, run: Run) -> None:
    """In one line, with the nearest name; exit code 2 is never used."""
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    assert message in err


@pytest.mark.parametrize("alias", ["vscode", "claude", "gemini-cli"])
def test_other_names_are_understood(alias: str, run: Run) -> None:
    """Those that `hook --harness` takes."""
    assert run("init", alias, "--dry-run")[0] == 0
