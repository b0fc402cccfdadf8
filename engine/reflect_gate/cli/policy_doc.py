"""`reflect-gate policy doc`: the reference of rules, lexicons and settings."""

from __future__ import annotations

import click

from ._options import examples, output_option, policies_option
from ._output import INVALID, OK, note, open_output

__all__ = ["doc"]


@click.command
@policies_option
@click.option(
    "--format", "-f", "format_", type=click.Choice(("md", "html")), default="md", show_default=True, help="Markdown or HTML."
)
@click.option("--check", is_flag=True, help="With -o, write nothing; exit code 3 where the file is not what would be written.")
@output_option
@examples(
    "reflect-gate policy doc -o rules.md",
    "reflect-gate policy doc --format html -o rules.html",
    "reflect-gate policy doc -o rules.md --check",
)
def doc(policies: str | None, format_: str, check: bool, output: str | None) -> int:
    """Write the reference of the policies.

    Every rule set with its rules, reason codes, settings and tables, every lexicon, and the facts that rules may read, from the
    files themselves. `--check` holds a page that is kept in a repository to them.
    """
    from pathlib import Path

    from ..config import choose_policies
    from ..policy.reference import PAGE_HEAD, read_policies_files, reference
    from ..report.html import html_page

    if check and output is None:
        raise click.UsageError("--check needs the file: -o FILE")
    path = choose_policies(policies).path.absolute()
    page = reference(read_policies_files(policies), PAGE_HEAD.format(name=path.name))
    told = html_page(page) if format_ == "html" else page
    if check and output is not None:
        kept = Path(output)
        same = kept.is_file() and kept.read_bytes() == told.encode("utf-8")
        if not same:
            note(f"`{output}` is not what the rule files say: write it again", {"stale": output})
        return OK if same else INVALID
    with open_output(output) as sink:
        sink.text(told)
    return OK
