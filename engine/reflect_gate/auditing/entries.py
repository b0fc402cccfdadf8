"""The entries of a memory file: what is judged one by one, each with its place."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["MOST_BYTES", "MOST_ENTRIES", "Entry", "Kind", "Memory", "Step"]

MOST_BYTES: Final = 16 << 20
"""Bytes of a text file that is audited."""

MOST_ENTRIES: Final = 10_000
"""Entries of one file."""

Kind: TypeAlias = Literal["markdown", "json", "jsonl", "claude-mem"]
Step: TypeAlias = str | int
"""A key or an index on the way into a JSON document."""


class Entry(NamedTuple):
    """One entry.

    `text` is what it says, `prose` the same with code fences blanked, place for place. Lines and columns count from 1; 0 means
    that it has no line (a row of a database). `sliced` says that `text` stands in the file as it is, from `line` and `column` on.
    `path` leads to it in a JSON document (of the line, in a file of JSON lines), `pointer` says so to people.
    """

    id: str
    text: str
    prose: str
    line: int = 0
    end_line: int = 0
    column: int = 1
    sliced: bool = False
    path: tuple[Step, ...] = ()
    pointer: str = ""

    def place(self, start: int) -> tuple[int, int]:
        """Return line and column of the character `start` of the text."""
        if not self.sliced:
            return self.line, self.column
        before = self.text[:start]
        breaks = before.count("\n")
        column = start - before.rfind("\n") if breaks else self.column + start
        return self.line + breaks, column


class Memory(NamedTuple):
    """A memory file: its name, what it is, its text (empty for a database) and its entries in order."""

    name: str
    kind: Kind
    text: str
    entries: tuple[Entry, ...]
