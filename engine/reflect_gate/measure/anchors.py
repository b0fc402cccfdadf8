"""Anchors: the concrete things that a text names, by which it can be held against evidence.

    code span      `x <= y`, `return -1`            between backticks, on one line, operators included
    quotation      "no such table", 'abc'           between quotation marks, on one line
    literal        [1, 2, 3], (0, 'a'), {1: 2}      brackets that hold numbers or strings
    identifier     snake_case, camelCase, f(), a.b  also test names, options (`--flag`) and words with digits (`utf8`)
    error class    KeyError, FooException
    path           src/app.py, app.py:12
    number         12, 2.5, -1, 5 MB                two digits or more, a sign, a decimal point, or a unit

Plain English words are no anchors, nor are single digits, which stand in every text. An anchor has one normal form, so that
`foo()`, `foo` and `Foo` are the same thing; it is found in a text where that form stands between word boundaries.
Quotations and code spans that are more than one name are kept as written too, for the byte-for-byte test.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ._english import word_set
from .text import LIMIT, normalise

__all__ = ["ANCHOR_LIMIT", "Anchor", "Anchors", "anchors_of", "compact", "core", "holds", "quoted_in"]

ANCHOR_LIMIT = 128
"""Distinct anchors and quotations of one text that are kept."""

SPAN_LIMIT = 160
"""Characters of one code span, quotation or literal; longer ones are read as text."""

_TOKEN_LIMIT = 160
_QUOTE_MINIMUM = 4


class Anchor(NamedTuple):
    """A named thing. `kind` is `name`, `number` or `span`; a span is compared in its compact form."""

    kind: str
    form: str


class Anchors(NamedTuple):
    """The distinct anchors of a text in order of appearance, and its quotations as written."""

    found: tuple[Anchor, ...]
    quotes: tuple[str, ...]


NOTHING = Anchors((), ())


def compact(folded: str) -> str:
    """Return a case-folded text with one kind of quote and whitespace only between two word characters, one space each."""
    pieces: list[str] = []
    closing = False
    for piece in folded.replace('"', "'").split():
        if closing and (piece[0].isalnum() or piece[0] == "_"):
            pieces.append(" ")
        pieces.append(piece)
        closing = piece[-1].isalnum() or piece[-1] == "_"
    return "".join(pieces)


@lru_cache(maxsize=4_096)
def core(form: str) -> str:
    """Return the longest word of a span's form, which every text that holds the span has; cheaper to ask for than the span."""
    plain = "".join(character if _word_character(character) else " " for character in form)
    return max(plain.split(), key=len, default="")


def _word_character(character: str) -> bool:
    return character.isalnum() or character == "_"


def _bounded(text: str, form: str, *, digits: bool = False) -> bool:
    """Return whether `form` stands in `text` between word boundaries; `digits` keeps a number whole (`2` is not in `2.5`)."""
    start = text.find(form)
    opens, closes = _word_character(form[0]) or digits, _word_character(form[-1])
    while start >= 0:
        end = start + len(form)
        before = text[start - 1] if start else " "
        after = text[end] if end < len(text) else " "
        left = not (opens and (_word_character(before) or (digits and before == "." and text[start - 2 : start - 1].isdigit())))
        right = not (closes and _word_character(after) and not (digits and after.isalpha()))
        if left and right and not (digits and after == "." and text[end + 1 : end + 2].isdigit()):
            return True
        start = text.find(form, start + 1)
    return False


def holds(prepared: str, anchor: Anchor) -> bool:
    """Return whether a case-folded text, compacted for a span, holds an anchor. Linear in the text.

    A dotted name is held as well by a text that holds each of its parts.
    """
    kind, form = anchor
    if form not in prepared:
        return kind == "name" and "." in form and all(_bounded(prepared, part) for part in form.split(".") if part)
    return _bounded(prepared, form, digits=kind == "number")


# -- reading ---------------------------------------------------------------------------------------------------------------------

_EDGES = ".,;:!?\"'\u201c\u201d\u2018\u2019()[]{}<>*\u2026"
_EXTENSIONS = word_set(
    """
    bat c cc cfg clj cmake conf cpp cs css csv dart db ex exs gradle go gz h hpp hs html ini ipynb java jl js json jsx kt lock log
    lua m md mjs ml php pl proto py pyc pyi pyx r rb rs rst sass scala scss sh so sql sqlite svg swift tar tex toml ts tsx txt vue
    wasm xml yaml yml zip zsh
    """
)
_NO_NAMES = word_set(
    "javascript typescript github gitlab python2 python3 e.g i.e etc. a.k.a p.s 1st 2nd 3rd 0th 1d 2d 3d 2x 3x and/or"
)
_UNITS = word_set(
    """
    % b kb mb gb tb kib mib gib bit bits byte bytes ns us µs ms s sec secs second seconds min mins minute minutes h hr hrs hour
    hours day days week weeks px em rem pt k hz khz mhz ghz mm cm m km kg g mg °c °f
    """
)


def _span(content: str) -> Anchor | None:
    """The anchor of a code span, quotation or literal as a whole; a single name is a name."""
    stripped = content.strip()
    bare = stripped.removesuffix("()")
    if not bare:
        return None
    if bare.replace("_", "a").replace(".", "a").isalnum() and not bare[0].isdigit():
        return Anchor("name", bare.strip(".").casefold()) if bare.strip(".") else None
    form = compact(stripped.casefold())
    return Anchor("span", form) if form else None


def _quotation(content: str) -> str | None:
    """A span that is quoted as written: four characters or more, and more than one name."""
    stripped = content.strip()
    single = stripped.removesuffix("()").replace("_", "a").replace(".", "a").isalnum()
    return stripped if len(stripped) >= _QUOTE_MINIMUM and not single else None


class _Reader:
    """Reads one text; what was taken as a span is cut out before the rest is read as words."""

    def __init__(self) -> None:
        self.found: dict[Anchor, None] = {}
        self.quotes: dict[str, None] = {}

    def add(self, anchor: Anchor | None) -> None:
        """Keep an anchor up to the limit."""
        if anchor is not None and len(self.found) < ANCHOR_LIMIT:
            self.found.setdefault(anchor)

    def quote(self, content: str, *, marked: bool) -> None:
        """Keep a quotation; a single word in quotation marks (`marked`) is a string literal, kept with its marks left open."""
        written = _quotation(content)
        if written is None and marked and len(content.strip()) >= _QUOTE_MINIMUM:
            written = f"\0{content.strip()}"
        if written is not None and len(self.quotes) < ANCHOR_LIMIT:
            self.quotes.setdefault(written)

    def code(self, text: str) -> str:
        """Read code spans; return the text without them. The names inside a span of several tokens are anchors too."""
        pieces = text.split("`")
        if len(pieces) < 3:
            return text
        rest = []
        for index, piece in enumerate(pieces):
            closed = index % 2 and index + 1 < len(pieces)
            if not closed or len(piece) > SPAN_LIMIT or "\n" in piece.strip():
                rest.append(piece)
                continue
            self.add(_span(piece))
            self.quote(piece, marked=False)
            if not piece.strip().isidentifier():
                self.words(piece, numbers=False)
        return " ".join(rest)

    def literals(self, text: str) -> str:
        """Read bracketed literals; return the text without them."""
        kept, position = [], 0
        for start, end in _literal_spans(text):
            content = text[start:end]
            kept.append(text[position:start])
            position = end
            self.add(Anchor("span", compact(content.casefold())))
            self.quote(content, marked=False)
        return " ".join((*kept, text[position:])) if kept else text

    def quoted(self, text: str) -> str:
        """Read quotations; return the text without them."""
        spans = sorted(_quote_spans(text))
        kept, position = [], 0
        for start, end in spans:
            if start < position:
                continue
            content = text[start + 1 : end - 1]
            kept.append(text[position:start])
            position = end
            self.add(_span(content))
            self.quote(content, marked=True)
        return " ".join((*kept, text[position:])) if kept else text

    def words(self, text: str, *, numbers: bool = True) -> None:
        """Read names and numbers; numbers within a span are part of that span."""
        tokens = text.split()
        for index, token in enumerate(tokens):
            if token.isalpha() and (token.islower() or token.istitle()):
                continue
            following = tokens[index + 1].rstrip(_EDGES).casefold() if token[-1:].isdigit() and index + 1 < len(tokens) else ""
            for anchor in _classify(token[:_TOKEN_LIMIT], following in _UNITS):
                if numbers or anchor.kind != "number":
                    self.add(anchor)


_LITERAL_TRIES = 512


def _literal_spans(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    for _ in range(_LITERAL_TRIES):
        starts = [found for opener in "[({" if (found := text.find(opener, position)) >= 0]
        if not starts:
            return
        start = min(starts)
        end = _closing(text, start)
        if end and _is_literal(text[start + 1 : end - 1], call=start > 0 and _word_character(text[start - 1])):
            yield start, end
            position = end
        else:
            position = start + 1


def _closing(text: str, start: int) -> int:
    """Return the end of the bracket that opens at `start`, 0 where it does not close on its line within the limit."""
    depth = 0
    for index in range(start, min(start + SPAN_LIMIT, len(text))):
        character = text[index]
        if character in "[({":
            depth += 1
        elif character in "])}":
            depth -= 1
            if depth == 0:
                return index + 1
        elif character == "\n":
            return 0
    return 0


_LITERAL_WORDS = frozenset(("true", "false", "none", "null"))


def _is_literal(content: str, *, call: bool) -> bool:
    if call or not any(character.isdigit() or character in "'\"" for character in content):
        return False
    if content.count("'") > 1 or content.count('"') > 1:
        return content.lstrip()[:1] in "'\"[({-0123456789" or ":" in content
    letters = "".join(character if character.isalpha() else " " for character in content).casefold().split()
    return ("," in content or ":" in content or content.strip().lstrip("-").isdigit()) and all(
        word in _LITERAL_WORDS or word == "e" for word in letters
    )


def _quote_spans(text: str) -> Iterator[tuple[int, int]]:
    for opener, closer in (('"', '"'), ("\u201c", "\u201d"), ("\u2018", "\u2019")):
        start = text.find(opener)
        while start >= 0:
            end = text.find(closer, start + 1, start + SPAN_LIMIT)
            if end > start + 1 and "\n" not in text[start:end]:
                yield start, end + 1
                start = text.find(opener, end + 1)
            else:
                start = text.find(opener, start + 1)
    yield from _single_quote_spans(text)


def _single_quote_spans(text: str) -> Iterator[tuple[int, int]]:
    """Between apostrophes that are none: the first follows no word character, the last precedes none."""
    start = text.find("'")
    while start >= 0:
        end = text.find("'", start + 1, start + SPAN_LIMIT) if not (start and _word_character(text[start - 1])) else -1
        while 0 < end < len(text) - 1 and _word_character(text[end + 1]):
            end = text.find("'", end + 1, start + SPAN_LIMIT)
        if end > start + 1 and "\n" not in text[start:end]:
            yield start, end + 1
            start = text.find("'", end + 1)
        else:
            start = text.find("'", start + 1)


@lru_cache(maxsize=16_384)
def _classify(token: str, unit: bool) -> tuple[Anchor, ...]:
    """Return the anchors in one token without whitespace; `unit` says that a unit follows it."""
    head, bracket, tail = token.lstrip(_EDGES).partition("(")
    if bracket and head and tail.rstrip(_EDGES) not in {"s", "es"}:
        inner = [found for part in tail.replace("(", " ").replace(",", " ").split() for found in _classify(part, False)]
        name = head.rstrip(_EDGES)
        called = [Anchor("name", name.casefold())] if ")" in tail and _is_name(name) else list(_classify(name, False))
        return (*called, *inner)
    bare = (head + bracket + tail if not bracket else head).rstrip(_EDGES)
    if not bare or bare.casefold() in _NO_NAMES:
        return ()
    number = _number(bare, unit)
    if number is not None:
        return (number,)
    if "/" in bare or "\\" in bare:
        return _path(bare)
    split = [part for part in _split(bare) if part]
    if len(split) > 1:
        return tuple(found for part in split for found in _classify(part, False))
    return (Anchor("name", bare.casefold()),) if _is_marked(bare) else ()


def _split(token: str) -> list[str]:
    """Split at punctuation that joins no name: `a,b`, `x=y`, `f->g`."""
    for mark in ",;=<>+|&!?()[]{}\"'":
        token = token.replace(mark, " ")
    stem, colon, rest = token.partition(":")
    if colon and not rest.replace(":", "").isdigit():
        token = f"{stem} {rest.replace(':', ' ')}"
    return token.split()


def _is_name(token: str) -> bool:
    return token.replace(".", "_").isidentifier()


def _is_marked(token: str) -> bool:
    """Return whether a token is written as no English word is."""
    bare = token.partition(":")[0]
    if bare.startswith("--") and len(bare) > 3:
        return bare[2:].replace("-", "").replace("_", "").isalnum()
    if "." in bare:
        last = bare.rpartition(".")[2].casefold()
        return _is_name(bare) and (last in _EXTENSIONS or all(len(part) > 1 for part in bare.split(".")))
    if not bare.isidentifier():
        return False
    if "_" in bare:
        return any(character.isalnum() for character in bare)
    digits = any(character.isdigit() for character in bare)
    return (digits and len(bare) > 2) or (bare[1:] != bare[1:].lower() and not bare.isupper() and not bare[:-1].isupper())


def _path(token: str) -> tuple[Anchor, ...]:
    location, colon, line = token.replace("\\", "/").partition(":")
    if colon and not line.replace(":", "").isdigit():
        location = f"{location}:{line}"
    parts = location.split("/")
    last = parts[-1].rpartition(".")[2].casefold() if "." in parts[-1] else ""
    plain = all(part.replace(".", "").replace("-", "").replace("_", "").isalnum() for part in parts if part)
    marked = last in _EXTENSIONS or location.startswith(("/", "./", "../", "~/")) or "_" in location or len(parts) > 3
    if plain and marked and any(parts):
        return (Anchor("name", location.removeprefix("./").casefold()),)
    return tuple(found for part in parts if part and part != token for found in _classify(part, False))


def _number(token: str, unit: bool) -> Anchor | None:
    body = token.replace(",", "")
    digits = body.lstrip("-+").rstrip("%").casefold()
    suffix = digits.lstrip("0123456789.")
    value = digits[: len(digits) - len(suffix)]
    if not value or not value[0].isdigit() or value.count(".") > 1 or (suffix and suffix not in _UNITS and suffix != "%"):
        return None
    known = unit or bool(suffix) or body.endswith("%") or body[0] == "-" or "." in value.rstrip(".") or len(value) > 1
    return Anchor("number", ("-" if body[0] == "-" else "") + value.rstrip(".")) if known else Anchor("", "")


def _read(text: str) -> Anchors:
    reader = _Reader()
    plain = text[:LIMIT] if text.isascii() else normalise(text).text
    rest = reader.code(plain) if "`" in plain else plain
    if "[" in rest or "(" in rest or "{" in rest:
        rest = reader.literals(rest)
    reader.words(reader.quoted(rest))
    reader.found.pop(Anchor("", ""), None)
    return Anchors(tuple(reader.found), tuple(reader.quotes))


_read_cached = lru_cache(maxsize=512)(_read)


def anchors_of(text: str) -> Anchors:
    """Return the anchors of a text, at most `ANCHOR_LIMIT`. Measure `anchors` 1.0.0; linear in the text."""
    if not text:
        return NOTHING
    return _read_cached(text) if len(text) <= 8_192 else _read(text)


def quoted_in(quotes: tuple[str, ...], original: str) -> bool:
    """Return whether a quotation stands in a text byte for byte; a single word must stand in quotation marks there as well."""
    for written in quotes:
        if written[0] != "\0":
            if written in original:
                return True
        elif f"'{written[1:]}'" in original or f'"{written[1:]}"' in original:
            return True
    return False
