"""The `lesson` fact: the form of a candidate lesson, and its link to the causes that the reflection names.

*Condition*: a phrase that says when it applies: `when`, `if` (not `check if`), `where`, `unless`, `before parsing`, `in case of`,
`for inputs that`. *Action*: an imperative at the start of a clause, a modal (`should`, `must`, `need to`, `avoid`), or the gerund
of an action after `by`. *Contrast*: what was done against what is to be done (`all factors instead of the odd ones`, `rather
than`, `not just`), which says as much without an imperative. *Cause*: a connective (`because`, `since`, `due to`, `otherwise`,
`so that`, `leads to`, `to avoid`) or a diagnosis (`does not handle`, `fails to`, `cannot`, `the issue is that`). Forms are read
from words, not parsed: they ask whether the parts of a principle are there, not whether it is true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..facts import Fact, ratio
from ._english import ACTION_VERBS, STOP_WORDS, phrases, word_set
from .anchors import Anchor, anchors_of
from .index import RecordIndex
from .text import analyse, fold, language, split_words, terms

__all__ = ["action", "cause", "condition", "contrast", "instance", "lesson_fact", "limit", "link", "platitudes"]

_BREAK = "|"
_BREAKS = str.maketrans(
    {
        **dict.fromkeys(".;:!?\n\r()[]{},\u2014\u2013", " | "),
        **dict.fromkeys('`"*#_/\\=<>+~^$%&@\u2026\u201c\u201d', " "),
        **dict.fromkeys("'\u2019\u2018"),
    }
)


def _marked(text: str) -> list[str]:
    """Return the case-folded words of a text with `|` where a clause may begin."""
    return fold(text).translate(_BREAKS).replace(" - ", " | ").split()


# -- condition -------------------------------------------------------------------------------------------------------------------

_WHEN = word_set("when whenever where wherever unless while upon during once until given")
_NO_CONDITION = word_set(
    """
    check checks checked checking see verify verifies verifying determine determines determining test tests testing decide tell
    know as even validate confirm ask find identify detect sure ensure wonder matter matters
    """
)
_BEFORE = frozenset(("before", "after", "prior"))
_FOR_WHAT = word_set(
    """
    inputs input functions function tasks task problems problem cases case any all every each code values value lists list strings
    string arrays array numbers number files file edge such empty large small negative nested missing new parameters arguments
    queries requests data
    """
)
_PHRASES_WHEN = phrases(
    """
    in case, in cases, in the case, in the event, in the presence, in situations, as soon as, as long as, each time, every time,
    any time, in which, dealing with, working with
    """
)


def condition(text: str) -> bool:
    """Return whether a lesson says when it applies."""
    return _condition(_marked(text))


def _condition(words: Sequence[str]) -> bool:
    for index, word in enumerate(words):
        previous = words[index - 1] if index else _BREAK
        following = words[index + 1] if index + 1 < len(words) else _BREAK
        if word in _WHEN or (word == "if" and previous not in _NO_CONDITION):
            return True
        if (
            word in _BEFORE
            and following != _BREAK
            and (previous == _BREAK or following.endswith("ing") or following in {"a", "an", "any", "to"})
        ):
            return True
        if word == "for" and (
            following in _FOR_WHAT
            or (following in {"the", "a", "an"} and words[index + 2 : index + 3] and words[index + 2] in _FOR_WHAT)
        ):
            return True
    joined = f" {' '.join(words)} "
    return any(phrase in joined for phrase in _PHRASES_WHEN)


# -- action ----------------------------------------------------------------------------------------------------------------------

_MODALS = word_set("should must shall ought avoid ensure")
_LEADING = word_set("please always then first next instead also and or simply explicitly immediately just only never carefully")
_TO = word_set(
    """
    need needs needed have has had ought important best better remember sure necessary required essential crucial try want wise
    helpful is was
    """
)
_GERUND_AFTER = word_set("by consider try start requires require involves include needs without of")


def _is_gerund(word: str) -> bool:
    """Return whether a word is the -ing form of an action: `adding`, `storing`, `getting`."""
    if not word.endswith("ing") or len(word) < 5:
        return False
    stem = word[:-3]
    return stem in ACTION_VERBS or f"{stem}e" in ACTION_VERBS or (stem[-1:] == stem[-2:-1] and stem[:-1] in ACTION_VERBS)


def action(text: str) -> bool:
    """Return whether a lesson says what to do."""
    return _action(_marked(text))


def _action(words: Sequence[str]) -> bool:
    start = True
    for index, word in enumerate(words):
        previous = words[index - 1] if index else _BREAK
        if word in _MODALS or (start and (word in ACTION_VERBS or (word in {"do", "dont", "never"} and index + 1 < len(words)))):
            return True
        if word == "to" and previous in _TO and index + 1 < len(words) and words[index + 1] in ACTION_VERBS | {"be", "also"}:
            return True
        if previous in _GERUND_AFTER and _is_gerund(word):
            return True
        start = word == _BREAK or (start and word in _LEADING) or (word in {"then", "instead"} and not start)
    return False


# -- contrast --------------------------------------------------------------------------------------------------------------------

_AGAINST = (("instead", "of"), ("rather", "than"), ("as", "opposed", "to"), ("not", "just"), ("not", "only"), ("not", "merely"))
_CONTRAST_REACH = 6
_CLAUSE_REACH = 24
_AS_ASKED = word_set("specified required requested asked stated described instructed prescribed demanded documented")
_TASK = word_set(
    "problem task prompt specification spec docstring statement requirements instructions documentation example examples"
)
_DENYING = word_set("not never doesnt didnt isnt arent wasnt dont without lacks ignores")


def contrast(text: str) -> bool:
    """Return whether a lesson sets what was done against what is to be done, and names both."""
    return _contrast(_marked(text))


def _contrast(words: Sequence[str]) -> bool:
    return _set_against(words) or _not_as_asked(words)


def _not_as_asked(words: Sequence[str]) -> bool:
    """Return whether a clause says what is not done `as specified`, `as the task says`: what was asked is what is to be done."""
    start = 0
    for index, word in enumerate(words):
        if word == _BREAK:
            start = index
        elif word == "as" and not _DENYING.isdisjoint(words[max(start, index - _CLAUSE_REACH) : index]):
            asked = words[index + 1 : index + 2]
            named = words[index + 1 : index + 4]
            if not _AS_ASKED.isdisjoint(asked) or ("the" in named[:1] and not _TASK.isdisjoint(named)):
                return True
    return False


def _set_against(words: Sequence[str]) -> bool:
    for index, word in enumerate(words):
        for phrase in _AGAINST:
            if word == phrase[0] and tuple(words[index : index + len(phrase)]) == phrase:
                behind = words[index + len(phrase) : index + len(phrase) + _CONTRAST_REACH]
                if _names_something(words[max(0, index - _CONTRAST_REACH) : index]) and _names_something(behind):
                    return True
    return False


def _names_something(words: Sequence[str]) -> bool:
    return any(word not in STOP_WORDS and word != _BREAK and not word.isdigit() for word in words)


# -- limit -----------------------------------------------------------------------------------------------------------------------

_MEANS = word_set("approach method technique strategy algorithm formula solution heuristic trick pattern idiom shortcut way")
_LIMITED = phrases(
    """
    does not work for, does not work with, does not work when, does not work if, doesnt work for, doesnt work with, doesnt work
    when, doesnt work if, does not apply to, doesnt apply to, does not apply when, does not hold for, doesnt hold for, does not
    hold when, does not scale to, only works for, only works with, only works when, only works if, works only for, works only
    when, works only if, only applies to, only holds for, only holds when, cannot be used for, cannot be used when, cannot be used
    with, is not suitable for, is not valid for, is only valid for, is only suitable for, breaks down for, breaks down when, fails
    for, fails when, fails if
    """
)
_LIMIT_REACH = 6


def limit(text: str) -> bool:
    """Return whether a lesson says for what, or when, an approach must not be relied on."""
    return _limit(_marked(text))


def _limit(words: Sequence[str]) -> bool:
    for index, word in enumerate(words):
        if word in _MEANS:
            near = words[index + 1 : index + 1 + _LIMIT_REACH]
            clause = near[: near.index(_BREAK)] if _BREAK in near else near
            if any(phrase in f" {' '.join(clause)} " for phrase in _LIMITED):
                return True
    return False


# -- cause -----------------------------------------------------------------------------------------------------------------------

_BECAUSE = word_set(
    "because since otherwise therefore thus hence causes caused causing cannot cant overlooked ignored ignores ignoring forgot"
)
_WRONG = word_set("incorrectly wrongly mistakenly erroneously unexpectedly silently unhandled")
_PHRASES_WHY = phrases(
    """
    due to, so that, as a result, leads to, lead to, led to, leading to, results in, result in, resulted in, resulting in,
    stems from, owing to, the reason, this means, which means, that means, or else, to avoid, to prevent, to ensure, to
    guarantee, to handle, to account for, to make sure, in order to, so as to, will raise, will fail, will crash, will cause,
    will break, will return, will lose, can cause, can lead, can fail, can raise, may cause, may lead, may fail, may raise,
    might cause, could cause, could lead, fails to, failed to, fail to, failing to, fails when, fails if, fails for, fails on,
    breaks when, breaks if, so the, so it, so they, which is why, that is why, is why, makes it, makes the, raises an, raises
    a, is that, lies in, is missing, are missing, was missing, root cause, the issue is, the problem is, the
    mistake is, issue lies
    """
)
_AUXILIARY = word_set("does do did is are was were has have had will would could should can")
_DENIED = word_set("doesnt didnt isnt arent wasnt werent hasnt havent wont couldnt wouldnt")


def cause(text: str) -> bool:
    """Return whether a lesson says why."""
    return _cause(_marked(text))


def _cause(words: Sequence[str]) -> bool:
    for index, word in enumerate(words):
        if word in _BECAUSE or word in _WRONG or word in _DENIED:
            return True
        # `do not` at the start of a clause is an instruction, not a diagnosis.
        if word in {"not", "never"} and index > 1 and words[index - 1] in _AUXILIARY - {"should"} and words[index - 2] != _BREAK:
            return True
    joined = f" {' '.join(word for word in words if word != _BREAK)} "
    return any(phrase in joined for phrase in _PHRASES_WHY)


# -- link and instance -----------------------------------------------------------------------------------------------------------


def link(lesson: str, claims: Mapping[str, str]) -> int:
    """Return the share of the content terms of the causal fields that return in the lesson, in hundredths rounded down."""
    named = frozenset().union(*(terms(text) for text in claims.values() if text))
    return ratio(len(named & terms(lesson)), len(named))


_LINE_WORDS = frozenset(("line", "lines", "column", "columns"))


def _instance_names(text: str, index: RecordIndex) -> set[str]:
    """Return the words in `text` that name this instance: values, paths, tests, functions that the record's checks call."""
    names: set[str] = set()
    for anchor in anchors_of(text).found:
        if anchor.kind == "span" or (anchor.kind == "name" and _is_own(anchor, index)):
            names.update(split_words(anchor.form))
    return names


def _is_own(anchor: Anchor, index: RecordIndex) -> bool:
    form = anchor.form
    if form.startswith("test_") or form.endswith("_test") or "/" in form:
        return True
    return "_" in form and any(check.holds(anchor) for check in index.checks)


def instance(text: str, index: RecordIndex) -> int:
    """Return the share of a lesson's words that name this one instance, in hundredths rounded up.

    Counted are numbers, `line`/`column` before a number, the words of quoted values, code literals and bracketed literals, paths,
    test names, and `snake_case` names that stand in the record's checks. 0 where there is no word.
    """
    found = [word.casefold() for word in analyse(text).words]
    if not found:
        return 0
    names = _instance_names(text, index)
    counted = 0
    for place, word in enumerate(found):
        before_number = word in _LINE_WORDS and found[place + 1 : place + 2] and found[place + 1].isdigit()
        counted += word.isdigit() or bool(before_number) or word in names
    return -(-counted * 100 // len(found))


_SENTENCE = re.compile(r"[^.!?;\n]+")


def _sentences(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _SENTENCE.finditer(text) if not match.group().isspace()]


def platitudes(text: str, virtues: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return how many sentences a lesson has, and the share of them that hold one of `virtues`, in hundredths rounded up.

    `virtues` are the places of virtue-level phrases. A long list of virtues dilutes the share of words that stand in such
    phrases, not the share of sentences.
    """
    sentences = _sentences(text)
    if not sentences:
        return 0, 0
    held = sum(any(first < end and start < last for first, last in virtues) for start, end in sentences)
    return len(sentences), -(-held * 100 // len(sentences))


def lesson_fact(
    lesson: str, claims: Mapping[str, str], index: RecordIndex, *, hedges: int, virtues: Sequence[tuple[int, int]] = ()
) -> Fact:
    """Return the `lesson` fact of a candidate lesson. Measure `lesson` 1.3.0.

    `claims` are the causal fields; `hedges` is the count of the hedge lexicon in the lesson and `virtues` are the places of the
    virtue-level lexicon, from `LexiconSet.hits`. `words` counts words; `condition`, `action`, `contrast`, `limit`, `cause` say
    whether those parts are there; `link` rounds down, `instance` and the share of platitudes up.
    """
    marked = _marked(lesson)
    return (
        "lesson",
        language(lesson),
        len(analyse(lesson).words),
        _condition(marked),
        _action(marked),
        _contrast(marked),
        _limit(marked),
        _cause(marked),
        link(lesson, claims),
        instance(lesson, index),
        hedges,
        *platitudes(lesson, virtues),
    )
