"""Corpora of other projects as records of one form; `IMPORTERS` lists what can be read, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from ...hooks.transcripts import Format, atif, junit, mini_swe_agent, openhands, swe_agent
from . import lessons, rows, transcripts
from .record import Found, Row

__all__ = ["IMPORTERS", "Document", "Importer"]

Document: TypeAlias = dict[str, Any] | str
"""An object of a file of JSON (of a JUnit report: a test), or the beginning of a text."""


class Importer(NamedTuple):
    """A form of corpus: its name, what it reads, whether a document shows it, and how a file of it is read."""

    name: str
    doc: str
    claims: Callable[[Document], bool]
    read: Callable[[str], Iterator[Found]]


def _row_with(*keys: str) -> Callable[[Document], bool]:
    """Return whether a document is a row with a reflection and these keys."""
    return lambda document: isinstance(document, dict) and all(key in document for key in ("id", "reflection_text", *keys))


def _shows(format_: Format) -> Callable[[Document], bool]:
    return lambda document: isinstance(document, dict) and format_.claims(document)


def _run(name: str, doc: str, format_: Format) -> Importer:
    return Importer(name, doc, _shows(format_), transcripts.read_run(format_))


def _rows(name: str, doc: str, convert: Callable[[Row], dict[str, Any]], *keys: str) -> Importer:
    return Importer(name, doc, _row_with(*keys), rows.read_rows(convert))


IMPORTERS: Final[tuple[Importer, ...]] = (
    _rows("lats", "reflections of a tree search on programming tasks", rows.lats, "reflections_in_search"),
    _rows("renze", "reflections on exam answers, beside a retry without one", rows.exams, "control_outcome"),
    _rows("who-and-when", "failures of agents with the cause that a person named", rows.who_and_when, "mistake_step"),
    _rows("hotpot", "reflections on wrong answers to questions", rows.hotpot, "gold_answer_not_shown_to_model"),
    _rows("alfworld", "reflections in AlfWorld and WebShop, without traces", rows.alfworld, "env"),
    _rows("lessons-log", "rows of a log of lessons files", lessons.lesson_row, "introduced_by"),
    _rows("reflexion", "reflections after failed self-written tests", rows.programming),
    Importer("junit", "JUnit XML as pytest writes it", _shows(junit.FORMAT), transcripts.read_report),
    _run("atif", "runs in Harbor's format, 1.x", atif.FORMAT),
    Importer(
        transcripts.EVALUATIONS, "output.jsonl of OpenHands' evaluations", transcripts.evaluates, transcripts.read_evaluations
    ),
    _run("openhands", "events of OpenHands: a folder, lines or a list", openhands.FORMAT),
    _run("swe-agent", "SWE-agent's .traj", swe_agent.FORMAT),
    _run("mini-swe-agent", "runs of mini-swe-agent", mini_swe_agent.FORMAT),
    Importer("lessons", "lessons.md and other Markdown", lambda document: isinstance(document, str), lessons.read_markdown),
)
"""Rows first, by the key that only theirs has; then runs, by marks of their own; any other text is Markdown."""
