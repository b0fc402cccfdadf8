"""The summary of a verb whose result is files: a remark on stderr, or one document on stdout for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import click

from .._canonical import canonical_bytes
from ._files import diff_text
from ._output import note, open_output

__all__ = ["change", "files_document", "lines_document", "needs_file", "summarise", "summary_option"]

P = ParamSpec("P")
R = TypeVar("R")

FILES_SCHEMA: Final = "urn:reflect-gate:schema:policy-files:1"
LINES_SCHEMA: Final = "urn:reflect-gate:schema:lines-report:1"
_DIFF: Final = 65_536
"""Characters of a diff in a report."""


def summary_option(flag: str = "--format") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a verb that writes to `-o` the choice of its summary's form; `flag` is another one where `--format` is taken."""
    return click.option(
        flag,
        "summary",
        type=click.Choice(("text", "json")),
        default="text",
        show_default=True,
        help="How the summary is told: on stderr, or as one JSON document on stdout, which needs -o.",
    )


def needs_file(summary: str, output: str | None) -> None:
    """Raise where the summary would stand on stdout among the result."""
    if summary == "json" and output in {None, "-"}:
        raise click.UsageError("the summary as JSON goes to stdout, so the result needs a file: -o FILE")


def summarise(format_: str, text: str, data: Mapping[str, object], document: Mapping[str, object]) -> None:
    """Tell a summary: `text` on stderr (`data` with `--error-format json`), or `document` on stdout."""
    if format_ != "json":
        note(text, data)
        return
    with open_output(None) as sink:
        sink.json(canonical_bytes(document) + b"\n")


def change(path: str | Path, before: str | None, after: str) -> dict[str, object]:
    """Return what became of a text file as data; `before` is `None` where there was none."""
    action = "created" if before is None else "unchanged" if before == after else "changed"
    return {"file": str(path), "action": action, "diff": diff_text(str(path), before or "", after)[:_DIFF]}


def files_document(
    command: str, changes: Iterable[Mapping[str, object]], files: int, *, dry_run: bool = False, **more: object
) -> dict[str, Any]:
    """Return which files a verb of `policy` wrote, or would write (`policy-files.schema.json`)."""
    about = {"schema": FILES_SCHEMA, "command": command, "dry_run": dry_run}
    return {**about, "files": files, "changes": list(changes), **more}


def lines_document(
    command: str, output: str | None, lines: int, bad: int, parts: Iterable[Mapping[str, object]] = (), **more: object
) -> dict[str, Any]:
    """Return what a verb wrote as lines (`lines-report.schema.json`)."""
    about = {"schema": LINES_SCHEMA, "command": command, "output": output or ""}
    return {**about, "lines": lines, "bad": bad, "parts": list(parts), **more}
