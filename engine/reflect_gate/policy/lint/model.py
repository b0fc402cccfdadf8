"""What a lint rule is: an id, a severity, a doc, and a plain function over everything that the policies say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from ...errors import Source

if TYPE_CHECKING:
    from .world import World

__all__ = ["SEVERITIES", "Edit", "Finding", "Found", "LintRule", "Severity"]

Severity: TypeAlias = Literal["error", "warning", "off"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "off")


class Edit(NamedTuple):
    """A repair: in line `line` (from 1) of `file`, `old` at `column` (from 1) becomes `new`."""

    file: str
    line: int
    column: int
    old: str
    new: str


class Found(NamedTuple):
    """What a rule's function yields.

    `subject` is what it is about, by the name that users see (`ruleset/rule`, `lexicon/group`, a file's name): exceptions of the
    configuration name it.
    """

    subject: str
    message: str
    source: Source
    edit: Edit | None = None


class LintRule(NamedTuple):
    """A named check. `doc` says what it finds, `remedy` what to do about it; both are sentences."""

    id: str
    severity: Severity
    doc: str
    remedy: str
    find: Callable[[World], Iterable[Found]]


class Finding(NamedTuple):
    """A finding as it is reported."""

    rule: str
    severity: Severity
    subject: str
    message: str
    source: Source
    edit: Edit | None
