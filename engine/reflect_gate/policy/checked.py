"""A rule set after its checks: names are looked up and values are in the form of their domains, but symbols are still text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..errors import Source, did_you_mean
from ..facts import Domain, Vocabulary
from .bundle import Setting
from .model import Join, Maturity, Operator

__all__ = [
    "CONCLUSION",
    "FINDING",
    "Atom",
    "CheckedHead",
    "CheckedPattern",
    "CheckedRule",
    "CheckedSet",
    "CheckedTest",
    "Known",
    "TypeInfo",
    "known",
    "no_verdict",
    "stage_order",
]

FINDING: Final = "finding"
CONCLUSION: Final = "conclusion"

Atom: TypeAlias = int | str
"""A constant: text for symbols and ids, an integer for the rest."""


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """A fact type as a rule sees it; `owner` is a rule set for derived types and tables, empty for the rest."""

    name: str
    owner: str
    kind: Literal["measured", "table", "derived", "finding"]
    stage: str
    fields: tuple[str, ...]
    domains: tuple[Domain, ...]


@dataclass(frozen=True, slots=True)
class CheckedTest:
    """As `model.Test`, with atoms."""

    position: int
    field: str
    op: Operator
    value: Atom | tuple[Atom, ...] | Join
    setting: str
    source: Source


@dataclass(frozen=True, slots=True)
class CheckedPattern:
    """As `model.Pattern`, with its type."""

    type: TypeInfo
    alias: str
    negated: bool
    tests: tuple[CheckedTest, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class CheckedHead:
    """As `model.Head`, with its type and atoms."""

    type: TypeInfo
    values: tuple[Atom | Join, ...]


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """As `model.Rule`, before it has a place in a program."""

    id: str
    ruleset: str
    stage: str
    doc: str
    positive: tuple[CheckedPattern, ...]
    negative: tuple[CheckedPattern, ...]
    heads: tuple[CheckedHead, ...]
    source: Source
    maturity: Maturity = "stable"

    @property
    def name(self) -> str:
        """The id that users see: `ruleset/rule`."""
        return f"{self.ruleset}/{self.id}"


@dataclass(frozen=True, slots=True)
class CheckedSet:
    """A rule set's private types, table rows and rules."""

    name: str
    stage: str
    neutral: str
    types: tuple[TypeInfo, ...]
    rows: tuple[tuple[TypeInfo, tuple[Atom, ...]], ...]
    rules: tuple[CheckedRule, ...]

    @property
    def decides(self) -> bool:
        """Whether a rule derives the neutral verdict, so that the stage can pass by what this rule set says."""
        return any(
            head.type.kind == "finding" and head.values[head.type.fields.index("verdict")] == self.neutral
            for rule in self.rules
            for head in rule.heads
        )


@dataclass(frozen=True, slots=True)
class Known:
    """What every rule set of a bundle may refer to.

    `private` tells which rule set owns a private type, so that reading another's can be explained; `settings` are the resolved
    ones by `ruleset.setting`; `stages` is the order in which facts are asserted.
    """

    vocabulary: Vocabulary
    domains: Mapping[str, Domain]
    measured: Mapping[str, TypeInfo]
    finding: TypeInfo
    stages: tuple[str, ...]
    settings: Mapping[str, Setting]
    private: Mapping[str, str]


def no_verdict(word: str, stage: str, verdicts: Sequence[str]) -> str:
    """Return the message that `word` is no verdict of `stage`."""
    choice = ", ".join(f"`{verdict}`" for verdict in verdicts)
    return f"`{word}` is no verdict of stage `{stage}`{did_you_mean(word, verdicts)} (one of {choice})"


def stage_order(vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the stages in the order in which facts are asserted: those that only measure, then those that conclude."""
    measured = dict.fromkeys(fact.stage for fact in vocabulary.facts.values())
    return (*(stage for stage in measured if stage not in vocabulary.stages), *vocabulary.stages)


def known(vocabulary: Vocabulary, lexicons: Sequence[str], settings: Mapping[str, Setting], private: Mapping[str, str]) -> Known:
    """Return what a bundle's rule sets may refer to; the domain that the vocabulary leaves empty lists the bundle's lexicons."""
    domains = {
        name: domain._replace(symbols=tuple(sorted(lexicons))) if domain.kind == "symbol" and not domain.symbols else domain
        for name, domain in vocabulary.domains.items()
    }
    measured = {
        name: TypeInfo(
            name, "", "measured", fact.stage, tuple(fact.fields), tuple(domains[field] for field in fact.fields.values())
        )
        for name, fact in vocabulary.facts.items()
    }
    columns = {"verdict": "verdict", "reason": "id", "about": "id"}
    finding = TypeInfo(FINDING, "", "finding", "", tuple(columns), tuple(domains[domain] for domain in columns.values()))
    return Known(vocabulary, domains, measured, finding, stage_order(vocabulary), settings, private)
