"""`reflect-gate corpus convert` turns rows into requests, whole files or none, and says which lines it could not read."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from reflect_gate.cli import main

ROW = {
    "id": "row-1",
    "lang": "py",
    "task_id": "toy/mean",
    "failed_attempt": "def mean(values): return sum(values) / len(values)",
    "feedback": "Tests failed:\nassert mean([]) == 0 # output: division by zero",
    "reflection_text": "The code does not handle an empty list.",
}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A file of two rows."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({**ROW, "id": name}) + "\n" for name in ("a", "b")), encoding="utf-8")
    return path


def test_requests_go_to_stdout(rows: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One request a line, in order, exit code 0."""
    assert main(["corpus", "convert", "--from", "reflexion", str(rows)]) == 0
    assert [json.loads(line)["record"]["failure_id"] for line in capfd.readouterr().out.splitlines()] == ["a", "b"]


def test_requests_go_to_a_file(rows: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With `-o` stdout stays empty."""
    out = tmp_path / "requests.ndjson"
    assert main(["corpus", "convert", "--from", "reflexion", str(rows), "-o", str(out)]) == 0
    assert capfd.readouterr().out == ""
    assert len(out.read_text(encoding="utf-8").splitlines()) == 2


def test_bad_line_is_3_and_named(rows: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A bad line is an error with file and line; the others are converted."""
    with rows.open("a", encoding="utf-8") as stream:
        stream.write('{"id": "c"}\n')
    assert main(["corpus", "convert", "--from", "reflexion", str(rows)]) == 3
    captured = capfd.readouterr()
    assert len(captured.out.splitlines()) == 2
    assert f"{rows}:3" in captured.err


def test_stdin_is_read(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """`-` is stdin, and so is nothing."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(ROW).encode())))
    assert main(["corpus", "convert", "--from", "reflexion"]) == 0
    assert json.loads(capfd.readouterr().out)["record"]["failure_id"] == "row-1"


def test_missing_file_is_1(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A file that cannot be read means that nothing could run."""
    assert main(["corpus", "convert", "--from", "reflexion", str(tmp_path / "none.jsonl")]) == 1
    assert "none.jsonl" in capfd.readouterr().err


def test_unknown_form_is_3(rows: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A misspelt form is answered with the nearest."""
    assert main(["corpus", "convert", "--from", "reflexon", str(rows)]) == 3
    assert "did you mean `reflexion`" in capfd.readouterr().err


def test_help_shows_examples(capfd: pytest.CaptureFixture[str]) -> None:
    """The help names the form and shows how the verb is used."""
    assert main(["corpus", "convert", "--help"]) == 0
    assert "reflect-gate corpus convert --from reflexion runs.jsonl" in capfd.readouterr().out
