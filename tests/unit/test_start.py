"""What the processes that a harness waits for may import: each module of these lists has cost a start more than it is worth."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reflect_gate._hashing as gate_hashing
import reflect_gate._reading as gate_reading
import reflect_store._hashing as store_hashing
import reflect_store._reading as store_reading
from reflect_gate._canonical import digest, plain_digest
from reflect_gate.measure._english import ACTION_VERBS
from reflect_gate.measure.similarity import act_terms
from reflect_gate.measure.text import terms, terms_of_words
from reflect_store import draft, new_lesson, open_store

ROOT = Path(__file__).parents[2]
REQUEST = ROOT / "docs" / "examples" / "admitted.json"

ASKING = (
    "orjson _hashlib dataclasses inspect uuid secrets random threading click yaml jsonschema jsonschema_rs durable_rules_engine "
    "logging subprocess email http socket ssl asyncio multiprocessing concurrent reflect_gate.infer.compiled "
    "reflect_gate.infer.protocol reflect_gate.infer.explain reflect_gate.measure.lexicon reflect_gate.facts reflect_gate.schemas "
    "reflect_gate.report reflect_gate.pipeline reflect_store.checking reflect_store.exchange reflect_store.projections "
    "reflect_store.records reflect_store.shapes reflect_store.viewing"
).split()
"""A hook that asks the store and stays silent."""

JUDGING = (
    "_hashlib yaml jsonschema openai rich multiprocessing asyncio http socket ssl subprocess logging secrets random base64 "
    "string sqlite3 reflect_store reflect_gate.bulk reflect_gate.memory reflect_gate.serving reflect_gate.policy.build "
    "reflect_gate.measure.stance reflect_gate.measure.similarity reflect_gate.measure.likeness click.shell_completion"
).split()
"""An evaluation without a store."""

SCRIPT = """
import sys
from reflect_gate.cli import main
main(sys.argv[2:])
print("imported", *sorted(set(sys.argv[1].split()) & set(sys.modules)))
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Return an environment with a home and a cache of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REFLECT")}
    return {**kept, "REFLECT_GATE_HOME": str(tmp_path), "REFLECT_GATE_CACHE": str(tmp_path / "cache")}


def _imported(names: list[str], arguments: list[str], environ: dict[str, str]) -> tuple[str, list[str]]:
    """Run a command line in a process of its own, policies compiled; return what it said, and what of `names` it imported."""
    command = [sys.executable, "-c", SCRIPT, " ".join(names), *arguments]
    runs = [subprocess.run(command, env=environ, capture_output=True, text=True, check=True) for _ in range(2)]
    said, _, imported = runs[-1].stdout.rpartition("imported")
    return said, imported.split()


def _keep(file: Path) -> None:
    lesson = new_lesson("When a printer has no paper, check the tray.", "", failures=["run-1"], evidence=["t-1"], confidence=0.5)
    envelope = {"lesson_id": "l-1", "signature": "a" * 64, "project": {}, "red_flag": False, "bundle": "b" * 64}
    with open_store(file, create=True) as store:
        store.append([draft("lesson-admitted", {"lesson": lesson, "envelope": envelope, "decision_id": "d-1"})])


@pytest.mark.parametrize(
    "event",
    [
        {"hook_event_name": "UserPromptSubmit", "prompt": "Why does the parser of the tray fail?"},
        {
            "hook_event_name": "PostToolUseFailure",
            "tool_name": "Bash",
            "tool_input": {"command": "make tray"},
            "error": "Exit code 1\nOSError: the parser fails",
        },
    ],
    ids=["prompt", "failure"],
)
def test_hook_that_asks_and_is_silent(event: dict[str, object], environ: dict[str, str], tmp_path: Path) -> None:
    """A candidate of which no rule can say anything is dismissed without an engine, a validator and what writes to a store."""
    _keep(tmp_path / "store.db")
    payload = json.dumps({"session_id": "s", "transcript_path": "/no/such.jsonl", "cwd": "/", **event})
    said, imported = _imported([*ASKING, "sqlite3", "reflect_gate.runtime"], ["hook", payload], environ)
    assert said == ""
    # It has searched and looked at the rules, so the list was tried.
    assert imported == ["reflect_gate.runtime", "sqlite3"]


def test_evaluation_without_a_store(environ: dict[str, str]) -> None:
    """An evaluation imports nothing of what looks after a store, builds policies, or talks to others."""
    said, imported = _imported(JUDGING, ["evaluate", str(REQUEST)], environ)
    assert said.startswith("admitted")
    assert imported == []


@given(st.lists(st.text(st.characters(codec="utf-8")) | st.lists(st.text(st.characters(codec="utf-8"))) | st.integers(0, 2**63)))
def test_plain_digest_is_the_digest(value: list[object]) -> None:
    """The digest that needs no orjson is the one that everything else takes."""
    assert plain_digest(value) == digest(value)


def test_plain_digest_refuses_what_is_not_canonical() -> None:
    """Half a surrogate pair has no digest, with either."""
    for take in (plain_digest, digest):
        with pytest.raises(TypeError):
            take(["\ud800"])


@given(st.binary())
def test_either_sha256_is_sha256(data: bytes) -> None:
    """Python's own module and OpenSSL's give the same digest, and the two packages have the same one."""
    expected = hashlib.sha256(data).digest()
    own = gate_hashing._own()
    assert own is None or own(data).digest() == expected
    assert gate_hashing.sha256(data) == store_hashing.sha256(data) == expected


@pytest.mark.parametrize("loads", [gate_reading.loads, store_reading.loads])
def test_rows_read_the_same_without_orjson(loads: Callable[[bytes], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Canonical JSON reads alike, whichever reader the process has, in both packages."""
    text = b'{"a":[1,2.5,true,null,"\xc3\xa9\\n"],"b":{}}'
    one = loads(text)
    monkeypatch.delitem(sys.modules, "orjson")
    assert loads(text) == one == {"a": [1, 2.5, True, None, "\u00e9\n"], "b": {}}


def test_terms_of_words_are_their_terms() -> None:
    """Terms of many words at once are those of each."""
    assert terms_of_words(ACTION_VERBS) == frozenset().union(*map(terms, ACTION_VERBS))
    assert terms_of_words(["the", "a", "checks"]) == terms("the a checks")
    assert terms("check") <= act_terms()
