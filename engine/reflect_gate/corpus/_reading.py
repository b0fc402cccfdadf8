"""Reads a free-text reflection as causal claims, a counterfactual and a lesson, and finds what each sentence refers to.

The reading is by sentence, by cue words, in this order; the first that applies decides:

1. A sentence that opens like a repair (`To fix this`, `One way to`, `Instead, we should`), or orders something (`When a list may
   be empty, check it first`), is the counterfactual.
2. A sentence that only restates the failed test (`failed the test case where …`, `the expected output is … but …`) and names no
   cause is context, and so is praise (`correctly computes …` with no word of a fault).
3. `assumes`, `expects`, `thought`, `treats … as`, `misunderstands` → `failed_assumption`.
4. `does not handle | consider | account for | check`, `ignores`, `misses`, `overlooks`, `edge case` → `overlooked_evidence`.
5. `violates`, `required`, `constraint`, `off by`, `must be`, and `should | must | supposed to` beside the task or the
   specification → `violated_invariant`.
6. `should`, `needs to`, `can be fixed by`, before any word of cause and with no `but` behind it → the counterfactual.
7. Everything else says what the implementation does wrong: `strategy_error`; but a sentence that only carries the one before it
   on (`This leads to …`, `As a result …`) belongs to that one's field.

Where no sentence is a claim, the context is (else the counterfactual): a reflection says something. The candidate lesson is the
claims that opened a field, without their carried-on sentences unless they say where an approach does not hold, and the
counterfactual, in order of the text. All text is verbatim.

A sentence refers to a check whose call, argument or value it quotes; failing that, to every failing check where it speaks of
tests, outputs or errors; to the attempt where it speaks of code or names something in it; to the task statement where it speaks
of the task. It cites nothing else, and nothing where it refers to nothing. An argument or value of one digit counts only when
it is named as one (`the input is 0`). `docs/corpus.md` says the same for readers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..measure._pattern import Pattern
from ..measure.lesson import limit
from ._checks import Check, normal

__all__ = ["Evidence", "Reading", "Sentence", "read_reflection", "sentences"]

TEXT_LIMIT = 65_536
FIELD_LIMIT = 2_000
"""Characters of one field; sentences beyond it are left out whole."""

CITED_LIMIT = 256

_CODE = r"(?:implementation|code|function|method|solution|program|algorithm|logic|approach|attempt)"
_DUTY = r"(?:should|must|supposed to|needs? to|expected to)"
_TASK = (
    r"(?:according to|as per|as (?:is )?required|as specified|contrary to|specification|spec\b|docstring|requirements?"
    r"|instructions?|task\b|problem (?:statement|description|definition)|prompt\b|by definition)"
)
_TASK_SAYS = (
    r"(?:task|problem|specification|docstring|statement|prompt) (?:asks?|says?|states?|requires?|specifies|wants?|defines?)\b"
)


def _cue(*patterns: str) -> Pattern:
    return Pattern(*patterns, ignore_case=True)


_CAUSE = _cue(
    r"\b(?:because|due to|caused by|since|as (?:it|the)|is that|which (?:means|causes|results|leads))\b",
    r"\b(?:issue|problem|error|mistake|bug|reason|cause|flaw|fault)s?\b[^.]{0,60}\b(?:is|was|are|lies?|arises?|occurs?|seems?|stems?)\b",
    r"\bis (?:incorrect|wrong|flawed|incomplete)\b",
)
_IMPERATIVE = (
    r"(?:(?:add|allow|apply|assert|avoid|choose|clear|close|compare|compute|confirm|convert|create|declare|define|delete|divide|ensure"
    r"|exclude|extract|fetch|follow|give|guard|handle|ignore|include|initiali[sz]e|inspect|iterate|keep|make|merge|multiply|normali[sz]e"
    r"|pick|prefer|preserve|put|re-?read|re-?run|recompute|refresh|reject|remember|remove|rename|replace|select|separate|subtract|take"
    r"|treat|trim|try|update|use|validate|verify|wait|wrap|write)\b"
    # Words that are nouns as well (`the return value`) give an order where an object follows.
    r"|(?:call|cast|catch|change|check|copy|count|drop|escape|filter|find|fold|limit|list|look|move|open|parse|pass|print|raise|read"
    r"|reset|return|reverse|round|run|scan|search|set|skip|sort|split|start|stop|store|strip|swap|test|walk)"
    r" (?:`|-?\d|(?:an?|the|its?|them|each|every|all|any|both|this|that|these|those|only|whether|if|for|at|over|up|out|None|True"
    r"|False)\b))"
)
_REPAIR_OPENING = _cue(
    # A rule for later: under a condition, an order. What follows it says why, and claims nothing of this failure.
    rf"^(?:when(?:ever)?|if|where|wherever|before|after|while|unless|once|for (?:an?|any|all|every|each|such)\b)[^.;]*, "
    rf"(?:then )?(?:(?:always|never|first|also|do not|don't) )?{_IMPERATIVE}",
    rf"^(?:always|never|do not|don't|first,?) {_IMPERATIVE}",
    r"^(?:to|in order to) (?:fix|correct|overcome|resolve|address|solve|avoid|handle|prevent|remedy|rectify|make|ensure)\b",
    r"^(?:an?|one|another|the) (?:\w+ ){0,2}(?:fix|solution|way|approach|correction)\b"
    r".{0,40}\b(?:is to|would|could|should|can|involves?)\b",
    r"^(?:instead|additionally|also|alternatively|then|next|finally),? (?:we|it|i|you|the \w+)\b"
    r".*\b(?:should|needs? to|must|can|could)\b",
    r"^(?:we|i|you) (?:should|need to|must|can|could|have to)\b",
    r"^this (?:change|modification|fix|adjustment) (?:will|would|should|ensures)\b",
    r"^(?:by|try|use|add|change|replace|modify|remove|ensure|make sure|initialize|move)\b",
)
_REPAIR = _cue(
    r"\b(?:should|must|needs? to|ought to|has to|have to)\b",
    r"\b(?:we|i|you) (?:can|could|will)\b",
    r"\b(?:can|could|may|might) be (?:\w+ly )?(?:fixed|corrected|resolved|solved|done|achieved|addressed)\b",
    r"\b(?:can|could|may|might) be (?:\w+ly )?(?:modified|changed|avoided|overcome|rectified)\b",
    r"\b(?:fix|correction|solution)s?\b.{0,20}\b(?:is to|would)\b",
)
_CONTRAST = _cue(r"\b(?:but|whereas)\b")
_NO_CUE = _cue(
    r"\b(?:which|that|where|who) (?:it )?(?:should|must|needs? to|ought to|has to|have to)\b",
    r"\bconsidered (?:an?|as|the|to be|valid|invalid|equal)\b",
    r"\bas (?:required|expected|specified) by the (?:\w+ )?tests?\b",
    r"\b(?:when|while|although|though|where) (?:it|they|the \w+) (?:should|must|needs? to|ought to|has to|have to)\b",
)
_RESTATES = _cue(
    rf"^(?:the|this|my|our|your)?\s*(?:\w+ )?{_CODE}?[^.]{{0,80}}?\b(?:fail(?:ed|s)(?: to pass)?|(?:did|does)(?: not|n't) pass)"
    r"(?: on| for| in)?(?: (?:the|all|one|some|this|that|both|most|following|failed|given|unit|of|a|\d+))+ tests?\b",
    r"\bexpected (?:output|result|value|answer|return value)\b.*\b(?:but|while|whereas|instead|however)\b",
    r"^(?:the|this) (?:failed |failing )?tests?(?: case)?s? (?:failed|fails|checks?|expects?)\b",
)
_PRAISE = _cue(r"\b(?:correct|correctly|works?|properly|successfully|accurately)\b")
_FAULT = _cue(
    r"\b(?:not|incorrect\w*|wrong\w*|fail\w*|errors?|issues?|problems?|bugs?|missing|instead|only|however|but|should|without)\b",
    r"\b(?:never|mistake\w*|flaw\w*|ignor\w*|lacks?|misleading|mis\w+)\b|n't\b",
)
_DENIED = r"(?:does|do|did|is|was|are|were|has|have|should|can|could|would|will)(?: not|n't)(?: \w+ly| being| been| even)?"
_HEEDING = r"(?:handl|consider|account|check|cover|tak(?:e|ing|en) into|deal|address|notic|recogni|verif|validat)"
_ASSUMPTION = _cue(
    r"\bassum(?:e[sd]?|ing|ptions?)\b|\bpresum\w+",
    rf"\b(?:i|we|it|{_CODE}) (?:had )?(?:\w+ly )?(?:expects|expected|thought|believed|believes)\b",
    r"\bmistakenly (?:think|take|believe)\w*|\btreat(?:s|ed|ing)?\b[^.]*\bas\b",
    r"\bmis(?:understood|underst\w+|interpret\w*|took|taken|read)\b|\bconfus(?:es|ed|ing|ion)\b",
)
_OVERLOOKED = _cue(
    rf"\b{_DENIED} {_HEEDING}\w*|\bfail(?:s|ed|ing)? to {_HEEDING}\w*|\bwithout (?:\w+ly )?{_HEEDING}\w*|\bnever {_HEEDING}\w*",
    r"\bnot (?:\w+ly )?(?:handled|considered|checked|accounted for|taken into account)\b",
    r"\bignor(?:es|ed|ing)\b|\bmiss(?:es|ed)\b|\boverlook\w*|\bedge cases?\b|\bneglect\w*|\bforg[eo]t\w*|\bdisregard\w*",
)
_VIOLATED = _cue(
    r"\bviolat\w+|\boff[- ]by\b|\bconstraints?\b|\b(?:is|are|was|were|as) required\b|\brequirements?\b|\bsupposed to\b",
    r"\b(?:must|has to|have to) (?:be|have|not|always|remain|contain|equal)\b",
    rf"\b{_DUTY}\b.*\b{_TASK}|\b{_TASK}.*\b{_DUTY}\b|\b{_TASK_SAYS}",
)
_CARRIES_ON = _cue(
    r"^(?:this|that|these|those|it|as a result|therefore|thus|hence|consequently|so|which|in this case|specifically)\b",
    r"^(?:for example|for instance|in other words|because of this|due to this|as such)\b",
)
_ABBREVIATION = _cue(r"\b(?:e\.g|i\.e|etc|vs|cf|resp|no|fig)\.$")
_LIST_MARK = Pattern(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_BOUNDARY = Pattern(r"[.!?][\"')\]]*\s+")
_STARTS = Pattern(r"^[A-Z`\"'(\[]")


class Sentence(NamedTuple):
    """A sentence verbatim, its role (`context`, `counterfactual` or a causal field), and whether it carries on the one before."""

    text: str
    role: str
    carries_on: bool = False


class Reading(NamedTuple):
    """The text fields of a reflection as read; `cited` are the ids of all that the sentences refer to, in record order."""

    fields: Mapping[str, str]
    counterfactual: str
    lesson: str
    cited: tuple[str, ...]


def sentences(text: str) -> list[str]:
    """Return the sentences of a text verbatim, without list marks; a line break ends one, a stop inside backticks does not."""
    found: list[str] = []
    for line in text[:TEXT_LIMIT].splitlines():
        rest, start, position = _LIST_MARK.sub("", line), 0, 0
        while match := _BOUNDARY.search(rest, position):
            position = match.end()
            head = rest[start : match.end()].rstrip()
            if head.count("`") % 2 == 0 and _STARTS.search(rest[position:]) and not _ABBREVIATION.search(head):
                found.append(head.strip())
                start = position
        found.append(rest[start:].strip())
    return [sentence for sentence in found if sentence]


def _without_false_cues(sentence: str) -> str:
    """Blank at equal length what is no cue: a duty in a relative or contrasting clause, `considered a …`, `as required by …`."""
    return _NO_CUE.sub(lambda match: "-" * len(match.group(0)), sentence)


def _role(sentence: str) -> str:
    sentence = _without_false_cues(sentence)
    cause, repair = _CAUSE.search(sentence), _REPAIR.search(sentence)
    if _REPAIR_OPENING.search(sentence):
        return "counterfactual"
    if not cause and (_RESTATES.search(sentence) or (_PRAISE.search(sentence) and not _FAULT.search(sentence))):
        return "context"
    for field, cue in (
        ("failed_assumption", _ASSUMPTION),
        ("overlooked_evidence", _OVERLOOKED),
        ("violated_invariant", _VIOLATED),
    ):
        if cue.search(sentence):
            return field
    if repair and not (cause and cause.start() < repair.start()) and not _CONTRAST.search(sentence, repair.end()):
        return "counterfactual"
    return "strategy_error"


def _roles(texts: Iterable[str]) -> list[Sentence]:
    """Give each sentence its role; where none is a claim, the context becomes one, else the counterfactual does."""
    read: list[Sentence] = []
    for text in texts:
        role = _role(text)
        claims = [sentence.role for sentence in read if sentence.role not in {"context", "counterfactual"}]
        carries_on = role == "strategy_error" and bool(claims) and bool(_CARRIES_ON.search(text))
        read.append(Sentence(text, claims[-1] if carries_on else role, carries_on))
    for fallback in ("context", "counterfactual"):
        if all(sentence.role in {"context", "counterfactual"} for sentence in read):
            read = [Sentence(text, "strategy_error" if role == fallback else role) for text, role, _ in read]
    return read


def _joined(texts: Iterable[str]) -> str:
    """Join whole sentences up to `FIELD_LIMIT` characters; a first sentence that is longer is cut."""
    joined = ""
    for text in texts:
        longer = f"{joined} {text}" if joined else text
        if len(longer) > FIELD_LIMIT and joined:
            break
        joined = longer
    return joined[:FIELD_LIMIT]


def read_reflection(text: str, evidence: Evidence) -> Reading:
    """Return the reading of a reflection against the evidence that its record holds; no fields where the text is blank."""
    read = _roles(sentences(text))
    causal = [sentence for sentence in read if sentence.role not in {"context", "counterfactual"}]
    fields = {
        role: _joined(sentence.text for sentence in causal if sentence.role == role)
        for role in ("failed_assumption", "overlooked_evidence", "strategy_error", "violated_invariant")
    }
    repairs = _joined(sentence.text for sentence in read if sentence.role == "counterfactual")
    taught = (sentence for sentence in read if sentence.role != "context" and (not sentence.carries_on or limit(sentence.text)))
    lesson = _joined(sentence.text for sentence in taught)
    cited = {item for sentence in read for item in evidence.referred(sentence.text)}
    return Reading(fields, repairs, lesson, tuple(item for item in evidence.order if item in cited)[:CITED_LIMIT])


# -- what a sentence refers to ---------------------------------------------------------------------------------------------------

_SAYS_TEST = _cue(
    r"\b(?:tests?|testing|outputs?|expected|assert\w*|errors?|exceptions?|raises?|raised|crash\w*|failing|failures?|passes)\b",
    r"\bfail(?:s|ed)\b(?:$|[^ ]| (?:[^t]|t[^o]))",
    r"\breturn(?:s|ed|ing)? (?:`?none\b|null|nothing|no value|an? (?:incorrect|wrong))|\bnot return any\b",
    r"\b(?:is|are|was) (?:incorrect|wrong|flawed|incomplete)\b",
)
_SAYS_CODE = _cue(
    r"\b(?:implementations?|code|functions?|methods?|loops?|conditions?|return statements?|lines?|variables?)\b",
    r"\b(?:algorithm|logic|program|solution|if[ -]statements?|regex|regular expression|expression|recursion|base case|import)\b",
    r"\b(?:comprehension|bracket|syntax)\b",
)
_SAYS_TASK = _cue(
    r"\b(?:task|specifications?|spec|problem (?:statement|description|definition)|docstring|according to|as per|requirements?)\b",
    rf"\b(?:instructions?|supposed to|as (?:required|specified|described|stated))\b|\b{_TASK_SAYS}",
)
_SAYS_INPUT = _cue(r"\b(?:tests?|inputs?|cases?|arguments?|call(?:s|ed|ing)?|when|for|where)\b")
_SAYS_VALUE = _cue(r"\b(?:outputs?|returns?|returned|returning|expect\w*|results?|instead|got|gives?|value)\b")
_NAMED_VALUE = _cue(
    r"\b(?:inputs?|arguments?|called with|n|x|number|value|outputs?|returns?|returned|returning|expected|result|instead of|got)"
    r"(?: (?:number|value|list|string|to|result|of|the|is|was|be|being))*\s*(?:=|==|:|,)?\s*`?(-?\d+(?:\.\d+)?)\b"
)
# The same words as RE2 finds, in a tenth of the time: an attempt may be long.
_WORD = re.compile(r"\w+", re.ASCII)
_NUMBER = Pattern(r"-?\d+(?:\.\d+)?")
_NUMBERS = Pattern(r"(?:^|[^\w.])(-?\d+(?:\.\d+)?)\b")
_NAME = Pattern(r"`([A-Za-z_]\w*)(?:\(\))?`|\b([A-Za-z]\w*_\w+|_\w+|[a-z]+[A-Z]\w*)\b|\b([A-Za-z_]\w*)\(\)")
_SPAN = Pattern(r"`([^`\n]+)`")
_KEYWORDS = frozenset({"None", "True", "False", "null", "true", "false", "return", "if", "else", "for", "while"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a record holds to refer to: the ids in record order, the statement, the attempt and its text, the checks by id."""

    order: tuple[str, ...]
    statement: str = ""
    attempt: str = ""
    attempt_text: str = ""
    checks: tuple[tuple[str, Check], ...] = ()

    def referred(self, sentence: str) -> set[str]:
        """Return the ids that a sentence refers to; empty where it refers to nothing here."""
        found = self._checks(sentence)
        if self.attempt and (_SAYS_CODE.search(sentence) or self._names_code(sentence)):
            found.add(self.attempt)
        if self.statement and _SAYS_TASK.search(_without_false_cues(sentence)):
            found.add(self.statement)
        return found

    def _checks(self, sentence: str) -> set[str]:
        named = {item for item, check in self.checks if _quotes(sentence, check)}
        if named or not _SAYS_TEST.search(sentence):
            return named | {item for item, check in self.checks if self._calls_missing(sentence, check)}
        return {item for item, check in self.checks if not check.passed}

    def _calls_missing(self, sentence: str, check: Check) -> bool:
        """A function that the checks call and the attempt does not hold is named for the checks."""
        return bool(check.name) and check.name in _names(sentence) and check.name not in _words(self.attempt_text)

    def _names_code(self, sentence: str) -> bool:
        spans = [span for span in _SPAN.findall(sentence) if span not in _KEYWORDS and not span.isdigit()]
        return bool(_names(sentence) & _words(self.attempt_text)) or any(
            len(span) > 3 and normal(span) in normal(self.attempt_text) for span in spans
        )


def _names(sentence: str) -> set[str]:
    return {name for groups in _NAME.findall(sentence) for name in groups if name and name not in _KEYWORDS}


@functools.lru_cache(maxsize=8)
def _words(code: str) -> frozenset[str]:
    return frozenset(_WORD.findall(code))


def _quotes(sentence: str, check: Check) -> bool:
    """Return whether a sentence quotes a check's call, one of its arguments, or its expected or actual value."""
    plain = _loose(sentence)
    if check.call and _loose(check.call) in plain:
        return True
    values = [value for value in (check.expected, check.actual or "") if value]
    error = bool(check.error_class) and (check.error_class in sentence or _loose((check.output or "").strip()) in plain)
    return error or _states(sentence, plain, check.arguments, _SAYS_INPUT) or _states(sentence, plain, values, _SAYS_VALUE)


def _states(sentence: str, plain: str, literals: Sequence[str], topic: Pattern) -> bool:
    numbers = set(_NUMBERS.findall(sentence))
    for literal in literals:
        loose = _loose(literal)
        if _NUMBER.fullmatch(loose):
            named = numbers if len(loose.lstrip("-")) > 1 else set(_NAMED_VALUE.findall(sentence))
            if loose in named and topic.search(sentence):
                return True
        elif len(loose) > 3 and loose not in _KEYWORDS and loose[0] in "'[({" and loose in plain:
            return True
    return False


def _loose(text: str) -> str:
    """Text with all space gone and one kind of quote, without state: an apostrophe cannot be told from a quote."""
    return "".join(text.split()).replace('"', "'").replace("`", "")
