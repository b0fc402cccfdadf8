"""`reflect-gate audit`: what is wrong with a memory that exists already, a file or a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._canonical import canonical_bytes
from ..errors import ReflectGateError
from ..report._paint import Paint
from ._errors import store_errors
from ._files import diff_text, write_text
from ._options import BundleChoice, bundle_options, examples, format_option, output_option
from ._output import OK, UNDECIDED, note, open_output
from ._store import bar, opened

if TYPE_CHECKING:
    from ..auditing import Audit
    from ..policy import Bundle

__all__ = ["audit"]

_KINDS = ("markdown", "json", "jsonl", "claude-mem")
_REASONS = ("shallow", "vague", "blaming", "duplicate", "contradictory", "injected", "secret", "unevidenced", "unread")


@click.command
@click.argument("file", required=False, metavar="[FILE|-]")
@click.option(
    "--store",
    "store_file",
    metavar="[FILE]",
    is_flag=False,
    flag_value="",
    help="Audit this store; without FILE the one in force (REFLECT_GATE_STORE, else the home folder's).",
)
@click.option("--kind", type=click.Choice(_KINDS), help="What FILE is; else told by its content and name.")
@click.option("--only", type=click.Choice(_REASONS), multiple=True, help="Find only this; may be repeated.")
@click.option("--fix", is_flag=True, help="Print a pruned file as a diff; nothing is changed.")
@click.option("--write", is_flag=True, help="With --fix, write the pruned file.")
@bundle_options
@format_option("text", "json", "sarif", "github")
@output_option
@examples(
    "reflect-gate audit LESSONS.md",
    "reflect-gate audit CLAUDE.md --fix --only duplicate --only secret",
    "reflect-gate audit ~/.claude-mem/claude-mem.db --format sarif -o audit.sarif",
    "reflect-gate audit --store --format json",
)
def audit(
    file: str | None, store_file: str | None, choice: BundleChoice, format_: str, output: str | None, **of_file: Any
) -> int:
    """Say what is wrong with a memory that exists already.

    FILE is Markdown (LESSONS.md, CLAUDE.md, AGENTS.md), JSON or JSON lines (texts, objects with a text, a mem0 export, a
    knowledge graph), or the database of claude-mem; `-` reads stdin. With --store, the ways in which a store can lie are
    checked instead.

    The rule set `audit` decides: `remove` is what --fix does without, `review` is what a person should look at. Exit code 0 when
    nothing is found, 4 when something is, 3 when FILE cannot be read as what it is.
    """
    if (file is None) == (store_file is None):
        raise click.UsageError("give FILE or `--store`")
    if file is None:
        if any(of_file.values()):
            raise click.UsageError("`--kind`, `--only`, `--fix` and `--write` are for files")
        return _store(store_file or None, choice.load(), format_, output)
    return _file(file, choice, format_, output, **of_file)


def _file(
    file: str, choice: BundleChoice, format_: str, output: str | None, *, kind: Any, only: tuple[str, ...], fix: bool, write: bool
) -> int:
    if write and not fix:
        raise click.UsageError("`--write` writes what `--fix` proposes")
    if fix and format_ != "text":
        raise click.UsageError("`--fix` prints a diff, whatever the format")
    if write and (output or file == "-"):
        raise click.UsageError("`--write` changes FILE, and prints no diff")
    bundle = choice.load()
    found = _audited(file, kind, only, bundle)
    if fix:
        return _fixed(found, output, write, lambda: _audited(file, kind, only, bundle))
    _print(found, bundle, format_, output)
    return UNDECIDED if found.findings else OK


def _audited(file: str, kind: Any, only: tuple[str, ...], bundle: Bundle) -> Audit:
    from ..auditing import audit as judged
    from ..auditing import read_memory

    memory = read_memory(file, bundle.limits, kind)
    with bar("entries judged") as progress:
        return judged(memory, bundle, only, progress)


def _identity(bundle: Bundle) -> dict[str, str]:
    return {"name": bundle.name, "digest": bundle.digest, "as_of": bundle.as_of}


def _print(found: Audit, bundle: Bundle, format_: str, output: str | None) -> None:
    from ..report import audit as told

    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(told.audit_document(found, _identity(bundle))) + b"\n")
        elif format_ == "sarif":
            sink.json(canonical_bytes(told.sarif_document(found)) + b"\n")
        else:
            sink.text(told.github_text(found) if format_ == "github" else told.audit_text(found, Paint(sink.coloured)))


def _fixed(found: Audit, output: str | None, write: bool, again: Any) -> int:
    """Print or write the pruned file; what is left to look at decides the exit code."""
    from ..auditing.pruning import pruned, without_secrets

    memory, gone = found.memory, found.removed()
    text = pruned(memory, gone)
    data = {"removed": len(gone), "entries": len(memory.entries), "written": write}
    if not write:
        shown = diff_text(memory.name, memory.text, text)
        safe = without_secrets(shown)
        with open_output(output) as sink:
            sink.text(safe)
        hidden = "; secrets are redacted, so it does not apply: use --write" if safe != shown else ""
        note(f"{len(gone)} of {len(memory.entries)} entries would go{hidden}", data)
        return UNDECIDED if found.findings else OK
    path = Path(memory.name)
    if path.is_symlink():
        raise ReflectGateError("cannot-write", f"cannot write `{memory.name}`: a symbolic link")
    if gone:
        if path.read_bytes() != memory.text.encode():
            raise ReflectGateError("cannot-write", f"cannot write `{memory.name}`: it has changed since it was read")
        write_text(path, text)
        found = again()
    note(f"{len(gone)} of {len(memory.entries)} entries were removed", data)
    return UNDECIDED if found.findings else OK


def _store(file: str | None, bundle: Bundle, format_: str, output: str | None) -> int:
    from ..auditing.stores import audit_store
    from ..report import audit as told

    with opened(file, read_only=True) as store:
        with store_errors():
            found = audit_store(store, bundle)
        place = store.backend.place
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(told.store_document(found, {"store": place, "bundle": _identity(bundle)})) + b"\n")
        elif format_ == "sarif":
            sink.json(canonical_bytes(told.store_sarif(found, place)) + b"\n")
        elif format_ == "github":
            sink.text(told.store_github(found, place))
        else:
            sink.text(told.store_text(found, Paint(sink.coloured)))
    return UNDECIDED if any(check.failed for check in found.checks) else OK
