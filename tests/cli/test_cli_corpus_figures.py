"""`reflect-gate corpus labels`, `mutate`, `score` and `show`, as the program that people run."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas

Run = Callable[..., Any]


@pytest.fixture
def files(tmp_path: Path, request_document: dict[str, Any]) -> dict[str, str]:
    """Two candidates of two tasks, of which the first is admitted, and what became of them."""
    other = copy.deepcopy(request_document)
    other["record"]["failure_id"] = "mailer-12"
    other["record"]["traces"][0]["text"] = "send_mail() retries for ever, so that no limit is needed."
    other["record"]["traces"][2].update(text="tests/test_mailer.py::test_empty FAILED\nIndexError: pop", error_class="IndexError")
    requests = [{**request_document, "project": {"task": "checkout"}}, {**other, "project": {"task": "mailer"}}]
    known = [
        {"id": "checkout-1187", "task": "checkout", "before": False, "after": True, "label": "e"},
        {"id": "mailer-12", "task": "mailer", "before": True, "after": False, "label": "d"},
    ]
    paths = {}
    for name, rows in (("requests", requests), ("labels", known)):
        path = tmp_path / f"{name}.ndjson"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        paths[name] = str(path)
    return {**paths, "mutants": str(tmp_path / "mutants.ndjson")}


def lines(text: str) -> list[dict[str, Any]]:
    """Return the objects of NDJSON."""
    return [json.loads(line) for line in text.splitlines()]


def test_mutants_are_written(process: Run, files: dict[str, str]) -> None:
    """A valid mutant a line, of the admitted candidate alone; what did not apply is counted on stderr."""
    ran = process("corpus", "mutate", files["requests"])
    assert ran.code == 0, ran.err
    made = lines(ran.out)
    for one in made:
        schemas.check("corpus-mutant", one, "stdout")
    assert {one["source"] for one in made} == {"checkout-1187"}
    assert "mutants of 1 of 2 requests" in ran.err
    assert "other-numbers 0 (1 not applicable)" in ran.err


def test_mutants_are_the_same_bytes_for_the_same_seed(here: Run, files: dict[str, str]) -> None:
    """Another seed may draw others."""
    first, again, other = (here("corpus", "mutate", files["requests"], "--seed", seed).out for seed in ("3", "3", "4"))
    assert first == again
    assert first != other


def test_one_mutator_alone(here: Run, files: dict[str, str]) -> None:
    """`--only` leaves the others out."""
    ran = here("corpus", "mutate", files["requests"], "--only", "opposite", "--only", "missing-ids")
    assert [one["mutator"] for one in lines(ran.out)] == ["missing-ids", "opposite"]


def test_grounded_sources_are_more(here: Run, files: dict[str, str]) -> None:
    """A candidate that grounding accepts and admission refuses is a source with `--grounded`."""
    bare = here("corpus", "mutate", files["requests"], "--set", "calibration.min_words=500")
    more = here("corpus", "mutate", files["requests"], "--set", "calibration.min_words=500", "--grounded")
    assert "mutants of 0" in bare.err
    assert "mutants of 1" in more.err


def test_misspelt_mutator_is_3(here: Run, files: dict[str, str]) -> None:
    """With the nearest name."""
    ran = here("corpus", "mutate", files["requests"], "--only", "oposite")
    assert (ran.code, "did you mean `opposite`" in ran.err) == (3, True)


def test_invalid_request_is_reported_and_the_rest_used(here: Run, files: dict[str, str]) -> None:
    """Exit code 3, and the mutants of the others all the same."""
    with Path(files["requests"]).open("a", encoding="utf-8") as stream:
        stream.write("{}\n")
    ran = here("corpus", "mutate", files["requests"], "--only", "missing-ids")
    assert (ran.code, len(lines(ran.out))) == (3, 1)
    assert "missing key `record`" in ran.err


def score(run: Run, files: dict[str, str], *more: str) -> Any:
    """Make mutants and score the candidates with labels and mutants."""
    assert run("corpus", "mutate", files["requests"], "-o", files["mutants"]).code == 0
    with_files = ("--labels", files["labels"], "--mutants", files["mutants"], "--resamples", "50")
    return run("corpus", "score", files["requests"], *with_files, *more)


def test_score_is_data(process: Run, files: dict[str, str]) -> None:
    """Every figure with its counts, by the schema."""
    ran = score(process, files, "--format", "json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    schemas.check("corpus-score", document, "stdout")
    gate = next(row for row in document["outcomes"]["rows"] if row["gate"] == "gate")
    assert (gate["admitted"]["hits"], gate["precision"]["share"], gate["harm"]["share"]) == (1, 1.0, 0.0)
    missing = next(row for row in document["mutants"]["mutators"] if row["mutator"] == "missing-ids")
    assert missing["detected"]["hits"] == missing["detected"]["n"] == 1


def test_score_is_the_same_bytes_for_the_same_seed(here: Run, files: dict[str, str]) -> None:
    """Resamples are drawn by the seed."""
    assert score(here, files, "--format", "json").out == score(here, files, "--format", "json").out


def test_score_is_text(process: Run, files: dict[str, str]) -> None:
    """Tables with bars, and what the figures cannot prove."""
    ran = score(process, files)
    for part in ("2 judged: 1 admitted", "missing-ids", "█", "naive", "text-blind cells, other tasks", "labels of people"):
        assert part in ran.out
    assert "not that a lesson transfers" in ran.out
    assert "\x1b" not in ran.out


def test_curve_of_a_setting(here: Run, files: dict[str, str]) -> None:
    """One row a value; a setting that nothing reaches admits nothing and refuses the originals."""
    ran = score(here, files, "--sweep", "calibration.min_words=6,500")
    rows = [line.split() for line in ran.out.partition("threshold curve: calibration.min_words")[2].splitlines()]
    told = {row[0]: (row[1], row[6]) for row in rows if row[:1] in (["6"], ["500"])}
    assert told == {"6": ("1", "0.0"), "500": ("0", "100.0")}


def test_score_of_requests_alone(here: Run, files: dict[str, str]) -> None:
    """Without labels and mutants only the verdicts are counted."""
    ran = here("corpus", "score", files["requests"], "--format", "json")
    document = json.loads(ran.out)
    schemas.check("corpus-score", document, "stdout")
    assert document["requests"]["judged"] == 2
    assert not {"mutants", "outcomes"} & set(document)


@pytest.mark.parametrize("given", ["grounding.max_unfound", "=1,2", "grounding.max_unfound="])
def test_a_curve_needs_a_setting_and_values(here: Run, files: dict[str, str], given: str) -> None:
    """Anything else is a mistake of usage."""
    assert here("corpus", "score", files["requests"], "--sweep", given).code == 64


def test_two_files_cannot_both_be_stdin(here: Run) -> None:
    """The second one would be empty."""
    assert here("corpus", "score", "-", "--labels", "-").code == 64


@pytest.mark.parametrize(
    ("option", "line", "code"), [("--labels", '{"id": 1}', "corpus-bad-label"), ("--mutants", '{"id": 1}', "corpus-bad-mutant")]
)
def test_bad_lines_are_named(here: Run, files: dict[str, str], tmp_path: Path, option: str, line: str, code: str) -> None:
    """A file of labels or mutants is used whole or not at all."""
    path = tmp_path / "bad.ndjson"
    path.write_text(line + "\n", encoding="utf-8")
    ran = here("corpus", "score", files["requests"], option, str(path))
    assert ran.code == 3
    assert f"{path}:1" in ran.err
    assert code in ran.err


def test_show_is_text(process: Run, files: dict[str, str]) -> None:
    """The verdict, the claim beside what it cites, the record, and the rules."""
    ran = process("corpus", "show", "checkout-1187", files["requests"])
    assert ran.code == 0, ran.err
    for part in (
        "admitted",
        "failed_assumption",
        "load_cart() always returns a dict",
        "test_output: crash",
        "grounding/grounded",
    ):
        assert part in ran.out


def test_show_says_what_was_nearest(here: Run, files: dict[str, str]) -> None:
    """A refused candidate comes with the rules that would have let it pass."""
    ran = here("corpus", "show", "mailer-12", files["requests"])
    assert "nearest miss" in ran.out
    assert "would need" in ran.out


def test_show_is_data(here: Run, files: dict[str, str]) -> None:
    """By the schema, with every measured fact."""
    document = json.loads(here("corpus", "show", "mailer-12", files["requests"], "--format", "json").out)
    schemas.check("corpus-show", document, "stdout")
    assert {"record", "claim", "cite", "item", "support", "lesson", "scope"} <= {fact["fact"] for fact in document["facts"]}


def test_a_mutant_is_shown(here: Run, files: dict[str, str]) -> None:
    """A line of a mutants file is found by its source and its mutator."""
    here("corpus", "mutate", files["requests"], "-o", files["mutants"])
    ran = here("corpus", "show", "checkout-1187", files["mutants"], "--mutator", "missing-ids")
    assert ran.code == 0, ran.err
    assert "missing-evidence" in ran.out


def test_unknown_candidate_is_3(here: Run, files: dict[str, str]) -> None:
    """With the nearest id."""
    ran = here("corpus", "show", "mailer-21", files["requests"])
    assert (ran.code, "did you mean `mailer-12`" in ran.err) == (3, True)


def test_nothing_of_the_record_drives_the_terminal(here: Run, tmp_path: Path, request_document: dict[str, Any]) -> None:
    """Controls in ids, texts and claims are shown as escapes."""
    request_document["record"]["traces"][2]["text"] += "\x1b]0;gone\x07 \u202e"
    request_document["reflection"]["failed_assumption"] += " \x1b[2J\u202e"
    path = tmp_path / "hostile.ndjson"
    path.write_text(json.dumps(request_document) + "\n", encoding="utf-8")
    out = here("corpus", "show", "checkout-1187", str(path)).out
    assert "\\x1b[2J" in out
    assert not {"\x1b", "\x07", "\u202e"} & set(out)


ROW = {"id": "row-1", "task_id": "toy/mean", "reflection_text": "It fails.", "before_outcome": False, "next_outcome": True}


@pytest.fixture
def rows(tmp_path: Path) -> str:
    """A file of one logged reflection."""
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    return str(path)


def test_labels_stand_apart(process: Run, rows: str, tmp_path: Path) -> None:
    """The outcomes, and a person's label where there is one."""
    by_hand = tmp_path / "read.jsonl"
    by_hand.write_text('{"id": "row-1", "primary": "e"}\n', encoding="utf-8")
    ran = process("corpus", "labels", "--from", "reflexion", rows, "--by-hand", str(by_hand), "--label-key", "primary")
    assert ran.code == 0, ran.err
    assert lines(ran.out) == [{"after": True, "before": False, "id": "row-1", "label": "e", "task": "toy/mean"}]


def test_a_row_without_id_has_no_labels(here: Run, rows: str) -> None:
    """It is named; the others are written."""
    with Path(rows).open("a", encoding="utf-8") as stream:
        stream.write('{"task_id": "toy"}\n')
    ran = here("corpus", "labels", "--from", "reflexion", rows)
    assert (ran.code, len(lines(ran.out))) == (3, 1)
    assert f"{rows}:2" in ran.err


@pytest.mark.parametrize("verb", ["labels", "mutate", "score", "show"])
def test_help_has_examples(here: Run, verb: str) -> None:
    """Each verb shows how it is used."""
    assert f"reflect-gate corpus {verb} " in here("corpus", verb, "--help").out.partition("Examples:")[2]
