"""What the two bundles decide of requests, and which changes made each decision flip.

A change is named as the cause only by trial: the second bundle with these changes taken back, and nothing else, decides as the
first one did, by its own engines; and with one of them fewer it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from ..errors import ReflectGateError
from ..pipeline import evaluate
from ..policy.bundle import Bundle
from ..policy.model import Program
from ..policy.reduced import without
from ..replaying import Replay
from ..runtime import Runtime
from .changes import Change
from .hybrid import reverted
from .sides import Side

if TYPE_CHECKING:
    from ..pipeline import _Run

__all__ = ["Attribution", "Behaviour", "Flip", "Judge", "Outcome", "compare", "smallest"]

Way: TypeAlias = Literal["milder", "stricter", "sideways"]

_ORDER: Final = ("admitted", "undecided", "refused", "error")
_STATUS: Final = {"admit": "admitted", "undecided": "undecided", "refuse": "refused"}
_KEPT: Final = 256


class Outcome(NamedTuple):
    """How a request was decided: its status and reason, or `error` and the code of why it could not be judged."""

    status: str
    reason: str | None


class Attribution(NamedTuple):
    """Why a decision flipped.

    Attributes:
        changes: the changes that flip it back when they, and only they, are taken back; none of them can be left out.
        rules: the rules of these changes' rule sets that carry the stricter of the two decisions, as few as do; empty where the
            stage's default does, because nothing earned a better verdict.
    """

    changes: tuple[Change, ...]
    rules: tuple[str, ...]


class Flip(NamedTuple):
    """A decision that differs; `cause` is `None` where no change flips it back."""

    place: str
    failure_id: str
    before: Outcome
    after: Outcome
    cause: Attribution | None

    @property
    def way(self) -> Way:
        """Whether it became milder or stricter; `sideways` where only the reason changed."""
        first, second = _ORDER.index(self.before.status), _ORDER.index(self.after.status)
        return "milder" if second < first else "stricter" if second > first else "sideways"


class Behaviour(NamedTuple):
    """What the corpus showed: how many requests were judged, of how many something else than the decision differs, the flips."""

    judged: int
    otherwise: int
    flips: tuple[Flip, ...]


def compare(
    before: Side,
    after: Side,
    changed: Sequence[Change],
    requests: Iterable[tuple[str, Mapping[str, Any]]],
    progress: Callable[[int], None] = lambda _: None,
) -> Behaviour:
    """Judge each `(place, request)` by both bundles, and say of each flip which changes made it."""
    judge = Judge(before, after, changed)
    names = {**before.bundle.renamed, **after.bundle.renamed}
    flips, otherwise, count = [], 0, 0
    for count, (place, request) in enumerate(requests, 1):
        first, second = _decided(request, before.bundle), _decided(request, after.bundle)
        if first.outcome != second.outcome:
            flips.append(Flip(place, _failure(request), first.outcome, second.outcome, judge.attribute(request, first, second)))
        elif first.said(names) != second.said(names):
            otherwise += 1
        progress(count)
    return Behaviour(count, otherwise, tuple(flips))


def _failure(request: Mapping[str, Any]) -> str:
    record = request.get("record")
    found = record.get("failure_id", "") if isinstance(record, Mapping) else ""
    return found if isinstance(found, str) else ""


class _Decided(NamedTuple):
    outcome: Outcome
    findings: Sequence[tuple[str, ...]]
    stages: object
    rulesets: frozenset[str]

    def said(self, names: Mapping[str, str]) -> object:
        """Return all that was said, by the live names of rules."""
        return sorted((names.get(rule, rule), *rest) for rule, *rest in self.findings), self.stages


def _decided(request: Mapping[str, Any], bundle: Bundle) -> _Decided:
    try:
        decision = evaluate(request, bundle.alone())
    except ReflectGateError as error:
        return _Decided(Outcome("error", error.code), (), None, frozenset())
    findings = [
        (f"{found['ruleset']}/{found['rule']}", found["stage"], found["verdict"], found["reason"], found["about"])
        for found in decision.findings
    ]
    rulesets = frozenset(found["ruleset"] for found in decision.findings)
    return _Decided(Outcome(decision.status, decision.reason), findings, decision.stages, rulesets)


class _Trial(NamedTuple):
    """A bundle with changes taken back, ready to judge by the compiled engine; what it measures with, as a key."""

    bundle: Bundle
    gate: Runtime
    measured: object


class Judge:
    """Finds causes; bundles with changes taken back are kept, since the same few explain most flips."""

    def __init__(self, before: Side, after: Side, changed: Sequence[Change]) -> None:
        self._before = before
        self._after = after
        self._changed = tuple(changed)
        self._trials: dict[frozenset[Change], _Trial | None] = {}
        self._known: list[tuple[Change, ...]] = []
        self._without: dict[tuple[str, frozenset[int]], _Trial] = {}

    def attribute(self, request: Mapping[str, Any], first: _Decided, second: _Decided) -> Attribution | None:
        """Return what flips the decision of `request` back, `None` where nothing does."""
        replays: dict[object, Replay] = {}

        def flips_back(taken: Sequence[Change]) -> bool:
            trial = self._trial(frozenset(taken))
            return trial is not None and _outcome(request, trial, replays) == first.outcome

        start = next((known for known in self._known if flips_back(known)), None)
        if start is None:
            involved = first.rulesets | second.rulesets
            # What said nothing of this request is left out first.
            start = tuple(sorted(self._changed, key=lambda change: change.ruleset in involved))
            if not flips_back(start):
                return None
        least = tuple(sorted(smallest(start, flips_back)))
        trial = self._trial(frozenset(least))
        if not least or trial is None or _decided(request, trial.bundle).outcome != first.outcome:
            return None
        if least not in self._known:
            self._known.append(least)
            self._known.sort(key=len)
        return Attribution(least, self._rules(request, least, trial, first, second, replays))

    def _trial(self, taken: frozenset[Change]) -> _Trial | None:
        """Return the second bundle with changes taken back, `None` where the parts do not fit together."""
        if taken not in self._trials:
            if len(self._trials) >= _KEPT:
                del self._trials[next(iter(self._trials))]
            try:
                self._trials[taken] = _trial(reverted(self._before, self._after, taken))
            except ReflectGateError:
                self._trials[taken] = None
        return self._trials[taken]

    def _rules(
        self,
        request: Mapping[str, Any],
        least: Sequence[Change],
        trial: _Trial,
        first: _Decided,
        second: _Decided,
        replays: dict[object, Replay],
    ) -> tuple[str, ...]:
        """Return the rules that carry the stricter decision, and that the changes let speak or silence."""
        if "error" in {first.outcome.status, second.outcome.status}:
            return ()
        strict_first = _ORDER.index(first.outcome.status) >= _ORDER.index(second.outcome.status)
        strict = trial if strict_first else self._trial(frozenset())
        if strict is None:
            return ()
        wanted = first.outcome if strict_first else second.outcome
        rulesets = {change.ruleset for change in least}
        run = _run(request, strict, replays)
        fired = {number for number, _ in run.firings}
        against = [number for number in sorted(fired) if _speaks_against(strict.bundle.program, number, rulesets)]

        def still(kept: Sequence[int]) -> bool:
            return _outcome(request, self._fewer(strict, frozenset(against) - set(kept)), replays) == wanted

        return tuple(strict.bundle.program.rules[number].name for number in smallest(against, still))

    def _fewer(self, trial: _Trial, gone: frozenset[int]) -> _Trial:
        """Return a trial without some of its rules."""
        key = (trial.bundle.digest, gone)
        if key not in self._without:
            if len(self._without) >= _KEPT:
                del self._without[next(iter(self._without))]
            program = without(trial.bundle.program, lambda rule: rule.number in gone)
            self._without[key] = _trial(trial.bundle._replace(program=program, generated=""))
        return self._without[key]


def _speaks_against(program: Program, number: int, rulesets: set[str]) -> bool:
    """Return whether a rule of these rule sets says something else than the mildest verdict of its stage."""
    from ..facts import load_vocabulary

    rule = program.rules[number]
    if rule.ruleset not in rulesets or rule.stage not in load_vocabulary().stages:
        return False
    mildest, kind = load_vocabulary().stages[rule.stage].verdicts[0], program.type_index("finding")
    said = [head.values[0] for head in rule.heads if head.type == kind]
    return any(isinstance(verdict, int) and program.symbols[verdict] != mildest for verdict in said)


def _trial(bundle: Bundle) -> _Trial:
    quick = bundle._replace(engine="compiled", cross_check=False)
    measured = (
        tuple((key, str(setting.value)) for key, setting in bundle.settings.items()),
        tuple((name, group.id, group.patterns) for name, lexicon in bundle.lexicons.items() for group in lexicon.groups),
        bundle.limits,
    )
    return _Trial(bundle, Runtime(quick), measured)


def _run(request: Mapping[str, Any], trial: _Trial, replays: dict[object, Replay]) -> _Run:
    replay = replays.get(trial.measured)
    if replay is None:
        replay = replays[trial.measured] = Replay(request, trial.gate.bundle)
    return replay.run(trial.gate)


def _outcome(request: Mapping[str, Any], trial: _Trial, replays: dict[object, Replay]) -> Outcome:
    try:
        run = _run(request, trial, replays)
    except ReflectGateError as error:
        return Outcome("error", error.code)
    return Outcome(_STATUS[run.case.judgements["admit"].verdict], run.case.outputs["admit"]["rejected_reason"])


def smallest(parts: Sequence[Any], holds: Callable[[Sequence[Any]], bool]) -> list[Any]:
    """Return parts of `parts` for which `holds` holds as it does for all of them, and of which none can be left out.

    Halves are left out first, then quarters, down to single ones (Zeller's delta debugging, its complements).
    """
    kept = list(parts)
    size = max(1, len(kept) // 2)
    while kept:
        shrunk = False
        for begin in _starts(len(kept), size):
            fewer = kept[:begin] + kept[begin + size :]
            if holds(fewer):
                kept, shrunk = fewer, True
                break
        if shrunk:
            size = min(size, max(1, len(kept)))
        elif size == 1:
            break
        else:
            size = max(1, size // 2)
    return kept


def _starts(length: int, size: int) -> Iterator[int]:
    yield from range(0, length, size)
