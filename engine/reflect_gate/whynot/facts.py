"""Changes of facts: which measured value would have had to be another, which fact should not, or should, have been measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..facts import Fact, load_vocabulary
from ..policy.model import EncodedFact, Pattern
from ..replaying import Change
from .planner import Atom, Atoms, Want
from .world import World, passing_value, spoiling_value

__all__ = ["FactRepairs", "Facts"]

_WEIGHTS: Final[Mapping[str, float]] = {"count": 1.0, "scaled": 1.0, "flag": 1.1, "symbol": 1.3, "id": 1.5}
_REMOVE: Final = 1.1
_ADD: Final = 2.0


class _Set(NamedTuple):
    """A field of a measured fact that has another value."""

    fact: EncodedFact
    position: int
    value: int


class _Remove(NamedTuple):
    """A measured fact that is not there."""

    gone: EncodedFact


class _Add(NamedTuple):
    """A fact that is there as well."""

    new: EncodedFact


class FactRepairs:
    """Changes of the facts that one evaluation measured (`planner.Repairs`)."""

    def __init__(self, world: World) -> None:
        self._world = world

    def weight(self, atoms: Atoms) -> float:
        """Return the sum of what each change weighs; infinite where two contradict each other."""
        total = 0.0
        seen: dict[object, object] = {}
        gone = {atom.gone for atom in atoms if isinstance(atom, _Remove)}
        for atom in atoms:
            if isinstance(atom, _Set):
                if seen.setdefault((atom.fact, atom.position), atom.value) != atom.value or atom.fact in gone:
                    return float("inf")
                domain = self._world.domain(atom.fact[0], atom.position)
                total += _WEIGHTS[domain.kind] if domain is not None else 1.0
            else:
                total += _REMOVE if isinstance(atom, _Remove) else _ADD
        return total

    def satisfy(self, fact: EncodedFact, wants: Sequence[Want]) -> tuple[EncodedFact, Atoms] | None:
        """See `planner.Repairs`."""
        values, atoms = list(fact), set()
        for test, needed in wants:
            value = passing_value(self._world, fact[0], test, needed, values[test.position + 1])
            if value is None or fact not in self._world.measured or not self._world.changeable(fact[0], test.position):
                return None
            values[test.position + 1] = value
            atoms.add(_Set(fact, test.position, value))
        return tuple(values), frozenset(atoms)

    def spoil(self, fact: EncodedFact, want: Want) -> Atoms | None:
        """See `planner.Repairs`."""
        test, needed = want
        if fact not in self._world.measured or not self._world.changeable(fact[0], test.position):
            return None
        value = spoiling_value(self._world, fact[0], test, needed)
        return None if value is None else frozenset({_Set(fact, test.position, value)})

    def remove(self, fact: EncodedFact) -> Atoms | None:
        """See `planner.Repairs`; what there is always one of is never removed."""
        if fact not in self._world.measured or self._world.kind(fact[0]) != "measured" or self._counted(fact[0]):
            return None
        return frozenset({_Remove(fact)})

    def _counted(self, type_index: int) -> bool:
        """Return whether there are always as many facts of a type, which the vocabulary says by `exactly`."""
        return "exactly" in load_vocabulary().facts[self._world.program.types[type_index].name].doc

    def add(self, pattern: Pattern, wants: Sequence[Want]) -> tuple[EncodedFact, Atoms] | None:
        """See `planner.Repairs`; of what there is always one, no second is added."""
        if self._counted(pattern.type) and self._world.facts.get(pattern.type):
            return None
        values = self._world.default(pattern.type)
        for test, needed in wants:
            value = passing_value(self._world, pattern.type, test, needed, values[test.position])
            if value is None:
                return None
            values[test.position] = value
        fact = (pattern.type, *values)
        return fact, frozenset({_Add(fact)})

    def silence(self, rule: object) -> Atoms | None:  # noqa: ARG002 - see `planner.Repairs`
        """Return nothing: a rule is no fact."""
        return None


class Facts(NamedTuple):
    """Facts as they are made to be: measured fact → the fact instead of it (`None` for none), and facts in addition, decoded."""

    changed: tuple[tuple[Fact, Fact | None], ...] = ()
    added: tuple[Fact, ...] = ()

    def then(self, world: World, atoms: Iterable[Atom]) -> Facts:
        """Return these changes and, on top of them, `atoms`, which speak of the facts as `world` has them."""
        sets: dict[EncodedFact, list[int]] = {}
        gone: set[EncodedFact] = set()
        changed, added = dict(self.changed), list(self.added)
        for atom in atoms:
            if isinstance(atom, _Set):
                sets.setdefault(atom.fact, list(atom.fact))[atom.position + 1] = atom.value
            elif isinstance(atom, _Remove):
                gone.add(atom.gone)
            elif isinstance(atom, _Add):
                added.append(decoded(world, atom.new))
        for fact in {*sets, *gone}:
            now = decoded(world, fact)
            new = None if fact in gone else decoded(world, tuple(sets[fact]))
            if now in added:
                added = [new if other == now else other for other in added if other != now or new is not None]  # type: ignore[misc]
                continue
            first = next((old for old, later in changed.items() if later == now), now)
            changed[first] = new
        kept = sorted(((old, new) for old, new in changed.items() if old != new), key=repr)
        return Facts(tuple(kept), tuple(sorted(set(added), key=repr)))

    def parts(self) -> list[Facts]:
        """Return these changes without each one of them, field by field: what a smaller change could be."""
        found = []
        for place, (old, new) in enumerate(self.changed):
            rest = self.changed[:place] + self.changed[place + 1 :]
            found.append(Facts(rest, self.added))
            if new is not None and _differing(old, new) > 1:
                for position, value in enumerate(old):
                    if new[position] != value:
                        back = (*new[:position], value, *new[position + 1 :])
                        found.append(Facts((*rest, (old, back)), self.added))
        found += [Facts(self.changed, self.added[:n] + self.added[n + 1 :]) for n in range(len(self.added))]
        return found

    @property
    def size(self) -> int:
        """How many values, and whole facts, differ."""
        return sum(1 if new is None else _differing(old, new) for old, new in self.changed) + len(self.added)

    def change(self) -> Change:
        """Return what makes a replay measure so."""
        instead = dict(self.changed)
        stages = load_vocabulary().facts

        def changed(stage: str, facts: list[Fact]) -> list[Fact]:
            kept = [instead.get(plain(fact), fact) for fact in facts]
            more = [fact for fact in self.added if stages[str(fact[0])].stage == stage]
            return [fact for fact in kept if fact is not None] + more

        return changed


def plain(fact: Fact) -> Fact:
    """Return a measured fact with flags as numbers, as they come back from an engine."""
    return tuple(value + 0 if isinstance(value, bool) else value for value in fact)


def _differing(old: Fact, new: Fact) -> int:
    return sum(before != after for before, after in zip(old, new, strict=True))


def decoded(world: World, fact: EncodedFact) -> Fact:
    """Return a fact with its names as text; flags and scaled values stay numbers."""
    name = world.run.interner.name
    values: list[Any] = []
    for position, value in enumerate(fact[1:]):
        domain = world.domain(fact[0], position)
        values.append(name(value) if domain is not None and domain.kind in {"symbol", "id"} else value)
    return (world.program.types[fact[0]].name, *values)
