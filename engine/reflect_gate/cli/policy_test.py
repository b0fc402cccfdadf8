"""`reflect-gate policy test`: run the cases beside the rules, and measure what they cover."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import click

from .._canonical import canonical_bytes
from ..errors import ReflectGateError
from ..report._paint import Paint
from ..report.cases import cases_text, document, exit_of, github_text, sarif_document, tap_text
from ._options import examples, format_option, output_option, policies_option
from ._output import INTERRUPTED, INVALID, REFUSED, Sink, exit_code_of, note, open_output, report, warn

if TYPE_CHECKING:
    from pathlib import Path

    from ..policy.cases import CaseResult
    from ..policy.coverage import Coverage

__all__ = ["percent", "test"]

_FORMATS = ("text", "json", "junit", "tap", "github", "sarif", "lcov")


class _Wanted(NamedTuple):
    """What to run and how to tell of it."""

    paths: tuple[str, ...]
    pattern: str | None
    policies: str | None
    covered: bool
    threshold: Decimal | None
    annotate: bool
    format: str
    output: str | None


@click.command
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@click.option(
    "--run",
    "pattern",
    metavar="PATTERN",
    help="Run only cases whose `ruleset/case`, or a rule that they try, matches: a glob, or a regular expression as /…/.",
)
@policies_option
@click.option("--coverage", "covered", is_flag=True, help="Measure which rules, conditions and thresholds the cases try.")
@click.option("--threshold", metavar="N", help="Fail unless N per cent of the rules and of the conditions are covered.")
@click.option("--annotate", is_flag=True, help="Print the rule files with their coverage beside each line.")
@click.option("--watch", is_flag=True, help="Run again whenever a policy file changes, until interrupted.")
@format_option(*_FORMATS)
@output_option
@examples(
    "reflect-gate policy test",
    "reflect-gate policy test rules/grounding.yaml --run 'grounding/unsupported-*'",
    "reflect-gate policy test --coverage --threshold 95",
    "reflect-gate policy test --format junit -o report.xml",
)
def test(  # noqa: PLR0913, PLR0917 - click hands over one argument an option
    paths: tuple[str, ...],
    pattern: str | None,
    policies: str | None,
    covered: bool,
    threshold: str | None,
    annotate: bool,
    watch: bool,
    format_: str,
    output: str | None,
) -> int:
    """Run the cases that stand beside the rules.

    PATH is a case file, a rule file, a lexicon or a folder; without one, the folders of the policies in force. A failure shows
    what was expected and what came out, which rules fired on what, and why a rule was silent that should have fired. Exit code 5
    when a case fails or the coverage is below the threshold, 3 when something could not be run, which includes a selection
    without any case.
    """
    limit = percent(threshold)
    measured = covered or annotate or limit is not None or format_ == "lcov"
    if measured and format_ not in {"text", "json", "lcov"}:
        raise click.UsageError(f"coverage is printed as text, json or lcov, not as {format_}")
    if annotate and format_ != "text":
        raise click.UsageError("--annotate prints text")
    wanted = _Wanted(paths, pattern, policies, measured, limit, annotate, format_, output)
    return _watched(wanted) if watch else _once(wanted)


def percent(given: str | None) -> Decimal | None:
    """Return what `--threshold` says; a usage error where it is no share in per cent."""
    if given is None:
        return None
    try:
        number = Decimal(given)
    except ArithmeticError:
        number = Decimal(-1)
    if not 0 <= number <= 100:
        raise click.UsageError(f"'--threshold' is a number from 0 to 100, not '{given}'")
    return number


def _once(wanted: _Wanted) -> int:
    from ..policy.cases import run_cases
    from ._policies import case_folders

    where: Sequence[str | Path] = wanted.paths or case_folders(wanted.policies)
    results = run_cases(where, wanted.policies, wanted.pattern, lambda notice: warn(ReflectGateError(*notice)))
    code = exit_of(results)
    found = None
    if wanted.covered and code != INVALID:
        from ..policy.coverage import coverage

        found = coverage(where, wanted.policies, wanted.pattern)
    with open_output(wanted.output) as sink:
        _write(results, found, wanted, sink)
    below = found.below(wanted.threshold) if found is not None and wanted.threshold is not None else []
    if below:
        note(
            f"coverage of {' and '.join(below)} is below {wanted.threshold} %",
            {"coverage_below": below, "threshold": str(wanted.threshold)},
        )
    return code or (REFUSED if below else code)


def _write(results: Sequence[CaseResult], found: Coverage | None, wanted: _Wanted, sink: Sink) -> None:
    if wanted.format == "json":
        told = document(results)
        if found is not None:
            from ..report.coverage import coverage_document

            told["coverage"] = coverage_document(found)
        sink.json(canonical_bytes(told) + b"\n")
    elif wanted.format == "sarif":
        sink.json(canonical_bytes(sarif_document(results)) + b"\n")
    elif wanted.format == "lcov":
        sink.text(_lcov(results, found))
    elif wanted.format == "junit":
        from ..report.junit import junit_xml

        sink.text(junit_xml(results))
    elif wanted.format == "text":
        _write_text(results, found, wanted, Paint(sink.coloured), sink)
    else:
        sink.text({"tap": tap_text, "github": github_text}[wanted.format](results))


def _lcov(results: Sequence[CaseResult], found: Coverage | None) -> str:
    """Return the trace; failures, which LCOV cannot hold, are told on stderr."""
    from ..errors import Source
    from ..report.coverage import lcov_text

    for result in results:
        if not result.passed:
            name = "/".join(part for part in (result.ruleset, result.id) if part)
            report(ReflectGateError("policy-case", f"case `{name}` fails: {result.message}", Source(result.file, result.line)))
    return lcov_text(found) if found is not None else ""


def _write_text(results: Sequence[CaseResult], found: Coverage | None, wanted: _Wanted, paint: Paint, sink: Sink) -> None:
    sink.text(cases_text(results, paint))
    if found is not None:
        from ..report.coverage import annotated, coverage_text

        sink.text("\n" + (annotated(found, paint) + "\n" if wanted.annotate else "") + coverage_text(found, paint))


def _watched(wanted: _Wanted) -> int:
    """Run at once, and again after each change; errors of a half-written policy are told and waited out."""
    from ..policy.watching import changes

    def run() -> None:
        try:
            _once(wanted)
        except ReflectGateError as error:
            report(error)
            note(f"exit code would be {exit_code_of(error)}", {"exit_code": exit_code_of(error)})

    try:
        run()
        for files in changes(lambda: _watched_paths(wanted)):
            note(f"changed: {', '.join(files[:4])}{' …' if len(files) > 4 else ''}", {"changed": files})
            run()
    except KeyboardInterrupt:
        pass
    return INTERRUPTED


def _watched_paths(wanted: _Wanted) -> list[str | Path]:
    """Return the paths named, and the policies file with its folders as far as it can be read just now."""
    from ..config import choose_policies
    from ._policies import case_folders

    policies = choose_policies(wanted.policies).path
    try:
        return [*wanted.paths, policies, *case_folders(wanted.policies)]
    except ReflectGateError:
        return [*wanted.paths, policies, policies.parent]
