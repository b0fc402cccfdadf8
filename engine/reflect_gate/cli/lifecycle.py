"""`reflect-gate lifecycle`: let lessons rise, fall and go by what became of the tasks that they were recalled for."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import click

from .._canonical import canonical_bytes
from ._app import LazyGroup
from ._options import BundleChoice, bundle_options, examples, format_option
from ._output import open_output
from ._store import bar, head_document, opened, store_option

if TYPE_CHECKING:
    from ..policy import Bundle

__all__ = ["SWEEP_SCHEMA", "bundle_document", "lifecycle"]

SWEEP_SCHEMA = "urn:reflect-gate:schema:lifecycle-report:1"


@click.group(cls=LazyGroup, no_args_is_help=False)
def lifecycle() -> None:
    """Let lessons rise, fall and go by what became of tasks.

    A lesson rises by helping in other repositories; it falls or goes by hurting, or by a counterexample. See docs/lifecycle.md.
    """


def bundle_document(bundle: Bundle) -> dict[str, str]:
    """Return by which policies was judged."""
    return {"name": bundle.name, "digest": bundle.digest, "as_of": bundle.as_of}


@lifecycle.command
@store_option
@click.option("--dry-run", is_flag=True, help="Change nothing, and say what would change.")
@click.option("--lesson", "lessons", metavar="ID", multiple=True, help="Look at this lesson alone; may be repeated.")
@bundle_options
@format_option("text", "json")
@examples(
    "reflect-gate lifecycle sweep --dry-run",
    "reflect-gate lifecycle sweep --lesson lesson-5f0c... --format json",
    "reflect-gate lifecycle sweep --set lifecycle.promote_after=5 --dry-run",
)
def sweep(store_file: str | None, dry_run: bool, lessons: tuple[str, ...], choice: BundleChoice, format_: str) -> None:
    """Promote, demote and retire lessons, settle contradictions, and judge held candidates again.

    Every change is an event with the rule that caused it. Sweeping again changes nothing. With `--lesson`, contradictions and
    candidates that concern other lessons are left alone.
    """
    from ..memory.settling import sweep_all
    from ..report.lifecycle import sweep_text

    bundle = choice.load()
    gc.enable()
    with opened(store_file) as kept, bar("looked at") as progress:
        changes = sweep_all(kept, bundle, lessons=lessons or None, dry_run=dry_run, progress=progress)
        head, place = kept.head(), kept.backend.place
    document: dict[str, Any] = {
        "schema": SWEEP_SCHEMA,
        "store": place,
        "head": head_document(head),
        "bundle": bundle_document(bundle),
        "dry_run": dry_run,
        "changes": [change.to_json() for change in changes],
    }
    with open_output(None) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(document) + b"\n")
        else:
            sink.text(sweep_text(document))
