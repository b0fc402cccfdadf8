"""A pytest plugin that runs policy cases: `pytest --reflect-gate-policies PATH` collects every `*.cases.yaml` as tests.

pytest loads this module wherever the package is installed, so it imports nothing of the gate until the option is given. `PATH` is
the policies file, or its folder. The case files are those among pytest's arguments, as any test file is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .policy.bench import Bench
    from .policy.case_files import CaseDecl
    from .policy.cases import CaseResult

__all__ = ["PolicyCase", "PolicyCases", "pytest_addoption", "pytest_collect_file"]

OPTION = "--reflect-gate-policies"
_SUFFIX = ".cases.yaml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that switches the plugin on."""
    group = parser.getgroup("reflect-gate", "policy cases of reflect-gate")
    group.addoption(
        OPTION,
        metavar="PATH",
        default=None,
        help="collect *.cases.yaml and run them by this policies file (or its folder)",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> PolicyCases | None:
    """Collect a case file where the option was given."""
    if not file_path.name.endswith(_SUFFIX) or parent.config.getoption(OPTION) is None:
        return None
    made: PolicyCases = PolicyCases.from_parent(parent, path=file_path)
    return made


class PolicyError(Exception):
    """Why a case file could not be read, or a case failed; shown without a Python traceback."""


class PolicyCases(pytest.File):
    """A case file."""

    def collect(self) -> Iterator[PolicyCase]:
        """Yield its cases; a file that cannot be read is an error of the collection."""
        from .errors import ReflectGateError
        from .policy.bench import Bench
        from .policy.cases import read_cases

        try:
            cases = read_cases(self.path.read_bytes(), str(self.path))
        except ReflectGateError as error:
            raise PolicyError("\n".join(map(str, error.errors))) from None
        bench = Bench(cases, self.config.getoption(OPTION))
        for case in cases.cases:
            yield PolicyCase.from_parent(self, name=case.id, bench=bench, case=case)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ARG002 - pytest's name
        """Show a fault of the file as it is."""
        return str(excinfo.value) if isinstance(excinfo.value, PolicyError) else super().repr_failure(excinfo)


class PolicyCase(pytest.Item):
    """One case."""

    def __init__(self, *, bench: Bench, case: CaseDecl, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._bench = bench
        self._case = case

    def runtest(self) -> None:
        """Run the case; what differs, or whatever stops it from running, fails it."""
        from .policy.cases import run_case

        result = run_case(self._bench, self._case)
        if not result.passed:
            raise PolicyError("\n".join(_lines(result)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show what was expected, what came out and what fired."""
        return str(excinfo.value) if isinstance(excinfo.value, PolicyError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place of the case: its file and its line, from 0."""
        return self.path, self._case.source.line - 1, f"{self._bench.cases.ruleset}/{self.name}"


def _lines(result: CaseResult) -> Iterable[str]:
    from .report._safe import plain
    from .report.cases import told

    yield f"{plain(result.file)}:{result.line}: {plain(result.message)}"
    yield from told(result)
