"""The view of the store that one evaluation sees: what it asks for (`ViewQuery`), and reading it within one transaction.

Every part is bounded and read by an index, so that a view of a large store costs what one of a small store does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple, cast

from .protocol import Row, Rows, Transaction
from .records import EarlierFailure, EarlierSuccess, Edge, HeldCandidate, Origin, StoredLesson, StoreView
from .searching import IN_USE, SearchQuery, sought, stems

__all__ = ["ViewQuery", "read_view"]

MOST_SIGNATURES: Final = 200
MOST_ORIGINS: Final = 200
MOST_FAILURES: Final = 200
MOST_CANDIDATES: Final = 50
MOST_SUCCESSES: Final = 8

MOST_TEXTS: Final = 6
MOST_LETTERS: Final = 600
"""What is told of a success: its last texts, each cut at so many characters."""

_LATEST: Final = 16
"""Resolved failures whose success is looked for: each costs a look."""

MOST_LOOKED_AT: Final = 16
MOST_HOLDERS: Final = 40
MOST_TERMS: Final = 6
FEWEST_TERMS: Final = 2
MOST_SCOPES: Final = 2


class ViewQuery(NamedTuple):
    """What a view is to hold.

    Args:
        signature: of the failure; the lessons that the ledger joins to it come first.
        words: content words of the candidate; lessons that share the rarest of them come last.
        scopes: canonical scope terms of the candidate; of lessons that share words, those that share terms too come first.
        lessons: ids of further lessons, as those recalled into the attempt; unknown ones and those out of use are left out.
        limit: lessons at most.
        alike: of them, those at most that only share words: a decision keeps all that it saw.
    """

    signature: str
    words: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    limit: int = 64
    alike: int = 12


def read_view(transaction: Transaction, query: ViewQuery) -> StoreView:
    """Return what one evaluation needs to see, all of one state."""
    rows = transaction.rows
    joined = rows.select("edges", {"signature": query.signature}, None, query.limit, newest=False).rows
    names = dict.fromkeys([*(row["lesson_id"] for row in joined), *query.lessons])
    if len(names) < query.limit:
        # What only sounds alike fills at most half of the view, however much of it a large store holds.
        names |= dict.fromkeys(_alike(rows, query, min(query.alike, query.limit // 2)))
    found = _in_use(rows, names, query.limit)
    kept = {row["id"] for row in found}
    support = rows.first_of("corroborations", "lesson_id", [row["id"] for row in found], MOST_ORIGINS - 1)
    failures = _failures(rows, query.signature)
    return StoreView(
        version=transaction.head().seq,
        lessons=tuple(_stored(row, support[row["id"]]) for row in found),
        edges=tuple(_edge(row) for row in joined if row["lesson_id"] in kept),
        failures=failures,
        candidates=_candidates(rows, query.signature),
        successes=tuple(islice(_successes(transaction, failures), MOST_SUCCESSES)),
    )


def _alike(rows: Rows, query: ViewQuery, most: int) -> Iterable[str]:
    """Return lessons that share words with the candidate: those that share the rarest first, of equals the elder.

    A scope term that both have adds to the weight of a lesson that the words found.
    """
    asked = sought(SearchQuery(query.words, query.scopes))
    weights: dict[int, float] = {}
    for places in _rarest(rows, stems(" ".join(asked.words)), MOST_TERMS, FEWEST_TERMS):
        weight = 1 / len(places)
        for place in places:
            weights[place] = weights.get(place, 0.0) + weight
    for places in _rarest(rows, asked.scopes, MOST_SCOPES, 0) if weights else ():
        for place in weights.keys() & set(places):
            weights[place] += 1 / len(places)
    best = sorted((-weight, place) for place, weight in weights.items())[:most]
    names = rows.index.names([place for _, place in best])
    return [names[place] for _, place in best]


def _rarest(rows: Rows, tokens: Sequence[str], most: int, fewest: int) -> list[Sequence[int]]:
    """Return the places of who holds the rarest of some tokens, the rarest first.

    A token that more than `MOST_HOLDERS` lessons hold is not counted further, and left out. Where rarer ones are fewer than
    `fewest`, the youngest of its holders stand for all of them. So the cost does not grow with the store.
    """
    index = rows.index
    common = index.common(tokens[:MOST_LOOKED_AT], MOST_HOLDERS)
    held = index.holding([token for token in tokens[:MOST_LOOKED_AT] if token not in common], MOST_HOLDERS)
    rare = sorted((len(places), token, places) for token, places in held.items() if places)[:most]
    youngest = index.holding(common[: max(0, fewest - len(rare))], MOST_HOLDERS)
    return [*(places for _, _, places in rare), *youngest.values()]


def _in_use(rows: Rows, names: Iterable[str], limit: int) -> list[Row]:
    # The ledger joins and the index holds lessons in use alone; of those that were named, some may be out of it.
    wanted = list(names)[: 2 * limit]
    found = rows.many("lessons", wanted)
    return [found[name] for name in wanted if name in found and found[name]["standing"] in IN_USE][:limit]


def _stored(row: Row, support: Sequence[Row]) -> StoredLesson:
    # What only speaks against a lesson is no place where it was learned.
    places = [entry["origin"] for entry in support if entry["failures"] or entry["successes"] or not entry["counterexamples"]]
    return {
        "id": row["id"],
        "lesson": row["lesson"],
        "signature": row["signature"],
        "signatures": row["signatures"][:MOST_SIGNATURES],
        "standing": row["standing"],
        "red_flag": row["envelope"]["red_flag"],
        "origins": cast("list[Origin]", [origin for origin in (row["origin"], *places) if origin]),
    }


def _edge(row: Row) -> Edge:
    return {"signature": row["signature"], "lesson_id": row["lesson_id"]}


def _failures(rows: Rows, signature: str) -> tuple[EarlierFailure, ...]:
    fields = EarlierFailure.__annotations__
    found = rows.select("terminations", {"signature": signature}, None, MOST_FAILURES, newest=True).rows
    return tuple(cast("EarlierFailure", {field: row[field] for field in fields}) for row in found)


def _successes(transaction: Transaction, failures: Sequence[EarlierFailure]) -> Iterator[EarlierSuccess]:
    """Yield the runs that went well after the latest failures that were resolved, the newest first."""
    resolved = [entry["failure_id"] for entry in failures if entry["outcome"] == "resolved"][:_LATEST]
    for start in range(0, len(resolved), MOST_SUCCESSES):
        found = transaction.rows.first_of("successes", "failure_id", resolved[start : start + MOST_SUCCESSES], 1)
        for row in chain.from_iterable(found.values()):
            event = transaction.find(row["event"])
            data = event.data() if event else None
            texts = [str(item.get("text", "")) for item in data["trajectory"]] if data else []
            said = [text[:MOST_LETTERS] for text in texts[-MOST_TEXTS:]]
            told = {"success_id": row["success_id"], "failure_id": row["failure_id"], "origin": row["origin"], "said": said}
            yield cast("EarlierSuccess", told)


def _candidates(rows: Rows, signature: str) -> tuple[HeldCandidate, ...]:
    fields = HeldCandidate.__annotations__
    where = {"signature": signature, "status": "held"}
    found = rows.select("candidates", where, None, MOST_CANDIDATES, newest=True).rows
    # A candidate whose decision was erased has nothing left to be compared by.
    known = (row for row in found if row["statement"] and row["failure_id"])
    return tuple(cast("HeldCandidate", {field: row[field] for field in fields}) for row in known)
