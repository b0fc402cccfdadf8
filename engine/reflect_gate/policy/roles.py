"""Which rules decide, which only look on, and which are off; and what a rule was called before.

Rules decide unless they are experimental or a bundle switches them off one by one. An experimental rule decides where a bundle or
an option promotes it; else it looks on: it is no part of the program that decides, so nothing that it derives can reach a rule
that does. Names of before are understood wherever a rule is named, with a notice that says the new name.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from ..errors import Source, did_you_mean
from .bundle import Notice
from .checked import CheckedRule, CheckedSet
from .parsed import BundleDecl, RuleFile, RuleOp, RuleRef
from .problems import Problems
from .source import ScalarNode
from .values import KEBAB

__all__ = [
    "EVERY",
    "Roles",
    "beside",
    "deciding",
    "deprecations",
    "given_refs",
    "old_names",
    "resolve_roles",
    "rule_ref",
]

EVERY: Final = "all"
"""What `--enable-experimental` takes for every experimental rule of the bundle."""

_RULE: Final = re.compile(rf"(?P<ruleset>{KEBAB.pattern})/(?P<rule>{KEBAB.pattern})")

Role: TypeAlias = Literal["decides", "looks-on", "off"]


@dataclasses.dataclass(frozen=True, slots=True)
class Roles:
    """What a bundle makes of single rules, by `ruleset/rule`; `renamed` maps old names to live ones."""

    off: frozenset[str] = frozenset()
    promoted: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    notices: tuple[Notice, ...] = ()

    def of(self, name: str, maturity: str) -> Role:
        """Return what becomes of a rule."""
        if name in self.off:
            return "off"
        return "looks-on" if maturity == "experimental" and name not in self.promoted else "decides"


def deciding(checked: CheckedSet, roles: Roles) -> CheckedSet:
    """Return a rule set with the rules that decide, and no others."""
    return _kept(checked, roles, {"decides"})


def beside(checked: CheckedSet, roles: Roles) -> CheckedSet:
    """Return a rule set with the rules that decide and those that look on."""
    return _kept(checked, roles, {"decides", "looks-on"})


def _kept(checked: CheckedSet, roles: Roles, wanted: set[Role]) -> CheckedSet:
    def kept(rule: CheckedRule) -> bool:
        return roles.of(rule.name, rule.maturity) in wanted

    return dataclasses.replace(checked, rules=tuple(filter(kept, checked.rules)))


def old_names(files: Iterable[RuleFile]) -> dict[str, str]:
    """Return the live name of each old one, both as `ruleset/rule`."""
    return {
        f"{file.name}/{old.text}": f"{file.name}/{rule.id}" for file in files for rule in file.rules for old in rule.renamed_from
    }


def deprecations(files: Iterable[RuleFile], off: frozenset[str] = frozenset()) -> Iterator[Notice]:
    """Yield what is to be said of deprecated rules that are not off."""
    for file in files:
        for rule in file.rules:
            name = f"{file.name}/{rule.id}"
            if rule.maturity == "deprecated" and name not in off:
                after = f": use `{file.name}/{rule.replaced_by.text}`" if rule.replaced_by else ", and no rule replaces it"
                yield Notice("policy-deprecated", f"rule `{name}` is deprecated{after}", rule.source)


def rule_ref(scalar: ScalarNode, op: RuleOp, problems: Problems) -> RuleRef | None:
    """Return the rule that `ruleset/rule` refers to, `None` with a problem where it does not."""
    if _RULE.fullmatch(scalar.text):
        return RuleRef(op, scalar.text, scalar.source)
    problems.add("policy-name", f"`{scalar.text[:80]}` must be a rule: `ruleset/rule`", scalar.source)
    return None


def given_refs(names: Sequence[str], op: RuleOp, option: str, problems: Problems) -> list[RuleRef]:
    """Return the rules among what an option names."""
    nodes = [ScalarNode(name, True, Source(option)) for name in sorted(set(names)) if "/" in name]
    return [ref for node in nodes if (ref := rule_ref(node, op, problems))]


class _Names:
    """Looks rules up by the names of the bundle's files."""

    def __init__(self, files: Mapping[str, RuleFile], unread: frozenset[str], problems: Problems) -> None:
        self._files = files
        self._unread = unread
        self._problems = problems
        self.live = {f"{file.name}/{rule.id}": rule for file in files.values() for rule in file.rules}
        self.renamed = old_names(files.values())
        self.notices: list[Notice] = []

    def look_up(self, ref: RuleRef) -> str:
        """Return the live name of a rule, empty with a problem where there is none."""
        if ref.name in self.live:
            return ref.name
        now = self.renamed.get(ref.name)
        if now is not None:
            self.notices.append(Notice("policy-old-name", f"rule `{ref.name}` is now called `{now}`", ref.source))
            return now
        ruleset = ref.name.partition("/")[0]
        file = self._files.get(ruleset)
        # What could not be read is told already, and what seems missing may stand there.
        if ruleset in self._unread or (file is not None and file.broken_rules):
            return ""
        near = did_you_mean(ref.name, self.live)
        self._problems.add("policy-unknown-rule", f"the bundle has no rule `{ref.name}`{near}", ref.source)
        return ""

    def experimental(self, ruleset: str) -> list[str]:
        """Return the experimental rules of a rule set, of all where it is empty."""
        prefix = f"{ruleset}/" if ruleset else ""
        return [name for name, rule in self.live.items() if rule.maturity == "experimental" and name.startswith(prefix)]


def resolve_roles(
    chain: Sequence[BundleDecl],
    files: Mapping[str, RuleFile],
    unread: frozenset[str],
    enable: Sequence[str],
    disable: Sequence[str],
    experimental: Sequence[str],
    problems: Problems,
) -> Roles:
    """Return what a chain of bundles, and then the options, make of single rules.

    Args:
        chain: bundles, the root first; a bundle overrides the one that it extends.
        files: the rule sets of the bundle.
        unread: those whose files could not be read; their rules are not reported as unknown.
        enable: what `--enable` names, rule sets among it.
        disable: what `--disable` names.
        experimental: what is promoted: rules, rule sets, or `all`.
        problems: takes every fault.
    """
    names = _Names(files, unread, problems)
    given = [
        *given_refs(enable, "enable", "--enable", problems),
        *given_refs(disable, "disable", "--disable", problems),
        *_promotions(experimental, names, files, problems),
    ]
    off: set[str] = set()
    promoted: set[str] = set()
    for layer in [*(bundle.rules for bundle in chain), given]:
        said: dict[tuple[str, bool], str] = {}
        for ref in layer:
            name = names.look_up(ref)
            if not name:
                continue
            about = (name, ref.op == "experimental")
            if said.setdefault(about, ref.op) != ref.op:
                problems.add("policy-conflict", f"rule `{name}` is both enabled and disabled", ref.source)
            _apply(ref, name, off, promoted)
            if ref.op == "experimental" and names.live[name].maturity != "experimental":
                message = f"rule `{name}` is {names.live[name].maturity}, so promoting it changes nothing"
                names.notices.append(Notice("policy-not-experimental", message, ref.source))
    return Roles(frozenset(off), frozenset(promoted), names.renamed, tuple(names.notices))


def _apply(ref: RuleRef, name: str, off: set[str], promoted: set[str]) -> None:
    if ref.op == "disable":
        off.add(name)
    elif ref.op == "enable":
        off.discard(name)
    else:
        promoted.add(name)


def _promotions(
    experimental: Sequence[str], names: _Names, files: Mapping[str, RuleFile], problems: Problems
) -> Iterator[RuleRef]:
    """Yield the rules that `--enable-experimental` names: one, those of a rule set, or every one."""
    source = Source("--enable-experimental")
    yield from given_refs(experimental, "experimental", source.file, problems)
    for text in sorted(set(experimental)):
        if "/" in text:
            continue
        if text != EVERY and text not in files:
            near = did_you_mean(text, [EVERY, *files])
            message = f"`{text[:80]}` must be `ruleset/rule`, a rule set of the bundle, or `{EVERY}`{near}"
            problems.add("policy-unknown-ruleset", message, source)
            continue
        for name in names.experimental("" if text == EVERY else text):
            yield RuleRef("experimental", name, source)
