"""Erasing, exporting, merging, rebuilding: the same on every back end."""

from __future__ import annotations

import io
import itertools
from typing import Any

import orjson
import pytest

from reflect_store import TABLES, Store, StoreError

from .stores import Make, Told


def exported(store: Store) -> bytes:
    """Return the export of a store."""
    stream = io.BytesIO()
    store.export(stream)
    return stream.getvalue()


def imported(store: Store, text: bytes, **options: Any) -> Any:
    """Merge an export into a store."""
    return store.import_(io.BytesIO(text), "export.ndjson", **options)


def rows(store: Store) -> dict[str, list[Any]]:
    """Return every row of every projection."""
    return {table: list(store.iterate(table)) for table in TABLES}


def test_redaction_erases_an_event_and_the_chain_still_verifies(store: Store, told: type[Told]) -> None:
    """R-s1: a leaked secret goes, with every row made of it; that it went is an event."""
    store.append([told.failed("f-1", "password hunter2 refused"), told.failed("f-2", "harmless")])
    erased = store.redact(text="hunter2", reason="a credential")
    assert len(erased) == 1
    assert [row["failure_id"] for row in store.iterate("terminations")] == ["f-2"]
    event = store.event(erased[0])
    assert event is not None
    assert (event.payload, event.nonce) == (None, None)
    assert [item.type for item in store.events()][-1] == "redacted"
    report = store.verify()
    assert (report.sound, report.redacted) == (True, 1)
    assert b"hunter2" not in exported(store)


def test_redacting_a_lesson_takes_its_life_and_views_of_it(store: Store, told: type[Told]) -> None:
    """What a decision saw of the lesson goes with it; other lessons stay."""
    store.append([told.decided("d-1", "l-1"), told.admitted("l-1"), told.admitted("l-2")])
    seen = store.view(told.SIGNATURE).to_json()
    store.append([told.decided("d-2", view=seen), told.merged("l-1", "f-2"), told.outcome("o-1", "l-2")])
    assert len(store.redact(lesson="l-1", reason="wrong")) == 4
    assert [row["id"] for row in store.iterate("lessons")] == ["l-2"]
    assert (store.count("decisions"), store.count("outcomes"), store.count("history", {"lesson_id": "l-1"})) == (0, 1, 0)
    assert store.verify().sound


def test_a_redaction_that_cannot_be_is_refused(store: Store, told: type[Told]) -> None:
    """An unknown event is named; a reason that repeats the secret is not kept; nothing to erase adds nothing."""
    store.append([told.failed("f-1", "hunter2")])
    with pytest.raises(StoreError, match="no event `gone`"):
        store.redact(events=["gone"], reason="")
    with pytest.raises(StoreError, match="stands in the reason"):
        store.redact(text="hunter2", reason="it says hunter2")
    assert store.redact(text="absent", reason="") == ()
    assert store.version == 1
    (done,) = store.redact(text="hunter2", reason="")
    with pytest.raises(StoreError, match="that could be redacted"):
        store.redact(events=[[*store.events()][-1].id], reason="hide the act")
    assert store.redact(events=[done], reason="again") == ()


def test_an_export_has_the_same_bytes_every_time(make: Make, told: type[Told]) -> None:
    """R-s1: same store, same bytes; and a store made of an export exports those bytes again."""
    first, second = make(), make()
    first.append([told.admitted("l-1"), told.failed("f-1", "é \u2028 \U0001f600")])
    text = exported(first)
    assert text == exported(first)
    assert imported(second, text)[:3] == (2, 2, 0)
    assert exported(second) == text


def test_importing_again_adds_nothing(make: Make, told: type[Told]) -> None:
    """Merge without duplicates: the same file twice, or one's own file, leaves the store as it was."""
    first, second = make(), make()
    first.append([told.admitted("l-1"), told.skipped("f-1")])
    imported(second, exported(first))
    head = second.head()
    assert imported(second, exported(first))[:3] == (2, 0, 2)
    assert imported(second, exported(second))[:3] == (2, 0, 2)
    assert second.head() == head


def test_merging_two_stores_gives_the_same_whichever_way(make: Make, told: type[Told]) -> None:
    """R-s1: the rows are a function of the set of events, so the order of merging shows nowhere but in the numbers."""
    left, right, third = make(), make(), make()
    for number, store in zip(range(12), itertools.cycle((left, right)), strict=False):
        store.append([told.admitted(f"l-{number}"), told.skipped(f"f-{number % 3}", f"told by {number}")])
    left.append([told.merged("l-0", "f-9", "c" * 64), told.outcome("o-1", "l-0")])
    right.append([told.outcome("o-1", "l-1", outcome="worse"), told.changed("promoted", "l-1", level="procedural")])
    texts = exported(left), exported(right)
    for text in texts[::-1]:
        imported(third, text)
    imported(left, texts[1])
    imported(right, texts[0])
    assert rows(left) == rows(right) == rows(third)
    assert {event.id for event in left.events()} == {event.id for event in right.events()}
    assert left.version == 28
    for store in (left, right, third):
        assert store.verify().sound
    assert left.append([told.skipped("f-new")]) == (29,)
    assert left.verify().sound


def test_an_import_is_whole_or_not_at_all(make: Make, told: type[Told]) -> None:
    """A file that was cut, changed, reordered or is something else adds nothing, and the line is named."""
    first, second = make(), make()
    first.append([told.skipped(f"f-{number}") for number in range(4)])
    lines = exported(first).splitlines(keepends=True)
    broken = {
        b"".join(lines[:-1]): "ends at event 3 of 4",
        b"".join([*lines[:2], *lines[3:]]): "does not follow",
        b"".join([lines[0], lines[2], lines[1], *lines[3:]]): "does not follow",
        b"".join(lines).replace(b"switched off", b"switched on", 1): "not the one that its digest covers",
        b"".join(lines[1:]): "no export of a store",
        b"".join([*lines[:3], b"{\n"]): "export.ndjson:4: no JSON",
        b"": "no JSON",
    }
    for text, message in broken.items():
        with pytest.raises(StoreError, match=message) as caught:
            imported(second, text)
        assert caught.value.code == "store-import"
        assert second.version == 0
    assert second.count("not_reflected") == 0


def test_a_forged_event_of_a_known_id_is_a_conflict(make: Make, told: type[Told]) -> None:
    """R-s1: an import cannot replace what was recorded."""
    first, second = make(), make()
    first.append([told.skipped("f-1", id_="one")])
    second.append([told.skipped("f-2", id_="one")])
    with pytest.raises(StoreError) as caught:
        imported(second, exported(first))
    assert caught.value.code == "store-conflict"


def test_an_event_from_the_future_is_not_imported(make: Make, told: type[Told]) -> None:
    """Every later event would have to lie behind it."""
    first, second = make(), make()
    first._clock = lambda clock=first._clock: clock().replace(year=2999)  # type: ignore[misc]
    first.append([told.skipped("f-1")])
    with pytest.raises(StoreError, match="lies in the future"):
        imported(second, exported(first))


def test_what_was_erased_stays_erased_and_others_erase_only_when_asked(make: Make, told: type[Told]) -> None:
    """An old export does not bring a secret back; a file of others erases nothing here unless it may."""
    first, second = make(), make()
    first.append([told.failed("f-1", "hunter2")])
    before = exported(first)
    imported(second, before)
    first.redact(text="hunter2", reason="a credential")
    assert imported(first, before).stay_erased == 1
    assert first.count("terminations") == 0
    after = exported(first)
    assert imported(second, after).withheld == 1
    assert second.count("terminations") == 1
    assert imported(second, after, erase=True).withheld == 0
    assert (second.count("terminations"), second.verify().sound) == (0, True)
    assert b"hunter2" not in exported(second)


def test_every_line_is_held_to_the_check(make: Make, told: type[Told]) -> None:
    """Whoever imports what others wrote brings the schema."""
    first, second = make(), make()
    first.append([told.skipped("f-1")])
    seen: list[Any] = []
    imported(second, exported(first), check=lambda document, place: seen.append((document, str(place))))
    assert seen == [(orjson.loads(exported(first).splitlines()[1]), "export.ndjson:2")]


def test_a_rebuild_of_a_sound_store_changes_nothing(store: Store, told: type[Told]) -> None:
    """R-s1: projections can be rebuilt from the events at any time, and come out as they were."""
    store.append([told.admitted("l-1"), told.merged("l-1", "f-2"), told.demoted("l-1", "l-2"), told.outcome("o-1", "l-1")])
    before = rows(store)
    report = store.rebuild()
    assert (report.sound, report.changed) == (True, 0)
    assert rows(store) == before
    store.vacuum()
    assert rows(store) == before


def test_rows_that_were_tampered_with_are_found_and_put_right(make: Make, told: type[Told]) -> None:
    """A changed, an added and a removed row: `verify` names each, `rebuild` repairs them from the events."""
    store = make()
    store.append([told.admitted("l-1"), told.skipped("f-1")])
    before = rows(store)
    with store.backend.writing() as transaction:
        lesson = transaction.rows.get("lessons", "l-1")
        assert lesson is not None
        transaction.rows.put("lessons", "l-1", {**lesson, "level": "meta_strategy"})
        transaction.rows.put("lessons", "l-2", {**lesson, "id": "l-2"})
        transaction.rows.drop("not_reflected", "f-1")
    assert sorted(store.verify().problems) == [
        "lessons: `l-1` is not what the events say",
        "lessons: `l-2` comes from no event",
        "not_reflected: `f-1` is missing",
    ]
    assert store.rebuild().changed == 3
    assert rows(store) == before
    assert store.verify().sound


def test_progress_reaches_the_end(store: Store, told: type[Told]) -> None:
    """Long work says how far it is; the last word is that all is done."""
    store.append([told.skipped(f"f-{number}") for number in range(7)])
    heard: list[tuple[int, int]] = []
    store.verify(progress=lambda done, whole: heard.append((done, whole)))
    assert heard == [(number, 7) for number in range(1, 8)]
