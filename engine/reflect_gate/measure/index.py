"""The record as the measures see it: every item's searchable text, prepared once for one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any

from ._errortext import exception_class
from .anchors import Anchor, compact, core, holds
from .defect import OBSERVED, defect
from .expectation import read_values
from .failure import shown_kinds
from .origin import foreign_items
from .text import encodable, fold, terms

__all__ = ["IndexedItem", "RecordIndex", "Searchable"]

_USABLE = frozenset(("11", "12", "13", "user"))
_SEARCHED = ("expected", "actual", "error_class", "path")


class Searchable:
    """A text prepared for search: `original` as written, the other forms made when they are first asked for."""

    def __init__(self, original: str) -> None:
        self.original = original
        self._known: dict[Anchor, bool] = {}

    @cached_property
    def folded(self) -> str:
        """The text, case-folded NFKC."""
        return fold(self.original)

    @cached_property
    def compacted(self) -> str:
        """The folded text in the form that spans are compared in."""
        return compact(self.folded)

    @cached_property
    def terms(self) -> frozenset[str]:
        """The distinct content terms of the text."""
        return terms(self.original)

    def holds(self, anchor: Anchor) -> bool:
        """Return whether the text names `anchor`."""
        known = self._known.get(anchor)
        if known is None:
            known = self._known[anchor] = self._holds(anchor)
        return known

    def _holds(self, anchor: Anchor) -> bool:
        if anchor.kind != "span":
            return holds(self.folded, anchor)
        return core(anchor.form) in self.folded and holds(self.compacted, anchor)


class IndexedItem(Searchable):
    """One citable item. Its searchable text is `expected`, `actual`, `error_class`, `path` and `text`, a line each.

    Of a crash whose class was not kept, the class that its message tells is added. `usable` says whether the item may support a
    cause: components 11 to 13 and the user may; a repair or a success may not, and shows no defect. Where a failure was logged
    as text alone, `item` holds the expected and actual value that the text states.
    """

    def __init__(self, item: Mapping[str, Any], *, usable: bool) -> None:
        self.item = item = _with_values(item)
        self.id: str = item["id"]
        self.kind: str = item["kind"]
        self.component = str(item["component"])
        self.seq: int = item["seq"]
        self.oracle: str = item.get("oracle") or "none"
        self.usable = usable and self.component in _USABLE
        self.defect = defect(item) if self.usable else "none"
        parts = [str(item[key]) for key in _SEARCHED if item.get(key) is not None]
        if self.defect == "crash" and not item.get("error_class"):
            parts.append(exception_class(encodable(str(item.get("actual") or item["text"])[:512])))
        # The text comes last: it is what the limit may cut off.
        super().__init__("\n".join((*parts, item["text"])))

    @cached_property
    def failure_kinds(self) -> frozenset[str]:
        """The kinds of failure that its check showed."""
        return shown_kinds(self.item, self.defect)


def _with_values(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add what the text of a failed check states of its values, where the item carries none."""
    if item["kind"] not in OBSERVED or "actual" in item or "expected" in item or item.get("passed") is True:
        return item
    if defect(item) != "wrong_value" and not (item["kind"] == "test_output" and defect(item) == "none"):
        return item
    values = read_values(item["text"])
    return item if values is None else {**item, **values._asdict()}


class RecordIndex:
    """The items of a record by id: traces, diagnosis, repair, successful trajectory; of equal ids the first counts."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.items: dict[str, IndexedItem] = {}
        self._answers: dict[Hashable, bool] = {}
        for item, usable in _listed(record):
            if item["id"] not in self.items:
                self.items[item["id"]] = IndexedItem(item, usable=usable)

    @cached_property
    def defects(self) -> dict[str, str]:
        """What each item's check showed, by id."""
        return {name: item.defect for name, item in self.items.items()}

    @cached_property
    def foreign(self) -> frozenset[str]:
        """The ids of items whose crash comes from the check or its harness alone."""
        return foreign_items(self.items.values())

    @cached_property
    def checks(self) -> tuple[IndexedItem, ...]:
        """The usable items that executed something and were judged, passed or failed."""
        return tuple(item for item in self.items.values() if item.usable and (item.defect != "none" or "passed" in item.item))

    @cached_property
    def failing(self) -> tuple[IndexedItem, ...]:
        """The usable items that show a defect."""
        return tuple(item for item in self.items.values() if item.usable and item.defect != "none")

    @cached_property
    def failed_at(self) -> int | None:
        """The sequence number of the first item that shows a defect, `None` where none does."""
        return min((item.seq for item in self.failing), default=None)

    def some_check(self, question: Hashable, answer: Callable[[IndexedItem], int]) -> bool:
        """Return whether `answer` is positive for some check; asked once for each `question`, however many pairs ask it."""
        known = self._answers.get(question)
        if known is None:
            known = self._answers[question] = any(answer(check) > 0 for check in self.checks)
        return known

    def order(self, item: IndexedItem) -> str:
        """Return whether `item` stands `before` the first failing item or not (`after`); `unknown` where nothing fails.

        Another item of the same sequence number is `unknown`; the first failing item itself does not precede the failure.
        """
        first = self.failed_at
        if first is None or (item.seq == first and item.defect == "none"):
            return "unknown"
        return "before" if item.seq < first else "after"

    def names(self, anchor: Anchor) -> bool:
        """Return whether any item of the record, usable or not, names `anchor`."""
        return any(item.holds(anchor) for item in self.items.values())


def _listed(record: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], bool]]:
    for item in record["traces"]:
        yield item, True
    if record["diagnosis"] is not None:
        yield record["diagnosis"], True
    if record["repair_delta"] is not None:
        yield record["repair_delta"], False
    for item in record["successful_trajectory"]:
        yield item, False
