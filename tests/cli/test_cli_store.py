"""`reflect-gate store`: where a store lies, what the commands say and end with, and that what they print is the schema's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.config import store_path
from reflect_store import draft, open_store

from .conftest import RunHere, RunProcess


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the file of a store that holds two skipped failures; one event's text is a secret."""
    path = tmp_path / "home" / "store.db"
    with open_store(path, create=True) as store:
        for name, reason in (("f-1", "the token is hunter2"), ("f-2", "switched off")):
            store.append([draft("not-reflected", {"failure_id": name, "reason": reason}, id_=f"event-{name}")])
    return path


def report(text: str) -> Any:
    """Return a report that holds to its schema."""
    document = json.loads(text)
    schemas.check("store-report", document, "report")
    return document


def test_a_store_is_made_in_the_home_folder(here: RunHere, tmp_path: Path) -> None:
    """Without anything said, the store lies beside the user's policies; making it again is harmless."""
    assert here("store", "status").code == 1
    for _ in range(2):
        ran = here("store", "init", "--format", "json")
        assert (ran.code, report(ran.out)["head"]["seq"]) == (0, 0)
    assert (tmp_path / "home" / "store.db").is_file()


def test_the_location_is_said_in_three_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--store`, else `REFLECT_GATE_STORE`, else the home folder; a relative variable could be a repository's."""
    monkeypatch.setenv("REFLECT_GATE_HOME", str(tmp_path))
    monkeypatch.delenv("REFLECT_GATE_STORE", raising=False)
    assert store_path() == tmp_path / "store.db"
    monkeypatch.setenv("REFLECT_GATE_STORE", str(tmp_path / "team.db"))
    assert store_path() == tmp_path / "team.db"
    assert store_path("here.db") == Path("here.db")


def test_status_names_a_head_that_verify_takes(here: RunHere, file: Path) -> None:
    """R-s1: a history noted today can be asked for tomorrow; one that is not there is a fault, exit code 3."""
    told = report(here("store", "status", "--store", str(file), "--format", "json").out)
    assert (told["rows"]["not_reflected"], told["head"]["seq"]) == (2, 2)
    head = f"2:{told['head']['hash']}"
    assert head in here("store", "status", "--store", str(file)).out
    assert here("store", "verify", "--store", str(file), "--head", head).code == 0
    ran = here("store", "verify", "--store", str(file), "--head", f"1:{told['head']['hash']}", "--format", "json")
    assert (ran.code, report(ran.out)["sound"]) == (3, False)
    assert here("store", "verify", "--store", str(file), "--head", "2").code == 64


def test_a_tampered_projection_is_found_and_rebuilt(here: RunHere, file: Path) -> None:
    """`verify` names the row, `rebuild` puts it right, and all is sound again."""
    with open_store(file) as store, store.backend.writing() as transaction:
        transaction.rows.drop("not_reflected", "f-1")
    found = here("store", "verify", "--store", str(file))
    assert (found.code, found.out) == (3, "not_reflected: `f-1` is missing\n")
    rebuilt = here("store", "rebuild", "--store", str(file), "--format", "json")
    assert (rebuilt.code, report(rebuilt.out)["changed"]) == (0, 1)
    assert here("store", "verify", "--store", str(file)).code == 0


def test_redacting_asks_first_and_then_erases(here: RunHere, file: Path, tmp_path: Path) -> None:
    """The secret is read from a file, not from the command line; without `--yes` nothing happens."""
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2\n")
    command = (
        "store",
        "redact",
        "--store",
        str(file),
        "--text-from",
        str(secret),
        "--reason",
        "a leaked token",
        "--format",
        "json",
    )
    asked = report(here(*command).out)
    assert (asked["events"], asked["dry_run"], asked["head"]["seq"]) == (["event-f-1"], True, 2)
    done = report(here(*command, "--yes").out)
    assert (done["events"], done["dry_run"], done["head"]["seq"]) == (["event-f-1"], False, 3)
    assert report(here("store", "verify", "--store", str(file), "--format", "json").out)["redacted"] == 1
    assert "hunter2" not in here("store", "export", "--store", str(file)).out
    assert here("store", "redact", "--store", str(file), "--reason", "nothing named").code == 64
    gone = here("store", "redact", "--store", str(file), "--event", "gone", "--reason", "a test", "--yes")
    assert (gone.code, "no event `gone`" in gone.err) == (3, True)


def test_an_export_travels_through_a_pipe(process: RunProcess, file: Path, tmp_path: Path) -> None:
    """What one store writes to stdout another reads from stdin; a second time adds nothing."""
    written = process("store", "export", "--store", str(file))
    assert written.code == 0
    other = str(tmp_path / "other" / "store.db")
    for added in (2, 0):
        ran = process("store", "import", "-", "--store", other, "--format", "json", stdin=written.out.encode())
        assert (ran.code, report(ran.out)["added"]) == (0, added)
    assert process("store", "export", "--store", other).out == written.out


def test_an_export_is_held_to_the_schema_of_events(here: RunHere, file: Path, tmp_path: Path) -> None:
    """Every line is an event of the schema; one that is not stops the import with its line, exit code 3."""
    path = tmp_path / "export.ndjson"
    assert here("store", "export", "--store", str(file), "-o", str(path)).code == 0
    header, *lines = path.read_text().splitlines()
    for line in lines:
        schemas.check("event", json.loads(line), "line")
    bad = {**json.loads(lines[0]), "payload": {"failure_id": "f-1"}}
    path.write_text(f"{header}\n{json.dumps(bad)}\n{lines[1]}\n")
    ran = here("store", "import", str(path), "--store", str(tmp_path / "new" / "store.db"))
    assert ran.code == 3
    assert "export.ndjson:2" in ran.err
    assert "missing key `reason`" in ran.err


def test_a_backup_is_a_store_and_overwrites_nothing(here: RunHere, file: Path, tmp_path: Path) -> None:
    """The copy verifies by itself; a second one of that name is refused, exit code 1."""
    copy = str(tmp_path / "copy.db")
    assert report(here("store", "backup", copy, "--store", str(file), "--format", "json").out)["file"] == copy
    assert here("store", "verify", "--store", copy).code == 0
    ran = here("store", "backup", copy, "--store", str(file))
    assert (ran.code, "[store-exists]" in ran.err) == (1, True)


def test_vacuum_keeps_the_events(here: RunHere, file: Path) -> None:
    """Space is given back; the head stays."""
    before = report(here("store", "status", "--store", str(file), "--format", "json").out)["head"]
    assert report(here("store", "vacuum", "--store", str(file), "--format", "json").out)["head"] == before


def test_a_foreign_file_is_invalid_and_stays(here: RunHere, tmp_path: Path) -> None:
    """A text where the store should be: exit code 3, one line, and the text is still there."""
    path = tmp_path / "notes.txt"
    path.write_text("notes")
    ran = here("store", "init", "--store", str(path))
    assert (ran.code, ran.err) == (3, f"error: {path}: the file is no store [store-foreign]\n")
    assert path.read_text() == "notes"
