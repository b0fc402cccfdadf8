"""Ids from the store: completed while they are typed, found by their beginning; and what is said while there is no store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reflect_gate import schemas
from reflect_store import draft, open_store

from ..lessons import born
from .conftest import RunHere, RunProcess
from .test_cli_completion import complete

IDS = ("lesson-1f0c2a77", "lesson-1f0c2a99", "lesson-7b33c1d0")
RETRIEVAL = "7c31aa"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose store holds three lessons and one retrieval."""
    path = tmp_path / "home" / "store.db"
    with open_store(path, create=True) as kept:
        for number, name in enumerate(IDS):
            kept.append([born(name, f"Close file {number} early.")])
        shown = {"retrieval_id": RETRIEVAL, "lesson_ids": [IDS[0]], "withheld": [], "origin": {"task": "fix-cart"}}
        kept.append([draft("lessons-recalled", {**shown, "query": "q-1"})])
    return path.parent


# -- abbreviations -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["lesson-7", "7b33c1", IDS[2]])
@pytest.mark.parametrize("verb", ["show", "history", "why"])
def test_a_lesson_is_found_by_its_beginning(here: RunHere, home: Path, verb: str, given: str) -> None:
    """With or without the word that all ids begin with; a whole id is itself."""
    ran = here("lessons", verb, given, "--store", str(home / "store.db"), "--format", "json")
    assert ran.code == 0
    assert verb == "history" or IDS[2] in ran.out


def test_an_ambiguous_beginning_names_the_candidates(here: RunHere, home: Path) -> None:
    """Nothing is guessed."""
    code, out, err = here("lessons", "show", "1f0c2a", "--store", str(home / "store.db"))
    assert (code, out) == (3, "")
    assert f"`1f0c2a` is the beginning of `{IDS[0]}`, `{IDS[1]}` [lesson-ambiguous]" in err


def test_a_short_beginning_is_no_name(here: RunHere, home: Path) -> None:
    """Five characters are too few, and the error says how many are not."""
    code, _, err = here("lessons", "show", "7b33c", "--store", str(home / "store.db"))
    assert code == 3
    assert "no lesson `7b33c`; an abbreviation has 6 characters or more [lesson-unknown]" in err


def test_a_change_takes_the_whole_id(here: RunHere, home: Path) -> None:
    """What is written is never guessed from a beginning."""
    ran = here("lessons", "retire", "7b33c1", "--reason", "gone", "--store", str(home / "store.db"))
    assert (ran.code, "[lesson-unknown]" in ran.err) == (3, True)


# -- completion --------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("home")
def test_ids_of_lessons_are_completed(process: RunProcess) -> None:
    """From the store in force, which `home` is."""
    assert complete(process, "lessons", "show", "lesson-1") == list(IDS[:2])


@pytest.mark.usefixtures("home")
def test_ids_of_retrievals_are_completed(process: RunProcess) -> None:
    """The newest where nothing is typed yet."""
    assert complete(process, "record", "--retrieval", "") == [RETRIEVAL]


@pytest.mark.usefixtures("home")
def test_a_lesson_says_what_it_is_while_it_is_chosen(process: RunProcess) -> None:
    """An id alone says nothing."""
    asked = {"_REFLECT_GATE_COMPLETE": "zsh_complete", "COMP_WORDS": "reflect-gate lessons show lesson-7", "COMP_CWORD": "3"}
    assert "Close file 2 early." in process(env=asked).out


def test_harnesses_of_hooks_are_completed(process: RunProcess) -> None:
    """Those whose events are understood."""
    assert complete(process, "hook", "--harness", "open") == ["opencode", "openhands"]


@pytest.mark.parametrize("text", [None, "no store"])
def test_without_a_store_nothing_is_completed_in_silence(process: RunProcess, tmp_path: Path, text: str | None) -> None:
    """Missing or foreign, it is no reason to write into the user's prompt."""
    if text is not None:
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / "store.db").write_text(text)
    assert complete(process, "lessons", "show", "lesson-") == []


# -- before the first lesson -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", ["text", "json", "context"])
def test_before_the_first_lesson_nothing_fits(here: RunHere, tmp_path: Path, format_: str) -> None:
    """Exit code 4 with a remark, and no store is made by asking."""
    ran = here("retrieve", "the total of a cart", "--format", format_)
    assert (ran.code, "there is no store yet" in ran.err) == (4, True)
    assert format_ != "context" or not ran.out
    assert not (tmp_path / "home").exists()


def test_before_the_first_lesson_the_answer_keeps_its_schema(here: RunHere, tmp_path: Path) -> None:
    """It names the place where the store will be."""
    answer = json.loads(here("retrieve", "the total of a cart", "--format", "json").out)
    schemas.check("retrieval", answer, "answer")
    assert (answer["status"], answer["logged"], answer["store"]) == ("abstained", False, str(tmp_path / "home" / "store.db"))


@pytest.mark.parametrize(
    ("verb", "schema"),
    [("lessons list", "lessons-report"), ("lessons flags", "lessons-report"), ("decisions list", "decisions-report")],
)
def test_before_the_first_lesson_lists_are_empty(here: RunHere, verb: str, schema: str) -> None:
    """Exit code 0; the remark stands on stderr alone."""
    ran = here(*verb.split(), "--format", "json")
    schemas.check(schema, json.loads(ran.out), "output")
    assert (ran.code, "there is no store yet" in ran.err) == (0, True)


@pytest.mark.parametrize("verb", ["retrieve cart", "lessons list"])
def test_a_store_that_is_named_must_be_there(here: RunHere, tmp_path: Path, verb: str) -> None:
    """A slip in `--store` is not mistaken for a beginning."""
    ran = here(*verb.split(), "--store", str(tmp_path / "stroe.db"))
    assert (ran.code, "[store-missing]" in ran.err) == (1, True)
