"""`reflect-gate policy doc`: the reference of rules, lexicons and settings."""

from __future__ import annotations

from pathlib import Path

import click

from ..report._safe import plain
from ._options import examples, output_option, policies_option
from ._output import INVALID, OK, open_output
from ._summary import files_document, needs_file, summarise, summary_option

__all__ = ["doc"]


@click.command
@policies_option
@click.option(
    "--format", "-f", "format_", type=click.Choice(("md", "html")), default="md", show_default=True, help="Markdown or HTML."
)
@click.option("--check", is_flag=True, help="With -o, write nothing; exit code 3 where the file is not what would be written.")
@output_option
@summary_option("--summary")
@examples(
    "reflect-gate policy doc -o rules.md",
    "reflect-gate policy doc --format html -o rules.html",
    "reflect-gate policy doc -o rules.md --check",
)
def doc(policies: str | None, format_: str, check: bool, output: str | None, summary: str) -> int:
    """Write the reference of the policies.

    Every rule set with its rules, reason codes, settings and tables, every lexicon, and the facts that rules may read, from the
    files themselves. `--check` holds a page that is kept in a repository to them. With -o, what became of the file is told.
    """
    from ..config import choose_policies
    from ..policy.reference import PAGE_HEAD, read_policies_files, reference
    from ..report.html import html_page

    if check and output is None:
        raise click.UsageError("--check needs the file: -o FILE")
    needs_file(summary, output)
    path = choose_policies(policies).path.absolute()
    page = reference(read_policies_files(policies), PAGE_HEAD.format(name=path.name))
    told = html_page(page) if format_ == "html" else page
    kept = Path(output) if output not in {None, "-"} else None
    before = kept.read_bytes() if kept and kept.is_file() else None
    same = before == told.encode("utf-8")
    if not check:
        with open_output(output) as sink:
            sink.text(told)
    if kept:
        _tell(kept, "unchanged" if same else "created" if before is None else "changed", summary, check=check)
    return INVALID if check and not same else OK


def _tell(page: Path, action: str, summary: str, *, check: bool) -> None:
    changes = [] if action == "unchanged" else [{"file": str(page), "action": action, "diff": ""}]
    document = files_document("doc", changes, 1, dry_run=check)
    name = str(page)
    if not check:
        summarise(summary, f"{action}: {plain(name)}", {"file": name, "action": action}, document)
    elif changes or summary == "json":
        summarise(summary, f"`{plain(name)}` is not what the rule files say: write it again", {"stale": name}, document)
