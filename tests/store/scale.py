"""Build stores of many lessons, and see what a search and a view cost in them.

    python tests/store/scale.py --sizes 10000,100000 --queries 200
    python tests/store/scale.py --sizes 1000000 --keep a-folder --limit 50

A store is built as `store import` builds one: from an export, in one transaction. `built` is the time of that in seconds, without
the time that it takes to make the texts up.

A search is measured against the bare query of the index under it, with the same expression, in the same run and in turn: only
their ratio means something. For FTS5 that is `ORDER BY rank`, as its manual advises; `lean` is the statement that a search runs,
without the lessons. A view is measured against the view in the smallest store. Times are the processor's, in milliseconds, since
others may use the machine. Texts are synthetic: words by Zipf's law.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import click

from reflect_store import Draft, EventStore, SearchQuery, ViewQuery, draft, new_lesson, open_store
from reflect_store._fts import _expression
from reflect_store._tantivy import _query, installed
from reflect_store.events import GENESIS, Event, canonical, later, link, now, payload_digest
from reflect_store.exchange import FORMAT
from reflect_store.searching import sought
from reflect_store.sqlite import SqliteBackend

__all__ = ["Measured", "Words", "build", "load", "measure"]

Index: TypeAlias = Literal["fts5", "tantivy"]

WARM = 5
WORDS = 40_000
SYLLABLES = "ba co di fu ge ha ki lo mu ne po qua ri sa te vu wa xe yo zi".split()
LANGUAGES = "python go javascript rust java".split()
COMMON = 60
RAW = "SELECT rowid, rank FROM search_index WHERE search_index MATCH ? ORDER BY rank LIMIT ?"
LEAN = """
SELECT rowid, bm25(search_index, 1.0, 1.0, 0.0) AS score FROM search_index WHERE search_index MATCH ? ORDER BY score LIMIT ?
"""


class Words:
    """Made-up words, drawn as often as words of a language are."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.known = ["".join(parts) for parts in itertools.product(SYLLABLES, repeat=4)]
        random.Random(1).shuffle(self.known)
        self.known = self.known[:WORDS]
        self._weights = list(itertools.accumulate(1 / rank for rank in range(3, WORDS + 3)))

    def draw(self, count: int) -> list[str]:
        """Return that many words."""
        return self.random.choices(self.known, cum_weights=self._weights, k=count)

    def scope(self) -> list[str]:
        """Return the terms of a scope."""
        terms = [f"lang:{self.random.choice(LANGUAGES)}"]
        terms += [f"repo:acme/r{self.random.randrange(200)}"] if self.random.random() < 0.3 else []
        terms += [f"path:src/{self.random.choice(SYLLABLES)}"] if self.random.random() < 0.3 else []
        terms += [f"error:{self.random.choice(self.known[:300])}error"] if self.random.random() < 0.5 else []
        return terms


class Measured(NamedTuple):
    """What one size costs with one index; `ratio` is a search against the bare query, `same` the share of FTS5's first five."""

    lessons: int
    built: float
    megabytes: float
    by: str
    raw_p50: float
    raw_p99: float
    lean_p50: float
    search_p50: float
    search_p99: float
    ratio: float
    same: float
    view_p50: float
    view_p99: float


def _lesson(words: Words, number: int) -> Draft:
    statement = " ".join(words.draw(22))
    lesson = new_lesson(statement, " ".join(words.scope()), failures=[f"f-{number}"], evidence=["e"], confidence=0.5)
    envelope = {"lesson_id": f"l-{number}", "signature": f"{number:064x}", "project": {}, "red_flag": False, "bundle": "b" * 64}
    return draft("lesson-admitted", {"lesson": lesson, "envelope": envelope, "decision_id": f"d-{number}"})


def _exported(drafts: Iterable[Draft], lessons: int) -> Iterator[bytes]:
    """Yield the events of a store of new lessons as lines; the header comes last, since it names the last hash."""
    head, moment = GENESIS, now() - timedelta(hours=1)
    with click.progressbar(drafts, length=lessons, label=f"{lessons:>9,} texts", file=sys.stderr) as bar:
        for seq, (name, type_, payload, nonce) in enumerate(bar, 1):
            time_, digest = later(moment + timedelta(microseconds=seq), ""), payload_digest(nonce, payload)
            head = link(head, seq, name, type_, time_, digest)
            yield canonical(Event(seq, name, type_, time_, digest, head, nonce, payload).to_json())
    yield canonical({"format": FORMAT, "events": lessons, "head": head})


def build(store: EventStore, lessons: int, words: Words) -> float:
    """Import new lessons from an export of them, and return the seconds that the import took."""
    return load(store, (_lesson(words, number) for number in range(lessons)), lessons)


def load(store: EventStore, drafts: Iterable[Draft], lessons: int) -> float:
    """Import `drafts`, which are that many births of lessons, from an export of them; return the seconds that the import took."""
    with tempfile.TemporaryFile(dir=Path(store.backend.place).parent) as file:
        header = b""
        for header in _exported(drafts, lessons):
            file.write(header + b"\n")
        file.seek(0)
        # A new line is a new line of the file; the header that was written last is read first.
        lines = itertools.chain([header], itertools.islice(file, lessons))
        started = time.perf_counter()
        with click.progressbar(length=lessons, label=f"{lessons:>9,} lessons", file=sys.stderr) as bar:
            store.import_(lines, "export", progress=lambda done, _: bar.update(done - bar.pos))
        return time.perf_counter() - started


def _questions(words: Words, count: int) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield words and scope terms as a task would ask: the commonest words of the language are left out."""
    for _ in range(count):
        asked = [word for word in words.draw(24) if word not in set(words.known[:COMMON])][:8]
        repository = f"repo:acme/r{words.random.randrange(200)}"
        yield (
            tuple(dict.fromkeys(asked)),
            (*words.scope()[:1], repository, "path:src", f"path:src/{words.random.choice(SYLLABLES)}"),
        )


def _timed(act: Callable[..., Any], *arguments: object) -> float:
    # The processor's time, not the clock's: a machine that others use too would else measure them.
    started = time.thread_time()
    act(*arguments)
    return (time.thread_time() - started) * 1_000


def _percentile(times: Sequence[float], part: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def _bare(store: EventStore, query: SearchQuery, statement: str) -> Callable[[], Any]:
    """Return the bare query of FTS5."""
    assert isinstance(store.backend, SqliteBackend)
    connection, expression = store.backend._connection, _expression(sought(query))
    return lambda: connection.execute(statement, (expression, query.limit)).fetchall()


def _bare_tantivy(store: EventStore, query: SearchQuery) -> Callable[[], Any]:
    """Return the bare query of tantivy, once its index is up to date."""
    assert isinstance(store.backend, SqliteBackend)
    beside = store.backend._beside
    with store.backend.reading() as transaction:
        beside._catch_up(transaction)
    searcher, asked = beside._index.searcher(), _query(beside._index.schema, sought(query))
    return lambda: searcher.search(asked, query.limit, count=False).hits


def measure(path: Path, lessons: int, built: float, index: Index, asked: Sequence[tuple[SearchQuery, ViewQuery]]) -> Measured:
    """Ask and time; the first questions only warm up."""
    raw, lean, search, view, same = [], [], [], [], []
    with open_store(path, search=index) as store, open_store(path, search="fts5") as plain:
        for query, _ in asked:
            bare = _bare(store, query, RAW) if index == "fts5" else _bare_tantivy(store, query)
            leaner = _bare(store, query, LEAN) if index == "fts5" else bare
            # Whichever comes first reads the pages for all, so each is done once before.
            bare()
            raw.append(_timed(bare))
            lean.append(_timed(leaner))
            search.append(_timed(store.search, query))
            mine, theirs = ({found.lesson_id for found in kept.search(query)[:5]} for kept in (store, plain))
            same += [len(mine & theirs) / len(theirs)] if theirs else []
        # By themselves: a search leaves little of a view in the caches of the processor.
        for _, looked in asked:
            store.view(looked)
            view.append(_timed(store.view, looked))
        size = store.status().size + sum(file.stat().st_size for file in path.parent.glob(f"{path.name}.search/*"))
    raw, lean, search, view = (times[WARM:] for times in (raw, lean, search, view))
    half = [statistics.median(times) for times in (raw, lean, search, view)]
    most = [_percentile(times, 0.99) for times in (raw, search, view)]
    return Measured(
        *(lessons, built, size / 1e6, index),
        *(half[0], most[0], half[1], half[2], most[1], half[2] / half[0], statistics.mean(same), half[3], most[2]),
    )


def main() -> None:
    """Print one row a size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000", help="lessons, separated by commas")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--limit", type=int, default=5, help="lessons that a search returns")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--keep", type=Path, help="a folder to keep the stores in, and to use those that are there")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in map(int, options.sizes.split(",")):
            path = (options.keep or Path(folder)) / f"{size}.db"
            with open_store(path, create=True) as store:
                built = build(store, size, Words(options.seed)) if store.version == 0 else 0.0
            words = Words(99)
            asked = [
                (SearchQuery(*question, limit=options.limit), ViewQuery(f"{words.random.randrange(size):064x}", *question))
                for question in _questions(words, options.queries + WARM)
            ]
            indexes: tuple[Index, ...] = ("fts5", "tantivy") if installed() else ("fts5",)
            rows += [measure(path, size, built, index, asked) for index in indexes]
    print(json.dumps([row._asdict() for row in rows]) if options.json else _table(rows))  # noqa: T201 - the report


def _table(rows: Sequence[Measured]) -> str:
    lines = [" ".join(f"{name:>10}" for name in Measured._fields)]
    lines += [" ".join(f"{value:>10.2f}" if isinstance(value, float) else f"{value:>10}" for value in row) for row in rows]
    views = [row for row in rows if row.by == "fts5"]
    lines.append(f"a view at {views[-1].lessons:,} against {views[0].lessons:,}: {views[-1].view_p50 / views[0].view_p50:.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
