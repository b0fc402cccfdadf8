"""Verdicts that are kept, so that a run goes on where it was ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_gate.ab.kept import Kept, key_of
from reflect_gate.corpus.score import Verdict
from reflect_gate.errors import ReflectGateError

VERDICTS = [
    Verdict("a", "t", "admitted", None, frozenset()),
    Verdict("b", "t", "refused", "speculative", frozenset({("ground", "unsupported"), ("admit", "speculative")})),
]


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    """Whole, and for a run of its own as well."""
    Kept(str(tmp_path / "kept")).put("k", VERDICTS)
    assert Kept(str(tmp_path / "kept")).get("k", 2) == VERDICTS


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"[1, 2]", b'[["a","t","maybe",null,[]],["b","t","refused","x",[]]]'])
def test_what_is_damaged_is_judged_again(tmp_path: Path, data: bytes) -> None:
    """Half a file, or one that says something else, is as if it were not there."""
    (tmp_path / "k.json").write_bytes(data)
    assert Kept(str(tmp_path)).get("k", 2) is None


def test_other_sizes_are_not_taken(tmp_path: Path) -> None:
    """A chunk has as many verdicts as requests."""
    kept = Kept(str(tmp_path))
    kept.put("k", VERDICTS)
    assert kept.get("k", 3) is None


def test_chunks_that_could_not_be_judged_are_not_kept(tmp_path: Path) -> None:
    """The next run tries again."""
    kept = Kept(str(tmp_path))
    kept.put("k", [*VERDICTS, None])
    assert list(tmp_path.iterdir()) == []


def test_a_key_follows_from_policies_engine_and_requests() -> None:
    """Whatever can change a verdict changes the key."""
    keys = {
        key_of(bundle, requests)
        for bundle in (("d", "compiled", False), ("e", "compiled", False), ("d", "durable", False), ("d", "durable", True))
        for requests in ([{"a": 1}], [{"a": 2}], [{"a": 1}, {"a": 2}])
    }
    assert len(keys) == 12


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A file stands there."""
    (tmp_path / "file").touch()
    with pytest.raises(ReflectGateError, match="cannot keep anything in"):
        Kept(str(tmp_path / "file"))
