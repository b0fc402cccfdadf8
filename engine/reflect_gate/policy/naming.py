"""Old names in case files: read as the live ones, with a notice for each place."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

from .bundle import Notice
from .case_files import CaseDecl, CasesFile, Expectation
from .source import ScalarNode

__all__ = ["Renamed", "with_live_names"]


class Renamed(NamedTuple):
    """A case file with live names, and what is to be said of the old ones."""

    cases: CasesFile
    notices: tuple[Notice, ...]


def with_live_names(cases: CasesFile, names: Mapping[str, str]) -> Renamed:
    """Return `cases` with every old name of a rule replaced.

    Args:
        cases: a case file as written.
        names: live names by old ones, both as `ruleset/rule`.
    """
    prefix = f"{cases.ruleset}/"
    own = {old.removeprefix(prefix): now.removeprefix(prefix) for old, now in names.items() if old.startswith(prefix)}
    if not own:
        return Renamed(cases, ())
    notices: list[Notice] = []

    def live(node: ScalarNode) -> ScalarNode:
        now = own.get(node.text)
        if now is None:
            return node
        notices.append(Notice("policy-old-name", f"rule `{node.text}` is now called `{now}`", node.source))
        return dataclasses.replace(node, text=now)

    def expectation(expect: Expectation) -> Expectation:
        findings = tuple(dataclasses.replace(finding, rule=live(finding.rule)) for finding in expect.findings)
        return dataclasses.replace(
            expect, findings=findings, fires=tuple(map(live, expect.fires)), silent=tuple(map(live, expect.silent))
        )

    def case(declared: CaseDecl) -> CaseDecl:
        return dataclasses.replace(declared, expect=expectation(declared.expect))

    renamed = dataclasses.replace(cases, cases=tuple(map(case, cases.cases)))
    return Renamed(renamed, tuple(notices))
