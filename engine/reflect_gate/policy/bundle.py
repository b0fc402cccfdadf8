"""A resolved bundle, and loading one: from the cache where it holds, else from YAML.

Nothing here imports a YAML reader: a warm load must cost milliseconds. What builds a bundle is imported when it is needed.
"""

# Annotations are evaluated here: as texts, each field of the tuples would be compiled at every start.
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from types import CodeType
from typing import Literal, NamedTuple, Self, TypeAlias

from ..config import Limits
from ..errors import ReflectGateError, Source, did_you_mean
from .model import Program

__all__ = [
    "Bundle",
    "Change",
    "Group",
    "Lexicon",
    "LoadRequest",
    "Notice",
    "RuleSet",
    "Setting",
    "SettingValue",
    "Trial",
]

SettingValue: TypeAlias = bool | int | Decimal | str


class RuleSet(NamedTuple):
    """A rule set of the bundle. `origin` is where it was last switched on or off.

    Switched off it says `neutral`, but only if it can say so when it is on (`decides`): the absence of a rule set that only
    refuses passes nothing, as its silence passes nothing.
    """

    name: str
    version: str
    stage: str
    on: bool
    neutral: str
    doc: str
    file: str
    origin: Source
    decides: bool


class Group(NamedTuple):
    """RE2 patterns of one meaning, sorted; `atoms` says of each what a text must hold for it to match (`policy.atoms`)."""

    id: str
    doc: str
    patterns: tuple[str, ...]
    atoms: tuple[tuple[tuple[str, ...], ...], ...] = ()


class Lexicon(NamedTuple):
    """A lexicon after the bundle's changes; groups are sorted by id."""

    name: str
    version: str
    doc: str
    groups: tuple[Group, ...]


class Setting(NamedTuple):
    """A setting's effective value, where it was written and, if it was overridden, why, by whom and until when."""

    value: SettingValue
    doc: str
    origin: Source
    reason: str | None = None
    owner: str | None = None
    expires: str | None = None


class Change(NamedTuple):
    """An override that the bundle names; `applied` is false where it has expired."""

    kind: Literal["setting", "lexicon"]
    target: str
    reason: str
    owner: str
    expires: str
    origin: Source
    applied: bool


class Notice(NamedTuple):
    """What works and is to be changed: a deprecated rule, or an old name, at the place that says it."""

    code: str
    message: str
    origin: Source


class Trial(NamedTuple):
    """What a bundle would be if its experimental rules decided; `rules` names those that only look on, as `ruleset/rule`."""

    rules: tuple[str, ...]
    digest: str
    program: Program
    rulesets: tuple[RuleSet, ...]
    generated: str | bytes | CodeType = ""


class Bundle(NamedTuple):
    """Everything that decides: compiled rules, lexicons, settings, limits, engine. Equal digests decide alike.

    `generated` is the compiled engine's Python, as text, as code or as code that `marshal` wrote, empty where none was generated;
    it follows from `program`, so it is not digested. `trial` is there where experimental rules look on; `renamed` maps old names
    of rules to live ones.
    """

    name: str
    digest: str
    as_of: str
    doc: str
    file: str
    program: Program
    rulesets: tuple[RuleSet, ...]
    lexicons: Mapping[str, Lexicon]
    settings: Mapping[str, Setting]
    changes: tuple[Change, ...]
    limits: Limits
    engine: Literal["durable", "compiled"]
    cross_check: bool
    measures: Mapping[str, str]
    generated: str | bytes | CodeType = ""
    trial: Trial | None = None
    renamed: Mapping[str, str] = {}
    notices: tuple[Notice, ...] = ()

    def ruleset(self, name: str) -> RuleSet:
        """Return the rule set called `name`, on or off; `policy-unknown-ruleset` where the bundle has none."""
        for ruleset in self.rulesets:
            if ruleset.name == name:
                return ruleset
        near = did_you_mean(name, [ruleset.name for ruleset in self.rulesets])
        raise ReflectGateError("policy-unknown-ruleset", f"bundle `{self.name}` has no rule set `{name}`{near}")

    def rulesets_of(self, stage: str) -> tuple[RuleSet, ...]:
        """Return the rule sets of a stage, on or off, by name."""
        return tuple(ruleset for ruleset in self.rulesets if ruleset.stage == stage)

    def alone(self) -> Self:
        """Return the bundle without those that look on: what is to judge often, and is asked for its decision alone."""
        return self._replace(trial=None) if self.trial else self

    def trying(self) -> Self:
        """Return the bundle in which its experimental rules decide; itself where it has none that look on."""
        if self.trial is None:
            return self
        _, digest, program, rulesets, generated = self.trial
        return self._replace(digest=digest, program=program, rulesets=rulesets, generated=generated, trial=None)

    def setting(self, key: str) -> SettingValue:
        """Return the value of `ruleset.setting`; `policy-unknown-setting` where there is none."""
        found = self.settings.get(key)
        if found is None:
            near = did_you_mean(key, self.settings)
            raise ReflectGateError("policy-unknown-setting", f"bundle `{self.name}` has no setting `{key}`{near}")
        return found.value


class LoadRequest(NamedTuple):
    """What a bundle is loaded from and with; `name` is empty for the default one."""

    name: str
    policies: Path
    set_: tuple[str, ...]
    enable: tuple[str, ...]
    disable: tuple[str, ...]
    as_of: str
    experimental: tuple[str, ...] = ()
