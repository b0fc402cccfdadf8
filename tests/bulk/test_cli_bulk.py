"""`evaluate --parquet`, `ab --parquet` and `bulk`: what they print, and what they end with."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.ab.conftest import files
from tests.cli.conftest import RunHere

from reflect_gate import schemas

from .making import lines

__all__ = ["files"]

QUICK = ("--engine", "compiled")


def test_the_report_is_data(here: RunHere, source: Path, out: Path, tmp_path: Path) -> None:
    """By its schema, to stdout or a file; how much was done before stands on stderr alone."""
    arguments = ("evaluate", "--parquet", str(source), "--out", str(out), *QUICK, "--format", "json")
    ran = here(*arguments)
    assert (ran.code, ran.err) == (0, "3 chunks, 0 of them finished before\n")
    document = json.loads(ran.out)
    schemas.check("bulk-report", document, "stdout")
    again = here(*arguments, "-o", str(tmp_path / "report.json"), "--error-format", "json")
    assert json.loads(again.err) == {"summary": {"chunks": 3, "kept": 3}}
    assert json.loads((tmp_path / "report.json").read_bytes()) == document


def test_an_export_is_what_a_batch_prints(here: RunHere, source: Path, out: Path, tmp_path: Path) -> None:
    """The same bytes as `evaluate --format ndjson` of the same requests as lines."""
    assert here("evaluate", "--parquet", str(source), "--out", str(out), *QUICK).code == 0
    batch = here("evaluate", str(lines(tmp_path / "requests.ndjson", 7)), "--format", "ndjson", *QUICK)
    assert here("bulk", "export", str(out)).out == batch.out


def test_bad_rows_end_with_3(here: RunHere, out: Path, tmp_path: Path) -> None:
    """They are told with file and row, and counted."""
    pq.write_table(pa.table({"request": ["{"]}), tmp_path / "in.parquet")
    ran = here("evaluate", "--parquet", str(tmp_path / "in.parquet"), "--out", str(out), *QUICK)
    assert ran.code == 3
    assert "error: in.parquet:1: not JSON" in ran.err
    assert "  invalid  1" in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--parquet", "in"), "`--parquet` needs `--out DIR`"),
        (("--out", "out"), "go with `--parquet`"),
        (("--scheduler", "local"), "go with `--parquet`"),
        (("--parquet", "in", "--out", "out", "--scheduler", "threads"), "not `threads`"),
        (("r.ndjson", "--parquet", "in", "--out", "out"), "takes the place of FILE"),
        (("--parquet", "in", "--out", "out", "--apply"), "commits nothing"),
    ],
)
def test_options_that_do_not_go_together(arguments: tuple[str, ...], said: str, here: RunHere) -> None:
    """Said before anything is read, exit code 64."""
    ran = here("evaluate", *arguments)
    assert (ran.code, said in ran.err) == (64, True), ran.err


def test_without_the_extra_it_is_named(here: RunHere, source: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How to install it stands in the message; exit code 1."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    ran = here("evaluate", "--parquet", str(source), "--out", str(out))
    assert (ran.code, "pip install 'reflect-gate[scale]' [bulk-extra]" in ran.err) == (1, True)


def test_lines_become_row_groups(here: RunHere, tmp_path: Path) -> None:
    """A line that is no request is told with its number and left out; row groups are as large as was asked."""
    source = lines(tmp_path / "requests.ndjson", 5)
    source.write_bytes(source.read_bytes() + b"{\n")
    ran = here("bulk", "convert", str(source), "-o", str(tmp_path / "out.parquet"), "--rows", "2")
    assert (ran.code, "requests.ndjson:6:2: not JSON" in ran.err, "5 requests written, 1 left out" in ran.err) == (3, True, True)
    assert pq.ParquetFile(tmp_path / "out.parquet").num_row_groups == 3
    again = here("bulk", "convert", str(tmp_path / "out.parquet"), "-o", str(tmp_path / "again.parquet"), "--rows", "5")
    assert (again.code, pq.ParquetFile(tmp_path / "again.parquet").num_row_groups) == (0, 1)
    assert pq.read_table(tmp_path / "again.parquet") == pq.read_table(tmp_path / "out.parquet")


def test_no_file_is_made_of_no_request(here: RunHere, tmp_path: Path) -> None:
    """Where no line is good there is nothing to judge; exit code 3 as where some are bad."""
    source = tmp_path / "requests.ndjson"
    source.write_bytes(b"{\n[]\n")
    ran = here("bulk", "convert", str(source), "-o", str(tmp_path / "out.parquet"))
    assert (ran.code, "0 requests written" in ran.err) == (3, True)
    assert list(tmp_path.iterdir()) == [source]


def test_ab_says_the_same_of_parquet(here: RunHere, files: dict[str, str], tmp_path: Path) -> None:
    """The same report, byte for byte, and from its folder again without judging."""
    quick = ("--labels", files["labels"], "--resamples", "40", "--format", "json", *QUICK)
    source = str(tmp_path / "requests.parquet")
    assert here("bulk", "convert", files["requests"], "-o", source).code == 0
    plain = here("ab", files["requests"], *quick)
    bulk = here("ab", "--parquet", source, "--out", str(tmp_path / "out"), *quick)
    assert (bulk.code, bulk.out) == (0, plain.out)


def test_ab_reads_what_a_corpus_knows(here: RunHere, tmp_path: Path) -> None:
    """Labels of a corpus stand beside its requests, so that no other file is needed."""
    corpus = tmp_path / "corpus.ndjson"
    corpus.write_text(json.dumps(schemas.schema("corpus-record")["examples"][0]) + "\n", encoding="utf-8")
    quick = ("--resamples", "40", "--format", "json", *QUICK)
    source = str(tmp_path / "corpus.parquet")
    assert here("bulk", "convert", str(corpus), "-o", source).code == 0
    plain = json.loads(here("ab", str(corpus), *quick).out)
    bulk = json.loads(here("ab", "--parquet", source, "--out", str(tmp_path / "out"), *quick).out)
    assert (bulk["main"], bulk["requests"]) == (plain["main"], plain["requests"])
    assert bulk["main"]["scored"] == 1


@pytest.mark.parametrize("more", [("--curves",), ("--examples", "1"), ("--resume", "kept"), ("requests.ndjson",)])
def test_ab_names_what_does_not_go_with_parquet(more: tuple[str, ...], here: RunHere) -> None:
    """Exit code 64, before anything is read."""
    ran = here("ab", "--parquet", "in", "--out", "out", *more)
    assert (ran.code, "`--parquet`" in ran.err) == (64, True), ran.err
