r"""Texts hidden by an encoding: found by their alphabet, decoded within bounds, kept where they decode to text.

Known: base64 and base85 (both alphabets of each), base32, hexadecimal, percent and entity escapes, `\x` and `\u` escapes, octets
in binary or decimal, every rotation of the alphabet, its mirror (atbash), and text written backwards. What decodes is
decoded once more.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

__all__ = ["HINT", "Decoded", "ciphered", "decode"]

_STEMS = (
    "ignore", "disregard", "instruction", "previous", "forget", "override", "system prompt", "password", "credential", "approve",
    "the user", "lesson", "reflection", "command", "everything", "execute", "further", "without", "disable", "delete", "memory",
    "forward", "upload", "confirm", "permission", "sandbox", "grounded", "from now on", "do not", "you are", "you must", "access",
    "production", "of the", "to the", "in the", "and the", "for the", "with the", "you have", "you can", "always", "please",
    "request",
)  # fmt: skip
# The modules `string` and `base64` would cost every start what only a hidden text needs.
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_HEX_DIGITS = "0123456789abcdefABCDEF"
_MIN_TEXT = 10
_BEGINNING = 5
_MIN_STEMS = 12
_BYTES = 1 << 16
_DEPTH = 2
_OPAQUE = 72


@cache
def _rotations() -> tuple[dict[int, int], ...]:
    """Return the tables that undo every rotation of the alphabet, and its mirror."""
    targets = [_LETTERS[by:] + _LETTERS[:by] for by in range(1, 26)]
    return tuple(str.maketrans(_LETTERS, target) for target in (*targets, _LETTERS[::-1]))


@cache
def _ciphered() -> frozenset[str]:
    """Return what the stems look like under every rotation, mirrored or backwards, in small letters."""
    stems = "\n".join(_STEMS)
    turned = [stems.translate(table) for table in _rotations()]
    return frozenset(word for text in (*turned, *[text[::-1] for text in turned], stems[::-1]) for word in text.split("\n"))


@cache
def _beginnings() -> frozenset[str]:
    return frozenset([word[:_BEGINNING] for word in _ciphered()])


_BASE64 = r"[A-Za-z0-9+/_-]{16,}={0,2}"
_BASE32 = r"\b(?:[A-Z2-7]{24,}|[a-z2-7]{24,})={0,6}"
_HEX = r"\b(?:0x)?[0-9a-fA-F]{2}(?:[ :,-]{0,2}(?:0x)?[0-9a-fA-F]{2}){9,}\b"
_PERCENT = r"(?:%[0-9a-fA-F]{2}[\w.~+-]{0,2}){4,}"
_ENTITY = r"(?:&#(?:x[0-9a-fA-F]{1,6}|[0-9]{1,7});[\w ]{0,2}){4,}"
_ESCAPE = r"(?:\\(?:x[0-9a-fA-F]{2}|u\{?[0-9a-fA-F]{4,6}\}?|[0-3][0-7]{2})[\w ]{0,2}){4,}"
_BINARY = r"\b[01]{7,8}(?:[ ,]?[01]{7,8}){5,}\b"
_DECIMAL = r"\b\d{2,3}(?:[ ,;-]{1,2}\d{2,3}){9,}\b"
_BASE85 = r"[!-~]{20,}"
_MORSE = r"(?:^|\s)[.-]{1,6}(?:[ /|]{1,3}[.-]{1,6}){9,}"

HINT = (
    r"[A-Za-z0-9+/_-]{20}|[!-~]{32}|(?:[0-9a-fA-F]{2}[ :,-]){8}|0x[0-9a-fA-F]{2},? 0x|(?:%[0-9a-fA-F]{2}\w{0,2}){3}"
    r"|&#x?[0-9a-fA-F]{2}"
    r"|\\[xu0-3]|[01]{7} [01]{7}|\d{2,3}[ ,;-]{1,2}\d{2,3}[ ,;-]{1,2}\d{2,3}[ ,;-]|(?:[.-]{1,6}[ /|]{1,3}){6}"
)
"""One expression that finds something in every text that may be decoded, ciphers of letters aside, and in few others."""


class Decoded(NamedTuple):
    """What an encoding hid: the decoded texts, how many blobs are no text, and whether everything was looked at."""

    texts: tuple[str, ...]
    opaque: int
    whole: bool


@cache
def _expressions() -> tuple[tuple[Any, Callable[[str], bytes]], ...]:
    import base64

    import re2

    pairs: tuple[tuple[str, Callable[[str], bytes]], ...] = (
        (_BASE64, _from_base64),
        (_BASE32, _from_base32),
        (_HEX, _from_hex),
        (_PERCENT, _from_percent),
        (_ENTITY, _from_entities),
        (_ESCAPE, _from_escapes),
        (_BINARY, lambda text: _from_numbers(text, 2)),
        (_DECIMAL, lambda text: _from_numbers(text, 10)),
        (_BASE85, base64.b85decode),
        (_BASE85, base64.a85decode),
    )
    return tuple((re2.compile(pattern), decoder) for pattern, decoder in pairs)


@cache
def _expression(pattern: str) -> Any:
    import re2

    return re2.compile(pattern)


def _from_base64(text: str) -> bytes:
    import base64

    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    return base64.b64decode(plain + "=" * (-len(plain) % 4))


def _from_base32(text: str) -> bytes:
    import base64

    plain = text.rstrip("=").upper()
    plain = plain[: len(plain) // 8 * 8 + {0: 0, 1: 0, 2: 2, 3: 2, 4: 4, 5: 5, 6: 5, 7: 7}[len(plain) % 8]]
    return base64.b32decode(plain + "=" * (-len(plain) % 8))


def _from_hex(text: str) -> bytes:
    digits = "".join(character for character in text.replace("0x", "") if character in _HEX_DIGITS)
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _from_percent(text: str) -> bytes:
    from urllib.parse import unquote_to_bytes

    return unquote_to_bytes(text)


def _from_entities(text: str) -> bytes:
    import html

    return html.unescape(text).encode()


def _from_escapes(text: str) -> bytes:
    return text.replace("{", "").replace("}", "").encode("ascii", "ignore").decode("unicode_escape").encode()


def _from_numbers(text: str, base: int) -> bytes:
    for mark in ",;-":
        text = text.replace(mark, " ")
    parts = text.split()
    if base == 2 and len(parts) == 1:
        parts = [text[place : place + 8] for place in range(0, len(text), 8)]
    return bytes(number for number in (int(part, base) for part in parts) if number < 256)


def _text(data: bytes) -> str:
    """Return decoded bytes where they are text: UTF-8, mostly printable, with letters; else an empty string."""
    if b"\0" in data[1:2] and len(data) >= 2 * _MIN_TEXT:
        data = data[::2]
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    seen = sum(character.isprintable() or character in "\n\t" for character in text)
    worded = sum(character.isalpha() or character == " " for character in text)
    return text if len(text) >= _MIN_TEXT and seen * 20 >= len(text) * 19 and worded * 10 >= len(text) * 6 else ""


def _is_opaque(blob: str) -> bool:
    """Return whether a long run of one alphabet can be no name, path, hash or table of digits."""
    longest = max((part for part in blob.replace("-", "/").replace("_", "/").split("/")), key=len)
    if len(blob) < _OPAQUE or len(longest) < 32:
        return False
    kinds = (str.isdigit, str.islower, str.isupper)
    changes = sum(_kind(one) != _kind(other) for one, other in pairwise(blob))
    return all(any(map(kind, blob)) for kind in kinds) and changes * 4 >= len(blob)


def _kind(character: str) -> str:
    return "d" if character.isdigit() else "u" if character.isupper() else "l"


def _blobs(text: str) -> Iterator[tuple[str, str]]:
    """Yield `(blob, decoded text)` of every candidate; the text is empty where it is none."""
    for expression, decoder in _expressions():
        for match in expression.finditer(text):
            try:
                found = _text(decoder(match.group()))
            except (ValueError, binascii.Error, OverflowError):
                found = ""
            yield match.group(), found


def ciphered(text: str) -> bool:
    """Return whether words of instructions to a reader stand in a text in a turned alphabet or backwards."""
    lowered = text.lower()
    parts = {lowered[place : place + _BEGINNING] for place in range(len(lowered) - _BEGINNING + 1)}
    return not _beginnings().isdisjoint(parts) and any(word in lowered for word in _ciphered())


def _is_read(text: str) -> bool:
    """Return whether enough words of instructions stand in a turned text; one short word may be an accident."""
    return sum(len(stem) for stem in _STEMS if stem in text) >= _MIN_STEMS


def _turned(text: str) -> Iterator[str]:
    """Yield the readings of a text whose alphabet is rotated, mirrored or which runs backwards, where its words show it."""
    lowered = text.lower()
    if not ciphered(text):
        return
    for table in _rotations():
        read = lowered.translate(table)
        if _is_read(read):
            yield read
        if _is_read(read[::-1]):
            yield read[::-1]
    backwards = lowered[::-1]
    if _is_read(backwards):
        yield backwards
        yield " ".join(word[::-1] for word in lowered.split())


def _unfolded(text: str) -> str:
    """Return a text with the line breaks and hyphens of wrapped blobs taken out."""
    return (
        str(_expression(r"([A-Za-z0-9+/=]{12,})[ \t]*\r?\n[ \t]*([A-Za-z0-9+/=]{4})").sub(r"\1\2", text))
        if "\n" in text
        else text
    )


def decode(text: str) -> Decoded:
    """Return what a text hides by an encoding, in two layers; more than 65,536 decoded characters are reported as not whole.

    Candidates of one alphabet do not overlap and no decoder lengthens its input, so that the work is linear in the text.
    """
    found: list[str] = []
    opaque = size = 0
    layer: Iterable[str] = (_unfolded(text),)
    for depth in range(_DEPTH):
        inner: list[str] = []
        for one in layer:
            for blob, plain in _blobs(one):
                opaque += not plain and depth == 0 and _is_opaque(blob)
                inner += [plain] if plain else []
            if depth == 0:
                found += _turned(one)
                opaque += bool(_expression(_MORSE).search(one))
        size += sum(map(len, inner))
        found += inner
        layer = inner
        if size > _BYTES:
            break
    return Decoded(tuple(found), opaque, size <= _BYTES)
