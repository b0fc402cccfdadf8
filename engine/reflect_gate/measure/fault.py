"""Does a causal claim find a fault, or does it call right what failed?

A claim about a failure says what was wrong. One that says that the attempt is correct, handles the case, gives the right results
or passes its tests explains no failure, whatever words it shares with the evidence; nor does one that only tells what was *not*
the cause (`the issue is not due to …`), or whose complaint is that something is there (`the helper is being called`).

Praise is no objection where it concedes (`sorts correctly, but drops the last one`), supposes or prescribes (`if the output is
correct`, `should handle`), is narrowed (`only handles …`, `handles … by returning 0`) or denied. A false belief and a broken rule
praise by their nature (`assumed that the parser handles it`, `every order is accounted for`): those fields are not read.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache

from ._english import NEGATIONS, word_set
from ._pattern import Match, Pattern
from .text import normalise, split_words

__all__ = ["faultless"]

_READ = frozenset(("overlooked_evidence", "strategy_error"))
_MATCHES = 256
_NEAR = 400

_RIGHT = r"(?:correct|right|accurate|sound|fine|flawless|appropriate|adequate|sufficient|suitable)"
_RIGHTLY = r"(?:correctly|properly|rightly|accurately|appropriately|adequately|successfully)"
_BE = r"(?:is|are|was|were|being|looks?|seems?)(?: (?:indeed|already|also|all|in fact|actually|perfectly|entirely|completely))?"
_ADDS = (
    r"(?:leads?|led|leading) to|(?:results?|resulted|resulting) in|(?:return|produc|giv|yield|output|print|comput)(?:s|es|ed|ing)"
)
_CASE = r"(?:case|possibilit|scenario|situation|constraint|requirement|condition|fact)(?:s|y|ies)?"
_COVERS = (
    r"handle[sd]|cover(?:s|ed)|address(?:es|ed)|guarantee[sd]|ensure[sd]|satisf(?:ies|ied)|accounts for|aligns with|manage[sd] to"
    rf"|takes (?:\w+ ){{0,4}}?into account|takes care of|(?:considers|checks for|respects|meets) (?:\w+ ){{1,3}}?{_CASE}"
)
_PRESENT = (
    r"handled|covered|accounted for|taken into account|considered|respected|satisfied|guaranteed|called|used|invoked|defined"
    r"|declared|imported|included"
)
_TEST = r"(?:unit |hidden )?(?:tests?|test cases?|checks?|assertions?)"
_PRAISE = Pattern(
    rf"(?P<right>\b{_BE} (?:(?:the|an?) )?{_RIGHT}(?: (?:approach|way|one|method|choice|formula|solution|answer|result)s?)?\b)",
    rf"(?P<rightly>\b(?:(?:does|do|did|is|are|was|were|being)(?: also)? {_RIGHTLY} \w+|{_RIGHTLY} (?:\w+[^\Ws]s|\w+ed))\b)",
    rf"(?P<gives>\b(?:{_ADDS}) (?:(?:the|an?|all|all the) )?(?:correct|right|accurate|proper) \w+)",
    rf"(?P<passes>\bpass(?:es|ed) (?:(?:all|every|each|the|its|these|both)(?: the| of the)? )?{_TEST}"
    r"(?:[.,]|$| (?:because|due|since|as)\b)"
    r"|\bpass(?:es|ed) (?:because|due to)\b"
    rf"|\bwork(?:s|ed) (?:{_RIGHTLY}|fine|well|as (?:\w+ )?(?:expected|intended|required))\b)",
    rf"(?P<covers>\b(?:{_COVERS})\b)",
    rf"(?P<present>\b(?:is|are|was|were)(?: being| already| also)* (?:{_PRESENT})(?: (?:or|and) (?:{_PRESENT}))?"
    r"(?: somewhere)?(?: (?:in|by|within) (?:the|this|its) (?:\w+ )?"
    r"(?:code|program|implementation|function|script|module|solution))?(?:[.,;]|$))",
    ignore_case=True,
)
_NO_CAUSE = Pattern(
    r"\b(?:is|was|are|were)(?: not|n't) (?:due to|because|caused by|(?:an?|the) (?:result|consequence) of)\b",
    ignore_case=True,
)
_CONTRAST = Pattern(
    r"\b(?:but|however|yet|except|nevertheless|nonetheless|though|although|unfortunately|otherwise|whereas|while)\b",
    ignore_case=True,
)
_NARROWED_LATER = Pattern(r"\b(?:rather|solely|merely|only)\b", ignore_case=True)
_OUTSIDE = (
    r"(?:tests?|test (?:cases?|suite|setup)|expectation|expected \w+|harness|dependency|library|service|environment|specification"
    r"|server|messages?)"
)
_ELSEWHERE = Pattern(
    rf"\b(?:lies?|lay|is|are|was|stems?|comes?) (?:\w+ )?(?:in|with|from) (?:the|an?) (?:\w+ )?{_OUTSIDE}\b",
    rf"\b{_OUTSIDE}\b(?: \w+){{0,6}}? (?:is|are|was|were|be)(?: \w+)?"
    r" (?:incorrect|wrong|misleading|broken|flawed|faulty|defective|outdated|at fault)\b",
    ignore_case=True,
)
_ATTEMPT = word_set(
    """
    implementation code function method solution approach logic algorithm attempt plan program script patch formula calculation
    computation condition loop check operation strategy design it agent i we definition query comparison regex recursion call
    parser handler module class helper component command configuration refactoring migration
    this that which output outputs results answer leading leads resulting results and but
    """
)
_WITHHELD = NEGATIONS | word_set(
    """
    should must would could might may can cannot to if whether when unless until assume assumed assumes assuming believe believed
    believes believing thought expected expects supposed intended meant need needs only just merely solely partly partially almost
    mostly instead rather than while although though despite whereas incorrectly wrongly neither where wherever how why what way
    """
)
_DENYING = NEGATIONS | {"only", "just"}
_NARROWED = frozenset(("covers", "present"))
_NARROWING = word_set(
    "only just by as like if when unless until except for instead rather twice incorrectly wrongly wrong merely with"
)
_QUALIFYING = word_set("only if when unless until except for in")
_QUOTED = Pattern(r"`[^`\n]*`|\"[^\"\n]*\"|\([^()\n]*\)")
_BOUNDARY = Pattern(r"[.!?;:,]\s+|\n+|\s(?:and|but|because|since|which means|so|however)\s")
_COMPLAINT = Pattern(r"\b(?:issue|problem|cause|reason|bug|fault|mistake|error|because|but|however)\b", ignore_case=True)


@lru_cache(maxsize=512)
def _praises(claim: str) -> bool:
    text = _QUOTED.sub("`q`", normalise(claim).text)
    if any(_stays(text, match.end(), narrowed=False) for match in _NO_CAUSE.finditer(text)):
        return True
    found = [match for match, _ in zip(_PRAISE.finditer(text), range(_MATCHES), strict=False)]
    if not found or _ELSEWHERE.search(text) is not None:
        return False
    places = _Places(text)
    return any(_stands(text, match, places) for match in found)


class _Places:
    """Where the clauses and sentences of a text begin and end, in order."""

    def __init__(self, text: str) -> None:
        marks = list(_BOUNDARY.finditer(text))
        self.stops = [match.start() for match in marks]
        self.starts = [match.end() for match in marks]
        self.sentences = [match.end() for match in marks if text[match.start()] in ".!?;\n"]

    def clause(self, start: int, end: int) -> tuple[int, int]:
        """Return where the clause around a span begins and ends, at most `_NEAR` characters to either side."""
        before, after = bisect_right(self.starts, start), bisect_left(self.stops, end)
        first = self.starts[before - 1] if before else 0
        last = self.stops[after] if after < len(self.stops) else end + _NEAR
        return max(first, start - _NEAR), min(last, end + _NEAR)

    def sentence(self, start: int) -> int:
        """Return where the sentence that holds a place begins, at most `_NEAR` characters before it."""
        before = bisect_right(self.sentences, start)
        return max(self.sentences[before - 1] if before else 0, start - _NEAR)


def _stands(text: str, match: Match, places: _Places) -> bool:
    """Return whether a word of praise is stated of the attempt, without a condition, and is not taken back after it."""
    start, end = match.start(), match.end() - (match.group()[-1] in ".,;")
    first, last = places.clause(start, end)
    before, after = _words(text[first:start]), _words(text[end:last])
    kind = next(kind for kind, said in match.groupdict().items() if said)
    if not _WITHHELD.isdisjoint(before) or not _DENYING.isdisjoint(_words(match.group())):
        return False
    if kind in _NARROWED:
        complained = _COMPLAINT.search(text[places.sentence(start) : start]) is not None
        return complained and _NARROWING.isdisjoint(after) and _stays(text, end, narrowed=False)
    if kind == "right" and (not _QUALIFYING.isdisjoint(after[:1]) or _ATTEMPT.isdisjoint(before)):
        return False
    return _stays(text, end, narrowed=True)


def _stays(text: str, end: int, *, narrowed: bool) -> bool:
    """Return whether nothing after a place takes back what stands before it; `narrowed`: what only narrows it may follow."""
    return _CONTRAST.search(text, end) is None and (narrowed or _NARROWED_LATER.search(text, end) is None)


def _words(text: str) -> list[str]:
    return [word.casefold() for word in split_words(text)]


def faultless(field: str, claim: str) -> bool:
    """Return whether a causal field states no fault: it calls right what failed, or tells only what was not the cause.

    Measure `fault` 1.0.0. `False` wherever that is in doubt. Linear in the claim, at most 256 words of praise.
    """
    return field in _READ and _praises(claim)
