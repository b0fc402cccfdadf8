"""Hostile texts cost what their length costs: every measure of texts, and the lexicons, are linear (ReDoS).

Times of a short and a fourfold text are compared, not held to a clock: a linear measure takes about four times as long, a
quadratic one sixteen times. The best of several runs counts, and what takes less than a millisecond is too short to tell.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import pytest

from reflect_gate import load_bundle
from reflect_gate.measure import _encoded, _secrets, disguise
from reflect_gate.measure.anchors import anchors_of
from reflect_gate.measure.attempt import denials
from reflect_gate.measure.hazards import hazard_facts
from reflect_gate.measure.lesson import action, cause, condition, contrast, limit
from reflect_gate.measure.lexicon import LexiconSet
from reflect_gate.measure.numbers import statements
from reflect_gate.measure.stray import stray_sentences
from reflect_gate.measure.text import encodable, language, terms

SHORT, LONG = 4_000, 16_000
RATIO = 8.0
TOO_SHORT = 0.002

UNITS = {
    "one letter": "a",
    "letters apart": "a ",
    "dots apart": "a.",
    "underscores": "_",
    "words": "lorem ",
    "not as": "not as ",
    "approach": "approach approach does not ",
    "can be": "can be done can be ",
    "ignore": "ignore ",
    "ignore all": "ignore all all all ",
    "previous": "previous prior ",
    "your": "your your ",
    "whenever asked": "whenever the user asks ",
    "send secrets": "send the secrets secrets ",
    "api key": "api_key ",
    "api key equals": "api_key = ",
    "password is": "password is ",
    "secret colons": "secret:::",
    "bearer": "bearer ",
    "jwt": "eyJ.",
    "login": "-u a:",
    "address": "https://a:",
    "at signs": "a@",
    "pem": "-----BEGIN ",
    "slack": "xoxb-",
    "base64": "QUJD",
    "base64 words": "QUJDQUJDQUJDQUJD ",
    "base32": "MFRGG",
    "base85": "!s8W-",
    "hex": "6f",
    "hex apart": "6f ",
    "percent": "%41",
    "entities": "&#65;",
    "escapes": "\\x41",
    "binary": "01000001 ",
    "decimals": "65 ",
    "morse": ".- ",
    "rotated": "vtaber ",
    "backwards": "erongi ",
    "tags": "<system>",
    "open tags": "<system ",
    "chat marks": "<|im_start|",
    "brackets": "[INST",
    "fences": "```",
    "headings": "### ",
    "dashes": "--- ",
    "quotes": "\"'",
    "pipes": "curl |",
    "dollars": "$(cat ",
    "zero width": "a\u200b",
    "joiners": "\u200d",
    "marks": "a\u0336\u0335\u0337",
    "bidi": "\u202e\u202c",
    "cyrillic": "\u0441\u043e\u0440\u0443 ",
    "tags beyond": "\U000e0041",
    "wide": "\uff49\uff47",
    "cjk": "\u5ffd\u7565",
    "surrogates": "\ud800",
    "newlines": "a\n",
    "sentences": "a b c. ",
    "none of it": "\ufdfa",
}


@functools.cache
def _lexicons() -> LexiconSet:
    """Return the shipped lexicons after their first calls, in which automata are built."""
    lexicons = LexiconSet(load_bundle("structured", cache=False).lexicons)
    for number in range(16):
        lexicons.hits({"candidate_lesson": f"{number} When a loader may return None, check its result."})
    return lexicons


def _hits(text: str) -> object:
    return _lexicons().hits({"candidate_lesson": text})


def _hazards(text: str) -> object:
    return hazard_facts({"candidate_lesson": text}, (), _lexicons())


def _strays(text: str) -> object:
    return stray_sentences({"candidate_lesson": text, "counterfactual": "A check."}, ())


MEASURES: dict[str, Callable[[str], object]] = {
    "lexicons": _hits,
    "hazards": _hazards,
    "stray": _strays,
    "decode": lambda text: _encoded.decode(encodable(text)),
    "secrets": lambda text: _secrets.secrets(encodable(text)),
    "readings": disguise.readings,
    "anchors": anchors_of,
    "condition": condition,
    "action": action,
    "contrast": contrast,
    "limit": limit,
    "denials": denials,
    "cause": cause,
    "language": language,
    "terms": terms,
    "numbers": statements,
}


def _text(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def _best(name: str, text: str) -> float:
    MEASURES[name](f"{name} {text}")
    times = []
    for run in range(3):
        # Results for a text may be kept, so that every run has a text of its own.
        own = f"{name} {run} {text}"
        start = time.process_time()
        MEASURES[name](own)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("unit", UNITS)
def test_measures_are_linear(unit: str) -> None:
    """Four times the text takes less than eight times as long, whatever it is made of."""
    slow = {}
    for name in MEASURES:
        short, long = (_text(UNITS[unit], size) for size in (SHORT, LONG))
        taken = _best(name, long)
        if taken > TOO_SHORT:
            before = _best(name, short)
            if taken > RATIO * max(before, TOO_SHORT / 4):
                slow[name] = (before, taken)
    assert slow == {}


def test_corpus_is_large_enough() -> None:
    """At least fifty evil strings."""
    assert len(UNITS) >= 50
