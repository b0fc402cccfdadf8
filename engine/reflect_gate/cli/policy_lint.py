"""`reflect-gate policy lint`: what is probably not meant in rules, lexicons, cases and bundles, by named rules."""

from __future__ import annotations

import click

from .._canonical import canonical_bytes
from ..report._paint import Paint
from ._files import diff_text, write_text
from ._options import examples, format_option, output_option, policies_option
from ._output import INVALID, OK, note, open_output

__all__ = ["lint"]


@click.command
@click.argument("path", required=False, type=click.Path())
@policies_option
@click.option("--fix", is_flag=True, help="Repair what can be repaired without changing what decides or is tested.")
@click.option("--dry-run", is_flag=True, help="With --fix, print what would be written as a diff and write nothing.")
@click.option("--as-of", metavar="DATE", help="The day that decides which overrides have expired; else today (UTC).")
@format_option("text", "json", "github", "sarif")
@output_option
@examples(
    "reflect-gate policy lint",
    "reflect-gate policy lint ./policies.yaml --fix",
    "reflect-gate policy lint --format sarif -o lint.sarif",
)
def lint(
    path: str | None, policies: str | None, fix: bool, dry_run: bool, as_of: str | None, format_: str, output: str | None
) -> int:
    """Say what is probably not meant in the policies.

    PATH is the policies file or its folder. Every rule set, lexicon and case file beside it is looked at, whether a bundle names
    it or not. `.reflect-gate-lint.yaml` beside the policies file sets the severity of rules and lists exceptions, by the ids that
    are printed. Exit code 3 when a finding is an error, or when something does not load.
    """
    from pathlib import Path

    from ..policy.lint import CONFIG_NAME, lint_world, read_config, read_world, repair
    from ..report import lint as told

    if path and policies:
        raise click.UsageError("give PATH or --policies, not both")
    if dry_run and not fix:
        raise click.UsageError("--dry-run says what --fix would do")
    world = read_world(path or policies, as_of)
    config = read_config(Path(world.policies.file).parent / CONFIG_NAME)
    report, repaired = lint_world(world, config), 0
    if fix:
        mended = repair(world, report)
        if dry_run:
            for file, text in sorted(mended.texts.items()):
                click.echo(diff_text(file, world.texts[file], text), nl=False, err=format_ != "text")
        else:
            for file, text in mended.texts.items():
                write_text(Path(file), text)
            repaired = mended.findings
            note(f"{repaired} repaired in {len(mended.texts)} files", {"repaired": repaired, "files": sorted(mended.texts)})
            report = lint_world(read_world(world.policies.file, as_of), config)
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(told.lint_document(report, repaired)) + b"\n")
        elif format_ == "sarif":
            from ..policy.lint import RULES

            docs = {rule.id: (rule.doc, rule.remedy) for rule in RULES}
            sink.json(canonical_bytes(told.sarif_document(report, docs)) + b"\n")
        else:
            sink.text(told.github_text(report) if format_ == "github" else told.lint_text(report, Paint(sink.coloured)))
    return INVALID if report.errors else OK
