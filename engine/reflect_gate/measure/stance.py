"""Whether two lessons say the same to do, or the opposite, of a thing that both name.

A lesson is read as pieces of *advice*: a clause that begins with a verb of action (`check the list`), prescribes (`should`,
`must`, `need to`) or forbids (`do not`, `never`, `avoid`, `instead of caching`). Advice has a verb, a sign, and the content
terms of its clause. What only tells what happened (`the cache was not invalidated`) is no advice.

Two pieces of advice are about the same thing where they have the same verb and the terms of one are all among the other's, which
has few more. Then they are opposed where

- one tells to do what the other forbids;
- they take opposite sides of a pair (increase and decrease, enable and disable, async and sync …);
- they exchange what stands on either side of `before`, `after`, `to`, `into`, `instead of` or `rather than`.

Of two lessons that are alike, half of the terms are enough for the same thing: a copy with one word turned round is no copy.
Advice under conditions of which neither includes the other is about different things, and so is advice with an exception
(`unless`, `except`): neither agrees nor conflicts. Another language than English says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from ._english import ACTION_VERBS, word_set
from .similarity import similarity
from .text import fold, terms

__all__ = ["ADVICE_LIMIT", "Agreement", "Stance", "stance"]

ADVICE_LIMIT = 24
"""Pieces of advice of one lesson that are read."""

Agreement: TypeAlias = Literal["none", "agree", "conflict"]

_PAIRS = (
    ("increase raise raising enlarge grow extend lengthen", "decrease lower reduce reducing shrink shorten"),
    ("enable enabled activate", "disable disabled deactivate"),
    ("allow permit accept", "forbid disallow prohibit reject"),
    ("include", "exclude omit"),
    ("asynchronous asynchronously async", "synchronous synchronously sync"),
    ("ascending", "descending"),
    ("maximum largest highest most", "minimum smallest lowest least"),
    ("first earliest", "last latest"),
    ("strict strictly", "lenient leniently"),
)


def _sides() -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for number, pair in enumerate(_PAIRS):
        for side, sign in zip(pair, (1, -1), strict=True):
            for word in side.split():
                for form in (word, *_forms(word)):
                    found.setdefault(form, (number, sign))
    return found


def _forms(verb: str) -> tuple[str, str]:
    """Return the -ing and -ed forms of a regular verb."""
    return (f"{verb[:-1]}ing", f"{verb}d") if verb.endswith("e") else (f"{verb}ing", f"{verb}ed")


_SIDES = _sides()
_VERBS_OF_PAIRS = frozenset(word for pair in _PAIRS[:4] for side in pair for word in side.split())
_BREAKS = str.maketrans(
    {**dict.fromkeys(".;:!?\n\r\u2014\u2013", " | "), **dict.fromkeys(",()[]{}", " , "), **dict.fromkeys('`"*#', " ")}
)
_APOSTROPHES = str.maketrans(dict.fromkeys("'\u2019\u2018"))
_ENDS = word_set("| , but because since otherwise whereas although and so")
_CONDITIONS = word_set("when whenever if where wherever while on upon in for with given during once")
_CONDITIONS_WITHIN = word_set("when whenever if where wherever while once")
_NO_CONDITION = word_set("check checks checking verify see determine test ensure ask decide tell know whether even detect")
_EXCEPTIONS = word_set("unless except until only")
_LEADING = word_set("please always then first next instead also simply explicitly immediately just still")
_PRESCRIBING = word_set("should must shall")
_FORBIDDING = word_set("never dont avoid stop")
_FORBIDDING_WITHIN = word_set("shouldnt mustnt")
_NEEDING = word_set("need needs needed have has remember sure ought")
_INSTEAD = (("instead", "of"), ("rather", "than"), ("as", "opposed", "to"))
_PIVOTS = {"before": ("before", 1), "after": ("before", -1), "to": ("to", 1), "into": ("to", 1)}
_READ = 4_096
_PIVOT_LIMIT = 4
_FEW = 2
_ALIKE = 50


_Sides: TypeAlias = tuple[str, frozenset[str], frozenset[str]]


class Advice(NamedTuple):
    """One piece: `sign` is 1 for what to do, -1 for what not to do; `sides` are the pairs that it takes a side of.

    `things` are the terms up to `before` or `after` in what to do, `whole` all of them.
    """

    sign: int
    verb: str
    things: frozenset[str]
    whole: frozenset[str]
    sides: tuple[tuple[int, int], ...]
    order: tuple[_Sides, ...]
    condition: frozenset[str]
    numbers: frozenset[str]


class Stance(NamedTuple):
    """How two lessons stand to each other in what they say to do, and in the numbers that they state of the same thing."""

    polarity: Agreement
    numbers: Agreement


NO_STANCE = Stance("none", "none")


def _sentences(text: str) -> Iterator[list[str]]:
    """Yield the case-folded words of each sentence, commas kept, apostrophes gone."""
    folded = fold(text[:_READ]).replace("()", "")
    # A point within a number or a name is part of it.
    spaced = "".join(
        "\ue000" if mark == "." and folded[place + 1 : place + 2].isalnum() else mark for place, mark in enumerate(folded)
    )
    for sentence in spaced.translate(_BREAKS).translate(_APOSTROPHES).split("|"):
        found = sentence.replace("\ue000", ".").split()
        if found:
            yield found


def _pieces(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the clauses of a sentence: split at commas, conjunctions and conditions."""
    piece: list[str] = []
    for word in words:
        if word in _ENDS or (word in _CONDITIONS_WITHIN and not (piece and piece[-1] in _NO_CONDITION)):
            if piece:
                yield piece
            piece = [] if word in {",", "and", "but", "so"} else [word]
        else:
            piece.append(word)
    if piece:
        yield piece


def _stem(word: str) -> str:
    return next(iter(terms(word)), word)


@lru_cache(maxsize=1)
def _verb_stems() -> frozenset[str]:
    return frozenset(_stem(verb) for verb in ACTION_VERBS)


def _is_verb(word: str) -> bool:
    return word in ACTION_VERBS or word in _VERBS_OF_PAIRS or (word.endswith("ing") and _stem(word) in _verb_stems())


def _heads(piece: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield `(sign, place of the first word of the advice)` of a clause."""
    start = next((place for place, word in enumerate(piece) if word not in _LEADING), 0)
    for place, word in enumerate(piece):
        following = piece[place + 1] if place + 1 < len(piece) else ""
        if word in _FORBIDDING_WITHIN or (place == start and word in _FORBIDDING):
            yield -1, place + 1
        elif following in {"not", "never"} and (word in _PRESCRIBING or (place == start and word == "do")):
            yield -1, place + 2
        elif word in _PRESCRIBING:
            yield 1, place + (2 if following in _LEADING else 1)
        elif word in _NEEDING and following == "to":
            yield 1, place + 2
        elif place == start and _is_verb(word) and not word.endswith("ing"):
            yield 1, place
        else:
            continue
        break
    else:
        start = -1
    for place in range(len(piece) if start >= 0 or _sets_against(piece, 0) else 0):
        length = _sets_against(piece, place)
        if length:
            yield -1, place + length
            return


def _sets_against(piece: Sequence[str], place: int) -> int:
    """Return how many words at a place say `instead of`, 0 where none do."""
    return next((len(phrase) for phrase in _INSTEAD if tuple(piece[place : place + len(phrase)]) == phrase), 0)


def _cut(piece: Sequence[str], start: int) -> list[str]:
    """Return the words of the advice from `start` to what it is set against."""
    found: list[str] = []
    for place in range(start, len(piece)):
        if _sets_against(piece, place):
            break
        found.append(piece[place])
    return found


def _numbers(words: Sequence[str]) -> frozenset[str]:
    return frozenset(word.strip(".").lstrip("0") or "0" for word in words if word.replace(".", "").isdigit())


def _things(words: Sequence[str]) -> frozenset[str]:
    return terms(" ".join(word for word in words if word not in _SIDES))


def _order(words: Sequence[str]) -> Iterator[_Sides]:
    """Yield what stands to either side of each pivot: the nearest word of content, all of it for a lone `before` or `after`."""
    pivots = [place for place, word in enumerate(words) if word in _PIVOTS]
    lone = sum(_PIVOTS[words[place]][0] == "before" for place in pivots) == 1
    for place in pivots[:_PIVOT_LIMIT]:
        name, sign = _PIVOTS[words[place]]
        if name == "before" and not lone:
            continue
        before, after, near = words[:place], words[place + 1 :], name != "before"
        left, right = _beside(reversed(before), near=near), _beside(after, near=near)
        if left - right and right - left:
            yield (name, left - right, right - left) if sign > 0 else (name, right - left, left - right)


def _beside(words: Iterable[str], *, near: bool) -> frozenset[str]:
    each = (terms(word) for word in words)
    return next((found for found in each if found), frozenset()) if near else frozenset().union(*each)


def _advice(piece: Sequence[str], condition: frozenset[str], order: tuple[_Sides, ...]) -> Iterator[Advice]:
    for sign, start in _heads(piece):
        said = _cut(piece, start)
        if not said:
            continue
        verb = _stem(said[0]) if _is_verb(said[0]) else ""
        whole = rest = said[1:] if verb else said
        if sign > 0:
            # What is to be done before or after something is to be done; what is not to be done before it may be done later.
            rest = rest[: next((place for place, word in enumerate(rest) if word in {"before", "after"}), None)]
        sides = tuple(dict.fromkeys(_SIDES[word] for word in said if word in _SIDES))
        if said[0] in _SIDES:
            verb = f"pair-{_SIDES[said[0]][0]}"
        yield Advice(sign, verb, _things(rest), _things(whole), sides, order, condition, _numbers(said))


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[Advice, ...]:
    """Return the advice of a lesson."""
    found: list[Advice] = []
    for sentence in _sentences(text):
        if not _EXCEPTIONS.isdisjoint(sentence):
            continue
        pieces = list(_pieces(sentence))
        under = [piece for piece in pieces if piece[0] in _CONDITIONS]
        condition = frozenset().union(*(terms(" ".join(piece)) for piece in under))
        order = tuple(_order(_unfronted(sentence)))
        for piece in pieces:
            if piece[0] not in {"because", "since", "otherwise", "whereas", "although"} and piece not in under:
                found += _advice(piece, condition, order)
        if len(found) >= ADVICE_LIMIT:
            break
    return tuple(found[:ADVICE_LIMIT])


def _unfronted(sentence: Sequence[str]) -> list[str]:
    """Return a sentence with what stands before its main clause (`before dividing, check …`) put behind it, up to the reason."""
    words = list(sentence)
    for mark in ("because", "since", "otherwise", "so"):
        if mark in words[1:]:
            words = words[: words.index(mark, 1)]
    if words and words[0] in {"before", "after"} and "," in words:
        comma = words.index(",")
        words = words[comma + 1 :] + words[:comma]
    return [word for word in words if word != ","]


def _same_condition(one: frozenset[str], other: frozenset[str]) -> bool:
    return not one or not other or one <= other or other <= one


def _same_thing(one: Advice, other: Advice) -> bool:
    """Return whether two pieces of advice are about the same thing."""
    if not _same_condition(one.condition, other.condition):
        return False
    if one.verb != other.verb and one.verb and other.verb:
        return False
    same_verb = one.verb == other.verb
    return _includes(one.things, other.things, few=same_verb) or _includes(one.whole, other.whole, few=same_verb)


def _includes(one: frozenset[str], other: frozenset[str], *, few: bool) -> bool:
    """Return whether the terms of one are all among the other's, which has at most a few more."""
    small, large = sorted((one, other), key=len)
    if not small or not small <= large:
        return False
    # Without a verb, or with one thing alone, only the very same things are known to be meant.
    return len(large) - len(small) <= (_FEW if few and len(small) > 1 else 0)


def _nearly_same_thing(one: Advice, other: Advice) -> bool:
    """Return whether two pieces of advice of lessons that are alike are about the same thing: one verb, half of the terms."""
    if not one.verb or one.verb != other.verb or not _same_condition(one.condition, other.condition):
        return False
    return bool(one.whole & other.whole) and _mostly(one.whole, other.whole)


def _opposed(one: Advice, other: Advice) -> int:
    """Return 1 where both say the same, -1 where they say the opposite."""
    sign = one.sign * other.sign
    theirs = dict(other.sides)
    for pair, side in one.sides:
        if pair in theirs:
            sign *= side * theirs[pair]
    return sign


def _exchanged(one: Advice, other: Advice) -> bool:
    """Return whether both relate the same two things the other way round."""
    if one.sign != other.sign or not _same_condition(one.condition, other.condition):
        return False
    for name, left, right in one.order:
        for theirs, far_left, far_right in other.order:
            apart = left.isdisjoint(far_left) and right.isdisjoint(far_right)
            if name == theirs and apart and _mostly(left, far_right) and _mostly(right, far_left):
                return True
    return False


def _mostly(one: frozenset[str], other: frozenset[str]) -> bool:
    return 2 * len(one & other) >= max(1, min(len(one), len(other)))


def _swapped_choice(one: Sequence[Advice], other: Sequence[Advice]) -> bool:
    """Return whether one lesson takes what the other sets its choice against, and the other way round."""
    chosen = [advice.things for advice in one if advice.sign > 0], [advice.things for advice in other if advice.sign > 0]
    left = [advice.things for advice in one if advice.sign < 0], [advice.things for advice in other if advice.sign < 0]
    crossed = [any(mine and mine == theirs for mine in chosen[side] for theirs in left[1 - side]) for side in (0, 1)]
    return all(crossed)


def stance(one: str, other: str) -> Stance:
    """Return how two lessons stand to each other; the same either way round. Measure `stance` 1.0.0.

    A conflict outweighs agreement. `numbers` is said of advice about the same thing that goes the same way: `conflict` where both
    state numbers and none in common. At most `ADVICE_LIMIT` pieces of each are compared.
    """
    mine, theirs = _read(one), _read(other)
    alike = similarity(one, other) >= _ALIKE
    if not mine or not theirs:
        return NO_STANCE
    polarity: Agreement = "conflict" if _swapped_choice(mine, theirs) else "none"
    numbers: Agreement = "none"
    for a in mine:
        for b in theirs:
            if _exchanged(a, b):
                polarity = "conflict"
            same = _same_thing(a, b)
            if _opposed(a, b) < 0 and (same or (alike and _nearly_same_thing(a, b))):
                polarity = "conflict"
            elif same:
                polarity = "agree" if polarity == "none" else polarity
                if a.numbers and b.numbers:
                    apart = a.numbers.isdisjoint(b.numbers)
                    numbers = "conflict" if apart else "agree" if numbers == "none" else numbers
    return Stance(polarity, numbers)
