"""Texts as a reader takes them: look-alikes, hidden characters, odd spacing, leetspeak and misspelling undone.

A lexicon of plain phrases is run over these readings as well, so that it need not list every disguise.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from ._lookalikes import bare
from .text import LIMIT, normalise

__all__ = ["HINT", "SPACES", "misspelt", "readings", "seen", "spaced_letters", "suspicious"]

_VOCABULARY = """
    ignore ignoring disregard forget override bypass previous previously prior above earlier instruction instructions
    directive directives prompt prompts system rules guidelines reveal secret secrets password passwords credential
    credentials approve admit assistant developer administrator unrestricted confirmation permission permissions execute
    disable sandbox memory lesson lessons reflection always never upload forward exfiltrate verdict grounded admitted
    override overrides remember command commands everything anything request requests review commands change changes
    delete from user tell told tests every
"""
_WORDS = frozenset(_VOCABULARY.split())
_LEET = str.maketrans("01345789@$!|", "oieastbgasii")
_LEET_L = str.maketrans("01345789@$!|", "oleastbgasll")
_SPACES = {ord(character): " " for character in "*_~`\"'<>()[]{}\\/+=^#,;|-\u2010\u2011\u2012\u2013\u2014\u2022\u00b7\u2026"}
_STEMS = (
    "ignor|disregard|forget|overrid|bypass|previous|prior|above|earl[il]er|[il]nstruct|d[il]rect[il]ve|prompt|ru[il]es|gu[il]de[il][il]ne|revea[il]|"
    "secret|password|credent[il]a[il]|approv|adm[il]|ass[il]stant|deve[il]oper|unrestr[il]ct|conf[il]rm|perm[il]ss[il]on|execut|d[il]sab[il]e|"
    "sandbox|memor|[il]esson|ref[il]ect[il]on|up[il]oad|forward|exf[il][il]trat|verd[il]ct|grounded|remember|youare|theuser"
)
_SQUEEZE: dict[int, int | None] = {code: None for code in range(128) if not chr(code).isalnum()}
_SQUEEZE.update({ord(sign): ord(letter) for sign, letter in zip("01345789@$!|", "oieastbgasii", strict=True)})

HINT = (
    r"(?i:(?:\b[a-z](?: [._*|~/-] |[ ._*|~/-]| {2,3})){6}"
    r"|(?:[\w@$!|]*(?:[a-z][0134578@$!|]|[0134578@$!|][a-z])[\w@$!|]*[^\w]{1,2}){3}"
    r"|(?:[*_~`\"'<(\[{|]{1,3}[a-z]+[*_~`\"'>)\]}|,.]{1,4} ){3}"
    r"|(?-i:(?:[A-Z][a-z]+){4})"
    r"|(?:[a-z]{2,}[_.*~^|\\/+=-]{1,2}){3}[a-z]|(?:[a-z]{2,}, ){4})"
)
"""An expression that finds something in texts whose letters or words are kept apart, and in runs of words with digits in them."""

SPACES = r"\s\s|[\n\r\t]"
"""An expression that finds something in texts whose words are not kept apart by one space each."""


@cache
def _expression(pattern: str) -> Any:
    import re2

    return re2.compile(pattern)


def seen(text: str) -> str:
    """Return what a reader sees: NFKC, without what has no width, every look-alike as the ASCII letter it is taken for."""
    plain = normalise(text).text
    return plain if plain.isascii() and plain.isprintable() else "".join(map(bare, plain))


def spaced_letters(text: str) -> int:
    """Return the length of the longest run of single letters that separators keep apart, at most 65,536."""
    runs = _expression(r"(?i)\b[a-z](?:(?: {1,3}|[.*|~/-]| [.*|~/-] )[a-z]\b){5,}").finditer(text[:LIMIT].replace("_", "."))
    return max((sum(map(str.isalpha, match.group())) for match in runs), default=0)


def _neighbours(word: str) -> set[str]:
    """Return a word with one letter left out, doubled, or swapped with the next."""
    cuts = [(word[:place], word[place:]) for place in range(len(word))]
    dropped = {head + tail[1:] for head, tail in cuts}
    doubled = {head + tail[0] + tail for head, tail in cuts}
    swapped = {head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1}
    return dropped | doubled | swapped


@cache
def _misspelt() -> dict[str, str]:
    """Return every near misspelling and every scramble key of the words of six letters or more, with the word that is meant."""
    table: dict[str, str] = {}
    for word in sorted(_WORDS):
        if len(word) >= 6:
            table[_scramble(word)] = word
            table.update({near: word for near in _neighbours(word) if len(near) > 4})
    return {near: word for near, word in table.items() if near not in _WORDS}


def _scramble(word: str) -> str:
    """Return a key that a word shares with those that have the same letters in another order between first and last."""
    return f"{word[0]}.{''.join(sorted(word[1:-1]))}.{word[-1]}"


@lru_cache(maxsize=32_768)
def _meant(word: str) -> str:
    """Return the word of the vocabulary that a lowered word misspells, else the word itself."""
    if len(word) < 5 or len(word) > 20 or word in _WORDS:
        return word
    table = _misspelt()
    return table.get(word) or table.get(_scramble(word)) or word


def misspelt(words: Iterable[str]) -> bool:
    """Return whether two words or more of a text misspell words that instructions to a reader are made of."""
    count = 0
    for word in words:
        if len(word) > 4:
            lowered = word.lower()
            count += _meant(lowered) != lowered
    return count > 1


def suspicious(text: str) -> bool:
    """Return whether a word of instructions to a reader stands in a text of ASCII, whatever stands between its letters."""
    return bool(_expression(_STEMS).search(text.lower().translate(_SQUEEZE)))


def _leet(text: str, table: dict[int, int]) -> str:
    """Return a lowered text whose words of letters and digits are read as leetspeak."""
    return " ".join(
        word.translate(table) if not word.isalpha() and any(map(str.isalpha, word)) else word for word in text.split()
    )


def _joined(text: str) -> str:
    """Return a text with what separates the letters of a word taken out (`i.g.n.o.r.e`, `ig-nore`, `i g n o r e`)."""
    tight = str(_expression(r"(\w)[._*|~/\\^+-]{1,2}\B?(\w)").sub(r"\1\2", text))
    tight = str(_expression(r"(\w)[._*|~/\\^+-]{1,2}(\w)").sub(r"\1\2", tight))
    words: list[str] = []
    for group in tight.split("  "):
        letters = group.split()
        words += ["".join(letters)] if len(letters) > 2 and all(len(letter) == 1 for letter in letters) else letters
    return " ".join(words)


def readings(text: str) -> tuple[str, ...]:
    """Return the readings of a text: its words apart, its split words joined, its leetspeak read, its spelling mended."""
    shown = seen(text)
    plain = shown.lower()
    tags = plain.replace("\r", "\n").replace("\n", " ").replace("\t", " ")
    apart = " ".join(tags.translate(_SPACES).split())
    joined = _joined(tags)
    mended = " ".join(map(_meant, apart.split()))
    camel = str(_expression(r"([a-z])([A-Z])").sub(r"\1 \2", shown)).lower()
    found = (
        " ".join(tags.split()),
        apart,
        " ".join(camel.split()),
        joined,
        _leet(joined, _LEET),
        _leet(apart, _LEET_L),
        _leet(apart, _LEET),
        mended,
    )
    return tuple(dict.fromkeys(found))
