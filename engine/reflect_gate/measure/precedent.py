"""What a store knows that bears on a candidate: the lessons beside it, and what happened before.

A *peer* is a lesson of the store view held against the candidate: how alike they are, how their scopes stand to each other, and
whether they say the opposite of the same thing. A *precedent* is an earlier failure of the same signature, or a candidate that is
held for it.

Only what is independent counts for a candidate. Two events are independent where a field that is known of both differs (task,
repository, commit, session) and they are not of one session; where nothing is known of one, they are not. What happened after a
lesson alike was recalled repeats that lesson and does not bear it out; a failure after such a recall speaks against the
candidate: it is a counterexample where the candidate's scope holds for it, or may.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from .achieved import Witness, done, texts_of
from .scope import KEYS, Scope

__all__ = ["COUNT_LIMIT", "ORIGIN_FIELDS", "Candidate", "Peer", "Precedents", "independent", "many_independent", "place_of"]

ORIGIN_FIELDS = ("task", "repository", "commit", "session")
"""What tells two events apart."""

COUNT_LIMIT = 32
"""Independent events that are counted; more say nothing more."""

Origin = Mapping[str, str]

_NEVER = 101
_PLACES = frozenset(("repo", "task", "path"))


@lru_cache(maxsize=1_024)
def _known(field: str, value: str) -> str:
    if field == "repository":
        return next((term.value for term in Scope.place([("repo", value)]).terms), "")
    return " ".join(value.casefold().split())


def _told(origin: Origin) -> tuple[str, ...]:
    """Return the fields of an origin in the order of `ORIGIN_FIELDS` as they are compared, empty where one is not known."""
    return tuple(_known(field, str(origin.get(field) or "")) for field in ORIGIN_FIELDS)


def _apart(one: Sequence[str], other: Sequence[str]) -> bool:
    if one[-1] and one[-1] == other[-1]:
        return False
    return any(mine and theirs and mine != theirs for mine, theirs in zip(one, other, strict=True))


def independent(one: Origin, other: Origin) -> bool:
    """Return whether two events cannot have one cause in the agent: another task, repository, commit or session, both known."""
    return _apart(_told(one), _told(other))


class _Kept:
    """Events that are apart from each other.

    One of which everything is known is compared with few: two such are apart unless they are of one session, or the same.
    """

    def __init__(self, first: tuple[str, ...]) -> None:
        self.count = 0
        self._sessions: set[str] = set()
        self._whole: set[tuple[str, ...]] = set()
        self._partial: list[tuple[str, ...]] = []
        self._add(first)

    def _add(self, origin: tuple[str, ...]) -> None:
        if all(origin):
            self._whole.add(origin)
            self._sessions.add(origin[-1])
        else:
            self._partial.append(origin)

    def take(self, origin: tuple[str, ...]) -> None:
        """Keep an event where it is apart from all that are kept."""
        if all(origin):
            apart = origin[-1] not in self._sessions and origin not in self._whole
        else:
            apart = all(_apart(origin, known) for known in self._whole)
        if apart and all(_apart(origin, known) for known in self._partial):
            self.count += 1
            self._add(origin)


def many_independent(own: Origin, others: Iterable[Origin]) -> int:
    """Return how many of `others`, taken in order, are independent of `own` and of each other, at most `COUNT_LIMIT`."""
    kept = _Kept(_told(own))
    for origin in dict.fromkeys(_told(other) for other in others):
        kept.take(origin)
        if kept.count == COUNT_LIMIT:
            break
    return kept.count


def place_of(record: Mapping[str, Any], project: Origin) -> Scope:
    """Return the place of a failure: its task, repository and language, the class of its error, the paths of its traces."""
    diagnosis = record["diagnosis"] or {}
    error = str(diagnosis.get("error_class") or "")
    known = [("task", project.get("task", "")), ("repo", project.get("repository", "")), ("lang", project.get("language", ""))]
    known += [("error", error), ("error", error.replace("::", ".").rpartition(".")[2])]
    known += [("path", str(item["path"])) for item in record["traces"] if item.get("path")]
    return Scope.place(known)


def _place_of_entry(entry: Mapping[str, Any]) -> Scope:
    """Return the place of an earlier failure of a store view."""
    origin = entry["origin"]
    known = [(key, origin.get(field, "")) for key, field in (("task", "task"), ("repo", "repository"), ("lang", "language"))]
    told = Scope.parse(entry.get("scope") or "")
    return Scope.place([*known, *((term.key, term.value) for term in told.typed)])


class Peer(NamedTuple):
    """A lesson of the view beside the candidate, in the fields of the `peer` fact."""

    lesson: str
    same_signature: bool
    similarity: int
    relation: str
    polarity: str
    numbers: str
    recalled: bool
    red_flag: bool
    independent: bool

    @property
    def opposed(self) -> bool:
        """It says the opposite of the candidate, or another number, of the same thing."""
        return "conflict" in (self.polarity, self.numbers)


class Candidate(NamedTuple):
    """What of a request is held against a store.

    `statement` is the candidate lesson and `scope` its declared scope; `origin` is the `project` of the request; `recalled` are
    the ids of the lessons that were recalled into the attempt that failed, `beside` of those that its session was given besides.
    """

    statement: str
    scope: Scope
    signature: str
    record: Mapping[str, Any]
    origin: Origin
    recalled: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()


class Precedents:
    """A candidate beside a store view (`store-view.schema.json`); every count is made when it is first asked for.

    `alike` is the likeness, in hundredths, from which two lessons say the same, `enough` how far a run must have done what a
    lesson says to bear it out. Measure `precedent` 1.1.0.
    """

    def __init__(self, candidate: Candidate, view: Mapping[str, Any], alike: int, enough: int = _NEVER) -> None:
        self.candidate = candidate
        self.view = view
        self.alike = alike
        self.enough = enough
        self.failure_id: str = candidate.record["failure_id"]

    @cached_property
    def place(self) -> Scope:
        """Where the candidate's failure happened."""
        return place_of(self.candidate.record, self.candidate.origin)

    # -- lessons -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def peers(self) -> tuple[Peer, ...]:
        """Every lesson of the view beside the candidate, by id."""
        lessons = self.view.get("lessons", ())
        if not lessons:
            return ()
        joined = {edge["lesson_id"] for edge in self.view.get("edges", ()) if edge["signature"] == self.candidate.signature}
        return tuple(sorted(self._peer(entry, joined) for entry in lessons))

    def _peer(self, entry: Mapping[str, Any], joined: set[str]) -> Peer:
        from .similarity import similarity
        from .stance import stance

        lesson = entry["lesson"]
        said = stance(self.candidate.statement, lesson["statement"])
        return Peer(
            entry["id"],
            entry["id"] in joined or self.candidate.signature in (entry["signature"], *entry.get("signatures", ())),
            similarity(self.candidate.statement, lesson["statement"]),
            self.candidate.scope.relation(Scope.parse(lesson["scope"])),
            said.polarity,
            said.numbers,
            entry["id"] in self.candidate.recalled | self.candidate.beside,
            bool(entry.get("red_flag", False)),
            any(independent(self.candidate.origin, origin) for origin in entry.get("origins", ())),
        )

    @cached_property
    def _alike_ids(self) -> frozenset[str]:
        """The lessons of the view that say what the candidate says."""
        return frozenset(peer.lesson for peer in self.peers if peer.similarity >= self.alike and not peer.opposed)

    def _agreeing_origins(self, *, explained: bool) -> Iterator[Origin]:
        """Yield where the lessons alike that were not recalled were learned.

        `explained`: those of this signature alone, red-flagged or not; else those of any signature that are not red-flagged.
        """
        borne_out = {
            peer.lesson
            for peer in self.peers
            if peer.lesson in self._alike_ids and not peer.recalled and (peer.same_signature if explained else not peer.red_flag)
        }
        for entry in self.view.get("lessons", ()):
            if entry["id"] in borne_out:
                yield from entry.get("origins", ())

    # -- failures and candidates -------------------------------------------------------------------------------------------------

    @cached_property
    def _failures(self) -> list[Mapping[str, Any]]:
        """The earlier failures of the signature."""
        return [entry for entry in self.view.get("failures", ()) if entry["failure_id"] != self.failure_id]

    @cached_property
    def _own_lessons(self) -> frozenset[str]:
        return frozenset(entry["id"] for entry in self.view.get("lessons", ()))

    def _repeats(self, entry: Mapping[str, Any]) -> bool:
        """Return whether a lesson alike was recalled into a failure, or one that the view does not hold and that may be."""
        return any(name in self._alike_ids or name not in self._own_lessons for name in entry["recalled"])

    @cached_property
    def independent(self) -> int:
        """Independent earlier failures of the signature into which no lesson alike was recalled."""
        if not self._failures:
            return 0
        return many_independent(self.candidate.origin, (entry["origin"] for entry in self._failures if not self._repeats(entry)))

    @cached_property
    def _agreeing(self) -> list[Origin]:
        """Where the held candidates come from that say what this one says, without its own failure and repeats of a recall."""
        held = self.view.get("candidates", ())
        if not held:
            return []
        from .similarity import similarity
        from .stance import stance

        repeats = {entry["failure_id"] for entry in self._failures if self._repeats(entry)} | {self.failure_id}
        return [
            entry["origin"]
            for entry in held
            if entry["failure_id"] not in repeats
            and similarity(self.candidate.statement, entry["statement"]) >= self.alike
            and "conflict" not in stance(self.candidate.statement, entry["statement"])
        ]

    @cached_property
    def agreeing(self) -> int:
        """Independent held candidates of the signature that say the same."""
        return many_independent(self.candidate.origin, self._agreeing) if self._agreeing else 0

    @cached_property
    def corroborating(self) -> int:
        """Independent failures whose lessons or held candidates of this signature say the same."""
        agreeing = [*self._agreeing_origins(explained=True), *self._agreeing]
        return many_independent(self.candidate.origin, agreeing) if agreeing else 0

    @cached_property
    def repositories(self) -> int:
        """Distinct repositories beside the candidate's own in which lessons or held candidates say the same, or runs did it."""
        did = (entry["origin"] for entry in self._agreeing_successes)
        agreeing = (*self._agreeing_origins(explained=False), *self._agreeing, *did)
        own = _told(self.candidate.origin)[1] if agreeing else ""
        return len({_told(origin)[1] for origin in agreeing} - {"", own}) if own else 0

    # -- successes ---------------------------------------------------------------------------------------------------------------

    @cached_property
    def _agreeing_successes(self) -> list[Mapping[str, Any]]:
        """The independent runs that did what the candidate says under its condition, without repeats of a recall.

        The condition is the declared scope without what binds it to a place: what went well elsewhere may widen it.
        """
        failures = {entry["failure_id"]: entry for entry in self._failures if not self._repeats(entry)}
        condition = Scope.of(term for term in self.candidate.scope.terms if term.key not in _PLACES)
        return [
            entry
            for entry in self.view.get("successes", ())
            if entry["failure_id"] in failures
            and independent(self.candidate.origin, entry["origin"])
            and condition.fit(_place_of_entry(failures[entry["failure_id"]])).fit == "holds"
            and done(self.candidate.statement, texts_of(entry["said"])) >= self.enough
        ]

    @cached_property
    def successes(self) -> int:
        """Independent runs after earlier failures of the signature that did what the candidate says."""
        found = self._agreeing_successes
        return many_independent(self.candidate.origin, (entry["origin"] for entry in found)) if found else 0

    @cached_property
    def success_ids(self) -> tuple[str, ...]:
        """The ids of the runs that `successes` counts, those that are repeats of each other too."""
        return tuple(entry["success_id"] for entry in self._agreeing_successes)

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """Every lesson that explains this failure, beside the run that went well in the end; by id."""
        record = self.candidate.record
        said = texts_of([str(item["text"]) for item in record.get("successful_trajectory") or ()])
        if not said or record["outcome"] != "resolved":
            return ()
        return tuple(self._witness(peer, said) for peer in self.peers if peer.same_signature)

    def _witness(self, peer: Peer, said: Sequence[str]) -> Witness:
        entry = next(entry for entry in self.view["lessons"] if entry["id"] == peer.lesson)
        lesson, origins = entry["lesson"], entry.get("origins", ())
        return Witness(
            peer.lesson,
            Scope.parse(lesson["scope"]).fit(self.place).fit,
            done(lesson["statement"], said),
            self._recalled_alike(lesson["statement"]),
            peer.red_flag,
            bool(origins) and all(independent(self.candidate.origin, origin) for origin in origins),
        )

    def _recalled_alike(self, statement: str) -> bool:
        """Return whether a lesson that says the same was given to this session, or one that the view does not hold."""
        from .similarity import similarity

        given = self.candidate.recalled | self.candidate.beside
        held = {entry["id"]: entry["lesson"]["statement"] for entry in self.view["lessons"]}
        return any(name not in held or similarity(statement, held[name]) >= self.alike for name in given)

    # -- counterexamples ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _against(self) -> list[tuple[str, Scope]]:
        """Failures of the signature after a lesson alike was recalled, with their places."""
        if not self._alike_ids:
            return []
        found = [
            (entry["failure_id"], _place_of_entry(entry))
            for entry in self._failures
            if not self._alike_ids.isdisjoint(entry["recalled"])
        ]
        own = [(self.failure_id, self.place)] if not self._alike_ids.isdisjoint(self.candidate.recalled) else []
        return own + found

    def _covered(self, scope: Scope) -> list[str]:
        """Return the counterexamples that a scope covers; one of which that cannot be told is covered."""
        return [name for name, place in self._against if scope.fit(place).fit != "fails"]

    @cached_property
    def counterexamples(self) -> tuple[str, ...]:
        """The ids of the failures that would falsify the candidate in its declared scope."""
        return tuple(dict.fromkeys(self._covered(self.candidate.scope)))

    @cached_property
    def narrowed(self) -> Scope:
        """The declared scope with terms of its own failure, the widest first, until it covers no counterexample that it can shun.

        Only terms that take a counterexample out are added: the scope stays as wide as the record allows.
        """
        scope = self.candidate.scope
        left = self._covered(scope)
        for term in sorted(self.place.typed, key=lambda term: (-KEYS.index(term.key), term.value)):
            if not left:
                break
            tried = scope.narrowed(term)
            still = self._covered(tried)
            if len(still) < len(left):
                scope, left = tried, still
        return scope

    @cached_property
    def uncovered(self) -> bool:
        """The narrowed scope covers no counterexample."""
        return not self.counterexamples or not self._covered(self.narrowed)

    @cached_property
    def broadened(self) -> Scope:
        """The declared scope without repository, task and paths; itself where nothing would bound it or a counterexample stands.

        Where no other typed term stays, the language of the project bounds it.
        """
        kept = [term for term in self.candidate.scope.terms if term.key not in _PLACES]
        if not any(term.key for term in kept):
            kept += [term for term in self.place.typed if term.key == "lang"]
        wider = Scope.of(kept)
        bounded = any(term.key for term in kept)
        return self.candidate.scope if not bounded or self._covered(wider) else wider

    @cached_property
    def broader(self) -> bool:
        """The declared scope can be broadened, and some other repository says the same."""
        return self.repositories > 0 and self.broadened != self.candidate.scope
