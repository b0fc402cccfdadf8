"""A block between two marks in a file of text: put at its end, renewed where it stands, taken out with the blank line before."""

from __future__ import annotations

from typing import Final

from ..errors import ReflectGateError, Source
from .jsonc import place_of
from .parts import MARK

__all__ = ["BEGIN", "END", "install", "remove"]

BEGIN: Final = f"<!-- {MARK}: begin -->"
END: Final = f"<!-- {MARK}: end -->"


def install(text: str, block: str, file: str) -> str:
    """Return a text with the block in it, once."""
    newline = "\r\n" if "\r\n" in text else "\n"
    marked = newline.join([BEGIN, *block.rstrip("\n").split("\n"), END])
    there = _there(text, file)
    if there:
        return text[: there[0]] + marked + text[there[1] :]
    if not text:
        return marked + newline
    return f"{text}{newline}{marked}{newline}" if text.endswith("\n") else f"{text}{newline}{newline}{marked}"


def remove(text: str, file: str) -> str:
    """Return a text without the block."""
    there = _there(text, file)
    if not there:
        return text
    before, behind = text[: there[0]], text[there[1] :]
    if behind:
        return _cut(before) + behind.removeprefix("\r").removeprefix("\n")
    return _cut(_cut(before))


def _cut(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _there(text: str, file: str) -> tuple[int, int] | None:
    """Return where the block stands; `settings-shape` for half of one, since what belongs to it cannot be told."""
    begins, ends = text.count(BEGIN), text.count(END)
    if not begins and not ends:
        return None
    start, end = text.find(BEGIN), text.find(END)
    if begins != 1 or ends != 1 or end < start:
        place: Source = place_of(text, max(0, start if ends < begins else end), file)
        raise ReflectGateError("settings-shape", f"expected `{BEGIN}` and `{END}` once each, in this order", place)
    return start, end + len(END)
