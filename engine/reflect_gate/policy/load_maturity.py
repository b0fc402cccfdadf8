"""The keys of a rule that tell of its life: how mature it is, since when it is there, what it was called, what replaces it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeGuard, get_args

from ..errors import did_you_mean
from .fields import Fields, as_name
from .model import Maturity
from .parsed import RuleDecl
from .problems import Problems
from .source import ListNode, ScalarNode
from .values import VERSION

__all__ = ["KEYS", "Life", "check_lives", "read_life"]

KEYS: Final = ("maturity", "since", "renamed_from", "replaced_by")

_MATURITIES: Final[tuple[Maturity, ...]] = get_args(Maturity)


class Life(NamedTuple):
    """What the keys say, as `RuleDecl` has it."""

    maturity: Maturity
    since: ScalarNode | None
    renamed_from: tuple[ScalarNode, ...]
    replaced_by: ScalarNode | None


def read_life(parts: Fields, problems: Problems) -> Life:
    """Return what a rule says of its life; a rule that says nothing is stable."""
    since, successor = parts.scalar("since"), parts.scalar("replaced_by")
    if since is not None and not VERSION.fullmatch(since.text):
        problems.add("policy-version", f"`since: {since.text[:40]}` must be `MAJOR.MINOR.PATCH`", since.source)
        since = None
    maturity = _maturity(parts, problems)
    if successor is not None and maturity != "deprecated":
        message = "`replaced_by` is said of a deprecated rule: write `maturity: deprecated` beside it"
        problems.add("policy-maturity", message, successor.source)
    return Life(maturity, since, _old_names(parts, problems), successor)


def _maturity(parts: Fields, problems: Problems) -> Maturity:
    scalar = parts.scalar("maturity")
    if scalar is None:
        return "stable"
    if _is_maturity(scalar.text):
        return scalar.text
    choice = ", ".join(f"`{word}`" for word in _MATURITIES)
    near = did_you_mean(scalar.text, _MATURITIES)
    problems.add("policy-maturity", f"`{scalar.text[:40]}` is no maturity{near} (one of {choice})", scalar.source)
    return "stable"


def _is_maturity(text: str) -> TypeGuard[Maturity]:
    return text in _MATURITIES


def _old_names(parts: Fields, problems: Problems) -> tuple[ScalarNode, ...]:
    found: dict[str, ScalarNode] = {}
    for item in parts.items("renamed_from"):
        if not as_name(item, "an old id", problems) or not isinstance(item, ScalarNode):
            continue
        if found.setdefault(item.text, item) is not item:
            problems.add("policy-duplicate", f"`{item.text}` stands twice in `renamed_from`", item.source)
    listed = parts.get("renamed_from")
    if isinstance(listed, ListNode) and not listed.items:
        problems.add("policy-shape", "`renamed_from` of a rule needs at least one id", listed.source)
    return tuple(found.values())


def check_lives(rules: Sequence[RuleDecl], version: str, problems: Problems) -> None:
    """Hold the rules of a rule set to each other: an old id is of one rule alone, and of none that is there."""
    live = {rule.id: rule for rule in rules}
    claimed: dict[str, str] = {}
    for rule in rules:
        for old in rule.renamed_from:
            if old.text in live:
                place = live[old.text].source.line
                message = f"`{rule.id}` cannot have been called `{old.text}`, which is the id of another rule (line {place})"
                problems.add("policy-renamed", message, old.source)
            elif claimed.setdefault(old.text, rule.id) != rule.id:
                message = f"`{rule.id}` and `{claimed[old.text]}` both say that they were called `{old.text}`"
                problems.add("policy-renamed", message, old.source)
        if rule.since is not None and version and _number(rule.since.text) > _number(version):
            message = f"`since: {rule.since.text}` is later than the rule set, which is {version}"
            problems.add("policy-version", message, rule.since.source)
        if rule.replaced_by is not None:
            _check_successor(rule, rule.replaced_by, live.keys(), problems)


def _check_successor(rule: RuleDecl, successor: ScalarNode, live: Iterable[str], problems: Problems) -> None:
    known = [name for name in live if name != rule.id]
    if successor.text not in known:
        near = did_you_mean(successor.text, known)
        message = f"`replaced_by` names no other rule of the rule set: `{successor.text[:80]}`{near}"
        problems.add("policy-unknown-rule", message, successor.source)


def _number(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
