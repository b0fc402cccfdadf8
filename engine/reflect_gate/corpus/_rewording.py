"""Small, seeded changes of a text that make it say something else: other names, other numbers, the opposite, a word misquoted.

Each function takes the texts that are to change together (a claim, and the lesson that repeats it) and returns them changed, or
`None` where there is nothing to change. What counts as a name, a number or a quotation is read here by patterns of its own, not
by the measures of the gate: what is tested must not decide what it is tested on.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random

__all__ = ["misquoted", "names_in", "negated", "renamed", "renumbered"]

Texts = Mapping[str, str]
"""Texts by the name of their field."""

_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?!\w|\.\d)")
_QUOTED = re.compile(r"`([^`\n]{4,160})`|\"([^\"\n]{4,160})\"|(?<!\w)'([^'\n]{4,160})'(?!\w)")
_NO_NAMES = frozenset((*keyword.kwlist, "null", "undefined", "nil", "true", "false", "function", "return"))
_BUILTINS = frozenset(name for name in dir(builtins) if name.islower())


def names_in(text: str) -> list[str]:
    """Return the distinct identifiers of a text, in order: `snake_case`, `camelCase`, `called(`, or a word between backticks."""
    found: dict[str, None] = {}
    for match in _WORD.finditer(text):
        word, before, after = match.group(), text[: match.start()][-1:], text[match.end() :][:1]
        marked = "_" in word.strip("_") or (word[:1].islower() and any(letter.isupper() for letter in word))
        if len(word) > 1 and word not in _NO_NAMES and (marked or after == "(" or (before == "`" and after == "`")):
            found.setdefault(word)
    return list(found)


def renamed(texts: Texts, claims: str, evidence: str, spare: Sequence[str], rng: Random) -> dict[str, str] | None:
    """Return the texts with every identifier that `claims` and `evidence` share replaced by one that `evidence` does not hold.

    `spare` are identifiers of other failures, so that the replacement looks like a name; the same name is replaced by the same.
    """
    held = set(_WORD.findall(evidence))
    old = [name for name in names_in(claims) if name in held]
    new = [name for name in dict.fromkeys(spare) if name not in held and name not in _BUILTINS]
    if not old or len(new) < len(old):
        return None
    mapping = dict(zip(old, rng.sample(new, len(old)), strict=True))
    return {field: _WORD.sub(lambda found: mapping.get(found.group(), found.group()), text) for field, text in texts.items()}


def renumbered(texts: Texts, claims: str, cited: str, evidence: str, rng: Random) -> dict[str, str] | None:
    """Return the texts with every number that `claims` and `cited` share replaced by one that stands nowhere in `evidence`."""
    known, shown = set(_NUMBER.findall(evidence)), set(_NUMBER.findall(cited))
    mapping: dict[str, str] = {}
    for number in dict.fromkeys(_NUMBER.findall(claims)):
        if number in shown:
            mapping[number] = _other_number(number, known | set(mapping.values()), rng)
    if not mapping:
        return None
    return {field: _NUMBER.sub(lambda found: mapping.get(found.group(), found.group()), text) for field, text in texts.items()}


def _other_number(number: str, taken: set[str], rng: Random) -> str:
    """Return a number of the same sign and number of decimals that is not taken."""
    whole, point, fraction = number.partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    while True:
        # Python refuses to read integers of more than some thousand digits; the last nine are enough to differ in.
        changed = f"{sign}{digits[:-9]}{int(digits[-9:]) + rng.randrange(2, 90)}{point}{fraction}"
        if changed not in taken:
            return changed


def misquoted(texts: Texts, claims: str, cited: Sequence[str], spare: Sequence[str], rng: Random) -> dict[str, str] | None:
    """Return the texts with one word of one quotation replaced by another.

    A quotation is what stands between backticks or quotation marks, has two words or more, and stands in a cited text word for
    word. The word is replaced by one of `spare` that no cited text holds.
    """
    quotations = [content for content in _quotations(claims) if any(content in text for text in cited)]
    held = {word for text in cited for word in re.findall(r"\w+", text)}
    new = [word for word in dict.fromkeys(spare) if word not in held]
    if not quotations or not new:
        return None
    chosen = rng.choice(quotations)
    word = rng.choice(list(re.finditer(r"\w+", chosen)))
    changed = chosen[: word.start()] + rng.choice(new) + chosen[word.end() :]
    return {field: text.replace(chosen, changed) for field, text in texts.items()}


def _quotations(text: str) -> list[str]:
    found = (next(part for part in match.groups() if part is not None) for match in _QUOTED.finditer(text))
    return list(dict.fromkeys(part for part in found if len(re.findall(r"\w+", part)) > 1))


# -- negation --------------------------------------------------------------------------------------------------------------------

_Change = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]


def _exchanged(pairs: str) -> Iterator[_Change]:
    """Yield the changes of `a/b` pairs of words, in both directions."""
    for pair in pairs.split():
        left, right = pair.split("/")
        for word, other in ((left, right), (right, left)):
            yield re.compile(rf"\b{word.replace('-', ' ')}\b", re.IGNORECASE), other.replace("-", " ")


_IRREGULAR = {"have": "has", "do": "does", "go": "goes", "be": "is"}


def _affirmed(match: re.Match[str]) -> str:
    """Return `handles` for `does not handle`; an adverb keeps the `does`."""
    verb = match.group(1)
    if verb.endswith("ly") or verb in {"always", "even", "only", "yet"}:
        return f"does {verb}"
    if verb.endswith("y") and verb[-2:-1] not in {"a", "e", "o", "u"}:
        return f"{verb[:-1]}ies"
    return _IRREGULAR.get(verb, f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "z")) else f"{verb}s")


def _denied(match: re.Match[str]) -> str:
    """Return `it does not try` for `it tries`."""
    subject, verb = match.groups()
    if verb.endswith("ie"):
        verb = f"{verb[:-2]}y"
    elif verb.endswith(("she", "che", "xe", "sse")):
        verb = verb[:-1]
    return f"{subject} does not {verb}"


_STRONG: tuple[_Change, ...] = (
    (re.compile(r"\bdoes(?: not|n't) (\w+)\b", re.IGNORECASE), _affirmed),
    (re.compile(r"\bdo(?: not|n't) (?=\w)", re.IGNORECASE), ""),
    (re.compile(r"\bcan(?:not|'t| not)\b", re.IGNORECASE), "can"),
    (re.compile(r"\b(did|is|are|was|were|has|have|had|will|would|should|could)(?: not|n't)\b", re.IGNORECASE), r"\1"),
    (re.compile(r"\b(?:fails|failed) to\b", re.IGNORECASE), "manages to"),
    (re.compile(r"\b(?:lacks|(?:is|was|are) missing)\b", re.IGNORECASE), "has"),
    (re.compile(r"\bnot\s+(?=\w)", re.IGNORECASE), ""),
    *_exchanged(
        "always/never without/with incorrectly/correctly incorrect/correct wrong/right too-high/too-low too-large/too-small "
        "too-many/too-few greater/less higher/lower larger/smaller longer/shorter before/after fails/passes failed/passed "
        "exists/is-missing valid/invalid empty/populated increasing/decreasing ascending/descending first/last "
        "minimum/maximum more/fewer"
    ),
)
"""What says yes or no; the first one in a sentence is turned round."""

_WEAK: tuple[_Change, ...] = (
    (re.compile(r"\b(causes|results in|leads to)\b", re.IGNORECASE), "does not affect"),
    (
        re.compile(r"(?<!\bissue )(?<!\bproblem )\b(is|are|was|were|can|will|should|must)\b(?! not\b)(?! that\b)", re.IGNORECASE),
        r"\1 not",
    ),
    (re.compile(r"\b(?:has|have)\b", re.IGNORECASE), "does not have"),
    (re.compile(r"\breturn(?:s|ed)\b", re.IGNORECASE), "does not return"),
    (re.compile(r"\b(function|implementation|code|it|attempt|plan|method|test) (\w{2,}[^s\W])s\b", re.IGNORECASE), _denied),
)
"""What a plain statement is denied by, where no word of `_STRONG` stands in the sentence."""


def negated(texts: Texts, claims: Iterable[str]) -> dict[str, str] | None:
    """Return the texts with every sentence of `claims` that can be denied replaced by its denial."""
    mapping: dict[str, str] = {}
    for sentence in (part for claim in claims for part in re.split(r"(?<=[.!?;])\s+|\n+", claim)):
        denied = _denial(sentence)
        if denied is not None:
            mapping[sentence] = denied
    if not mapping:
        return None
    return {field: _replaced(text, mapping) for field, text in texts.items()}


def _replaced(text: str, mapping: Mapping[str, str]) -> str:
    for old, new in mapping.items():
        text = text.replace(old, new)
    return text


def _denial(sentence: str) -> str | None:
    # What is quoted is evidence and stays as it is; blanks of the same length keep the places.
    masked = re.sub(r"`[^`\n]*`|\"[^\"\n]*\"", lambda found: "\0" * len(found.group()), sentence)
    for changes in (_STRONG, _WEAK):
        found = [
            (match.start(), order, match, new)
            for order, (pattern, new) in enumerate(changes)
            if (match := pattern.search(masked))
        ]
        if found:
            _, _, match, new = min(found, key=lambda one: one[:2])
            return (
                sentence[: match.start()] + (match.expand(new) if isinstance(new, str) else new(match)) + sentence[match.end() :]
            )
    return None
