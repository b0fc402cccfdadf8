"""`reflect-gate lessons effect`: what lessons do for tasks, against tasks from which they were withheld."""

from __future__ import annotations

import gc

import click

from .._canonical import canonical_bytes
from ._ids import complete_lesson, lesson_named
from ._options import BundleChoice, bundle_options, examples, format_option
from ._output import open_output
from ._store import head_document, opened, store_option

__all__ = ["EFFECT_SCHEMA", "effect"]

EFFECT_SCHEMA = "urn:reflect-gate:schema:lessons-effect:1"


@click.command
@click.argument("lesson", required=False, shell_complete=complete_lesson)
@store_option
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Lessons to list at most.")
@bundle_options
@format_option("text", "json")
@examples("reflect-gate lessons effect", "reflect-gate lessons effect lesson-5f0c... --format json")
def effect(lesson: str | None, store_file: str | None, limit: int, choice: BundleChoice, format_: str) -> None:
    """Compare tasks that got a lesson with those from which it was randomly withheld.

    LESSON is an id, or the beginning of one; without it, all lessons together come first, then each that was ever withheld.
    Shares have Wilson's 95 % interval, their difference Newcombe's. Below `outcome.min_compared` failing tasks on a side, nothing
    is concluded.
    """
    from ..memory.effects import CAVEATS, effect_of, effects, least_compared
    from ..report.lifecycle import effect_text

    least = least_compared(choice.load())
    gc.enable()
    with opened(store_file, read_only=True) as kept:
        found = [effect_of(kept, lesson_named(kept, lesson))] if lesson else effects(kept)[: limit + 1]
        head, place = kept.head(), kept.backend.place
    document = {
        "schema": EFFECT_SCHEMA,
        "store": place,
        "head": head_document(head),
        "least": least,
        "effects": [one.to_json(least) for one in found],
        "caveats": list(CAVEATS),
    }
    with open_output(None) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(document) + b"\n")
        else:
            sink.text(effect_text(document))
