"""`reflect-gate policy`: show, check and test the policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from .._canonical import canonical_bytes
from ..errors import ReflectGateError, raise_all
from ..report._paint import Paint
from ..report._safe import plain
from ..report.policy import bundle_text
from ._app import LazyGroup
from ._options import BundleChoice, bundle_options, examples, format_option, output_option, policies_option, seed_option
from ._output import OK, error_document, open_output, warn
from .policy_bench import bench
from .policy_bundle import bundle
from .policy_diff import diff
from .policy_doc import doc
from .policy_fmt import fmt
from .policy_init import init
from .policy_lint import lint
from .policy_mutate import mutate
from .policy_new import new
from .policy_schema import schema
from .policy_shadow import shadow
from .policy_test import test
from .policy_try import try_

if TYPE_CHECKING:
    from ..policy.confluence import Shuffled
    from ._policies import Checked

__all__ = ["policy"]

CHECK_SCHEMA: Final = "urn:reflect-gate:schema:policy-check:1"


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
@click.option("--confluence", is_flag=True, help="Also run the cases with rules and facts in other orders, and compare.")
@click.option("--rounds", type=click.IntRange(1, 1000), default=5, show_default=True, help="Other orders that are tried.")
@seed_option
@format_option("text", "json")
@examples(
    "reflect-gate policy check",
    "reflect-gate policy check ./policies.yaml --error-format json",
    "reflect-gate policy check --confluence --rounds 20",
)
def check(
    path: str | None, policies: str | None, as_of: str | None, confluence: bool, rounds: int, seed: int, format_: str
) -> int:
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
    if format_ == "text":
        # What loads is said before the cases are run, which takes its time.
        raise_all(checked.errors)
        with open_output(None) as sink:
            counts = _counts(checked)
            counted = f"{counts['bundles']} bundles, {counts['rulesets']} rule sets, {counts['rules']} rules"
            sink.text(f"ok: {plain(checked.file)}: {counted}\n")
    tried = _shuffled(path or policies, rounds, seed) if confluence and not checked.errors else None
    errors = (*checked.errors, *(tried.differences if tried else ()))
    if format_ == "json":
        cases = {"cases": tried.cases, "rounds": rounds} if tried else None
        with open_output(None) as sink:
            sink.json(canonical_bytes(_checked_document(checked, errors, cases)) + b"\n")
    raise_all(errors)
    if format_ == "text" and tried:
        with open_output(None) as sink:
            sink.text(f"ok: {tried.cases} cases come out alike in {rounds} other orders of rules and facts\n")
    return OK


def _counts(checked: Checked) -> dict[str, int]:
    """Return how many bundles, rule sets and rules load."""
    rulesets = {ruleset.name for bundle in checked.bundles for ruleset in bundle.rulesets}
    rules = {rule.name for bundle in checked.bundles for rule in bundle.trying().program.rules}
    return {"bundles": len(checked.bundles), "rulesets": len(rulesets), "rules": len(rules)}


def _checked_document(
    checked: Checked, errors: Sequence[ReflectGateError], confluence: dict[str, int] | None
) -> dict[str, object]:
    """Return what was found as data (`policy-check.schema.json`)."""
    return {
        "schema": CHECK_SCHEMA,
        "file": checked.file,
        "ok": not errors,
        **_counts(checked),
        "errors": [error_document(error) for error in errors],
        "warnings": [error_document(warning) for warning in checked.warnings],
        "confluence": confluence,
    }


def _shuffled(policies: str | None, rounds: int, seed: int) -> Shuffled:
    """Return how the cases came out in other orders."""
    from ..policy.confluence import check_confluence
    from ._policies import case_folders

    return check_confluence(policies, case_folders(policies), rounds, seed)


policy.add_command(test)
policy.add_command(try_)
policy.add_command(mutate)
policy.add_command(lint)
policy.add_command(fmt)
policy.add_command(schema)
policy.add_command(bench)
policy.add_command(doc)
policy.add_command(init)
policy.add_command(new)
policy.add_command(bundle)
policy.add_command(diff)
policy.add_command(shadow)
