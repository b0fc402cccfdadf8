"""Retrieval: from what a task says to the few lessons that it is offered, or to silence (R-h1, R-P4, R-k2).

`retrieve` only reads; `log` keeps what was shown, so that `record` can later say what it did. The same store, query and policies
give the same answer to the byte. The memory of what a session was already given is the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .._canonical import plain_digest
from .._hashing import sha256
from ..errors import ReflectGateError
from ..measure.likeness import asked
from ..measure.scope import KEYS, Scope, implied
from ..measure.similarity import search_words
from ..measure.text import encodable
from ..runtime import Runtime, runtime
from ..stages import retrieve as stage
from ..stages.retrieve import CAP, Match, Proposal, Task

if TYPE_CHECKING:
    from reflect_store import Found, Head, Store

    from ..measure._errortext import ErrorText
    from ..policy import Bundle

__all__ = ["CAP", "DEFAULT_LIMIT", "Query", "Recalled", "Shown", "log", "retrieve"]

DEFAULT_LIMIT: Final = 3
"""Lessons that a task is offered unless it asks for fewer or more."""

_FIRST: Final = 8
"""Matches that the rules see at first where no rule hears of two: the rest only where these do not fill the answer."""

_LINE: Final = 4_096
_LANGUAGE: Final = r"[a-z0-9][a-z0-9+#.-]{0,63}"

_WEIGHTS: Final = {
    "task": "retrieval.task_weight",
    "path": "retrieval.path_weight",
    "error": "retrieval.error_weight",
    "repo": "retrieval.repo_weight",
    "lang": "retrieval.lang_weight",
}


class Query(NamedTuple):
    """What is known of a task; everything may be empty, but not all of it.

    `text` is the task as stated, `error` an error text as a tool printed it, `hypothesis` what the harness already supposes (a
    lesson that would help, say); `hints` are tags, of which those in the scope grammar (`lang:go`) tell of the place. `signature`
    (64 hexadecimal digits) is read off the error text where it is not given.
    """

    text: str = ""
    error: str = ""
    hypothesis: str = ""
    hints: tuple[str, ...] = ()
    signature: str = ""
    repository: str = ""
    language: str = ""
    paths: tuple[str, ...] = ()
    task: str = ""
    session: str = ""
    commit: str = ""

    @property
    def origin(self) -> dict[str, str]:
        """Where the task is, as `origin` of `event.schema.json`."""
        language = next((term.value for term in Scope.place([("lang", self.language)]).terms), "")
        known = {
            "repository": self.repository[:_LINE],
            "commit": self.commit[:_LINE],
            "task": self.task,
            "session": self.session[:_LINE],
            "language": language if language and re.fullmatch(_LANGUAGE, language) else "",
        }
        return {key: value for key, value in known.items() if value}

    def readable(self) -> Query:
        """Return the query with what no measure reads and no encoder takes left out."""
        clean = (encodable(part) if isinstance(part, str) else tuple(map(encodable, part)) for part in self)
        return Query(*clean)  # type: ignore[arg-type]


class Shown(NamedTuple):
    """A lesson that was offered: why (the reason codes of the rules), and how it matched."""

    match: Match
    reasons: tuple[str, ...]

    def to_json(self, rank: int) -> dict[str, Any]:
        """Return the lesson's part of `matches` in `retrieval.schema.json`."""
        match = self.match
        return {
            "rank": rank,
            "lesson_id": match.lesson_id,
            "reasons": list(self.reasons),
            "known_failure": match.proposal.exact,
            "fit": match.fit.fit,
            "holds": [str(term) for term in match.fit.matched],
            "place": match.place / 100,
            "likeness": match.likeness.share / 100,
            "words": match.likeness.words,
            "tags": match.tags,
            "score": match.score / 100,
        }


class Recalled(NamedTuple):
    """The answer to a query: what is shown, best first, and what was found and withheld to compare.

    `query` is the digest of what was asked, `place` its canonical scope, `proposed` how many lessons the index found.
    """

    retrieval_id: str
    query: str
    signature: str
    place: str
    origin: Mapping[str, str]
    proposed: int
    shown: tuple[Shown, ...]
    withheld: tuple[str, ...]

    @property
    def output(self) -> dict[str, Any]:
        """The stage's output, exactly as S2 3.8 has it."""
        return stage.conclude([entry.match for entry in self.shown])

    @property
    def lesson_ids(self) -> tuple[str, ...]:
        """The ids of what is shown."""
        return tuple(entry.match.lesson_id for entry in self.shown)

    @property
    def found(self) -> bool:
        """Something was found, be it shown or withheld."""
        return bool(self.shown or self.withheld)

    def first(self, count: int) -> Recalled:
        """Return the same answer with at most `count` lessons shown."""
        return self._replace(shown=self.shown[:count])

    def to_json(self) -> dict[str, Any]:
        """Return what `retrieval.schema.json` says of the answer itself."""
        return {
            "status": "found" if self.shown else "withheld" if self.withheld else "abstained",
            "query": {"digest": self.query, "signature": self.signature or None, "place": self.place},
            "proposed": self.proposed,
            "retrieve": self.output,
            "matches": [entry.to_json(rank) for rank, entry in enumerate(self.shown, 1)],
            "withheld": list(self.withheld),
        }


def _read(query: Query) -> tuple[Scope, tuple[str, ...], str]:
    """Return the place, the parts of what is said, and the signature."""
    hints = Scope.parse(" ".join(query.hints))
    read, computed = _read_error(query.error) if query.error.strip() else (None, "")
    known = [
        ("task", query.task),
        *(("path", path) for path in query.paths),
        ("error", read.error_class if read else ""),
        ("repo", query.repository),
        ("lang", query.language),
        *((term.key, term.value) for term in hints.typed),
    ]
    tags = " ".join(_tags(query))
    return Scope.place(known), (query.error, tags, query.hypothesis, query.text), query.signature or computed


def _read_error(text: str) -> tuple[ErrorText, str]:
    """Return what an error text says, and its signature."""
    from ..measure._errortext import read_error
    from ..stages._signature import signature

    read = read_error(text)
    return read, signature(read.error_class, read.message, read.site)["signature"]


def _tags(query: Query) -> list[str]:
    """Return the hints that are no scope terms."""
    return [term.value for term in Scope.parse(" ".join(query.hints)).terms if not term.key]


def _weights(bundle: Bundle) -> dict[str, int]:
    return {key: _hundredths(str(bundle.setting(_WEIGHTS[key]))) for key in KEYS}


@lru_cache(maxsize=128)
def _hundredths(share: str) -> int:
    return int(Decimal(share) * 100)


def _proposal(found: Found) -> Proposal:
    return Proposal(found.lesson_id, found.held, found.score, found.exact, stage.read(found.held))


def _not_judged(matches: Sequence[Match], limit: int) -> list[Shown]:
    """Return the first `limit` matches that may be shown; even so, what is out of use or red-flagged is not."""
    usable = [match for match in matches if match.proposal.said.in_use and not match.proposal.said.red_flag]
    return [Shown(match, ("not-judged",)) for match in usable[:limit]]


def _worth(gate: Runtime) -> stage.Worth | None:
    """Return what tells the lessons that could be offered, whatever their words; `None` where the rules must hear of all."""
    could = gate.telling(stage.NAME, "match", stage.COMPARED)
    return (lambda facts: gate.some(could, facts)) if could.alone else None


def _offered(gate: Runtime, matches: Sequence[Match], limit: int) -> list[Shown]:
    """Return the first `limit` matches that the rules offer."""
    shown: list[Shown] = []
    for some in _portions(gate, matches):
        if some and len(shown) < limit:
            reasons = _reasons(gate, some)
            shown += [Shown(match, reasons[match.lesson_id]) for match in some if match.lesson_id in reasons]
    return shown[:limit]


def _portions(gate: Runtime, matches: Sequence[Match]) -> Iterator[Sequence[Match]]:
    """Yield the matches that the rules must be asked of, the best first; where they hear of one at a time, in portions."""
    telling = gate.telling(stage.NAME, "match")
    could = gate.some(telling, stage.facts(matches))
    if telling.alone:
        matches = [match for match, said in zip(matches, could, strict=True) if said]
        yield from (matches[:_FIRST], matches[_FIRST:])
    elif telling.silent or any(could):
        yield matches


def _reasons(gate: Runtime, matches: Sequence[Match]) -> dict[str, tuple[str, ...]]:
    reasons: dict[str, tuple[str, ...]] = {}
    for finding in gate.conclude(stage.NAME, stage.facts(matches)).findings:
        if finding.verdict == "offer":
            reasons[finding.about] = (*reasons.get(finding.about, ()), finding.reason)
    return reasons


def _held_out(share: Decimal, task: str, shown: Iterable[Shown]) -> tuple[str, ...]:
    """Return the lessons that are withheld from a task: the same ones whenever it asks."""
    names = (entry.match.lesson_id for entry in shown)
    return tuple(name for name in names if _draw(task, name) < share)


def _draw(task: str, lesson_id: str) -> Decimal:
    hashed = sha256(f"{task}\0{lesson_id}".encode("utf-8", "replace"))
    return Decimal(int.from_bytes(hashed[:4], "big")) / Decimal(2**32)


def retrieve(store: Store, query: Query, bundle: Bundle, *, limit: int = DEFAULT_LIMIT) -> Recalled:
    """Return the lessons of `store` that the task of `query` is offered, at most `limit` and never more than `CAP`.

    Raises:
        ReflectGateError: `retrieval-empty` where the query says nothing, `retrieval-limit` where `limit` is not 1 to `CAP`, or
            the engines failed.
        StoreError: the store cannot be read.
    """
    from reflect_store import SearchQuery

    if not 1 <= limit <= CAP:
        raise ReflectGateError("retrieval-limit", f"between 1 and {CAP} lessons can be asked for, not `{limit}`")
    query = query.readable()
    place, parts, known = _read(query)
    hints = frozenset(stage.tag_of(hint) for hint in _tags(query))
    task = Task(place, asked(parts), _weights(bundle), hints, _hundredths(str(bundle.setting("retrieval.tag_weight"))))
    words = search_words("\n".join(parts))
    if not (words or place.terms or known):
        raise ReflectGateError("retrieval-empty", "the query has no word, no place and no signature")
    depth = int(bundle.setting("retrieval.candidates"))
    head, found = store.search_at(SearchQuery(words, implied(place), known or None, depth))
    gate = runtime(bundle)
    proposals = [_proposal(entry) for entry in found]
    if any(ruleset.on for ruleset in bundle.rulesets_of(stage.NAME)):
        offered = _offered(gate, stage.measure(proposals, task, _worth(gate)), limit)
    else:
        offered = _not_judged(_as_proposed(stage.measure(proposals, task), proposals), limit)
    return _answer(head, query, bundle, Recalled("", "", known, str(place), query.origin, len(found), tuple(offered), ()))


def _as_proposed(matches: Sequence[Match], proposals: Sequence[Proposal]) -> list[Match]:
    """Return the matches in the index's own order: what is left when ranking is ablated."""
    by_id = {match.lesson_id: match for match in matches}
    return [by_id[proposal.lesson_id] for proposal in proposals]


def _answer(head: Head, query: Query, bundle: Bundle, answer: Recalled) -> Recalled:
    asked_for = plain_digest(query)
    share = Decimal(str(bundle.setting("retrieval.holdout")))
    withheld = _held_out(share, query.task or query.session or asked_for, answer.shown) if share else ()
    kept = tuple(entry for entry in answer.shown if entry.match.lesson_id not in withheld)
    # The head makes a later retrieval of the same things another one: each is recorded by itself.
    parts = [head.hash, asked_for, bundle.digest, len(answer.shown)]
    return answer._replace(retrieval_id=plain_digest(parts)[:32], query=asked_for, shown=kept, withheld=withheld)


def log(store: Store, recalled: Recalled) -> bool:
    """Keep what a task was shown, and what was withheld from it; return whether there was anything to keep.

    Raises:
        StoreError: the store cannot be written.
    """
    from reflect_store import StoreError, draft

    from .redacting import redact

    if not recalled.found:
        return False
    payload = {
        "retrieval_id": recalled.retrieval_id,
        "lesson_ids": list(recalled.lesson_ids),
        "withheld": list(recalled.withheld),
        "origin": redact(dict(recalled.origin)).request,
        "query": recalled.query,
    }
    try:
        store.append([draft("lessons-recalled", payload, id_=f"recalled-{recalled.retrieval_id}")])
    except StoreError as error:
        # Two processes that answer the same question at once give the same answer: one of them has logged it.
        if error.code != "store-conflict":
            raise
    return True
