"""Run what stands beside the rules: `rules/<ruleset>.cases.yaml` and the `cases` of each lexicon group.

A case of `facts` runs one rule set alone, its tables included, through every engine that can be had; a case of `request` runs the
whole pipeline and looks at what this rule set said in it. A case passes only when all of it agrees: the verdict or status, the
reason, the findings as a set, and what must fire or stay silent. Nothing that could not be run counts as passed: a broken file,
an unknown rule, a failing engine or an empty selection is itself a failed result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from ..errors import ReflectGateError, Source
from .bench import Bench, Shelf, summed_up, wanted
from .bundle import Notice
from .case_files import CASES_SUFFIX, CaseDecl, CasesFile, load_cases
from .lexicon_cases import CaseResult, run_lexicon_cases
from .problems import Problems
from .selecting import Selection, names_of, selection

__all__ = ["CaseResult", "case_files", "is_lexicon", "read_cases", "run_case", "run_cases"]

_IS_LEXICON: Final = re.compile(rb"^lexicon:", re.MULTILINE)
_IS_POLICIES: Final = re.compile(rb"^policies:", re.MULTILINE)


def run_cases(
    paths: Iterable[str | Path],
    policies: str | Path | None = None,
    pattern: str | None = None,
    tell: Callable[[Notice], object] = lambda _: None,
) -> list[CaseResult]:
    """Return the result of every case found at `paths`, in the order of the files.

    Args:
        paths: case files, rule files (their case file is meant), lexicon files, or folders of them; policies are passed over.
        policies: the policies file that the rules are loaded by; as for `load_bundle` where absent.
        pattern: run only the cases that it selects; see `selecting`.
        tell: told of each old name of a rule that a case file holds.

    Returns:
        At least one result; a selection without a case is a failed one, as is a file that cannot be read.
    """
    given, chosen = list(paths), selection(pattern)
    results: list[CaseResult] = []
    shelf = Shelf(policies)
    for path in case_files(given):
        results += _run_file(path, policies, chosen, shelf, tell)
    if not results:
        message = f"`{pattern}` selects no case" if pattern else "no case was found"
        results.append(CaseResult("", "", False, message, ", ".join(str(path) for path in given), 0))
    return results


def case_files(paths: Iterable[str | Path]) -> list[Path]:
    """Return the files to run, each once, in the order in which they were named."""
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        listed = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
        for file in listed:
            meant = _beside(file) if _has_cases_beside(file) else file
            found.setdefault(meant.resolve(), meant)
    return list(found.values())


def is_lexicon(data: bytes) -> bool:
    """Return whether a policy file holds a lexicon."""
    return bool(_IS_LEXICON.search(data))


def read_cases(data: bytes, file: str) -> CasesFile:
    """Return the cases that `data` holds, or raise every fault of it."""
    problems = Problems()
    cases = load_cases(data, file, problems)
    problems.stop_if_any()
    if cases is None:
        raise ReflectGateError("policy-shape", "the file holds no cases", Source(file))
    return cases


def run_case(bench: Bench, case: CaseDecl) -> CaseResult:
    """Return how `case` ended; whatever stops it from running fails it."""
    ruleset, file, line = bench.cases.ruleset, bench.cases.file, case.source.line
    try:
        judged = bench.run(case)
    except ReflectGateError as error:
        # With the place of each fault: it may be in a rule file, far from the case that it stops.
        message = "; ".join(map(str, error.errors))
        return CaseResult(ruleset, case.id, False, message, file, line)
    if not judged.wrong:
        return CaseResult(ruleset, case.id, True, "", file, line)
    return CaseResult(
        ruleset,
        case.id,
        False,
        "; ".join(judged.wrong),
        file,
        line,
        expected=wanted(case),
        actual=summed_up(judged.seen),
        firings=judged.firings,
        near=judged.near,
    )


def _beside(path: Path) -> Path:
    return path.with_name(path.stem + CASES_SUFFIX)


def _has_cases_beside(path: Path) -> bool:
    return not path.name.endswith(CASES_SUFFIX) and _beside(path).is_file()


def _run_file(
    path: Path, policies: str | Path | None, chosen: Selection, shelf: Shelf, tell: Callable[[Notice], object]
) -> list[CaseResult]:
    name = path.name.removesuffix(CASES_SUFFIX).removesuffix(".yaml")
    if not chosen.may_hold(name):
        return []
    try:
        data = path.read_bytes()
    except OSError as error:
        return [CaseResult(name, "", False, f"the file cannot be read: {(error.strerror or 'unknown').lower()}", str(path), 0)]
    if _IS_POLICIES.search(data):
        return []
    if not is_lexicon(data) and not path.name.endswith(CASES_SUFFIX):
        return [CaseResult(name, "", False, f"there is no `{name}{CASES_SUFFIX}`: a rule set needs cases", str(path), 1)]
    try:
        if is_lexicon(data):
            results = run_lexicon_cases(data, str(path), policies)
            return [result for result in results if chosen.takes(name, [result.id])]
        bench = Bench(read_cases(data, str(path)), policies, shelf)
        for notice in bench.notices:
            tell(notice)
        selected = [case for case in bench.cases.cases if chosen.takes(name, [*names_of(case), *bench.old_names(case)])]
        return [run_case(bench, case) for case in selected]
    except ReflectGateError as error:
        return [_broken(name, fault, path) for fault in error.errors]


def _broken(name: str, error: ReflectGateError, path: Path) -> CaseResult:
    source = error.source or Source(str(path))
    return CaseResult(name, "", False, f"{error.message} [{error.code}]", source.file, source.line)
