"""Hazards: what in a reflection is hidden, disguised, encoded or secret.

A text of plain ASCII in which one expression finds no hint costs that one search; everything else is looked at field by field.
What lexicons say of the texts as they stand are `hits`; here they are run over the readings of a disguised text and over what an
encoding hid. Every expression is RE2, decoding is bounded, and what exceeds a bound is reported rather than skipped.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ..facts import Fact
from . import _encoded, _secrets, disguise
from ._lookalikes import BIDI, JOINERS, LOOKALIKES, SCRIPTS, invisible, script, styled
from .lexicon import LexiconHit, LexiconSet
from .stray import stray_sentences
from .text import LIMIT, analyse, encodable

__all__ = ["hazard_facts", "hazards"]

_SEAM = "\x1e"
_MARKS = 3
_COUNT = 4_096


@cache
def _compiled(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    return re2.compile(pattern, options)


_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1d\x1f\x7f]"
_HINT = rf"{_CONTROL}|{disguise.HINT}|{disguise.SPACES}|{_encoded.HINT}|{_secrets.HINT}"


def _is_suspect(text: str) -> bool:
    """Return whether a text may hold a hazard, misspelling aside."""
    if not text.isascii() or _compiled(_HINT).search(text):
        return True
    return disguise.suspicious(text) or _encoded.ciphered(text)


def _suspects(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the texts that may hold a hazard; all are looked at together first, since most hold none."""
    joined = _SEAM.join(texts.values())
    if joined.count(_SEAM) >= max(1, len(texts)):
        return dict(texts)
    possible = texts if _is_suspect(joined) else {}
    return {
        target: text
        for target, text in texts.items()
        if (target in possible and _is_suspect(text)) or disguise.misspelt(analyse(text).words)
    }


# -- characters ------------------------------------------------------------------------------------------------------------------


def _is_drawn(character: str) -> bool:
    """Return whether a joiner may stand beside a character: a letter or a mark beyond ASCII, or a symbol such as an emoji."""
    hidden = character.isascii() or character in JOINERS or invisible(character)
    return not hidden and unicodedata.category(character)[0] in "LMS"


def _loose_joiners(text: str) -> int:
    """Return how many joiners stand where no script and no emoji needs them, in a row, or beside ASCII."""
    loose = 0
    for place, character in enumerate(text):
        if character in JOINERS:
            before = text[place - 1 : place]
            after = text[place + 1 : place + 2]
            if character in "\ufe0e\ufe0f":
                loose += not (before and (_is_drawn(before) or (before in "#*0123456789" and after == "\u20e3")))
            else:
                drawn = before and (_is_drawn(before) or before == "\ufe0f")
                loose += not (drawn and after and _is_drawn(after))
    return loose


def _stacked(text: str) -> int:
    """Return how many ASCII letters carry three combining marks or more."""
    count = run = 0
    for character in text:
        if unicodedata.combining(character):
            run += 1
            count += run == _MARKS
        else:
            run = 0 if character.isascii() or script(character) == "latin" else -LIMIT
    return count


def _scripts(word: str) -> set[str]:
    return {name for name in map(script, word) if name}


def _imitates(word: str, native: frozenset[str]) -> bool:
    """Return whether a word mixes ASCII letters with look-alikes, or is made of look-alikes of a script that is not used."""
    found = _scripts(word)
    foreign = found - {"latin"}
    if not foreign:
        return False
    if "latin" in found:
        return any(character in LOOKALIKES for character in word if script(character) in foreign)
    alien = len(word) > 2 and not foreign & native
    return alien and all(character in LOOKALIKES for character in word)


def _native(words: Iterable[str]) -> frozenset[str]:
    """Return the foreign scripts that a text really uses: those of its letters that look like no ASCII letter."""
    return frozenset(name for word in words for name in map(script, word) if name in SCRIPTS and _plain(word, name))


def _plain(word: str, name: str) -> bool:
    return "latin" not in _scripts(word) and any(
        character not in SCRIPTS[name] for character in word if script(character) == name
    )


def _characters(text: str) -> Iterator[tuple[str, int]]:
    """Yield `(kind, count)` of what is wrong with the characters of a text that is not plain."""
    yield "bidi-control", sum(character in BIDI for character in text)
    hidden = sum(map(invisible, text)) - text.startswith("\ufeff")
    yield "invisible", hidden + _loose_joiners(text)
    yield "stacked-marks", _stacked(text)
    yield "styled-letters", sum(map(styled, text))
    kept = "".join(character if character.isalnum() else " " for character in text)
    words = [word for word in kept.split() if not word.isascii()]
    native = _native(words)
    yield "mixed-script", sum(_imitates(word, native) for word in words)


# -- one text --------------------------------------------------------------------------------------------------------------------


def _decoded(text: str) -> _encoded.Decoded:
    if _compiled(_encoded.HINT).search(text) or _encoded.ciphered(text):
        return _encoded.decode(text)
    return _encoded.Decoded((), 0, whole=True)


def _secret_count(text: str) -> int:
    return _secrets.secrets(text) if _compiled(_secrets.HINT).search(text) else 0


def hazards(text: str) -> tuple[dict[str, int], _encoded.Decoded]:
    """Return the count of each kind of hazard in one text, and what an encoding hid in it. Measure `hazards` 1.0.0; linear."""
    bounded = encodable(text)
    found = dict(_characters(bounded)) if not (bounded.isascii() and bounded.replace("\n", "").isprintable()) else {}
    plain = disguise.seen(bounded)
    decoded = _decoded(plain)
    found["spaced-letters"] = disguise.spaced_letters(plain)
    found["encoded-text"] = len(decoded.texts)
    found["opaque-blob"] = decoded.opaque
    found["secret"] = _secret_count(bounded) or _secret_count("\n".join(decoded.texts))
    return {kind: min(count, _COUNT) for kind, count in found.items() if count}, decoded


def _readings(text: str) -> tuple[str, ...]:
    """Return the readings of a text that may read otherwise than it stands, none where it cannot."""
    if (
        not text.isascii()
        or _compiled(disguise.HINT).search(text)
        or disguise.suspicious(text)
        or disguise.misspelt(analyse(text).words)
    ):
        return disguise.readings(text)
    words = " ".join(text.split())
    return () if words == text.strip(" ") else (words,)


def _bundled(texts: Iterable[str]) -> Iterator[str]:
    """Yield short texts joined by empty lines, so that they are matched at once, and long ones by themselves."""
    short = []
    for text in texts:
        if len(text) > LIMIT >> 4:
            yield text
        else:
            short.append(text)
    for first in range(0, len(short), 8):
        yield "\n\n".join(short[first : first + 8])


def _beneath(form: str, target: str, texts: Iterable[str], known: frozenset[str], lexicons: LexiconSet) -> Iterator[Fact]:
    """Yield a `disguised` fact of each lexicon that is found in some reading of a text and not in the text as it stands."""
    counts: dict[str, int] = {}
    for text in _bundled(texts):
        for hit in lexicons.hits({target: text}):
            if hit.lexicon not in known:
                counts[hit.lexicon] = max(hit.count, counts.get(hit.lexicon, 0))
    for lexicon, count in sorted(counts.items()):
        yield ("disguised", form, lexicon, target, count)


def hazard_facts(
    texts: Mapping[str, str], hits: Sequence[LexiconHit], lexicons: LexiconSet, evidence: Iterable[frozenset[str]] = ()
) -> list[Fact]:
    """Return `hazard` facts of every text field, `disguised` facts of lexicons found beneath the surface, one `screen` fact.

    Args:
        texts: target → text, as they were proposed.
        hits: what the lexicons found in the texts as they stand.
        lexicons: the lexicons of the bundle.
        evidence: the content terms of every item of the record.
    """
    facts: list[Fact] = []
    for target, strays in stray_sentences(texts, evidence).items():
        kinds = (("stray-directive", strays.directives), ("stray-sentence", strays.sentences))
        facts += [("hazard", kind, target, count) for kind, count in kinds if count]
    whole = all(len(text) <= LIMIT for text in texts.values())
    for target, text in _suspects({target: encodable(text) for target, text in texts.items() if text}).items():
        found, decoded = hazards(text)
        facts += [("hazard", kind, target, count) for kind, count in sorted(found.items())]
        known = frozenset(hit.lexicon for hit in hits if hit.target == target)
        facts += _beneath("folded", target, _readings(text), known, lexicons)
        if decoded.texts:
            hidden = dict.fromkeys(reading for plain in decoded.texts for reading in (plain, *disguise.readings(plain)))
            facts += _beneath("decoded", target, hidden, frozenset(), lexicons)
        whole = whole and decoded.whole
    facts.append(("screen", whole))
    return facts
