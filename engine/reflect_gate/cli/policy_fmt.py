"""`reflect-gate policy fmt`: one layout for policy files, comments kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ..errors import ReflectGateError, Source, raise_all
from ..report._places import relative
from ..report._safe import plain
from ._files import diff_text, write_text
from ._options import examples, format_option, policies_option
from ._output import INVALID, OK, open_output
from ._summary import change, files_document, summarise

__all__ = ["fmt"]


@click.command
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@policies_option
@click.option("--check", is_flag=True, help="Write nothing; name the files that would change and end with exit code 3.")
@click.option(
    "--diff", is_flag=True, help="Write nothing; print what would change and end with exit code 3 where something would."
)
@format_option("text", "json")
@examples(
    "reflect-gate policy fmt ./policies.yaml ./rules",
    "reflect-gate policy fmt --check",
    "reflect-gate policy fmt --diff rules/hedging.yaml",
)
def fmt(paths: tuple[str, ...], policies: str | None, check: bool, diff: bool, format_: str) -> int:
    """Lay policy files out alike.

    PATH is a policy file or a folder; without one, the policies in force and their folders. Comments are kept, and the first line
    is made to name the schema for editors. What a file says is compared before and after: a file of which it would change is
    refused and stays as it is. No file is written where one of them cannot be read.
    """
    from ..policy.formatting import formatted
    from ._policies import policy_files

    files = policy_files(paths, policies)
    changed: dict[Path, tuple[str, str]] = {}
    errors: list[ReflectGateError] = []
    for path in files:
        try:
            before = _read(path)
            after = formatted(before, path)
        except ReflectGateError as error:
            errors.append(error)
            continue
        if after != before:
            changed[path] = (before, after)
    raise_all(errors)
    written = not (check or diff)
    with open_output(None) as sink:
        for path, (before, after) in changed.items():
            if written:
                write_text(path, after)
            elif format_ == "text":
                sink.text(diff_text(str(path), before, after) if diff else f"{plain(relative(str(path)))}\n")
    _tell(files, changed, format_, written=written)
    return INVALID if changed and (check or diff) else OK


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        reason = (error.strerror or "unknown").lower()
        raise ReflectGateError("cannot-read", f"the file cannot be read: {reason}", Source(str(path))) from None
    except UnicodeDecodeError:
        raise ReflectGateError("policy-encoding", "the file is not UTF-8", Source(str(path))) from None


def _tell(files: Sequence[Path], changed: dict[Path, tuple[str, str]], format_: str, *, written: bool) -> None:
    done = "laid out" if written else "would change"
    data = {"files": len(files), "changed": [str(path) for path in changed], "written": written}
    changes = [change(path, before, after) for path, (before, after) in changed.items()]
    document = files_document("fmt", changes, len(files), dry_run=not written)
    summarise(format_, f"{len(changed)} of {len(files)} files {done}", data, document)
