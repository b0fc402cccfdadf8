"""`reflect-gate retrieve`: what it prints in each form, its exit codes, and what it logs (R-h1, R-k2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_store import open_store

from ..lessons import born
from .conftest import RunHere, RunProcess

CART = "When a cart may be empty for a new session, check what the loader returns for None before subscripting the cart."
TASK = "The total of a cart fails for new sessions: the loader returns None."
UNRELATED = "Name the capital of a country."
SIGNATURE = "a" * 64


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store of one lesson."""
    path = tmp_path / "store.db"
    with open_store(path, create=True) as kept:
        kept.append([born("l-cart", CART, "lang:python", signature=SIGNATURE)])
    return str(path)


def retrievals(store: str) -> list[Any]:
    """Return what was logged."""
    with open_store(Path(store), read_only=True) as kept:
        return list(kept.page("retrievals").rows)


def test_found_is_exit_code_0(here: RunHere, store: str) -> None:
    """With the lesson, why, and the id to record by."""
    ran = here("retrieve", TASK, "--language", "python", "--store", store)
    assert ran.code == 0
    assert all(said in ran.out for said in ("l-cart", "alike", CART))
    assert retrievals(store)[0]["retrieval_id"] in ran.out


def test_abstaining_is_exit_code_4(here: RunHere, store: str) -> None:
    """Silence is an answer, and told apart from a failure."""
    ran = here("retrieve", UNRELATED, "--store", store)
    assert (ran.code, ran.err) == (4, "")
    assert "nothing to offer" in ran.out


@pytest.mark.parametrize("text", [TASK, UNRELATED])
def test_json_keeps_its_schema(here: RunHere, store: str, text: str) -> None:
    """Found or not."""
    ran = here("retrieve", text, "--store", store, "--format", "json")
    answer = json.loads(ran.out)
    schemas.check("retrieval", answer, "answer")
    assert (answer["status"] == "found", answer["logged"]) == (ran.code == 0, ran.code == 0)


def test_context_is_for_a_model(here: RunHere, store: str) -> None:
    """Bounded, quoted, with the id; zero bytes where there is nothing to say."""
    ran = here("retrieve", TASK, "--store", store, "--format", "context")
    assert len(ran.out) < 2_000
    assert f'"{CART}"' in ran.out
    assert f"--retrieval {retrievals(store)[0]['retrieval_id']} " in ran.out
    assert here("retrieve", UNRELATED, "--store", store, "--format", "context").out == ""


def test_the_log_says_where(here: RunHere, store: str) -> None:
    """Session, task, repository and commit are kept for `record`."""
    here(
        "retrieve", TASK, "--store", store, "--session", "s-1", "--task", "T-7", "--repository", "acme/shop", "--commit", "c0ffee"
    )
    (row,) = retrievals(store)
    assert (row["session"], row["task"]) == ("s-1", "T-7")
    assert row["origin"] == {"session": "s-1", "task": "T-7", "repository": "acme/shop", "commit": "c0ffee"}


def test_no_log_leaves_the_store_alone(here: RunHere, store: str) -> None:
    """And says that there is no id."""
    ran = here("retrieve", TASK, "--store", store, "--no-log", "--format", "json")
    assert json.loads(ran.out)["retrieval_id"] is None
    assert retrievals(store) == []


def test_an_error_text_comes_from_stdin(process: RunProcess, store: str) -> None:
    """As a hook pipes it; its class is part of the place."""
    stdin = b'Traceback (most recent call last):\n  File "cart.py", line 3, in total\nTypeError: the cart loader is None\n'
    ran = process("retrieve", "--error", "-", "--store", store, "--format", "json", stdin=stdin)
    query = json.loads(ran.out)["query"]
    assert query["place"] == "error:typeerror"
    assert len(query["signature"]) == 64


def test_a_signature_leads_by_itself(here: RunHere, store: str) -> None:
    """The known failure needs no words."""
    ran = here("retrieve", "--signature", SIGNATURE, "--store", store)
    assert ran.code == 0
    assert "known-failure" in ran.out


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--session", "s-1"),
        ("-", "--error", "-"),
        (TASK, "--limit", "6"),
        (TASK, "--limit", "0"),
        (TASK, "--signature", "A" * 64),
    ],
)
def test_misuse_is_exit_code_64(here: RunHere, store: str, arguments: tuple[str, ...]) -> None:
    """Nothing said, two texts from one stream, more than the cap, what is no signature."""
    assert here("retrieve", *arguments, "--store", store).code == 64


def test_a_store_that_cannot_be_written_is_read(here: RunHere, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk or another's lock is no reason to show nothing: the retrieval is not logged, and a warning says so."""
    from reflect_store import EventStore, StoreError

    def full(*_: object, **__: object) -> None:
        raise StoreError("store-full", "no space left")

    monkeypatch.setattr(EventStore, "append", full)
    ran = here("retrieve", TASK, "--store", store, "--format", "json")
    assert ran.code == 0
    assert json.loads(ran.out)["logged"] is False
    assert "not logged" in ran.err


def test_a_read_only_store_is_read(here: RunHere, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of others, mounted read-only."""
    import reflect_store
    from reflect_store import StoreError

    opening = reflect_store.open_store

    def refusing(path: Path, **options: Any) -> Any:
        if not options.get("read_only"):
            raise StoreError("store-read-only", "the file cannot be written")
        return opening(path, **options)

    monkeypatch.setattr(reflect_store, "open_store", refusing)
    ran = here("retrieve", TASK, "--store", store, "--format", "json")
    assert (ran.code, json.loads(ran.out)["logged"]) == (0, False)


def test_a_missing_store_is_an_error(here: RunHere, tmp_path: Path) -> None:
    """It could not run: nothing is made by asking."""
    ran = here("retrieve", TASK, "--store", str(tmp_path / "none.db"))
    assert ran.code == 1
    assert not (tmp_path / "none.db").exists()
