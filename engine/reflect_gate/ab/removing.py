"""One request judged with everything on, and again without each mechanism, rule set or rule, measured once.

A rule that did not fire on a request cannot matter there, so that only what fired is left out and judged again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..corpus.mutate import task_of
from ..corpus.score import Verdict
from ..pipeline import _STATUS
from ..policy import Bundle
from ..policy.reduced import without
from ..replaying import Replay
from ..runtime import AFTERWARDS, Runtime
from .kept import row_of, verdict_of

__all__ = ["L_STEP", "MECHANISMS", "Bench", "Seen", "Toggle", "fired_in", "looker", "reduced", "seen_of", "toggles", "verdict_in"]

L_STEP: Final = "reflection step"

MECHANISMS: Final = ("grounding", "generalization", "dedupe", "calibration", "admission", "lifecycle", "retrieval")
"""The rule sets that are the ablations of S2 §7.3; the eighth is the step that asks a model."""


class Toggle(NamedTuple):
    """What is left out: a whole rule set (`rule` empty), or one rule of it."""

    kind: str
    ruleset: str
    rule: str

    @property
    def name(self) -> str:
        """The name that users see."""
        return f"{self.ruleset}/{self.rule}" if self.rule else self.ruleset


class Seen(NamedTuple):
    """What became of one request.

    Attributes:
        full: the verdict with everything on.
        fired: names of the toggles that had a say: rules that fired, rule sets that found something other than neutral.
        without: of each toggle that could matter, the verdict without it, and whether the decision is another one.
    """

    full: Verdict
    fired: frozenset[str]
    without: Mapping[str, tuple[Verdict, bool]]


def toggles(bundle: Bundle, rules: bool) -> list[Toggle]:
    """Return what can be left out of a bundle: mechanisms in the order of S2 §7.3, the other rule sets, then each rule."""
    on = [ruleset.name for ruleset in bundle.rulesets if ruleset.on]
    found = [Toggle("mechanism", name, "") for name in MECHANISMS if name in on]
    found += [Toggle("ruleset", name, "") for name in on if name not in MECHANISMS]
    if rules:
        found += [Toggle("rule", rule.ruleset, rule.id) for rule in bundle.program.rules]
    return found


def reduced(bundle: Bundle, toggle: Toggle) -> Bundle:
    """Return the bundle without what is left out, on the compiled engine; a rule set that is off says its neutral verdict."""
    program = without(bundle.program, lambda rule: rule.ruleset == toggle.ruleset and (not toggle.rule or rule.id == toggle.rule))
    off = tuple(
        ruleset._replace(on=False) if ruleset.name == toggle.ruleset and not toggle.rule else ruleset
        for ruleset in bundle.rulesets
    )
    return bundle._replace(
        program=program,
        rulesets=off,
        digest=f"{bundle.digest}-{toggle.name}",
        engine="compiled",
        cross_check=False,
        generated="",
    )


class Bench:
    """A bundle and its reductions, each made ready once."""

    def __init__(self, bundle: Bundle, rules: bool) -> None:
        self.bundle = bundle._replace(engine="compiled", cross_check=False)
        self.toggles = toggles(bundle, rules)
        self._stages = {ruleset.name: ruleset.stage for ruleset in bundle.rulesets}
        self._full = Runtime(self.bundle)
        self._gates: dict[Toggle, Runtime] = {}

    def see(self, request: Mapping[str, Any]) -> Seen:
        """Return what became of a request; raises as `evaluate` does."""
        replay = Replay(request, self.bundle)
        run = replay.run(self._full)
        full, said = verdict_in(run, request), _decided(run)
        fired = frozenset(fired_in(run, self.bundle))
        other = {}
        for toggle in self.toggles:
            if self._stages[toggle.ruleset] in AFTERWARDS or (toggle.rule and toggle.name not in fired):
                continue
            changed = replay.run(self._gate(toggle))
            other[toggle.name] = (verdict_in(changed, request), _decided(changed) != said)
        return Seen(full, fired, other)

    def _gate(self, toggle: Toggle) -> Runtime:
        if toggle not in self._gates:
            self._gates[toggle] = Runtime(reduced(self.bundle, toggle))
        return self._gates[toggle]


def looker(bundle: Bundle, rules: bool) -> Callable[[Mapping[str, Any]], list[Any]]:
    """Return what says of a request what became of it, as plain data that `seen_of` reads."""
    bench = Bench(bundle, rules)

    def look(request: Mapping[str, Any]) -> list[Any]:
        seen = bench.see(request)
        other = {name: [row_of(verdict), changed] for name, (verdict, changed) in sorted(seen.without.items())}
        return [row_of(seen.full), sorted(seen.fired), other]

    return look


def seen_of(row: Any) -> Seen | None:
    """Return what `looker` said, `None` where it is no such thing."""
    match row:
        case [full, [*fired], dict(without)] if all(isinstance(name, str) for name in fired):
            verdict = verdict_of(full)
            other = {name: _without_of(said) for name, said in without.items()}
            known = {name: said for name, said in other.items() if said is not None}
            return Seen(verdict, frozenset(fired), known) if verdict is not None and len(known) == len(other) else None
        case _:
            return None


def _without_of(said: Any) -> tuple[Verdict, bool] | None:
    match said:
        case [verdict, bool(changed)]:
            found = verdict_of(verdict)
            return None if found is None else (found, changed)
        case _:
            return None


def fired_in(run: Any, bundle: Bundle) -> Iterator[str]:
    """Yield the rules that fired in a run, as `ruleset/rule`, and the rule sets that found something other than neutral."""
    # A run of a reduced bundle counts its rules anew.
    rules = run.gate.program.rules
    neutral = {ruleset.name: ruleset.neutral for ruleset in bundle.rulesets}
    yield from {rules[index].name for index, _ in run.firings}
    for judged in run.case.judgements.values():
        for found in judged.findings:
            ruleset = rules[found.rule].ruleset
            if found.verdict != neutral[ruleset]:
                yield ruleset


def verdict_in(run: Any, request: Mapping[str, Any]) -> Verdict:
    """Return the verdict that a run of `replaying` came to."""
    judged = run.case.judgements["admit"]
    reason = run.case.outputs["admit"]["rejected_reason"]
    return Verdict(request["record"]["failure_id"], task_of(request), _STATUS[judged.verdict], reason, frozenset())


def _decided(run: Any) -> Sequence[object]:
    """Return all of a decision that anybody would notice: verdict, reason, scope, wording, flag and level."""
    outputs = run.case.outputs
    shown = [outputs["admit"]["rejected_reason"], run.case.judgements["admit"].verdict]
    if run.case.judgements["admit"].verdict == "admit":
        shown += [dict(outputs[stage]) for stage in ("generalize", "calibrate", "dedupe", "lifecycle")]
    return shown
