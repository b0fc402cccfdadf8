"""What the three kinds of policy file say, each part with its place, before anything is looked up in another file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from ..config import Limits
from ..errors import Source
from .model import Maturity, Operator
from .source import ScalarNode
from .values import Value

__all__ = [
    "BundleDecl",
    "ColumnsDecl",
    "DeriveDecl",
    "GroupDecl",
    "HeadDecl",
    "LexiconFile",
    "LexiconOverride",
    "ModelDecl",
    "ModelsDecl",
    "PatternDecl",
    "PoliciesFile",
    "PriceDecl",
    "RuleDecl",
    "RuleFile",
    "RuleOp",
    "RuleRef",
    "RulesetRef",
    "SettingDecl",
    "SettingOverride",
    "TableDecl",
    "TestDecl",
]


@dataclass(frozen=True, slots=True)
class SettingDecl:
    """A setting that a rule set declares; `use` says whether its rules or the Python of its stage read it."""

    name: str
    default: Value
    doc: str
    minimum: Decimal | None
    maximum: Decimal | None
    use: Literal["rules", "python"]
    source: Source


RuleOp: TypeAlias = Literal["enable", "disable", "experimental"]
"""What a bundle or an option does with a single rule; `experimental` lets an experimental one decide."""

ColumnsDecl: TypeAlias = tuple[tuple[ScalarNode, ScalarNode], ...]
"""Field names with their domain names."""


@dataclass(frozen=True, slots=True)
class TableDecl:
    """Static facts: each row maps a column's name to its cell."""

    name: str
    doc: str
    columns: ColumnsDecl
    rows: tuple[tuple[Source, Mapping[str, ScalarNode]], ...]
    source: Source


@dataclass(frozen=True, slots=True)
class DeriveDecl:
    """A fact type that the rules of one rule set derive."""

    name: str
    columns: ColumnsDecl
    source: Source


@dataclass(frozen=True, slots=True)
class TestDecl:
    """One condition: a scalar, or the list of `in`."""

    field: ScalarNode
    op: Operator
    value: ScalarNode | tuple[ScalarNode, ...]


@dataclass(frozen=True, slots=True)
class PatternDecl:
    """One entry of `when`; `alias` is empty where it has none."""

    type: str
    alias: str
    negated: bool
    tests: tuple[TestDecl, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class HeadDecl:
    """One entry of `then`."""

    type: str
    fields: tuple[tuple[ScalarNode, ScalarNode], ...]
    source: Source


@dataclass(frozen=True, slots=True)
class RuleDecl:
    """A rule as written.

    `broken` when a part of it could not be read, so that what seems missing may only be misspelt. `since` is the version of the
    rule set that brought it, `renamed_from` its ids of before, `replaced_by` the rule to be used in place of a deprecated one.
    """

    id: str
    doc: str
    when: tuple[PatternDecl, ...]
    then: tuple[HeadDecl, ...]
    source: Source
    broken: bool
    maturity: Maturity = "stable"
    since: ScalarNode | None = None
    renamed_from: tuple[ScalarNode, ...] = ()
    replaced_by: ScalarNode | None = None


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A rule set as written.

    `attempted` holds every name under `settings`, `tables` and `derive`, also of those that could not be read; `broken_rules`
    tells whether a rule could not be read: what looks unknown or unused is then not reported a second time.
    """

    name: str
    version: str
    stage: ScalarNode
    doc: str
    neutral: ScalarNode
    settings: Mapping[str, SettingDecl]
    tables: Mapping[str, TableDecl]
    derive: Mapping[str, DeriveDecl]
    rules: tuple[RuleDecl, ...]
    file: str
    source: Source
    attempted: frozenset[str]
    broken_rules: bool


@dataclass(frozen=True, slots=True)
class GroupDecl:
    """Patterns of one meaning, with the texts that its cases say they hit and miss."""

    id: str
    doc: str
    patterns: tuple[ScalarNode, ...]
    hit: tuple[ScalarNode, ...]
    miss: tuple[ScalarNode, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class LexiconFile:
    """A lexicon as written."""

    name: str
    version: str
    doc: str
    groups: Mapping[str, GroupDecl]
    file: str
    source: Source


@dataclass(frozen=True, slots=True)
class RulesetRef:
    """A rule set that a bundle names; `pin` is the beginning of the version that it must have, or empty."""

    name: str
    pin: str
    source: Source


@dataclass(frozen=True, slots=True)
class RuleRef:
    """A single rule that a bundle names, as `ruleset/rule`, and what becomes of it."""

    op: RuleOp
    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class SettingOverride:
    """`set … to …` of a bundle, or a `--set`; `key` is `ruleset.setting`."""

    key: str
    value: Value
    reason: str
    owner: str
    expires: str
    source: Source


@dataclass(frozen=True, slots=True)
class LexiconOverride:
    """One change of one group of a lexicon."""

    lexicon: str
    group: str
    op: Literal["append", "remove", "replace"]
    patterns: tuple[ScalarNode, ...]
    reason: str
    owner: str
    expires: str
    source: Source


@dataclass(frozen=True, slots=True)
class BundleDecl:
    """A bundle as written; `rulesets` and `extends` exclude each other."""

    name: str
    doc: str
    extends: str
    rulesets: tuple[RulesetRef, ...]
    enable: tuple[RulesetRef, ...]
    disable: tuple[RulesetRef, ...]
    settings: tuple[SettingOverride, ...]
    lexicons: tuple[LexiconOverride, ...]
    source: Source
    rules: tuple[RuleRef, ...] = ()


@dataclass(frozen=True, slots=True)
class PriceDecl:
    """Dollars a million tokens; `cached` is what a prompt token costs that the server had in its cache."""

    input: Decimal
    cached: Decimal
    output: Decimal


@dataclass(frozen=True, slots=True)
class ModelDecl:
    """One model of `models:` and how it is asked; what is `None` or empty keeps the default of `llm.settings`."""

    name: str
    doc: str
    model: str
    base_url: str
    timeout: Decimal | None
    prompt_tokens: int | None
    seed: int | None
    parameters: Mapping[str, str]
    price: PriceDecl | None
    cost_limit: Decimal | None
    source: Source


@dataclass(frozen=True, slots=True)
class ModelsDecl:
    """The key `models:` as written; `default` is empty where there is none."""

    default: str
    known: Mapping[str, ModelDecl]


@dataclass(frozen=True, slots=True)
class PoliciesFile:
    """`policies.yaml` as written; `rules` and `lexicons` are folders relative to it, or empty for the shipped ones."""

    default: str
    rules: str
    lexicons: str
    mode: Literal["durable", "compiled"]
    cross_check: bool
    limits: Limits
    bundles: Mapping[str, BundleDecl]
    file: str
    models: ModelsDecl
