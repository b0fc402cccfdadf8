"""Which version the second bundle's rule sets should have, by what changed: the rules of the suggestion, and its reasons.

- major: a decision can get milder, whatever shows it: a change that may move a verdict that way, a decision of the corpus that
  did, another neutral verdict, or a reason that no rule gives any more. What is not shown to be otherwise counts as this.
- minor: verdicts can only get stricter, a reason is new, or something that is in force changed without moving a verdict.
- patch: only text changed: docs, comments, layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from ..policy.bundle import Bundle
from .behaviour import Flip
from .changes import Change, aligned, rule_meaning
from .sides import Side
from .textual import FileChange

__all__ = ["Bump", "Suggestion", "suggestions"]

Bump: TypeAlias = Literal["none", "patch", "minor", "major"]
_OWN: Final = frozenset({"rule", "maturity", "table", "derive", "neutral"})
_LEVELS: Final[tuple[Bump, ...]] = ("none", "patch", "minor", "major")


class Suggestion(NamedTuple):
    """A version bump: of a rule set, or of the whole (`ruleset` empty).

    Attributes:
        ruleset: the rule set.
        before: its version in the first bundle, empty where it is not there or for the whole.
        after: its version in the second one.
        bump: the least that it should be.
        enough: whether the version moved by at least that; always for the whole.
        why: the reasons for the level.
    """

    ruleset: str
    before: str
    after: str
    bump: Bump
    enough: bool
    why: tuple[str, ...]


def suggestions(
    before: Side, after: Side, changed: Sequence[Change], files: Sequence[FileChange], flips: Sequence[Flip]
) -> list[Suggestion]:
    """Return the suggestion for the whole, then one for each rule set of both sides that changed."""
    gone = _reasons(before.bundle) - _reasons(after.bundle)
    new = _reasons(after.bundle) - _reasons(before.bundle)
    whole = list(_levels(changed, flips, gone, new))
    if files:
        whole.append(("patch", "text changed"))
    found = [_suggestion("", "", "", whole)]
    touched = {file.path for file in files}
    for name in sorted(before.parts.rulesets.keys() & after.parts.rulesets.keys()):
        # Whether a rule set is on is said by the bundle, and what a bundle sets is no part of the rule set's version.
        own = [change for change in changed if change.ruleset == name and change.kind in _OWN and _by_file(before, after, change)]
        own += [change for change in changed if change.kind == "setting" and _moved_default(before, after, name, change)]
        own_flips = [flip for flip in flips if flip.cause and any(change in own for change in flip.cause.changes)]
        levels = list(_levels(own, own_flips, _of(gone, name), _of(new, name))) if own else []
        if f"rules/{name}.yaml" in touched:
            levels.append(("patch", "text changed"))
        if levels:
            versions = before.parts.rulesets[name].version, after.parts.rulesets[name].version
            found.append(_suggestion(name, *versions, levels))
    return found


def _by_file(before: Side, after: Side, change: Change) -> bool:
    """Return whether the rule set's file makes a change, and not what a bundle does with single rules."""
    if change.kind not in {"rule", "maturity"}:
        return True
    ruleset, _, rule_id = change.name.partition("/")
    sides = aligned(*({rule.id: rule for rule in side.parts.rulesets[ruleset].rules} for side in (before, after)))
    first, second = (rules.get(rule_id) for rules in sides)
    if first is None or second is None:
        return True
    return (rule_meaning(first), first.maturity) != (rule_meaning(second), second.maturity)


def _moved_default(before: Side, after: Side, ruleset: str, change: Change) -> bool:
    owner, _, name = change.name.partition(".")
    if owner != ruleset:
        return False
    old, new = before.parts.rulesets[ruleset].settings.get(name), after.parts.rulesets[ruleset].settings.get(name)
    return old is not None and new is not None and old.default != new.default


def _levels(
    changed: Iterable[Change], flips: Iterable[Flip], gone: Iterable[tuple[str, str]], new: Iterable[tuple[str, str]]
) -> Iterator[tuple[Bump, str]]:
    for change in changed:
        what = f"{change.kind} {change.name}"
        if change.can in {"milder", "either"}:
            yield "major", f"{what} can make a verdict milder"
        elif change.kind == "neutral":
            yield "major", f"{what} changed"
        elif change.can == "stricter":
            yield "minor", f"{what} can make a verdict stricter"
        else:
            yield "minor", f"{what} changed"
    milder = sum(flip.way == "milder" for flip in flips)
    if milder:
        yield "major", f"{milder} decisions of the corpus got milder"
    for ruleset, reason in sorted(gone):
        yield "major", f"reason {reason} of {ruleset} is gone"
    for ruleset, reason in sorted(new):
        yield "minor", f"reason {reason} of {ruleset} is new"


def _of(reasons: Iterable[tuple[str, str]], ruleset: str) -> set[tuple[str, str]]:
    return {entry for entry in reasons if entry[0] == ruleset}


def _reasons(bundle: Bundle) -> set[tuple[str, str]]:
    program = bundle.program
    kind = program.type_index("finding")
    return {
        (rule.ruleset, program.symbols[head.values[1]])
        for rule in program.rules
        for head in rule.heads
        if head.type == kind and isinstance(head.values[1], int)
    }


def _suggestion(ruleset: str, before: str, after: str, levels: Sequence[tuple[Bump, str]]) -> Suggestion:
    bump: Bump = max((level for level, _ in levels), key=_LEVELS.index, default="none")
    why = tuple(dict.fromkeys(reason for level, reason in levels if level == bump))
    return Suggestion(ruleset, before, after, bump, not ruleset or _moved(before, after) >= _LEVELS.index(bump), why)


def _moved(before: str, after: str) -> int:
    """Return by how much a version rose, as a place in `_LEVELS`; 0 where it did not."""
    first, second = ([int(part) for part in version.split(".")] for version in (before, after))
    if second <= first:
        return 0
    return next(3 - place for place in range(3) if second[place] != first[place])
