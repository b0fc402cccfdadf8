"""Lint rules about characters that a reviewer does not see as they are: in keys, texts, patterns and comments alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from ...errors import Source
from ...measure._lookalikes import BIDI, JOINERS, LOOKALIKES, invisible, script
from .model import Edit, Found
from .world import World

__all__ = ["bidi_control", "confusable_word", "invisible_character"]

_WORD: Final = re.compile(r"[^\W\d_]+")


def bidi_control(world: World) -> Iterator[Found]:
    """Yield controls that show a line in another order than it is read."""
    yield from _characters(world, lambda line, place: line[place] in BIDI, "changes the order in which the line is shown")


def invisible_character(world: World) -> Iterator[Found]:
    """Yield characters without width, apart from joiners between letters of a script that has them."""
    yield from _characters(world, _is_hidden, "is not seen")


def _is_hidden(line: str, place: int) -> bool:
    character = line[place]
    if character in JOINERS:
        return not _beyond_ascii(line[place - 1 : place])
    return character not in BIDI and invisible(character)


def _beyond_ascii(character: str) -> bool:
    return bool(character) and not character.isascii() and unicodedata.category(character)[0] in "LMS"


def _characters(world: World, wrong: Callable[[str, int], bool], what: str) -> Iterator[Found]:
    """Yield the first such character of each line."""
    for file, text in world.texts.items():
        if text.isascii():
            continue
        for number, line in enumerate(text.split("\n"), 1):
            place = next((place for place, char in enumerate(line) if not char.isascii() and wrong(line, place)), -1)
            if place >= 0:
                name = unicodedata.name(line[place], "a character without a name").lower()
                message = f"`U+{ord(line[place]):04X}` ({name}) {what}: remove it, or write it as an escape"
                source = Source(file, number, place + 1)
                yield Found(Path(file).name, message, source, Edit(file, number, place + 1, line[place], ""))


def confusable_word(world: World) -> Iterator[Found]:
    """Yield words of ASCII letters among which a letter of another script looks like one."""
    for file, text in world.texts.items():
        if text.isascii():
            continue
        for number, line in enumerate(text.split("\n"), 1):
            found = next((word for word in _WORD.finditer(line) if _is_mixed(word.group())), None)
            if found:
                message = f"`{found.group()}` mixes scripts: {_odd(found.group())}"
                yield Found(Path(file).name, message, Source(file, number, found.start() + 1))


def _odd(word: str) -> str:
    """Return which letter stands out: the first of the script that has fewer letters in the word."""
    foreign = [char for char in word if _foreign(char)]
    plain = [char for char in word if char.isascii()]
    if len(foreign) <= len(plain):
        return f"`U+{ord(foreign[0]):04X}` ({unicodedata.name(foreign[0], '').lower()}) looks like `{LOOKALIKES[foreign[0]]}`"
    return f"`{plain[0]}` is a letter of ascii among letters of {script(foreign[0])}"


def _is_mixed(word: str) -> bool:
    return not word.isascii() and any(char.isascii() for char in word) and any(_foreign(char) for char in word)


def _foreign(char: str) -> bool:
    return char in LOOKALIKES and script(char) not in {"", "latin"}
