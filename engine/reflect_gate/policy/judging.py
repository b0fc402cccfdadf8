"""Whether a mutant shows: in the cases of its rule set, or in what the stages say of the requests of a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ReflectGateError
from ..infer.compiled import Compiled
from .bench import Bench, Encoded, differences, observed
from .bundle import Bundle, Group
from .case_files import CaseDecl
from .model import Firing, Program
from .mutants import Mutant, apply

if TYPE_CHECKING:
    from ..replaying import Replay
    from ..runtime import Runtime
    from ..stages._case import Finding

__all__ = ["Corpus", "Judge"]


class _Ready(NamedTuple):
    """A case of facts, encoded, with what fires without a mutant."""

    case: CaseDecl
    encoded: Encoded
    fired: tuple[Firing, ...]


class Judge:
    """The cases of one rule set, made ready once. A mutant runs on the compiled engine; the cases ran on all before."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._requests = [case for case in bench.cases.cases if case.request is not None]
        self._ready = []
        engines: dict[str, Compiled] = {}
        for case in bench.cases.cases:
            if case.request is None:
                encoded = bench.encode(case)
                key = encoded.gate.bundle.digest
                if key not in engines:
                    engines[key] = Compiled(encoded.gate.program)
                fired = _run(engines[key], encoded)
                self._ready.append(_Ready(case, encoded, tuple(fired)))

    def killer(self, mutant: Mutant) -> str:
        """Return `case <id>` of the first case that fails with `mutant`, empty where none does."""
        engines: dict[str, Compiled | None] = {}
        for ready in self._ready:
            name = ready.encoded.gate.bundle.digest
            if name not in engines:
                engines[name] = _engine(ready.encoded.gate.program, mutant)
            engine = engines[name]
            if engine is not None and _fails(ready, engine, mutant):
                return f"case {ready.case.id}"
        for case in self._requests:
            if self._request_fails(case, mutant):
                return f"case {case.id}"
        return ""

    def _request_fails(self, case: CaseDecl, mutant: Mutant) -> bool:
        bundle = self._bench.whole(case)
        program = apply(bundle.program, mutant)
        if program is None:
            return False
        try:
            return bool(self._bench.judge(case, changed(bundle, program, mutant.id)).wrong)
        except ReflectGateError:
            return True


def changed(bundle: Bundle, program: Program, name: str) -> Bundle:
    """Return `bundle` with another program, on the compiled engine; `name` tells it apart from every other."""
    digest = f"{bundle.digest}+{name}"
    return bundle.alone()._replace(program=program, digest=digest, engine="compiled", cross_check=False, generated="")


def _engine(program: Program, mutant: Mutant) -> Compiled | None:
    mutated = apply(program, mutant)
    return None if mutated is None else Compiled(mutated)


def _run(engine: Compiled, encoded: Encoded) -> list[Firing]:
    with engine.session(encoded.gate.bundle.limits) as session:
        return session.advance(encoded.stage, encoded.facts)


def _fails(ready: _Ready, engine: Compiled, mutant: Mutant) -> bool:
    """Return whether the case fails; an evaluation that cannot be finished fails it."""
    encoded = ready.encoded
    try:
        fired = _run(engine, encoded)
    except ReflectGateError:
        return True
    # The same firings say the same, but for what the heads of a changed rule say, and where rules have new numbers.
    if mutant.kind not in {"swap-verdict", "drop-pattern", "disable-rule"} and tuple(fired) == ready.fired:
        return False
    seen = observed(engine.program, encoded.stage, encoded.interner, fired)
    return bool(differences(ready.case, seen, {rule.id for rule in encoded.gate.program.rules}))


class Corpus:
    """Requests, and what each stage says of them without a mutant."""

    def __init__(self, bundle: Bundle, requests: Sequence[Mapping[str, Any]]) -> None:
        from ..replaying import Replay

        self._bundle = bundle._replace(engine="compiled", cross_check=False)
        self._replays = [Replay(request, self._bundle) for request in requests]
        self._said = [_said(replay, self._gate(self._bundle)) for replay in self._replays]

    def _gate(self, bundle: Bundle) -> Runtime:
        from ..runtime import Runtime

        return Runtime(bundle)

    def killer(self, mutant: Mutant) -> str:
        """Return `corpus <failure id>` of the first request of which a stage says something else, empty where none does."""
        if mutant.kind == "drop-lexicon-pattern":
            return self._lexicon_killer(mutant)
        program = apply(self._bundle.program, mutant)
        if program is None:
            return ""
        gate = self._gate(changed(self._bundle, program, mutant.id))
        for replay, said in zip(self._replays, self._said, strict=True):
            if _said_or_none(replay, gate) != said:
                return f"corpus {replay.request['record']['failure_id']}"
        return ""

    def _lexicon_killer(self, mutant: Mutant) -> str:
        """Measure anew without the pattern, but only the requests whose texts it finds something in."""
        from ..measure.lexicon import LexiconSet
        from ..replaying import Replay
        from ..stages._case import TEXT_FIELDS

        name, _, group_id = mutant.rule.partition("/")
        dropped = mutant.text.removeprefix("drop `")[:-1]
        lexicon = self._bundle.lexicons[name]
        groups = [_without(group, dropped) if group.id == group_id else group for group in lexicon.groups]
        bundle = self._bundle._replace(
            lexicons={**self._bundle.lexicons, name: lexicon._replace(groups=tuple(groups))},
            digest=f"{self._bundle.digest}+{mutant.id}",
        )
        only = LexiconSet({name: lexicon._replace(groups=(Group(group_id, "", (dropped,)),))})
        gate = self._gate(bundle)
        for replay, said in zip(self._replays, self._said, strict=True):
            reflection = replay.request["reflection"]
            if only.hits({field: reflection[field] for field in TEXT_FIELDS}):
                anew = Replay(replay.request, bundle)
                if _said_or_none(anew, gate) != said:
                    return f"corpus {replay.request['record']['failure_id']}"
        return ""


def _without(group: Group, pattern: str) -> Group:
    kept = [place for place, own in enumerate(group.patterns) if own != pattern]
    atoms = tuple(group.atoms[place] for place in kept) if group.atoms else ()
    return group._replace(patterns=tuple(group.patterns[place] for place in kept), atoms=atoms)


def _said(replay: Replay, gate: Runtime) -> list[tuple[str, str, tuple[tuple[str, str, str, str], ...]]]:
    """Return of each stage its verdict and findings, by name."""
    run, rules = replay.run(gate), gate.program.rules
    return [
        (stage, judged.verdict, tuple((rules[found.rule].name, *_told(found)) for found in judged.findings))
        for stage, judged in run.case.judgements.items()
    ]


def _told(found: Finding) -> tuple[str, str, str]:
    return found.verdict, found.reason, found.about


def _said_or_none(replay: Replay, gate: Runtime) -> object:
    """Return what is said, or nothing where the evaluation cannot be finished, which differs from whatever was said."""
    try:
        return _said(replay, gate)
    except ReflectGateError:
        return None
