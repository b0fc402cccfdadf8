"""Does code use or define what a claim says that it does, or does not?

A claim is read where it says of one name, and without a condition, that it `is called`, `is not used anywhere`, `is never
defined`; or that the code `never calls` it, does not do something `using` it, or does not use or test an expression that it
quotes. `is not called correctly` says something else and is not read. A name before a bracket is a call unless a word of
definition stands before it; a name that stands anywhere else but where it is defined is used. Comments count as code, which errs
on the side of use.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ._pattern import Match, Pattern
from .text import encodable

__all__ = ["Saying", "sayings", "signs"]

_READ = 65_536
_NAME = r"[`'\"]?(?P<{0}>[A-Za-z_]\w{{2,63}})(?:\(\))?[`'\"]?"
_SPAN = r"[`'\"]?(?P<span>[A-Za-z_][\w.]{0,63}[\[(][^`'\"\n\[\]()]{1,60}[\])])[`'\"]?"
_WHERE = r" in (?:the|this|its|that|my) (?:\w+ ){0,2}(?:code|implementation|function|program|class|module|solution|branch|loop)"
_END = rf"(?: anywhere| at all|{_WHERE})*(?:$|[.,;:\n]| and | but | so | or )"
_NEVER = r"(?:never|does not|doesn't|did not|didn't) (?:actually |try to |attempt to )?"
_PASSIVE = (
    rf"(?:function|method|variable|class|helper|name|constant) {_NAME.format('subject')} (?:is|was) (?P<denied>not |never )?"
    rf"(?:being |ever )?(?:used or )?(?P<what>called|invoked|used|defined|declared){_END}"
)
_ACTIVE = rf"{_NEVER}(?P<does>call|invoke|use|define)s? (?:the )?(?:function |method |helper )?{_NAME.format('object')}{_END}"
_BY = rf"{_NEVER}(?:access|call|invoke|use|apply|evaluate)s? (?:the )?(?:\w+ )?{_SPAN}"
_DOING = rf"{_NEVER}(?:convert|compute|check|compare|sort|return|calculate|access|pars)e?s? (?:\S+ ){{1,10}}"
_USING = rf"{_DOING}using (?:the )?{_SPAN}"
_THROUGH = rf"{_DOING}(?:using|by calling|with) (?:the )?(?:built-in )?[`'\"]?(?P<through>[A-Za-z_][\w.]{{1,63}})\(\)"
_TESTED = rf"{_NEVER}(?:check|test|compare)s? (?:if|whether|that|for) (?P<tested>[^;\n]{{1,200}})"
_QUOTED = Pattern(r"`(?P<code>[^`\n]{5,200})`")
_CLAIM = Pattern(_PASSIVE, _ACTIVE, ignore_case=True)
_DENIED_SPAN = Pattern(_BY, _USING.replace("<span>", "<spanned>"), ignore_case=True)
_DENIED_CALL = Pattern(_THROUGH, ignore_case=True)
_DENIED_TEST = Pattern(_TESTED, ignore_case=True)
_MANNER = Pattern(
    r"\b(?:correctly|properly|right|rightly|accurately|fully|just|only|all|every|each|always|both|before|after|first|again)\b",
    ignore_case=True,
)
_SUPPOSED = Pattern(
    r"\b(?:should|must|would|could|might|may|assum\w+|believ\w+|expect\w*|if|when|whether|unless|until|needs?|ensure\w*|instead|fix)\b",
    ignore_case=True,
)
_CALLS = frozenset(("called", "invoked", "call", "invoke"))
_USES = frozenset(("used", "use"))
_DEFINES = r"\b(?:def|function|func|fn|fun|sub|class|struct|interface|type|let|const|var|val|macro_rules!)\s+"


class Saying(NamedTuple):
    """What a claim says of a name: `what` is `call`, `use` or `define`, `held` whether it is said to be so."""

    name: str
    what: str
    held: bool


@lru_cache(maxsize=512)
def sayings(claim: str) -> tuple[Saying, ...]:
    """Return what a claim says of the use of names. Linear."""
    text = encodable(claim[:_READ])
    found = []
    for sentence in text.replace("\n", ". ").split(". "):
        for match in _stated(_CLAIM, sentence):
            passive = match.group("subject")
            verb = str(match.group("what") or match.group("does")).casefold()
            what = "call" if verb in _CALLS else "use" if verb in _USES else "define"
            found.append(Saying(str(passive or match.group("object")), what, held=bool(passive) and not match.group("denied")))
        found += _denied(sentence)
    return tuple(found)


def _stated(pattern: Pattern, sentence: str) -> Iterator[Match]:
    """Yield the matches before which nothing supposes or prescribes."""
    return (match for match in pattern.finditer(sentence) if not _SUPPOSED.search(sentence[: match.start()]))


def _denied(sentence: str) -> Iterator[Saying]:
    """Yield what a sentence denies of expressions, of calls by name and of tests that it quotes; not how it was done."""
    for match in _stated(_DENIED_SPAN, sentence):
        yield Saying(str(match.group("span") or match.group("spanned")), "use", held=False)
    for match in _stated(_DENIED_CALL, sentence):
        if not _MANNER.search(match.group()):
            yield Saying(str(match.group("through")).rpartition(".")[2], "call", held=False)
    for match in _stated(_DENIED_TEST, sentence):
        quoted = [str(code.group("code")) for code in _QUOTED.finditer(match.group("tested"))]
        expressions = [code for code in quoted if not code.isidentifier()]
        if expressions and not _MANNER.search(match.group()):
            yield Saying(expressions[-1], "use", held=False)


def _holds(saying: Saying, code: str) -> bool:
    if not saying.name.isidentifier():
        return "".join(saying.name.split()) in "".join(code.split())
    name = rf"\b{saying.name}\b"
    defined = len(Pattern(_DEFINES + name, rf"(?m:^\s*{saying.name}\s*(?::[^=\n]{{1,80}})?=[^=])").findall(code))
    if saying.what == "define":
        return defined > 0
    if saying.what == "call":
        return len(Pattern(rf"{name}\s*\(").findall(code)) > len(Pattern(_DEFINES + rf"{name}\s*\(").findall(code))
    return len(Pattern(name).findall(code)) > defined


def signs(claim: str, code: str) -> list[int]:
    """Return 1 or -1 for each saying of a claim that a piece of code bears out or contradicts. Measure `polarity`; linear.

    A name that does not occur in the code at all is contradicted only where it is said to be used.
    """
    said = sayings(claim)
    if not said:
        return []
    text = encodable(code[:_READ])
    return [1 if _holds(saying, text) == saying.held else -1 for saying in said]
