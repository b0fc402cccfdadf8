"""Text of others, made safe to print: whatever could move a cursor, recolour, hide or reorder is shown as an escape instead."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["json_for_terminal", "one_line", "plain"]

_KEPT: Final = frozenset("\n\t")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that show nothing of themselves: controls, formats (bidi, zero width, tags), surrogates, separators."""

_BEYOND_ASCII: Final = re.compile("[^\\x20-\\x7e]")


def plain(text: str) -> str:
    r"""Return `text` with controls, bidirectional and zero-width characters as escapes; line breaks and tabs stay.

    >>> plain("a\x1b[31mb\u202ec")
    'a\\x1b[31mb\\u202ec'
    """
    if text.isprintable():
        return text
    return "".join(char if _harmless(char) else _escape(char) for char in text)


def one_line(text: str, limit: int = 200) -> str:
    """Return `text` safe, on one line, cut at `limit` characters."""
    flat = plain(" ".join(text.split()))
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def _harmless(char: str) -> bool:
    return char.isprintable() or char in _KEPT or unicodedata.category(char) not in _UNSEEN


def _escape(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def json_for_terminal(document: bytes) -> bytes:
    """Return a JSON document of the same value in which no character outside strings or printable text is left raw."""
    text = document.decode("utf-8")
    return _BEYOND_ASCII.sub(lambda found: _json_escape(found.group()), text).encode("utf-8")


def _json_escape(char: str) -> str:
    if _harmless(char):
        return char
    pair = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{int.from_bytes(pair[at : at + 2], 'big'):04x}" for at in range(0, len(pair), 2))
