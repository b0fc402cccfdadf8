"""The intermediate form: what the compiler makes of a bundle and what both engines run.

Every value is an integer. Symbols and ids are numbered by `Program.symbols` (ids that appear only at run time are numbered above
it by an `Interner`), flags are 0 or 1, counts are themselves, and scaled numbers are integers at the scale of their domain.
So no text, float or null ever reaches an engine (research: strings and floats are where rule engines disagree).

Named tuples, where nothing speaks against it, because making a data class takes a millisecond and every start makes these.
"""

# Annotations are evaluated here: as texts, each field of the tuples would be compiled at every start.
from typing import Final, Literal, NamedTuple, TypeAlias

from ..config import Limits
from ..errors import Source

__all__ = [
    "EncodedFact",
    "Firing",
    "Head",
    "Interner",
    "Join",
    "Limits",
    "Maturity",
    "Operator",
    "Pattern",
    "Program",
    "Rule",
    "Stratum",
    "Test",
    "TypeDecl",
]

Operator: TypeAlias = Literal["eq", "ne", "lt", "lte", "gt", "gte", "in"]
Maturity: TypeAlias = Literal["experimental", "stable", "deprecated"]
"""How far along a rule is: an experimental one looks on until it is promoted, a deprecated one decides and is warned about."""
EncodedFact: TypeAlias = tuple[int, ...]
"""`(type index, value of field 0, value of field 1, …)` in the order of `TypeDecl.fields`."""


class Join:
    """The value of another pattern's field: `pattern` indexes `Rule.positive`, `position` its fields.

    No tuple, which is a list of constants; no data class, whose module takes more than all of these to import.
    """

    __slots__ = ("pattern", "position")

    def __init__(self, pattern: int, position: int) -> None:
        self.pattern: Final = pattern
        self.position: Final = position

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Join) and (self.pattern, self.position) == (other.pattern, other.position)

    def __hash__(self) -> int:
        return hash((self.pattern, self.position))

    def __repr__(self) -> str:
        return f"Join(pattern={self.pattern}, position={self.position})"


class Test(NamedTuple):
    """One condition on one field. `setting` names the `ruleset.setting` that `value` came from, for explanations."""

    position: int
    field: str
    op: Operator
    value: int | tuple[int, ...] | Join
    setting: str
    source: Source


class Pattern(NamedTuple):
    """`type as alias: {tests}`; a negated pattern holds when no fact passes its tests."""

    type: int
    alias: str
    negated: bool
    tests: tuple[Test, ...]
    source: Source


class Head(NamedTuple):
    """A fact that a rule derives."""

    type: int
    values: tuple[int | Join, ...]


class Rule(NamedTuple):
    """A compiled rule. `number` is its place in `Program.rules`; `stratum` its place in `Program.strata`."""

    number: int
    id: str
    ruleset: str
    stage: str
    stratum: int
    doc: str
    positive: tuple[Pattern, ...]
    negative: tuple[Pattern, ...]
    heads: tuple[Head, ...]
    source: Source
    maturity: Maturity = "stable"

    @property
    def name(self) -> str:
        """The id that users see: `ruleset/rule`."""
        return f"{self.ruleset}/{self.id}"


class TypeDecl(NamedTuple):
    """A fact type: its fields in order, and each field's domain name. `owner` is a rule set for derived types and tables."""

    name: str
    fields: tuple[str, ...]
    domains: tuple[str, ...]
    owner: str


class Stratum(NamedTuple):
    """Rules that run to a common fixpoint; `recursive` when one of them reads what another (or itself) derives here."""

    stage: str
    rules: tuple[int, ...]
    recursive: bool


class Program(NamedTuple):
    """A compiled bundle. `tables` are the static facts, asserted before the first stage."""

    types: tuple[TypeDecl, ...]
    symbols: tuple[str, ...]
    rules: tuple[Rule, ...]
    strata: tuple[Stratum, ...]
    tables: tuple[EncodedFact, ...]
    stages: tuple[str, ...]

    def type_index(self, name: str) -> int:
        """Return the index of the fact type called `name`; `KeyError` if there is none."""
        for index, declared in enumerate(self.types):
            if declared.name == name:
                return index
        raise KeyError(name)


Firing: TypeAlias = tuple[int, tuple[EncodedFact, ...]]
"""`(rule index, the facts bound to its positive patterns in order)`; engines are compared on sets of these."""


class Interner:
    """Numbers of one evaluation: the program's symbols, and above them the ids met at run time, by first appearance."""

    __slots__ = ("_names", "_numbers", "_static")

    def __init__(self, symbols: tuple[str, ...], numbers: dict[str, int]) -> None:
        self._static = symbols
        self._numbers = numbers.copy()
        self._names: list[str] = []

    def number(self, name: str) -> int:
        """Return the number of `name`, giving it the next one if it has none."""
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = len(self._static) + len(self._names)
            self._names.append(name)
        return found

    def name(self, number: int) -> str:
        """Return the name with that number; `IndexError` if it was never given."""
        static = len(self._static)
        return self._static[number] if number < static else self._names[number - static]
