"""How well retrieval finds lessons of the same task family, and how well it keeps silent, against plain FTS5 with BM25.

usage: retrieval_quality.py [--corpora DIR] [--queries N] [--curve]

Lessons: what was reflected on failures of programming tasks and questions, less near-certain leaks (a lesson's own failure is no
query); beside them lessons of other kinds as noise. Queries: failures of sibling runs and later trials of the same tasks, told as
a harness would (the task's text, what failed, the language). Relevant are the lessons of the same task family, whichever run they
come from. No scope names a task: that would give the answer away.

Unrelated are 200 queries of other kinds of tasks. `novel` are queries of programming tasks of which the store has no lesson: they
are reported and not part of the bar, since a lesson of another task may well apply.

Plain FTS5 sees the same texts, joined, and has no threshold: it is given its best, its first five hits. The figures of `gate` are
those after abstention.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reflect_gate import Bundle, load_bundle
from reflect_gate.corpus.reflexion import convert
from reflect_gate.measure.scope import Scope
from reflect_gate.memory.retrieving import CAP, Query, retrieve
from reflect_store import EventStore, draft, memory_store, new_lesson

__all__ = ["Asked", "Figures", "Plain", "Taught", "corpora", "filled", "gate_ranks", "measured", "sets"]

PROGRAMMING = ("reflexion_programming", "lats_programming", "reflexion_no_evidence")
NOISE = ("lessons_md", "reflexion_alfworld")
UNRELATED = 200
NOVEL = 200
TAIL = 600
_DEFINED = re.compile(r"def (\w+)\(|fn (\w+)\(")
_WORD = re.compile(r"\w+")


class Taught(NamedTuple):
    """A lesson of the store: its family, text and scope."""

    family: str
    text: str
    scope: str


class Asked(NamedTuple):
    """A query and the family of its task."""

    family: str
    query: Query


class Figures(NamedTuple):
    """Shares of queries: with a relevant lesson among the first five, its mean reciprocal rank, and answered by silence."""

    recall: float
    mrr: float
    silent: float


class Sets(NamedTuple):
    """What is taught and asked."""

    lessons: Sequence[Taught]
    related: Sequence[Asked]
    novel: Sequence[Asked]
    unrelated: Sequence[Asked]


def corpora() -> Path:
    """Return the folder of the corpora, which need not exist."""
    return Path(os.environ.get("REFLECT_GATE_CORPORA") or Path(__file__).resolve().parents[3] / "shared" / "corpora")


def _number(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)


def _rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    path = folder / f"{name}.jsonl"
    if path.is_file():
        yield from (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def _family(row: Mapping[str, Any]) -> str:
    """Return the function that a task asks for, whichever run and whatever it is called there."""
    found = _DEFINED.findall(row.get("task_prompt") or "")
    return "".join(found[-1]) if found else str(row["task_id"])


def _scope(row: Mapping[str, Any]) -> str:
    declared = Scope.parse(convert(row)["reflection"]["scope"])
    return " ".join(str(term) for term in declared.terms if term.key != "task")


def _programming(folder: Path) -> Iterator[tuple[str, Taught | Asked]]:
    """Yield `(set, entry)`: a fifth of the families is novel; of the others, half of the runs teach and the rest ask."""
    for name in PROGRAMMING:
        for row in _rows(folder, name):
            family, failed = _family(row), row.get("feedback") or ""
            query = Asked(family, Query(row.get("task_prompt") or "", failed, language=row.get("lang") or ""))
            if _number(f"novel {family}") % 5 == 0:
                kind = "novel" if failed else ""
            elif row["trial"] > 0 or _number(f"{family} {row['run']}") % 2 == 0:
                kind = "related" if failed else ""
            else:
                yield "lessons", Taught(family, row["reflection_text"], _scope(row))
                continue
            if kind:
                yield kind, query


def _questions(folder: Path) -> Iterator[tuple[str, Taught | Asked]]:
    for row in _rows(folder, "reflexion_hotpot"):
        if row["trial"] == 0:
            yield "lessons", Taught(row["task_id"], row["reflection_text"], "")
        else:
            yield "related", Asked(row["task_id"], Query(row["task_id"], (row["failed_attempt"] or "")[-TAIL:]))


def _others(folder: Path) -> Iterator[tuple[str, Taught | Asked]]:
    for name in NOISE:
        yield from (("lessons", Taught(f"{name} {row['task_id']}", row["reflection_text"], "")) for row in _rows(folder, name))
    for row in _rows(folder, "who_and_when"):
        yield "unrelated", Asked("", Query(row["task_prompt"] or "", (row.get("trace_tail") or "")[-TAIL:]))
    for row in _rows(folder, "renze_mcqa"):
        yield "unrelated", Asked("", Query(row.get("task_prompt") or row["task_id"], (row.get("failed_attempt") or "")[-TAIL:]))


def _drawn(entries: Iterable[Any], count: int) -> list[Asked]:
    """Return `count` queries with distinct texts, drawn by hash."""
    distinct = {entry.query: entry for entry in entries}
    return sorted(distinct.values(), key=lambda entry: _number(repr(entry.query)))[:count]


def sets(folder: Path, queries: int = 500) -> Sets:
    """Return the lessons and queries that the corpora in `folder` make."""
    found: dict[str, list[Any]] = {"lessons": [], "related": [], "novel": [], "unrelated": []}
    for source in (_programming, _questions, _others):
        for kind, entry in source(folder):
            found[kind].append(entry)
    lessons = list({(entry.family, entry.text): entry for entry in found["lessons"]}.values())
    families = {entry.family for entry in lessons}
    related = _drawn((entry for entry in found["related"] if entry.family in families), queries)
    return Sets(lessons, related, _drawn(found["novel"], NOVEL), _drawn(found["unrelated"], UNRELATED))


def filled(lessons: Sequence[Taught]) -> tuple[EventStore, dict[str, str]]:
    """Return a store that holds `lessons`, and the family of each id."""
    store, families, drafts = memory_store(), {}, []
    for number, taught in enumerate(lessons):
        name = f"lesson-{number:05}"
        families[name] = taught.family
        lesson = new_lesson(statement=taught.text, scope=taught.scope, failures=["f"], evidence=["t"], confidence=0.5)
        envelope = {"lesson_id": name, "signature": f"{number:064x}", "project": {}, "red_flag": False, "bundle": "0" * 64}
        drafts.append(draft("lesson-admitted", {"lesson": lesson, "envelope": envelope, "decision_id": f"d-{number}"}))
    store.append(drafts)
    return store, families


class Plain:
    """Plain FTS5: every word of the query, any of them, ranked by BM25."""

    def __init__(self, lessons: Sequence[Taught]) -> None:
        self.families = [taught.family for taught in lessons]
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute("CREATE VIRTUAL TABLE plain USING fts5(body, tokenize = 'porter unicode61')")
        self.connection.executemany("INSERT INTO plain(rowid, body) VALUES (?, ?)", enumerate(t.text for t in lessons))

    def ranks(self, asked: Sequence[Asked]) -> list[int | None]:
        """Return the rank of the first relevant lesson of each query, 0 for none, `None` where nothing was found."""
        return [_rank(self._found(entry), entry.family) for entry in asked]

    def _found(self, entry: Asked) -> list[str]:
        words = dict.fromkeys(_WORD.findall(f"{entry.query.text} {entry.query.error}".casefold()))
        query = " OR ".join(f'"{word}"' for word in words)
        rows = self.connection.execute("SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY rank, rowid LIMIT ?", (query, CAP))
        return [self.families[row[0]] for row in rows]


def _rank(found: Sequence[str], family: str) -> int | None:
    return next((rank for rank, name in enumerate(found, 1) if name == family), 0) if found else None


def gate_ranks(store: EventStore, families: Mapping[str, str], bundle: Bundle, asked: Sequence[Asked]) -> list[int | None]:
    """Return what `Plain.ranks` does, for `retrieve`."""
    answers = (retrieve(store, entry.query, bundle, limit=CAP) for entry in asked)
    return [
        _rank([families[name] for name in answer.lesson_ids], entry.family) for entry, answer in zip(asked, answers, strict=True)
    ]


def measured(ranks: Sequence[int | None]) -> Figures:
    """Return the figures of some queries."""
    found = [rank for rank in ranks if rank]
    count = max(1, len(ranks))
    return Figures(len(found) / count, sum(1 / rank for rank in found) / count, ranks.count(None) / count)


def _bundle(*settings: str, name: str = "structured") -> Bundle:
    return load_bundle(name, set_=settings, cache=False)._replace(engine="compiled", cross_check=False)


def _line(name: str, related: Figures, novel: Figures, unrelated: Figures) -> str:
    shares = (related.recall, related.mrr, related.silent, novel.silent, unrelated.silent)
    return f"{name:12}" + "".join(f"{share:11.3f}" for share in shares)


def _gate_line(name: str, store: EventStore, families: Mapping[str, str], bundle: Bundle, given: Sets) -> str:
    asked = (given.related, given.novel, given.unrelated)
    return _line(name, *[measured(gate_ranks(store, families, bundle, some)) for some in asked])


def main(arguments: Sequence[str]) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--corpora", type=Path, default=corpora())
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--curve", action="store_true", help="print the figures over the threshold")
    options = parser.parse_args(arguments)
    given = sets(options.corpora, options.queries)
    store, families = filled(given.lessons)
    plain = Plain(given.lessons)
    counts = {name: len(getattr(given, name)) for name in Sets._fields}
    sys.stdout.write(" ".join(f"{name} {count}" for name, count in counts.items()) + "\n\n")
    titles = ("recall@5", "MRR", "silent", "novel sil.", "unrelated")
    sys.stdout.write(f"{'':12}" + "".join(f"{title:>11}" for title in titles) + "\n")
    lines = [_line("plain FTS5", *[measured(plain.ranks(some)) for some in given[1:]])]
    lines.append(_gate_line("gate", store, families, _bundle(), given))
    lines.append(_gate_line("unranked", store, families, _bundle(name="ablate-retrieval"), given))
    sys.stdout.write("\n".join(lines) + "\n")
    for hundredths in range(0, 40, 4) if options.curve else ():
        settings = (f"retrieval.min_score={hundredths / 100}", f"retrieval.min_score_unknown={hundredths / 100}")
        line = _gate_line(f">= {hundredths / 100:.2f}", store, families, _bundle(*settings), given)
        sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
