"""Changes of policy: a setting with another value, a rule set that is off, a lexicon without a pattern.

What is changed is the bundle in memory, as the same change of the files or of the command line would change it. Rule sets that
are off cannot be switched on here, because a bundle does not hold their rules.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple

from ..facts import Domain
from ..measure.lexicon import LexiconSet
from ..policy.bundle import Bundle, Group, Lexicon
from ..policy.load import load_ruleset
from ..policy.model import EncodedFact, Pattern, Program, Rule, Test
from ..policy.problems import Problems
from ..policy.reduced import without
from ..policy.values import Value, show
from ..policy.wording import domain_of, patterns_of
from .planner import Atom, Atoms, Want
from .world import World

__all__ = ["Policy", "PolicyRepairs", "allowed", "matching", "nearest_of_shape", "option_texts"]

_SETTING: Final = 1.0
_TERM: Final = 1.2
_TOGGLE: Final = 1.5


class _Setting(NamedTuple):
    """A setting with another value; `direction` is -1 where less would do as well, 1 where more would, 0 where neither."""

    key: str
    value: Value
    direction: int


class _Off(NamedTuple):
    """A rule set that is off."""

    ruleset: str


class _Term(NamedTuple):
    """A lexicon that finds nothing in one text."""

    lexicon: str
    target: str


class PolicyRepairs:
    """Changes of the policy by which one evaluation was made (`planner.Repairs`)."""

    def __init__(self, world: World, *, toggles: bool) -> None:
        self._world = world
        self._toggles = toggles

    def weight(self, atoms: Atoms) -> float:
        """Return the sum of what each change weighs; infinite where two contradict each other."""
        ways: dict[str, set[tuple[int, Value]]] = {}
        total = 0.0
        for atom in atoms:
            if isinstance(atom, _Setting):
                ways.setdefault(atom.key, set()).add((atom.direction, atom.value if not atom.direction else ""))
            else:
                total += _TOGGLE if isinstance(atom, _Off) else _TERM
        return float("inf") if any(len(found) > 1 for found in ways.values()) else total + _SETTING * len(ways)

    def satisfy(self, fact: EncodedFact, wants: Sequence[Want]) -> tuple[EncodedFact, Atoms] | None:
        """See `planner.Repairs`: the settings that the failed tests read are moved to what was measured."""
        atoms = set()
        for test, _ in wants:
            value = fact[test.position + 1]
            moved = {"gte": (value, -1), "gt": (value - 1, -1), "lte": (value, 1), "lt": (value + 1, 1), "eq": (value, 0)}
            atom = self._setting(fact[0], test, *moved[test.op]) if test.op in moved else None
            if atom is None:
                return None
            atoms.add(atom)
        return fact, frozenset(atoms)

    def spoil(self, fact: EncodedFact, want: Want) -> Atoms | None:
        """See `planner.Repairs`."""
        test, _ = want
        value = fact[test.position + 1]
        moved = {"gte": (value + 1, 1), "gt": (value, 1), "lte": (value - 1, -1), "lt": (value, -1)}
        atom = self._setting(fact[0], test, *moved[test.op]) if test.op in moved else None
        return None if atom is None else frozenset({atom})

    def _setting(self, type_index: int, test: Test, value: int, direction: int) -> _Setting | None:
        domain = self._world.domain(type_index, test.position)
        if not test.setting or domain is None:
            return None
        now = self._world.run.gate.bundle.settings[test.setting].value
        if domain.kind in {"symbol", "id"}:
            return _Setting(test.setting, self._world.run.interner.name(value), 0) if isinstance(now, str) else None
        if domain.kind == "flag" or not domain.minimum <= value <= domain.maximum:
            return None
        exact = Decimal(value).scaleb(-domain.scale)
        return _Setting(test.setting, exact if isinstance(now, Decimal) else int(exact), direction)

    def remove(self, fact: EncodedFact) -> Atoms | None:
        """See `planner.Repairs`: what a lexicon finds in a text is gone without the patterns that find it."""
        program, name = self._world.program, self._world.run.interner.name
        if program.types[fact[0]].name != "hits" or fact not in self._world.measured:
            return None
        return frozenset({_Term(name(fact[1]), name(fact[2]))})

    def add(self, pattern: Pattern, wants: Sequence[Want]) -> tuple[EncodedFact, Atoms] | None:  # noqa: ARG002 - `Repairs`
        """Return nothing: no policy brings a fact about."""
        return None

    def silence(self, rule: Rule) -> Atoms | None:
        """See `planner.Repairs`."""
        return frozenset({_Off(rule.ruleset)}) if self._toggles else None


class Policy(NamedTuple):
    """A changed policy: settings by key, rule sets switched off, and lexicon patterns `(lexicon, group, pattern)` left out."""

    settings: tuple[tuple[str, Value], ...] = ()
    off: tuple[str, ...] = ()
    dropped: tuple[tuple[str, str, str], ...] = ()

    def then(self, world: World, atoms: Iterable[Atom]) -> Policy:
        """Return these changes and, on top of them, `atoms`, which speak of the policy as `world` has it."""
        settings, off, dropped = dict(self.settings), set(self.off), set(self.dropped)
        moved: dict[str, tuple[int, Value]] = {}
        for atom in atoms:
            if isinstance(atom, _Off):
                off.add(atom.ruleset)
            elif isinstance(atom, _Term):
                text = world.run.case.reflection[atom.target]
                dropped |= set(matching(world.run.gate.bundle.lexicons[atom.lexicon], text))
            elif isinstance(atom, _Setting):
                before = moved.get(atom.key)
                moved[atom.key] = (atom.direction, atom.value if before is None else _further(before, atom.value))
        settings |= {key: value for key, (_, value) in moved.items()}
        return Policy(tuple(sorted(settings.items())), tuple(sorted(off)), tuple(sorted(dropped)))

    def parts(self) -> list[Policy]:
        """Return these changes without each one of them."""
        return [
            *(self._replace(settings=self.settings[:n] + self.settings[n + 1 :]) for n in range(len(self.settings))),
            *(self._replace(off=self.off[:n] + self.off[n + 1 :]) for n in range(len(self.off))),
            *(self._replace(dropped=self.dropped[:n] + self.dropped[n + 1 :]) for n in range(len(self.dropped))),
        ]

    @property
    def size(self) -> int:
        """How many settings, rule sets and patterns differ."""
        return len(self.settings) + len(self.off) + len(self.dropped)

    def apply(self, bundle: Bundle, *, in_place: bool = False) -> Bundle:
        """Return the bundle with these changes; its digest is one that no bundle has.

        With `in_place` rules that are off keep their numbers and stand in no stratum, which only the compiled engine heeds.
        """
        settings = {key: bundle.settings[key]._replace(value=value) for key, value in self.settings}
        rulesets = tuple(ruleset._replace(on=ruleset.on and ruleset.name not in self.off) for ruleset in bundle.rulesets)
        return bundle._replace(
            program=_program(bundle.program, dict(self.settings), frozenset(self.off), in_place),
            rulesets=rulesets,
            settings={**bundle.settings, **settings},
            lexicons=_lexicons(bundle.lexicons, self.dropped),
            generated="",
            digest=f"{bundle.digest}+{self!r}",
        )


def _further(before: tuple[int, Value], value: Value) -> Value:
    """Return of two values of a setting the one that does for both."""
    direction, held = before
    if isinstance(held, str) or isinstance(value, str):
        return value
    return min(held, value) if direction < 0 else max(held, value)


def _program(program: Program, settings: Mapping[str, Value], off: frozenset[str], in_place: bool) -> Program:
    def tests(pattern: Pattern) -> Pattern:
        return pattern._replace(tests=tuple(_moved(program, pattern, test, settings) for test in pattern.tests))

    def changed(rule: Rule) -> Rule:
        if not any(test.setting in settings for pattern in patterns_of(rule) for test in pattern.tests):
            return rule
        return rule._replace(positive=tuple(map(tests, rule.positive)), negative=tuple(map(tests, rule.negative)))

    moved = program._replace(rules=tuple(map(changed, program.rules)))
    if not in_place:
        tables = tuple(fact for fact in program.tables if program.types[fact[0]].owner not in off)
        return without(moved._replace(tables=tables), lambda rule: rule.ruleset in off)
    strata = [
        stratum._replace(rules=tuple(number for number in stratum.rules if program.rules[number].ruleset not in off))
        for stratum in program.strata
    ]
    return moved._replace(strata=tuple(strata))


def _moved(program: Program, pattern: Pattern, test: Test, settings: Mapping[str, Value]) -> Test:
    if test.setting not in settings:
        return test
    number = _encoded(program, domain_of(program, pattern.type, test.position), settings[test.setting])
    return test if number is None else test._replace(value=number)


def _encoded(program: Program, domain: Domain | None, value: Value) -> int | None:
    if isinstance(value, str):
        return program.symbols.index(value) if value in program.symbols else None
    return domain.exact(Decimal(value)) if domain is not None else None


def _lexicons(lexicons: Mapping[str, Lexicon], dropped: Sequence[tuple[str, str, str]]) -> Mapping[str, Lexicon]:
    gone = set(dropped)
    touched = {lexicon for lexicon, _, _ in dropped}
    return {
        name: lexicon
        if name not in touched
        else lexicon._replace(groups=tuple(_group(name, group, gone) for group in lexicon.groups))
        for name, lexicon in lexicons.items()
    }


def _group(lexicon: str, group: Group, gone: set[tuple[str, str, str]]) -> Group:
    kept = [place for place, pattern in enumerate(group.patterns) if (lexicon, group.id, pattern) not in gone]
    atoms = tuple(group.atoms[place] for place in kept) if group.atoms else ()
    return group._replace(patterns=tuple(group.patterns[place] for place in kept), atoms=atoms)


@functools.lru_cache(maxsize=256)
def _matching(lexicon: Lexicon, text: str) -> tuple[tuple[str, str, str], ...]:
    found = []
    for group in lexicon.groups:
        for place, pattern in enumerate(group.patterns):
            only = group._replace(patterns=(pattern,), atoms=group.atoms[place : place + 1])
            if LexiconSet({lexicon.name: lexicon._replace(groups=(only,))}).hits({"text": text}):
                found.append((lexicon.name, group.id, pattern))
    return tuple(found)


def matching(lexicon: Lexicon, text: str) -> tuple[tuple[str, str, str], ...]:
    """Return the patterns of a lexicon that find something in `text`, as `(lexicon, group, pattern)`."""
    return _matching(lexicon, text)


def allowed(bundle: Bundle, policy: Policy) -> bool:
    """Return whether the rule files let the settings have these values."""
    return all(
        _within(bundle.ruleset(key.partition(".")[0]).file, key.partition(".")[2], value) for key, value in policy.settings
    )


def _within(file: str, name: str, value: Value) -> bool:
    low, high = _bounds(file, Path(file).stat().st_mtime_ns).get(name, (None, None))
    if isinstance(value, bool | str):
        return True
    return (low is None or value >= low) and (high is None or value <= high)


@functools.lru_cache(maxsize=64)
def _bounds(file: str, _changed: int) -> Mapping[str, tuple[Decimal | None, Decimal | None]]:
    declared = load_ruleset(Path(file).read_bytes(), file, Problems())
    return {} if declared is None else {name: (one.minimum, one.maximum) for name, one in declared.settings.items()}


def nearest_of_shape(bundle: Bundle, flips: Iterable[Policy]) -> list[Policy]:
    """Return of changes of the same settings, rule sets and patterns the one that moves the settings least."""
    found: dict[object, Policy] = {}
    for policy in sorted(flips, key=lambda policy: _moved_by(bundle, policy)):
        found.setdefault((tuple(key for key, _ in policy.settings), policy.off, policy.dropped), policy)
    return sorted(found.values(), key=lambda policy: (policy.size, len(policy.off), repr(policy)))


def _moved_by(bundle: Bundle, policy: Policy) -> Decimal:
    total = Decimal(0)
    for key, value in policy.settings:
        now = bundle.settings[key].value
        if not isinstance(now, str) and not isinstance(value, str):
            total += abs(Decimal(value) - Decimal(now)) / (abs(Decimal(now)) + 1)
    return total


def option_texts(policy: Policy) -> list[str]:
    """Return the options of the command line that make the same change, as far as there are any."""
    return [*(f"--set {key}={show(value)}" for key, value in policy.settings), *(f"--disable {name}" for name in policy.off)]
