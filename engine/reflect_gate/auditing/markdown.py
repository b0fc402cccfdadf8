"""Entries of Markdown: list items, headings with their bodies, and paragraphs; code fences are kept whole.

A heading begins an entry of its own where it reads like one (a date, `Lesson 7`, `Pattern: …`), where no list stands under it,
or where its list is labelled like the parts of one lesson (`Root cause`, `Fix`). Under any other heading each paragraph and each
list item that is in no other is an entry. The scan goes line by line, without recursion, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from .entries import Entry

__all__ = ["entries_of", "prose_of", "said_of"]

_FENCE: Final = re.compile(r"[ \t>]{0,12}(?:[-*+][ \t]{1,4})?(`{3,}|~{3,})")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_ITEM: Final = re.compile(r"([ \t]{0,12})(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_RULE: Final = re.compile(r" {0,3}(?:-[ \t]*){3,}$| {0,3}(?:\*[ \t]*){3,}$| {0,3}(?:_[ \t]*){3,}$")
_UNDERLINE: Final = re.compile(r" {0,3}(?:={2,}|-{2,})[ \t]*$")
_DATE: Final = re.compile(r"\b(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}\b")
_TITLE: Final = re.compile(
    r"(?:lesson|pattern|anti-?pattern|rule|gotcha|learning|mistake|incident|failure|bug|issue|finding|correction|insight|til)"
    r"\b[ \t]{0,3}(?:[:#(\u2013\u2014-]|\d)|\d{1,4}[.):][ \t]+\S+[ \t]+\S+[ \t]+\S",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(
    r"[ \t]*(?:[-*+]|\d{1,3}[.)])?[ \t]*(?:\*\*|__)?(?:root cause|cause|what|why|prevention|rule|fix|solution|context|lesson|"
    r"symptom|problem|mistake|correction|impact|trigger|how|evidence|error|failure|takeaway|date|fehler|kontext|erkenntnis|regel|ursache)"
    r"\b[^:\n]{0,32}:",
    re.IGNORECASE,
)
_FRONT_MATTER: Final = 400
_MARK: Final = re.compile(r"[ \t>]{0,12}(?:#{1,6}|[-*+]|\d{1,9}[.)])[ \t]+")


class _Line(NamedTuple):
    number: int
    text: str
    indent: int


class _Block:
    """A heading, a list item with what is indented under it, or a paragraph: its lines, first to last, counted from 0."""

    def __init__(self, kind: str, first: int, *, indent: int = 0, level: int = 0, title: str = "") -> None:
        self.kind = kind
        self.first = self.last = first
        self.indent = indent
        self.level = level
        self.title = title

    @property
    def strong(self) -> bool:
        """Whether a heading reads like the title of one entry."""
        return bool(_DATE.search(self.title) or _TITLE.match(self.title))


class _Scanner:
    """Reads lines into blocks."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.blocks: list[_Block] = []
        self._open: _Block | None = None
        self._fence = ""
        self._blank = False

    def run(self) -> list[_Block]:
        """Return the blocks in order."""
        for number in range(_after_front_matter(self.lines), len(self.lines)):
            line = self.lines[number]
            fence = _FENCE.match(line)
            if self._fence:
                self._keep(number)
                if fence and fence[1].startswith(self._fence) and not line[fence.end() :].strip("`~ \t\r"):
                    self._fence = ""
            elif fence:
                self._fenced(number, fence[1], line)
            elif not line.strip():
                self._blank = True
            else:
                self._line(number, line)
        return self.blocks

    def _keep(self, number: int) -> None:
        if self._open is None:
            self._start(_Block("text", number))
        elif number > self._open.last:
            self._open.last = number
        self._blank = False

    def _start(self, block: _Block) -> None:
        self.blocks.append(block)
        self._open = None if block.kind == "heading" else block
        self._blank = False

    def _fenced(self, number: int, mark: str, line: str) -> None:
        outside = self._blank and self._open is not None and self._open.kind == "item" and line.startswith(mark)
        if _ITEM.match(line):
            self._line(number, line)
        elif outside:
            # After an empty line a fence at the margin has ended the list: it goes and stays without the item.
            self._start(_Block("text", number))
        else:
            self._keep(number)
        self._fence = mark

    def _line(self, number: int, line: str) -> None:
        heading, item = _HEADING.match(line), _ITEM.match(line)
        indent = len(line) - len(line.lstrip(" \t"))
        if heading:
            title = (heading[2] or "").strip().strip("#").strip()
            self._start(_Block("heading", number, level=len(heading[1]), title=title))
        elif self._underlines(number, line):
            self._retitle(number, line)
        elif _RULE.match(line):
            self._open = None
        elif item and not (self._open and self._open.kind == "item" and indent > self._open.indent + 1):
            self._start(_Block("item", number, indent=indent))
        elif self._open is None or (self._blank and not (self._open.kind == "item" and indent > self._open.indent)):
            self._start(_Block("text", number, indent=indent))
        else:
            self._keep(number)

    def _underlines(self, number: int, line: str) -> bool:
        block = self._open
        alone = block is not None and block.kind == "text" and block.first == block.last == number - 1
        return bool(alone and not self._blank and _UNDERLINE.match(line))

    def _retitle(self, number: int, line: str) -> None:
        block = self.blocks.pop()
        level = 1 if line.lstrip().startswith("=") else 2
        heading = _Block("heading", block.first, level=level, title=self.lines[block.first].strip())
        heading.last = number
        self._start(heading)


def _after_front_matter(lines: Sequence[str]) -> int:
    """Return the first line after YAML between `---` at the very start."""
    if lines and lines[0].rstrip() == "---":
        for number in range(1, min(len(lines), _FRONT_MATTER)):
            if lines[number].rstrip() in {"---", "..."}:
                return number + 1
    return 0


def _spans(blocks: Sequence[_Block], lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each entry."""
    place = 0
    while place < len(blocks):
        block = blocks[place]
        if block.kind != "heading":
            end = place + 1
            while end < len(blocks) and blocks[end].kind != "heading":
                end += 1
            yield from _each(blocks[place:end], lines)
            place = end
            continue
        end = _end_of(blocks, place)
        if block.strong and end > place:
            yield block.first, max(inner.last for inner in blocks[place:end])
            place = end
            continue
        end = place + 1
        while end < len(blocks) and blocks[end].kind != "heading":
            end += 1
        yield from _section(block, blocks[place + 1 : end], lines)
        place = end


def _end_of(blocks: Sequence[_Block], place: int) -> int:
    """Return the end of the part under a heading: deeper headings are in it, unless they read like entries themselves."""
    level = blocks[place].level
    end = direct = place + 1
    while end < len(blocks) and (blocks[end].kind != "heading" or blocks[end].level > level):
        if blocks[end].kind == "heading" and blocks[end].strong:
            while direct < len(blocks) and blocks[direct].kind != "heading":
                direct += 1
            return direct
        end += 1
    return end


def _section(heading: _Block, body: Sequence[_Block], lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    if not body:
        return
    items = sum(block.kind == "item" for block in body)
    labelled = sum(bool(_LABEL.match(lines[block.first])) for block in body)
    if not items or 2 * labelled >= len(body):
        yield heading.first, body[-1].last
    else:
        yield from _each(body, lines)


def _each(body: Sequence[_Block], lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield each block; a paragraph that only announces the list after it is none."""
    for block, following in zip(body, (*body[1:], None), strict=True):
        announces = block.kind == "text" and lines[block.last].rstrip().rstrip("*_").endswith(":")
        if not (announces and following is not None and following.kind == "item"):
            yield block.first, block.last


def prose_of(text: str) -> str:
    """Return a text with what stands in code fences blanked; every place stays."""
    if "```" not in text and "~~~" not in text:
        return text
    kept, fence = [], ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        blanked = bool(fence)
        if found and not fence:
            fence, blanked = found[1], True
        elif found and found[1].startswith(fence) and not line[found.end() :].strip("`~ \t\r"):
            fence = ""
        kept.append(" " * len(line) if blanked else line)
    return "\n".join(kept)


def said_of(prose: str) -> str:
    """Return what a text says, a sentence list a line: marks of headings and lists are left out, wrapped lines joined."""
    kept: list[str] = []
    joins = False
    for line in prose.split("\n"):
        mark = _MARK.match(line)
        bare = (line[mark.end() :] if mark else line).strip()
        if bare:
            kept += [" " if joins and mark is None else "\n", bare]
        joins = bool(bare) and not line.lstrip().startswith("#")
    return "".join(kept[1:])


def entries_of(text: str) -> Iterator[Entry]:
    """Yield the entries of a Markdown text in order; `line` is where each begins."""
    lines = text.split("\n")
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    for number, (first, last) in enumerate(_spans(_Scanner(lines).run(), lines), 1):
        said = text[starts[first] : starts[last] + len(lines[last])].rstrip()
        yield Entry(f"e{number}", said, prose_of(said), first + 1, last + 1, sliced=True)
