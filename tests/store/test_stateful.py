"""Random histories on a file and in memory: the two never differ, and both always verify."""

from __future__ import annotations

import hashlib
import io
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reflect_store import TABLES, Draft, SearchQuery, Store, StoreError, ViewQuery, draft, memory_store, open_store

from .stores import Told, ticking

NAMES = st.sampled_from([f"n-{number}" for number in range(4)])
SIGNATURES = st.sampled_from(["a" * 64, "c" * 64])


def promoted(name: str, level: str) -> Draft:
    """A lesson rises."""
    return Told.changed("promoted", name, level=level)


def retired(name: str) -> Draft:
    """A lesson goes."""
    return Told.changed("retired", name, tombstone_id="t")


def superseded(name: str, by: str) -> Draft:
    """A lesson is replaced."""
    return Told.changed("superseded", name, by=by)


def restored(name: str, level: str) -> Draft:
    """A lesson returns."""
    return Told.changed("restored", name, level=level, undoes="e")


def drafts() -> st.SearchStrategy[Draft]:
    """Return events of every kind that changes a lesson, about few names, so that they meet."""
    levels = st.sampled_from(["episodic", "procedural", "meta_strategy"])
    return st.one_of(
        st.builds(Told.admitted, NAMES, SIGNATURES),
        st.builds(Told.merged, NAMES, NAMES, SIGNATURES),
        st.builds(Told.demoted, NAMES, NAMES),
        st.builds(promoted, NAMES, levels),
        st.builds(retired, NAMES),
        st.builds(superseded, NAMES, NAMES),
        st.builds(restored, NAMES, levels),
        st.builds(Told.outcome, NAMES, NAMES, outcome=st.sampled_from(["resolved", "worse"])),
        st.builds(Told.flagged, NAMES, NAMES, withdraws=st.booleans()),
        st.builds(Told.resolved, NAMES),
        st.builds(Told.failed, NAMES, st.text(max_size=5)),
        st.builds(Told.decided, NAMES, st.one_of(st.none(), NAMES)),
        st.builds(Told.skipped, NAMES),
        st.builds(Told.recalled, NAMES, NAMES),
        st.builds(Told.held, NAMES, failure_id=NAMES, statement=st.just("Wait for the generator.")),
        st.builds(Told.released, NAMES),
    )


def answer(act: Callable[[], Any]) -> Any:
    """Return what came of an act: its result, or the code of its error."""
    try:
        return act()
    except StoreError as error:
        return error.code


def _predictable(kind: str, payload: dict[str, Any]) -> Draft:
    return draft(kind, payload, id_=hashlib.sha256(repr(payload).encode()).hexdigest(), nonce="0" * 32)


class Twins(RuleBasedStateMachine):
    """The same acts on two stores."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.file: Store = open_store(self.folder / "store.db", create=True, clock=ticking())
        self.memory: Store = memory_store(clock=ticking())
        self.last: list[Draft] = []
        # The one event that a store makes by itself gets the same id and nonce in both.
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("reflect_store.store.draft", _predictable)

    def both(self, act: Callable[[Store], Any]) -> Any:
        """Do it twice and compare."""
        mine, other = answer(lambda: act(self.file)), answer(lambda: act(self.memory))
        assert mine == other
        return mine

    @rule(batch=st.lists(drafts(), min_size=1, max_size=4))
    def append(self, batch: list[Draft]) -> None:
        """Add a decision."""
        self.both(lambda store: store.append(batch))
        self.last = batch

    @rule(behind=st.integers(0, 2))
    def compare_and_append(self, behind: int) -> None:
        """Add a decision that was made on some version."""
        batch = [Told.skipped("n-0")]
        self.both(lambda store: store.append(batch, expected_version=store.version - behind))

    @precondition(lambda self: self.last)
    @rule()
    def append_again(self) -> None:
        """Try again after a lost answer."""
        self.both(lambda store: store.append(self.last))

    @rule(name=NAMES)
    def redact(self, name: str) -> None:
        """Erase a lesson's life."""
        self.both(lambda store: store.redact(lesson=name, reason="a test"))

    @rule()
    def reopen(self) -> None:
        """Close the file and open it again."""
        self.file.close()
        self.file = open_store(self.folder / "store.db", clock=ticking())
        # The clock starts anew in both: time moves on all the same.
        self.memory._clock = ticking()  # type: ignore[attr-defined]

    @rule()
    def rebuild(self) -> None:
        """Projections come out as they were."""
        assert self.both(lambda store: store.rebuild()).changed == 0

    @invariant()
    def the_same_rows(self) -> None:
        """Every table, every event and every view agree."""
        assert self.both(lambda store: {table: list(store.iterate(table)) for table in TABLES})
        self.both(lambda store: list(store.events()))
        self.both(lambda store: store.view("a" * 64, lessons=["n-0"]))
        self.both(lambda store: store.view(ViewQuery("a" * 64, words=("generators", "reader"), scopes=("lang:python",))))

    @invariant()
    def the_same_findings(self) -> None:
        """Every search agrees, finds what is in use, and nothing else."""
        query = SearchQuery(("generators", "reader"), ("lang:python",), "a" * 64)
        found = self.both(lambda store: store.search(query))
        assert {entry.lesson_id for entry in found} == {row["id"] for row in self.file.iterate("lessons", {"standing": "active"})}

    def teardown(self) -> None:
        """Both verify, and export the same bytes."""
        streams = io.BytesIO(), io.BytesIO()
        for store, stream in zip((self.file, self.memory), streams, strict=True):
            assert store.verify().sound
            store.export(stream)
            store.close()
        assert streams[0].getvalue() == streams[1].getvalue()
        shutil.rmtree(self.folder)
        self.patch.undo()


TestTwins = Twins.TestCase
TestTwins.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
