"""From a decision to the events that say what it means for the store.

Event ids are random: two stores that judged the same request must still merge. That a request was applied already shows in the
`decisions` projection instead, whose key follows from the request and the bundle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

from reflect_store import draft
from reflect_store.lineage import successor_in_words

from ..measure.index import RecordIndex
from ..measure.precedent import place_of
from ..measure.scope import Scope
from ..measure.similarity import similarity
from ..measure.stance import stance
from ..stages.generalize import BORNE_OUT, CONTRADICTED

if TYPE_CHECKING:
    from reflect_store import Draft, Row, StoreView
    from reflect_store.protocol import Get

    from ..decision import Decision
    from ..policy import Bundle
    from ..types import Record

__all__ = ["CONTRADICTION", "RECURRENCE", "Drafts", "happened"]

CONTRADICTION: Final = "contradiction"
"""The kind of a flag that a candidate raised against a lesson in use."""

RECURRENCE: Final = "recurrence"
"""The kind of a flag that a candidate raised by saying again what a retired lesson said."""

_ALIKE: Final = 80
"""Hundredths of similarity from which a held candidate says the same, where no rule set of the bundle says it."""

_NO_GROUNDS: Final[Mapping[str, list[str]]] = {"evidence": [], "failures": [], "successes": [], "counterexamples": []}


class Drafts:
    """The events of one decision, gathered in the order in which they depend on each other.

    `get` reads rows of the store as they are in the moment of committing.
    """

    def __init__(
        self, request: Mapping[str, Any], record: Record, context: Mapping[str, Any], view: StoreView, get: Get, bundle: Bundle
    ) -> None:
        self.request = request
        self.record = record
        self.context = context
        self.view = view
        self.get = get
        self.bundle = bundle
        self.origin: dict[str, str] = dict(request.get("project") or {})
        self.place = place_of(record, self.origin)
        self.falsified: list[str] = []
        """The lessons that this failure is a counterexample to."""
        self.merged: str | None = None
        """The lesson that the candidate was merged into."""
        self.found: list[Draft] = []

    def _add(self, type_: str, payload: Mapping[str, Any]) -> None:
        self.found.append(draft(type_, payload))

    # -- what happened -------------------------------------------------------------------------------------------------

    def termination(self) -> None:
        """Record the failure, once, and the successful run that came with it."""
        self.found += happened(self.request, self.record, self.context, self.get)

    def counterexamples(self) -> None:
        """Add the failure to every recalled lesson that should have prevented it: its signature, in its scope, executed."""
        recalled = {self._standing_for(name) for name in self.request.get("recalled", ())}
        if not recalled or not RecordIndex(self.record).failing:
            return
        failure, signature = self.record["failure_id"], self.context["signature"]
        for entry in self.view.lessons:
            signatures = entry.get("signatures") or [entry["signature"]]
            known = failure in entry["lesson"]["counterexamples"]
            if entry["id"] not in recalled or signature not in signatures or known:
                continue
            if Scope.parse(entry["lesson"]["scope"]).fit(self.place).fit == "holds":
                grounds = {**_NO_GROUNDS, "counterexamples": [failure]}
                self._add("evidence-added", {"lesson_id": entry["id"], "origin": self.origin, **grounds})
                self.falsified.append(entry["id"])

    def successes(self, decision: Decision) -> None:
        """Add the run that went well in the end to the lessons that a rule says it bears out, but for the one merged into."""
        success = _success_id(decision.failure_id)
        for finding in decision.findings:
            row = self.get("lessons", finding["about"]) if finding["reason"] == BORNE_OUT else None
            if row is None or row["id"] == self.merged or success in row["lesson"]["derived_from"]["successes"]:
                continue
            grounds = {**_NO_GROUNDS, "successes": [success]}
            self._add("evidence-added", {"lesson_id": row["id"], "origin": self.origin, **grounds, "rule": _rule(finding)})

    def _given(self) -> set[str]:
        """Return the lessons that the session of the failure had been given, into the attempt or beside it."""
        names = (*self.request.get("recalled", ()), *self.request.get("recalled_beside", ()))
        return {self._standing_for(name) for name in names}

    def _standing_for(self, name: str) -> str:
        row = self.get("lessons", name)
        return name if row is None else str(successor_in_words(row, self.get)["id"])

    # -- what was decided ----------------------------------------------------------------------------------------------

    def decision(self, decision: Decision) -> None:
        """Record the decision with all that it was judged by."""
        inputs = {name: value for name, value in self.request.items() if name != "record"}
        self._add("decision-made", {"decision": decision._replace(firings=None).to_json(), "inputs": inputs})

    def lesson(self, decision: Decision) -> tuple[Literal["admitted", "merged"], str]:
        """Give the admitted candidate its place; return what came of it and the lesson that it now stands in."""
        lesson, envelope = dict(decision.lesson or {}), dict(decision.envelope or {})
        name = envelope["lesson_id"]
        row = self.get("lessons", name)
        if row is None:
            self._add("lesson-admitted", {"lesson": lesson, "envelope": envelope, "decision_id": decision.decision_id})
            self._release(decision, lesson, name)
            return "admitted", name
        row = successor_in_words(row, self.get)
        grounds = {field: lesson[field] for field in ("evidence", "counterexamples")}
        named = {"lesson_id": row["id"], "decision_id": decision.decision_id, "failure_id": decision.failure_id}
        # A session that repeats a lesson which it was given is no other place where that was learned.
        origin = {} if row["id"] in self._given() else self.origin
        payload = {**named, "signature": decision.signature, "origin": origin, **grounds, **lesson["derived_from"]}
        self._add("lesson-merged", payload)
        self.merged = row["id"]
        if row["standing"] == "retired":
            # What was falsified does not come back because it is said again: it is for a person to see.
            reason = "a candidate that says what this retired lesson said was admitted"
            self._flag(RECURRENCE, decision, [row["id"]], "", reason)
            return "merged", row["id"]
        name = self._broadened(decision, row) or row["id"]
        self._release(decision, row["lesson"], name)
        return "merged", name

    def _broadened(self, decision: Decision, row: Row) -> str | None:
        """Let a successor of wider scope take the lesson's place, where a rule says that the store bears that scope out."""
        rule = next((_rule(found) for found in decision.findings if found["reason"] == "broadened"), None)
        scope = str((decision.lesson or {})["scope"])
        wider = Scope.parse(scope).relation(Scope.parse(row["lesson"]["scope"])) == "covers"
        if rule is None or not wider or row["envelope"]["red_flag"]:
            return None
        name = "lesson-" + hashlib.sha256(f"{row['id']}\0{scope}".encode()).hexdigest()[:24]
        if self.get("lessons", name) is not None:
            return None
        lesson = {**row["lesson"], "scope": scope, "supersedes": row["id"]}
        failures = lesson["derived_from"]["failures"]
        lesson["derived_from"] = {**lesson["derived_from"], "failures": [*failures, *_new(decision.failure_id, failures)]}
        envelope = {field: value for field, value in row["envelope"].items() if field != "status"}
        born = {"lesson": lesson, "envelope": {**envelope, "lesson_id": name}, "decision_id": decision.decision_id}
        self._add("lesson-admitted", born)
        self._add("lesson-superseded", {"lesson_id": row["id"], "by": name, "rule": rule, "reason": "broadened"})
        return name

    def hold(self, decision: Decision) -> str:
        """Let the candidate wait for evidence; return its id."""
        name = _candidate_id(decision)
        against = decision.stages["generalize"]
        payload = {
            "candidate_id": name,
            "decision_id": decision.decision_id,
            "signature": decision.signature,
            "reason": decision.reason or _deciding(decision, "admit", "undecided")[1],
            "conflicts": list(_contradicted(decision)),
            "failure_id": decision.failure_id,
            "statement": self.request["reflection"]["candidate_lesson"],
            "scope": against["adjusted_scope"] if against else self.request["reflection"]["scope"],
            "origin": self.origin,
        }
        self._add("candidate-held", payload)
        return name

    def contradiction(self, decision: Decision, *, held: bool) -> None:
        """Flag each lesson that the candidate contradicts, and the candidate with it; the lesson stays in use."""
        for name, (rule, reason) in _contradicted(decision).items():
            if self.get("lessons", name) is not None:
                lessons = [name] if held else [name, str((decision.envelope or {})["lesson_id"])]
                self._flag(CONTRADICTION, decision, lessons, rule, reason, _candidate_id(decision) if held else None)

    def _flag(
        self, kind: str, decision: Decision, lessons: Sequence[str], rule: str, reason: str, candidate: str | None = None
    ) -> None:
        flag = "flag-" + hashlib.sha256(f"{kind}\0{decision.decision_id}\0{lessons[0]}".encode()).hexdigest()[:24]
        payload = {"flag_id": flag, "kind": kind, "lesson_ids": list(lessons), "withdraws": False, "rule": rule, "reason": reason}
        self._add("flag-raised", payload if candidate is None else {**payload, "candidate_id": candidate})

    def _release(self, decision: Decision, lesson: Mapping[str, Any], name: str) -> None:
        """Attach held candidates of this signature that say what the lesson says, and count their failures for it."""
        alike = _alike(self.bundle)
        known = {decision.failure_id, *lesson["derived_from"]["failures"]}
        for held in self.view.candidates:
            opposed = "conflict" in stance(held["statement"], lesson["statement"])[:2]
            if opposed or similarity(held["statement"], lesson["statement"]) < alike:
                continue
            released = {"candidate_id": held["candidate_id"], "outcome": f"attached to {name}"}
            self._add("candidate-released", {**released, "decision_id": decision.decision_id})
            if held["failure_id"] not in known:
                known.add(held["failure_id"])
                grounds = {**_NO_GROUNDS, "failures": [held["failure_id"]]}
                self._add("evidence-added", {"lesson_id": name, "origin": dict(held["origin"]), **grounds})


def happened(request: Mapping[str, Any], record: Record, context: Mapping[str, Any], get: Get) -> list[Draft]:
    """Return the events of a failure and of the successful run that came with it, each only where it is not recorded yet.

    `request` brings `record`, and optionally `project`, `recalled` and `recalled_beside`; `record` is the same one, prepared, and
    `context` what its signature was made from.
    """
    found = []
    origin: dict[str, str] = dict(request.get("project") or {})
    failure = record["failure_id"]
    if get("terminations", failure) is None:
        parts = {field: context[field] for field in ("class", "template", "site")}
        payload = {"failure_id": failure, "signature": context["signature"], "record": request["record"]}
        where = {"origin": origin, "context": parts, "scope": str(place_of(record, origin))}
        recalled = list(request.get("recalled", ()))
        found.append(draft("termination-recorded", {**payload, **where, "recalled": recalled}))
    trajectory = record["successful_trajectory"]
    success = _success_id(failure)
    if trajectory and get("successes", success) is None:
        # What went well with a lesson at hand that came after the failure bears nothing out elsewhere.
        place: dict[str, str] = {} if request.get("recalled_beside") else origin
        payload = {"success_id": success, "trajectory": trajectory, "origin": place, "failure_id": failure}
        found.append(draft("success-recorded", payload))
    return found


def _success_id(failure_id: str) -> str:
    return "success-" + hashlib.sha256(failure_id.encode()).hexdigest()[:24]


def _alike(bundle: Bundle) -> int:
    """Return the similarity in hundredths from which two statements say the same, in the bundle's own words."""
    found = bundle.settings.get("dedupe.min_similarity")
    return int(100 * Decimal(str(found.value))) if found else _ALIKE


def _candidate_id(decision: Decision) -> str:
    return f"candidate-{decision.decision_id}"


def _contradicted(decision: Decision) -> dict[str, tuple[str, str]]:
    """Return the lessons that a candidate contradicts, each with the rule and reason that say so; the nearest first."""
    found = {
        finding["about"]: (_rule(finding), str(finding["reason"]))
        for finding in decision.findings
        if finding["stage"] == "generalize" and finding["reason"] in CONTRADICTED
    }
    nearest = (decision.stages["generalize"] or {}).get("contradicts_lesson_id")
    return dict(sorted(found.items(), key=lambda entry: (entry[0] != nearest, entry[0])))


def _deciding(decision: Decision, stage: str, verdict: str) -> tuple[str, str]:
    """Return the rule and the reason of a stage's verdict, both empty where no rule said it."""
    for finding in decision.findings:
        if finding["stage"] == stage and finding["verdict"] == verdict:
            return _rule(finding), str(finding["reason"])
    return "", ""


def _rule(finding: Mapping[str, Any]) -> str:
    return f"{finding['ruleset']}/{finding['rule']}"


def _new(name: str, known: Sequence[str]) -> list[str]:
    return [] if name in known else [name]
