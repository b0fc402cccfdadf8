"""Colour, and the marks that stand for it where there is none."""

from __future__ import annotations

from typing import Final

__all__ = ["VERDICT_STYLE", "Paint"]

_CODES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
    "reverse": "7",
}

VERDICT_STYLE: Final = {
    "admitted": "green",
    "undecided": "yellow",
    "refused": "red",
    "invalid": "red",
}


class Paint:
    """Styles text with ANSI sequences, or leaves it alone when `on` is false. The text must have been made safe before."""

    __slots__ = ("on",)

    def __init__(self, on: bool = False) -> None:
        self.on = on

    def __call__(self, text: str, *styles: str) -> str:
        """Return `text` in `styles`."""
        if not (self.on and styles and text):
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"

    def mark(self, text: str) -> str:
        """Return `text` as a matched span: reversed in colour, else in square brackets."""
        return self(text, "reverse", "yellow") if self.on else f"[{text}]"
