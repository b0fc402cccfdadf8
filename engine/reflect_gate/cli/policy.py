"""`reflect-gate policy`: show, check and test the policies."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from .._canonical import canonical_bytes
from ..errors import raise_all
from ..report._paint import Paint
from ..report._safe import plain
from ..report.junit import junit_xml
from ..report.policy import bundle_text
from ._app import LazyGroup
from ._options import BundleChoice, bundle_options, examples, format_option, output_option, policies_option
from ._output import INVALID, OK, REFUSED, Sink, open_output, warn

if TYPE_CHECKING:
    from ..policy.cases import CaseResult

__all__ = ["policy"]

TEST_SCHEMA = "urn:reflect-gate:schema:policy-test:1"


@click.group(cls=LazyGroup, no_args_is_help=False)
def policy() -> None:
    """Show, check and test the policies.

    A policies file names bundles; a bundle is a set of rule sets that are on or off, with settings and lexicons.
    """


@policy.command
@bundle_options
@click.option("--origin", is_flag=True, help="Name the file and line of every value.")
@format_option("text", "json")
@output_option
@examples(
    "reflect-gate policy show --origin",
    "reflect-gate policy show --bundle introspect --format json",
)
def show(choice: BundleChoice, origin: bool, format_: str, output: str | None) -> None:
    """Show what a bundle resolves to.

    Rule sets on and off, their versions, every setting, the lexicons, and the digest that decisions carry. JSON always
    holds the origins.
    """
    from ..policy.describe import describe

    described = describe(choice.load())
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(described) + b"\n")
        else:
            sink.text(bundle_text(described, Paint(sink.coloured), origin=origin))


@policy.command
@click.argument("path", required=False, type=click.Path())
@policies_option
@click.option("--as-of", metavar="DATE", help="The day that decides which overrides have expired; else today (UTC).")
@examples(
    "reflect-gate policy check",
    "reflect-gate policy check ./policies.yaml --error-format json",
)
def check(path: str | None, policies: str | None, as_of: str | None) -> int:
    """Check every bundle of the policies file.

    PATH is the policies file or its folder. Every error of every file is reported; an override that has expired and a rule
    file that no bundle names are warnings. Exit code 3 when there is an error.
    """
    from ._policies import check_policies

    if path and policies:
        raise click.UsageError("give PATH or --policies, not both")
    checked = check_policies(path or policies, as_of)
    for warning in checked.warnings:
        warn(warning)
    raise_all(checked.errors)
    rulesets = {ruleset.name for bundle in checked.bundles for ruleset in bundle.rulesets}
    rules = {rule.name for bundle in checked.bundles for rule in bundle.program.rules}
    with open_output(None) as sink:
        counted = f"{len(checked.bundles)} bundles, {len(rulesets)} rule sets, {len(rules)} rules"
        sink.text(f"ok: {plain(checked.file)}: {counted}\n")
    return OK


@policy.command
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@click.option(
    "--run", "pattern", metavar="PATTERN", help="Run only the cases whose `ruleset/id` matches; `*` and `?` as in file names."
)
@policies_option
@format_option("text", "junit", "json")
@output_option
@examples(
    "reflect-gate policy test",
    "reflect-gate policy test rules/grounding.yaml --run 'grounding/unsupported-*'",
    "reflect-gate policy test --format junit -o report.xml",
)
def test(paths: tuple[str, ...], pattern: str | None, policies: str | None, format_: str, output: str | None) -> int:
    """Run the cases that stand beside the rules.

    PATH is a case file, a rule file, a lexicon or a folder; without one, the folders of the policies in force. Exit code 5
    when a case fails, 3 when something could not be run, which includes a selection without any case.
    """
    from ..policy.cases import run_cases
    from ._policies import case_folders

    results = run_cases(paths or case_folders(policies), policies, pattern)
    with open_output(output) as sink:
        _WRITERS[format_](results, sink)
    failed = [result for result in results if not result.passed]
    if any(not result.id for result in failed) or not results:
        return INVALID
    return REFUSED if failed else OK


def _write_text(results: Sequence[CaseResult], sink: Sink) -> None:
    paint = Paint(sink.coloured)
    for result in results:
        if not result.passed:
            name = "/".join(part for part in (result.ruleset, result.id) if part)
            place = f"{result.file}:{result.line}" if result.line else result.file
            sink.text(f"{paint('FAIL', 'red')} {plain(name)}  {paint(plain(place), 'dim')}\n     {plain(result.message)}\n")
    failed = sum(not result.passed for result in results)
    told = f"{len(results) - failed} passed, {failed} failed"
    sink.text(paint(told, "red" if failed else "green") + "\n")


def _write_json(results: Sequence[CaseResult], sink: Sink) -> None:
    failed = sum(not result.passed for result in results)
    document = {
        "schema": TEST_SCHEMA,
        "passed": len(results) - failed,
        "failed": failed,
        "cases": [dataclasses.asdict(result) for result in results],
    }
    sink.json(canonical_bytes(document) + b"\n")


def _write_junit(results: Sequence[CaseResult], sink: Sink) -> None:
    sink.text(junit_xml(results))


_WRITERS = {"text": _write_text, "json": _write_json, "junit": _write_junit}
