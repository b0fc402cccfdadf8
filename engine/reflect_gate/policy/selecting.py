"""Which cases `--run PATTERN` selects.

A pattern is a glob over `ruleset/case` (`*` and `?` as in file names; `*` also stands for `/`), or an RE2 regular expression
between slashes, which is searched for. A glob without a slash is also matched with the part behind the slash alone. A case is
selected by its own name, and by the name of each rule that it expects something of: `--run grounding/unsupported-claim` runs what
tries that rule.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..errors import ReflectGateError
from .case_files import CaseDecl

__all__ = ["Selection", "names_of", "rules_of", "selection"]


class Selection(NamedTuple):
    """A parsed pattern; without one everything is selected. `regex` is a compiled RE2 pattern."""

    pattern: str | None
    regex: Any = None

    def may_hold(self, ruleset: str) -> bool:
        """Return whether something of this rule set or lexicon may be selected, so that its file must be read."""
        if self.pattern is None or self.regex is not None:
            return True
        head, slash, _ = self.pattern.partition("/")
        return not slash or fnmatch.fnmatchcase(ruleset, head)

    def takes(self, ruleset: str, names: Iterable[str]) -> bool:
        """Return whether one of `names` of this rule set is selected."""
        return self.pattern is None or any(self._takes(ruleset, name) for name in names)

    def _takes(self, ruleset: str, name: str) -> bool:
        whole = f"{ruleset}/{name}"
        if self.regex is not None:
            return self.regex.search(whole) is not None
        pattern = self.pattern or "*"
        return fnmatch.fnmatchcase(whole, pattern) or ("/" not in pattern and fnmatch.fnmatchcase(name, pattern))


def selection(pattern: str | None) -> Selection:
    """Return the selection of a pattern; `run-pattern` where its regular expression is none."""
    if pattern is None or not (len(pattern) > 1 and pattern[0] == pattern[-1] == "/"):
        return Selection(pattern)
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return Selection(pattern, re2.compile(pattern[1:-1], options))
    except re2.error as error:
        raise ReflectGateError("run-pattern", f"`{pattern}` is no regular expression: {error}") from None


def names_of(case: CaseDecl) -> list[str]:
    """Return the names by which a case is selected: its own, and those of the rules that it expects something of."""
    return [case.id, *rules_of(case)]


def rules_of(case: CaseDecl) -> list[str]:
    """Return the rules that a case expects something of."""
    expect = case.expect
    rules = (*(finding.rule for finding in expect.findings), *expect.fires, *expect.silent)
    return list(dict.fromkeys(rule.text for rule in rules))
