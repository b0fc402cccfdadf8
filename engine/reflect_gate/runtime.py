"""A bundle made ready to judge: its engine, its lexicons as one automaton, and the encoding of facts. Built once a bundle."""

from __future__ import annotations

from _thread import allocate_lock
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .infer.telling import Telling
from .policy.model import Interner, Join

if TYPE_CHECKING:
    from .facts import Fact
    from .infer import Engine
    from .infer.explain import Explainer
    from .measure.lexicon import LexiconSet
    from .policy import Bundle
    from .policy.model import EncodedFact, Firing
    from .stages._judgement import Finding, Judgement

__all__ = ["AFTERWARDS", "Runtime", "runtime"]

_KEPT = 8

AFTERWARDS = frozenset(("sweep", "adjudicate", "retrieve", "record", "audit"))
"""The stages that look after what is stored: each judges alone, no evaluation runs it, and its rules hear of no other."""


class Runtime:
    """What every evaluation of one bundle shares; safe to use from several threads."""

    def __init__(self, bundle: Bundle) -> None:
        program = bundle.program
        self.bundle = bundle
        self.program = program
        self.identity: Mapping[str, Any] = {
            "name": bundle.name,
            "digest": bundle.digest,
            "as_of": bundle.as_of,
            "engine": bundle.engine,
            "cross_check": bundle.cross_check,
            "measures": dict(bundle.measures),
        }
        self._types = {declared.name: index for index, declared in enumerate(program.types)}
        self._numbers = {name: number for number, name in enumerate(program.symbols)}
        self._finding = self._types["finding"]
        self._telling: dict[tuple[str, str, tuple[str, ...]], Telling] = {}

    @cached_property
    def engine(self) -> Engine:
        """The engine of the stages of an evaluation; a process that only looks after a store never builds it."""
        from .infer import make_engine

        bundle = self.bundle
        judging = [stage for stage in self.program.stages if stage not in AFTERWARDS]
        return make_engine(self.program, bundle.engine, bundle.cross_check, bundle.generated, judging)

    @cached_property
    def lexicons(self) -> LexiconSet:
        """The lexicons, compiled."""
        from .measure.lexicon import LexiconSet

        return LexiconSet(self.bundle.lexicons)

    @cached_property
    def _afterwards(self) -> Engine:
        """The engine of the stages that no evaluation advances; a process that judges alone never builds it."""
        from .infer import make_engine

        bundle = self.bundle
        return make_engine(self.program, bundle.engine, bundle.cross_check, bundle.generated, AFTERWARDS)

    def engine_of(self, stage: str) -> Engine:
        """Return the engine that runs a stage."""
        return self._afterwards if stage in AFTERWARDS else self.engine

    def interner(self) -> Interner:
        """Return the numbers of a new evaluation."""
        return Interner(self.program.symbols, self._numbers)

    def encode(self, facts: Sequence[Fact], interner: Interner) -> list[EncodedFact]:
        """Return measured facts as integers."""
        number, types = interner.number, self._types
        return [
            (types[str(fact[0])], *[number(value) if isinstance(value, str) else value + 0 for value in fact[1:]])
            for fact in facts
        ]

    def finding_heads(self, fired: Sequence[Firing]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield `(rule, (verdict, reason, about))` of every finding that `fired` derive."""
        for index, bound in fired:
            for head in self.program.rules[index].heads:
                if head.type == self._finding:
                    yield (
                        index,
                        tuple(
                            bound[value.pattern][value.position + 1] if isinstance(value, Join) else value
                            for value in head.values
                        ),
                    )

    def judge(self, stage: str, fired: Sequence[Firing], interner: Interner) -> Judgement:
        """Return the most severe verdict that a rule says, or that a disabled rule set says by being neutral."""
        from .facts import load_vocabulary
        from .stages._judgement import Judgement

        spec = load_vocabulary().stages.get(stage)
        if spec is None:
            return Judgement("", ())
        findings = self._findings(fired, interner)
        said = [finding.verdict for finding in findings]
        said += [ruleset.neutral for ruleset in self.bundle.rulesets_of(stage) if not ruleset.on and ruleset.decides]
        verdict = max(said, key=spec.verdicts.index) if said else spec.default
        return Judgement(verdict, findings)

    def _findings(self, fired: Sequence[Firing], interner: Interner) -> tuple[Finding, ...]:
        from .stages._judgement import Finding

        name = interner.name
        found = {
            Finding(rule, name(verdict), name(reason), name(about))
            for rule, (verdict, reason, about) in self.finding_heads(fired)
        }
        return tuple(sorted(found))

    def telling(self, stage: str, name: str, unknown: tuple[str, ...] = ()) -> Telling:
        """Return what tells the facts of a type apart that the rules of a stage can say nothing of; see `Telling`."""
        key = (stage, name, unknown)
        found = self._telling.get(key)
        if found is None:
            found = self._telling[key] = Telling(self.program, stage, self._types[name], unknown)
        return found

    def some(self, telling: Telling, facts: Sequence[Fact]) -> list[bool]:
        """Return of each fact whether a rule could say anything of it; no engine is asked."""
        number, tested, of = self._numbers.get, telling.tested, telling.of
        said = []
        for fact in facts:
            known: list[Any] = list(fact)
            for place in tested:
                if isinstance(known[place], str):
                    # What the program does not know is no constant of it.
                    known[place] = number(known[place], -1)
            said.append(of(known))
        return said

    def conclude(self, stage: str, facts: Sequence[Fact]) -> Judgement:
        """Return what the rules of a stage of `AFTERWARDS` say of facts alone, in a session of their own."""
        interner = self.interner()
        with self._afterwards.session(self.bundle.limits) as session:
            fired = session.advance(stage, self.encode(facts, interner))
        return self.judge(stage, fired, interner)

    def explainer(self, facts: Sequence[EncodedFact], firings: Sequence[Firing], interner: Interner) -> Explainer:
        """Return what can say why of one evaluation."""
        from .infer.explain import Explainer

        return Explainer(self.program, facts, firings, interner)


_lock = allocate_lock()
_runtimes: OrderedDict[tuple[str, str, bool], Runtime] = OrderedDict()


def runtime(bundle: Bundle) -> Runtime:
    """Return the runtime of `bundle`, building it at first use; the last few are kept."""
    key = (bundle.digest, bundle.engine, bundle.cross_check)
    with _lock:
        found = _runtimes.get(key)
        if found is None:
            found = _runtimes[key] = Runtime(bundle)
            if len(_runtimes) > _KEPT:
                _runtimes.popitem(last=False)
        else:
            _runtimes.move_to_end(key)
    return found
