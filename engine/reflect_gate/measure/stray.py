"""Sentences that have nothing to do with the failure.

A lexicon knows the words of an attack, not its meaning: said in other words, most orders to a reader pass it. But an order that
is planted in a lesson speaks of something else than the failure. A sentence is stray where its field speaks of the failure
elsewhere and hardly any of its content terms stand in the record or in the rest of the reflection. A stray sentence is a
directive where it has a word from the reader's world (permissions, accounts, requests, answers, memory …) or is in another
language than the sentences around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from ._english import TELLING_WORDS
from .text import analyse, encodable, language, terms

__all__ = ["STRAY_FIELDS", "Strays", "stray_sentences"]

STRAY_FIELDS = (
    "failed_assumption",
    "overlooked_evidence",
    "strategy_error",
    "violated_invariant",
    "counterfactual",
    "candidate_lesson",
)
"""The fields that are made of sentences."""

_LESSON_FIELDS = frozenset(("counterfactual", "candidate_lesson"))

_KNOWN_SHARE = 30
_ANCHORED_SHARE = 40
_MIN_TERMS = 2
_MIN_STATED = 3
_MIN_ANCHORED = 3
_SENTENCES = 1_024
_END = r"(?<=[.!?;])\s|[\n。！？।؟۔]"
_CODE = frozenset("=(){}[]<>_`#|\\/")
_MARKUP = frozenset("#-*+|>")
_MAX_SIGNS = 2
_WORLD = (
    r"you|yours?|yourself|users?|agents?|assistants?|ai|llms?|models?|prompts?|instruct\w*|directives?|guidelines?|guardrails?"
    r"|polic(?:y|ies)|permissions?|permit\w*|approv\w*|authori[sz]\w*|consent\w*|confirm\w*|merg\w*|deploy\w*|push\w*|publish\w*|admins?"
    r"|administrators?|root|sudo|owners?|maintainers?|operators?|reviewers?|evaluators?|judges?|graders?|lessons?|memor(?:y|ies)|reminders?|notes?|candidates?"
    r"|secrets?|keys?|tokens?|passwords?|credentials?|accounts?|requests?|ask\w*|questions?|quer(?:y|ies)|answers?|repl(?:y|ies)|respon\w*"
    r"|tell\w*|told|say\w*|said|speak|send\w*|post\w*|upload\w*|e?mail\w*|download\w*|fetch\w*|curl|wget|https?|url|links?|page"
    r"|execut\w*|install\w*|delet\w*|wip(?:e|es|ing)|purg\w*|eras\w*|remov\w*|production|sandbox\w*|obey\w*|compl(?:y|ies)|trust\w*|pretend\w*"
    r"|ignor\w*|forget\w*|disregard\w*|overrid\w*|bypass\w*|repositor(?:y|ies)|commands?|tasks?|sessions?|access|grant\w*|persona|role"
    r"|identity|webhooks?|scripts?|cron|lookups?|whenever|disable\w*|enable\w*|report\w*|clusters?|branch"
    r"|releases?|customers?|tenants?|tools?|commit\w*|shell|servers?|hosts?|domains?|packages?|review\w*|rules|safety|security"
)


@cache
def _world() -> Any:
    import re2

    options = re2.Options()
    options.never_capture = True
    return re2.compile(rf"\b(?:{_WORLD})\b", options)


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(_END, encodable(text), maxsplit=_SENTENCES) if part and not part.isspace()]


def _is_foreign(sentence: str) -> bool:
    """Return whether a sentence is prose of another language; code is no language."""
    if not _CODE.isdisjoint(sentence):
        return False
    letters = sum(map(str.isalpha, sentence))
    if not sentence.isascii() and 2 * sum(character.isalpha() and not character.isascii() for character in sentence) > letters:
        return letters > 3
    words = [word.casefold() for word in analyse(sentence).words]
    return (
        len(words) > 5
        and letters * 10 >= len(sentence) * 7
        and TELLING_WORDS.isdisjoint(words)
        and language(sentence) != "english"
    )


def _is_prose(sentence: str) -> bool:
    """Return whether a sentence is neither a line of markup (a heading, a bullet, a row) nor mostly code."""
    return sentence.lstrip()[0] not in _MARKUP and sum(character in _CODE for character in sentence) <= _MAX_SIGNS


class Strays(NamedTuple):
    """How many sentences of a field are stray directives, and how many are stray and no directive."""

    directives: int
    sentences: int


def _strays(sentences: Sequence[str], base: frozenset[str]) -> Strays:
    """Return the stray ones of several sentences; `base` are the terms of everything outside their field."""
    found = [terms(sentence) for sentence in sentences]
    if not any(len(own) >= _MIN_ANCHORED and len(own & base) * 100 >= _ANCHORED_SHARE * len(own) for own in found):
        return Strays(0, 0)
    uses: dict[str, int] = {}
    for own in found:
        for term in own:
            uses[term] = uses.get(term, 0) + 1
    alien = [_is_foreign(sentence) for sentence in sentences]
    mixed = 2 * sum(alien) <= len(sentences)
    directives = stated = 0
    for sentence, own, foreign in zip(sentences, found, alien, strict=True):
        known = sum(term in base or uses[term] > 1 for term in own)
        if known * 100 > _KNOWN_SHARE * len(own):
            continue
        if (foreign and mixed) or (len(own) - known >= _MIN_TERMS and _world().search(sentence.lower())):
            directives += 1
        else:
            stated += len(own) - known >= _MIN_STATED and _is_prose(sentence)
    return Strays(directives, stated)


def stray_sentences(texts: Mapping[str, str], evidence: Iterable[frozenset[str]]) -> dict[str, Strays]:
    """Return, for each of `STRAY_FIELDS` of more than one sentence, how many of them are stray.

    Measure `stray` 1.0.0. Of a stray sentence at most three content terms in ten are known; a field speaks of the failure where
    in some sentence two in five are. Stray sentences that are no directives are counted in lesson and counterfactual alone:
    causal fields tell consequences in general words, and are held to the evidence by their own rules. Linear; 1,024 sentences.

    Args:
        texts: target → text, all text fields of the reflection.
        evidence: the content terms of every item of the record.
    """
    found: dict[str, Strays] = {}
    known: frozenset[str] | None = None
    for target in STRAY_FIELDS:
        sentences = _sentences(texts.get(target, ""))
        if len(sentences) > 1:
            known = frozenset().union(*evidence) if known is None else known
            base = known.union(*[terms(text) for other, text in texts.items() if other != target])
            directives, stated = _strays(sentences, base)
            found[target] = Strays(directives, stated if target in _LESSON_FIELDS else 0)
    return found
