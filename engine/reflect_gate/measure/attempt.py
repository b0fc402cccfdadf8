"""Does a claim deny what the message of a crash says?

Two denials are read. A message that something *cannot* be done (`cannot convert …`, `unable to open …`) is denied by a claim that
the same can be done, of the same things. A message that tells of an action at all (`too many values to unpack`) shows that it was
tried, and is denied by a claim that the code `does not try to` do it.

What a sentence says behind a word that supposes, prescribes or narrows (`should`, `so that it can be …`, `only strings can be …`)
denies nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from ._pattern import Pattern
from .text import encodable, terms_once

__all__ = ["Denial", "denials", "signs"]

_READ = 65_536
_LINES = 256
_SHARED = 2
_DENIALS = 64
_UNABLE = Pattern(
    r"\b(?:cannot|can not|can't|could not|couldn't|unable to|failed to|impossible to)(?: be)? (?P<verb>[a-z]{3,32})\b"
    r"(?P<rest>[^\n]{0,200})",
    ignore_case=True,
)
_ABLE = Pattern(r"\b(?:can|could)(?: also| still| indeed| always)?(?: be)? (?P<verb>[a-z]{3,32})\b", ignore_case=True)
_UNTRIED = Pattern(
    r"\b(?:(?:does|did|do)(?: not|n't)|never) (?:even |actually )?(?:try|tries|attempt)s? to (?P<verb>[a-z]{3,32})\b",
    ignore_case=True,
)
_SUPPOSED = Pattern(
    r"\b(?:should|must|would|might|may|assum\w+|believ\w+|expect\w*|if|when|whether|unless|until|needs?|ensure\w*|instead|fix"
    r"|so that|only|not|never|no|before|after|to make sure|how|what|which)\b",
    ignore_case=True,
)


class Denial(NamedTuple):
    """What a sentence denies: the stem of the action, the terms of its sentence, whether it says that it was not tried."""

    action: str
    about: frozenset[str]
    untried: bool


def _stem(verb: str) -> str:
    return next(iter(terms_once(verb)), "")


@lru_cache(maxsize=512)
def denials(claim: str) -> tuple[Denial, ...]:
    """Return what the sentences of a claim may deny, at most `_DENIALS` of them. Linear."""
    found: list[Denial] = []
    for sentence in encodable(claim[:_READ]).replace("\n", ". ").replace(", but ", ". ").split(". "):
        if len(found) >= _DENIALS:
            break
        found += _denied(sentence)
    return tuple(denial for denial in found[:_DENIALS] if denial.action)


def _denied(sentence: str) -> Iterator[Denial]:
    for match in _UNTRIED.finditer(sentence):
        yield Denial(_stem(match.group("verb")), frozenset(), untried=True)
    able = list(islice(_ABLE.finditer(sentence), _DENIALS))
    if able and not _SUPPOSED.search(sentence[: able[0].start()]):
        about = terms_once(sentence)
        supposed = _SUPPOSED.search(sentence, able[0].start())
        end = supposed.start() if supposed else len(sentence)
        for match in able:
            if match.start() <= end:
                yield Denial(_stem(match.group("verb")), about, untried=False)


def signs(claim: str, message: str) -> list[int]:
    """Return -1 for each denial of a claim that the text of a crash contradicts. Measure `polarity`; linear."""
    said = denials(claim)
    if not said:
        return []
    text = encodable(message[:_READ])
    return [-1 for denial in said if _contradicted(denial, text)]


def _contradicted(denial: Denial, text: str) -> bool:
    for line in text.split("\n", _LINES)[:_LINES]:
        if denial.untried:
            if denial.action in terms_once(line):
                return True
            continue
        for match in _UNABLE.finditer(line):
            shared = (terms_once(match.group("rest")) & denial.about) - {denial.action}
            if _stem(match.group("verb")) == denial.action and len(shared) >= _SHARED:
                return True
    return False
