"""`reflect-gate policy`: show, check and test the policies."""

from __future__ import annotations

import click

from .._canonical import canonical_bytes
from ..errors import raise_all
from ..report._paint import Paint
from ..report._safe import plain
from ..report.policy import bundle_text
from ._app import LazyGroup
from ._options import BundleChoice, bundle_options, examples, format_option, output_option, policies_option, seed_option
from ._output import OK, open_output, warn
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

__all__ = ["policy"]


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
@examples(
    "reflect-gate policy check",
    "reflect-gate policy check ./policies.yaml --error-format json",
    "reflect-gate policy check --confluence --rounds 20",
)
def check(path: str | None, policies: str | None, as_of: str | None, confluence: bool, rounds: int, seed: int) -> int:
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
    rules = {rule.name for bundle in checked.bundles for rule in bundle.trying().program.rules}
    with open_output(None) as sink:
        counted = f"{len(checked.bundles)} bundles, {len(rulesets)} rule sets, {len(rules)} rules"
        sink.text(f"ok: {plain(checked.file)}: {counted}\n")
        if confluence:
            sink.text(_shuffled(path or policies, rounds, seed))
    return OK


def _shuffled(policies: str | None, rounds: int, seed: int) -> str:
    """Return how the cases came out in other orders; raises where one came out otherwise."""
    from ..policy.confluence import check_confluence
    from ._policies import case_folders

    tried = check_confluence(policies, case_folders(policies), rounds, seed)
    raise_all(tried.differences)
    return f"ok: {tried.cases} cases come out alike in {rounds} other orders of rules and facts\n"


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
