"""What a retrieval costs in stores of many lessons, against the bare query of the index under it.

usage: retrieve_scale.py [--sizes N,N] [--index fts5|tantivy] [--queries N] [--keep DIR] [--engine durable|compiled] [--warm]

The bare query is the same expression, sent to the index alone, for the best five: for FTS5 `ORDER BY rank`, as its manual
advises and `tests/store/scale.py` has it; `lean` is the quicker statement that a search runs. `retrieve` is the whole: reading
the query, searching, reading the lessons, measuring them, the rules, the answer. All are taken in turn, query by query, so their
ratio means something on a machine that others use too. What the gate keeps of lessons that it has read is emptied before each,
unless `--warm`: it would know them from having been asked the same before. Stores and texts are those of
`tests/store/scale.py`; `--keep` keeps and reuses them.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from reflect_gate import load_bundle
from reflect_gate.measure import text
from reflect_gate.memory.retrieving import Query, retrieve
from reflect_gate.policy import Bundle
from reflect_gate.stages import retrieve as stage
from reflect_store import EventStore, SearchQuery, open_store

__all__ = ["Measured", "measure", "questions"]

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "store"))
scale = importlib.import_module("scale")
HIT = 5
KEPT: tuple[Any, ...] = (stage.read, stage._part, text._analyse_cached)


class Measured(NamedTuple):
    """One size; times in milliseconds, `ratio` of the medians, `ratio_p99` of the 99th percentiles, `found` of the queries.

    `ratio_lean` is that of the medians against `lean`.
    """

    lessons: int
    under: str
    raw_p50: float
    raw_p99: float
    lean_p50: float
    search_p50: float
    retrieve_p50: float
    retrieve_p99: float
    ratio: float
    ratio_p99: float
    ratio_lean: float
    found: float


def questions(store: EventStore, lessons: int, words: Any, count: int) -> Iterator[Query]:
    """Yield tasks as a harness tells them: a sentence, an error, where it lies; every second one is close to some lesson."""
    for number in range(count):
        language, repository, syllable = words.scope()[0], f"acme/r{words.random.randrange(200)}", words.random.choice("aeiou")
        said = [word for word in words.draw(24) if word not in set(words.known[: scale.COMMON])][:8]
        if number % 2:
            row = store.get("lessons", f"l-{words.random.randrange(lessons)}")
            assert row is not None
            said = words.random.sample(row["lesson"]["statement"].split(), 12)
        error = f"{words.random.choice(words.known[:300]).title()}Error: {' '.join(words.draw(3))}"
        yield Query(
            " ".join(said), error, language=language.partition(":")[2], repository=repository, paths=(f"src/{syllable}/main",)
        )


def _timed(act: Callable[[], Any]) -> float:
    # The processor's time, not the clock's: a machine that others use too would else measure them.
    started = time.thread_time()
    act()
    return (time.thread_time() - started) * 1_000


def _forget() -> None:
    """Empty what is kept of lessons and texts; what is kept of words and scopes stays, as in a process that has run a while."""
    for kept in KEPT:
        kept.cache_clear()


def _part(times: Sequence[float], part: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def _caught(store: EventStore, act: Callable[[], Any]) -> SearchQuery:
    """Return the query that `act` sends to the store."""
    caught: list[SearchQuery] = []
    search = store.search_at

    def spy(query: SearchQuery) -> Any:
        caught.append(query)
        return search(query)

    store.search_at = spy  # type: ignore[method-assign]
    try:
        act()
    finally:
        del store.search_at
    return caught[0]


def _bare(store: EventStore, query: SearchQuery, index: str, statement: str = scale.RAW) -> Callable[[], Any]:
    """Return the bare query of the index under a search; `statement` is that of FTS5."""
    from reflect_store import _fts, _tantivy
    from reflect_store.searching import sought

    backend = cast("Any", store.backend)
    if index == "fts5":
        expression = _fts._expression(sought(query))
        return lambda: backend._connection.execute(statement, (expression, query.limit)).fetchall()
    held = backend._beside._index
    asked = _tantivy._query(held.schema, sought(query))
    return lambda: held.searcher().search(asked, query.limit, count=False).hits


def measure(store: EventStore, bundle: Bundle, index: str, lessons: int, count: int, *, warm: bool = False) -> Measured:
    """Ask and time."""
    words = scale.Words(99)
    raw, lean, search, whole, found = [], [], [], [], 0
    for query in questions(store, lessons, words, count + HIT):
        # Whichever comes first reads the pages for all, so each is done once before.
        ask = partial(retrieve, store, query, bundle)
        sent = _caught(store, ask)
        best = sent._replace(limit=HIT)
        raw.append(_timed(_bare(store, best, index)))
        lean.append(_timed(_bare(store, best, index, scale.LEAN)))
        search.append(_timed(partial(store.search, sent)))
        if not warm:
            _forget()
        whole.append(_timed(ask))
        found += ask().found
    raw, lean, search, whole = raw[HIT:], lean[HIT:], search[HIT:], whole[HIT:]
    p50, p99 = statistics.median(whole), _part(whole, 0.99)
    ratios = (p50 / statistics.median(raw), p99 / _part(raw, 0.99), p50 / statistics.median(lean))
    bases = (statistics.median(raw), _part(raw, 0.99), statistics.median(lean), statistics.median(search))
    return Measured(lessons, index, *bases, p50, p99, *ratios, found / (count + HIT))


def main(arguments: Sequence[str]) -> int:
    """Print one row a size."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--sizes", default="10000,100000", help="lessons, separated by commas")
    parser.add_argument("--index", choices=("fts5", "tantivy"), default="fts5", help="the index under the search")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--keep", type=Path, help="a folder to keep the stores in, and to use those that are there")
    parser.add_argument("--engine", choices=("durable", "compiled"), default="durable")
    parser.add_argument("--warm", action="store_true", help="ask a process that has read the lessons before")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    bundle = load_bundle("structured", cache=False)
    if options.engine == "compiled":
        bundle = bundle._replace(engine="compiled", cross_check=False)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in map(int, options.sizes.split(",")):
            with open_store((options.keep or Path(folder)) / f"{size}.db", create=True, search=options.index) as store:
                if store.version == 0:
                    scale.build(store, size, scale.Words(7))
                rows.append(measure(store, bundle, options.index, size, options.queries, warm=options.warm))
    sys.stdout.write((json.dumps([row._asdict() for row in rows]) if options.json else _table(rows)) + "\n")
    return 0


def _table(rows: Sequence[Measured]) -> str:
    lines = [" ".join(f"{name:>12}" for name in Measured._fields)]
    lines += [" ".join(f"{value:>12.2f}" if isinstance(value, float) else f"{value:>12}" for value in row) for row in rows]
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
