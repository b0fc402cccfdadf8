"""`reflect-gate corpus import`, `describe` and `split`, and the verbs that take an imported corpus."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.ab.conftest import files

from reflect_gate import schemas
from reflect_gate.cli._corpus import Corpus
from reflect_gate.cli.policy_mutate import read_requests
from reflect_gate.config import Limits
from reflect_gate.corpus.importing.record import Later, corpus_record

from .forms import FORM_ROWS, FORMS, JUNIT, programming

__all__ = ["files"]

Run = Callable[..., Any]
Rows = Callable[..., str]

BAD = b'{"id": "half\n'
QUICK = ("--resamples", "40", "--as-of", "2031-01-01")


def lines(path: str | Path) -> list[dict[str, Any]]:
    """Return the records of a corpus."""
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]


def imported(run: Run, rows: Rows, tmp_path: Path, *given: dict[str, Any]) -> str:
    """Import programming rows and return the corpus."""
    out = str(tmp_path / "corpus.ndjson")
    assert run("corpus", "import", "reflexion", rows(*given), "-o", out).code == 0
    return out


# -- import ----------------------------------------------------------------------------------------------------------------------


def test_a_corpus_is_written_and_counted(here: Run, rows: Rows, tmp_path: Path) -> None:
    """One record a line; how many of which form is said on stderr."""
    out = tmp_path / "corpus.ndjson"
    ran = here("corpus", "import", "auto", rows(programming(1), programming(2)), "-o", str(out))
    assert (ran.code, ran.out, len(lines(out))) == (0, "", 2)
    assert "2 records: reflexion 2" in ran.err


def test_a_bad_line_is_told_and_nothing_written(here: Run, rows: Rows, tmp_path: Path) -> None:
    """Exit code 3, the place of the line, and what was there before stays."""
    out = tmp_path / "corpus.ndjson"
    out.write_text("before", encoding="utf-8")
    path = rows(programming(1), BAD, programming(2))
    ran = here("corpus", "import", "reflexion", path, "-o", str(out))
    assert (ran.code, out.read_text(encoding="utf-8")) == (3, "before")
    assert f"{path}:2" in ran.err
    assert "--skip-bad" in ran.err
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".tmp"] == []


def test_bad_lines_are_left_out_where_that_is_asked_for(here: Run, rows: Rows, tmp_path: Path) -> None:
    """The rest is written, and how many were left out is said."""
    out = tmp_path / "corpus.ndjson"
    ran = here("corpus", "import", "reflexion", rows(programming(1), BAD), "--skip-bad", "-o", str(out))
    assert (ran.code, len(lines(out))) == (0, 1)
    assert "1 left out" in ran.err


@pytest.mark.parametrize("more", [(), ("--skip-bad",)])
def test_nothing_read_is_nothing_written(more: tuple[str, ...], here: Run, rows: Rows, tmp_path: Path) -> None:
    """Exit code 3, with and without leaving bad lines out."""
    out = tmp_path / "corpus.ndjson"
    ran = here("corpus", "import", "reflexion", rows(BAD), *more, "-o", str(out))
    assert (ran.code, out.exists()) == (3, False)


def test_a_flood_of_errors_is_counted_and_not_told(here: Run, rows: Rows, tmp_path: Path) -> None:
    """A file of another form does not bury the terminal."""
    ran = here("corpus", "import", "reflexion", rows(*[BAD] * 2_000), "-o", str(tmp_path / "x"))
    assert ran.code == 3
    assert len(ran.err.splitlines()) < 120
    assert "2000 errors" in ran.err


def test_every_format_is_named_in_the_help(here: Run) -> None:
    """And so is `auto`."""
    out = "".join(here("corpus", "import", "--help").out.split())
    for name in ("auto", *FORMS):
        assert f"`{name}`" in out, name


def test_labels_need_a_file(here: Run, rows: Rows) -> None:
    """`--admits` without `--by-hand` would do nothing."""
    assert here("corpus", "import", "reflexion", rows(programming(1)), "--admits", "e").code == 64


def test_labels_of_people_are_joined(here: Run, rows: Rows, tmp_path: Path) -> None:
    """By id, under any key."""
    people = rows({"id": "run-1", "primary": "e"}, name="people.jsonl")
    out = tmp_path / "corpus.ndjson"
    ran = here(
        "corpus",
        "import",
        "reflexion",
        rows(programming(1)),
        "--by-hand",
        people,
        "--label-key",
        "primary",
        "--admits",
        "e",
        "-o",
        str(out),
    )
    assert ran.code == 0, ran.err
    assert lines(out)[0]["should_admit"] == {"admit": True, "by": "person", "label": "e"}


# -- describe and split ----------------------------------------------------------------------------------------------------------


def test_a_description_is_data(here: Run, rows: Rows, tmp_path: Path) -> None:
    """By its schema."""
    corpus = imported(here, rows, tmp_path, programming(1), programming(2, next_outcome=None))
    document = json.loads(here("corpus", "describe", corpus, "--format", "json").out)
    schemas.check("corpus-description", document, "stdout")
    assert (document["records"], document["missing"]["outcome"]) == (2, 1)


def test_a_description_is_text(here: Run, rows: Rows, tmp_path: Path) -> None:
    """Counts first, caveats last."""
    out = here("corpus", "describe", imported(here, rows, tmp_path, programming(1))).out
    assert out.startswith("1 records\n")
    assert out.index("same_task") < out.index("what this can prove")


def test_a_description_goes_on_past_bad_lines(here: Run, rows: Rows, tmp_path: Path) -> None:
    """Exit code 3, and the others are counted."""
    with Path(imported(here, rows, tmp_path, programming(1))).open("ab") as stream:
        stream.write(BAD)
    ran = here("corpus", "describe", str(tmp_path / "corpus.ndjson"))
    assert ran.code == 3
    assert "1 records, 1 lines that are none" in ran.out


def test_no_group_is_in_both_parts(here: Run, rows: Rows, tmp_path: Path) -> None:
    """R-m8: every record is in one part, with all of its group; counts are those of the files."""
    given = [programming(number, task_id=f"mbpp_{number % 17}_x{number}") for number in range(60)]
    corpus = imported(here, rows, tmp_path, *given)
    document = json.loads(here("corpus", "split", corpus, "--test", "0.4", "--seed", "3", "--format", "json").out)
    schemas.check("corpus-split", document, "stdout")
    parts = {part: lines(tmp_path / f"corpus.{part}.ndjson") for part in ("train", "test")}
    groups = {part: {record["group"] for record in found} for part, found in parts.items()}
    assert groups["train"] & groups["test"] == set()
    assert min(len(found) for found in groups.values()) > 0
    assert {part: document[part] for part in parts} == {
        part: {"groups": len(groups[part]), "records": len(found)} for part, found in parts.items()
    }
    key = lambda record: record["termination"]["failure_id"]  # noqa: E731 - a name for what sorts below
    assert sorted([*parts["train"], *parts["test"]], key=key) == sorted(lines(corpus), key=key)


def test_a_split_is_deterministic(here: Run, rows: Rows, tmp_path: Path) -> None:
    """The same seed gives the same bytes, and another one other parts."""
    corpus = imported(here, rows, tmp_path, *(programming(number) for number in range(30)))
    drawn = []
    for seed in ("1", "1", "2"):
        here("corpus", "split", corpus, "--test", "0.5", "--seed", seed)
        drawn.append((tmp_path / "corpus.test.ndjson").read_bytes())
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_split_writes_both_files_or_none(here: Run, rows: Rows, tmp_path: Path) -> None:
    """A bad line leaves nothing behind."""
    corpus = imported(here, rows, tmp_path, programming(1))
    with Path(corpus).open("ab") as stream:
        stream.write(BAD)
    ran = here("corpus", "split", corpus, "--test", "0.5")
    assert ran.code == 3
    assert list(tmp_path.glob("corpus.t*")) == []
    assert here("corpus", "split", corpus, "--test", "0.5", "--skip-bad").code == 0


def test_a_split_does_not_write_over_the_corpus(here: Run, rows: Rows, tmp_path: Path) -> None:
    """Two of the three files being one is a mistake of the command line."""
    corpus = imported(here, rows, tmp_path, programming(1))
    assert here("corpus", "split", corpus, "--test", "0.5", "--test-file", corpus).code == 64


# -- an imported corpus in the other verbs ---------------------------------------------------------------------------------------


@pytest.fixture
def corpus(files: dict[str, str], tmp_path: Path) -> str:
    """The requests and labels of `files` as a corpus."""
    known = {line["id"]: line for line in lines(files["labels"])}
    made = []
    for request in lines(files["requests"]):
        label = known[request["record"]["failure_id"]]
        later = Later(label["before"], label["after"], "executed", "same_task")
        spent = {"tokens": label["tokens"]}
        record = corpus_record(request, group=label["team"], later=later, provenance={"importer": "reflexion"}, spending=spent)
        made.append({**record, "should_admit": {"admit": None, "by": "person", "label": label["label"]}})
    path = tmp_path / "corpus.ndjson"
    path.write_text("".join(json.dumps(record) + "\n" for record in made), encoding="utf-8")
    return str(path)


def test_a_comparison_gives_the_same_figures(here: Run, files: dict[str, str], corpus: str) -> None:
    """R-m1: a corpus is compared as its requests and labels are; only what it says of itself is added."""
    common = (*QUICK, "--engine", "compiled", "--format", "json")
    direct = json.loads(here("ab", files["requests"], "--labels", files["labels"], *common).out)
    ran = here("ab", corpus, *common)
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    schemas.check("ab", document, "stdout")
    added = document["caveats"][len(direct["caveats"]) :]
    assert {**document, "caveats": direct["caveats"]} == direct
    assert any("retries of the same task" in said for said in added)


def test_a_comparison_prints_what_the_corpus_cannot_prove(here: Run, corpus: str) -> None:
    """R-m8: below the figures, in text."""
    out = here("ab", corpus, *QUICK, "--engine", "compiled").out
    assert out.index("what this can prove") < out.index("No retry without a reflection stands beside them")


def test_a_comparison_groups_by_near_identical_tasks(here: Run, corpus: str) -> None:
    """`--group group` resamples the groups of the corpus whole."""
    document = json.loads(here("ab", corpus, *QUICK, "--group", "group", "--engine", "compiled", "--format", "json").out)
    assert document["main"]["records"] + document["requests"]["kept_apart"] == 2


def test_labels_are_needed_where_the_file_holds_requests(here: Run, files: dict[str, str]) -> None:
    """A file of requests knows nothing of outcomes."""
    ran = here("ab", files["requests"], *QUICK)
    assert ran.code == 64
    assert "--labels" in ran.err


def test_labels_of_a_file_go_before_those_of_the_corpus(here: Run, files: dict[str, str], corpus: str) -> None:
    """Who gives both wants the file's."""
    path = Path(files["labels"])
    path.write_text(path.read_text(encoding="utf-8").replace('"after": true', '"after": false'), encoding="utf-8")
    ran = here("ab", corpus, "--labels", str(path), *QUICK, "--engine", "compiled", "--format", "json")
    assert json.loads(ran.out)["main"]["gates"]["a"]["precision"]["hits"] == 0


def test_an_ablation_gives_the_same_figures(here: Run, files: dict[str, str], corpus: str) -> None:
    """R-m5: byte for byte."""
    direct = here("ablate", files["requests"], "--labels", files["labels"], *QUICK, "--format", "json")
    assert here("ablate", corpus, *QUICK, "--format", "json").out == direct.out


def test_a_score_gives_the_same_figures(here: Run, files: dict[str, str], corpus: str) -> None:
    """R-m1: but for what the corpus says of itself."""
    common = (*QUICK, "--engine", "compiled", "--format", "json")
    direct = json.loads(here("corpus", "score", files["requests"], "--labels", files["labels"], *common).out)
    document = json.loads(here("corpus", "score", corpus, *common).out)
    schemas.check("corpus-score", document, "stdout")
    assert {**document, "caveats": direct["caveats"]} == direct
    assert len(document["caveats"]) > len(direct["caveats"])


def test_mutants_are_the_same(here: Run, files: dict[str, str], corpus: str) -> None:
    """Byte for byte."""
    common = ("--as-of", "2031-01-01", "--engine", "compiled")
    direct = here("corpus", "mutate", files["requests"], *common)
    assert direct.out
    assert here("corpus", "mutate", corpus, *common).out == direct.out


def test_a_policy_diff_is_the_same(here: Run, files: dict[str, str], corpus: str) -> None:
    """Byte for byte."""
    common = ("policy", "diff", "structured", "introspect", "--as-of", "2031-01-01", "--format", "json", "--corpus")
    assert here(*common, corpus).out == here(*common, files["requests"]).out


def test_requests_of_a_corpus_judge_mutants_of_policies(files: dict[str, str], corpus: str) -> None:
    """`policy mutate` and `policy bench` read the same requests of it."""
    assert read_requests(corpus) == lines(files["requests"])


def test_a_failure_without_a_candidate_is_a_request_without_a_reflection(tmp_path: Path, here: Run) -> None:
    """For a verb that asks for candidates itself; what is known of it is kept as well."""
    report, out = tmp_path / "report.xml", tmp_path / "corpus.ndjson"
    report.write_text(JUNIT, encoding="utf-8")
    assert here("corpus", "import", "junit", str(report), "-o", str(out)).code == 0
    bare = Corpus(with_bare=True)
    with out.open("rb") as stream:
        found = [request for _, request in bare.entries(stream, "corpus", Limits())]
    assert [set(request) for request in found if isinstance(request, dict)] == [{"record", "project"}] * 2
    assert len(bare.labels) == 2


def test_a_candidate_of_a_corpus_is_shown(here: Run, corpus: str) -> None:
    """By its failure's id."""
    assert "mailer-12" in here("corpus", "show", "mailer-12", corpus).out


def test_records_without_a_candidate_are_passed_over(here: Run, rows: Rows, tmp_path: Path) -> None:
    """They are in no figure, and how many they were is said."""
    report, out = tmp_path / "report.xml", str(tmp_path / "corpus.ndjson")
    report.write_text(JUNIT, encoding="utf-8")
    assert here("corpus", "import", "auto", rows(FORM_ROWS["renze"]), str(report), "-o", out).code == 0
    ran = here("corpus", "score", out, *QUICK, "--engine", "compiled", "--format", "json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["requests"]["judged"] == 1
    assert "2 records hold no candidate" in ran.err


def test_a_corpus_without_outcomes_can_be_scored(here: Run, rows: Rows, tmp_path: Path) -> None:
    """What is not known is no figure."""
    out = str(tmp_path / "corpus.ndjson")
    assert here("corpus", "import", "lessons-log", rows(FORM_ROWS["lessons-log"]), "-o", out).code == 0
    ran = here("corpus", "score", out, *QUICK, "--engine", "compiled")
    assert ran.code == 0, ran.err
    assert "not whether that helped" in ran.out


def test_a_damaged_record_is_an_invalid_request(here: Run, corpus: str) -> None:
    """Exit code 3; the others are compared."""
    with Path(corpus).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"schema": "urn:reflect-gate:schema:corpus-record:1"}) + "\n")
    ran = here("ab", corpus, *QUICK, "--engine", "compiled", "--format", "json")
    assert (ran.code, json.loads(ran.out)["requests"]["invalid"]) == (3, 1)
