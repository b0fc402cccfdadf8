"""The `cases` of lexicon groups: a text under `hit` is found by its group, one under `miss` by no group of the lexicon.

The lexicon is taken as the bundle resolves it, so that a change in `policies.yaml` is held to the same texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from ..errors import ReflectGateError, Source, did_you_mean
from .bundle import Lexicon
from .load_lexicon import load_lexicon
from .loading import load_bundle
from .parsed import GroupDecl, LexiconFile
from .problems import Problems

__all__ = ["CaseResult", "finder", "resolved_lexicon", "run_lexicon_cases"]

_TARGET: Final = "candidate_lesson"

_Find: TypeAlias = Callable[[str], Sequence[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case ended; `message` says what was expected and what was found, and is empty where the case passed.

    Of a failed case of rules, `expected` and `actual` say the whole on one line each, `firings` what fired in its rule set (as
    decisions hold it) and `near` how near each rule came that should have fired.
    """

    ruleset: str
    id: str
    passed: bool
    message: str
    file: str
    line: int
    expected: str = ""
    actual: str = ""
    firings: tuple[Mapping[str, Any], ...] = ()
    near: tuple[Mapping[str, Any], ...] = ()


def run_lexicon_cases(data: bytes, file: str, policies: str | Path | None) -> list[CaseResult]:
    """Return the result of every case of the lexicon that `data` holds; a broken lexicon or bundle raises `ReflectGateError`."""
    lexicon, resolved = declared_and_resolved(data, file, policies)
    whole = finder(resolved)
    results: list[CaseResult] = []
    for group in lexicon.groups.values():
        alone = finder(resolved._replace(groups=tuple(kept for kept in resolved.groups if kept.id == group.id)))
        results += _run_group(lexicon.name, group, {"hit": alone, "miss": whole}, file)
    return results


def declared_and_resolved(data: bytes, file: str, policies: str | Path | None) -> tuple[LexiconFile, Lexicon]:
    """Return the lexicon that `data` holds, as it is written and as the default bundle has it; raises where either is broken."""
    problems = Problems()
    lexicon = load_lexicon(data, file, problems)
    problems.stop_if_any()
    if lexicon is None:
        raise ReflectGateError("policy-shape", "the file holds no lexicon", Source(file))
    return lexicon, resolved_lexicon(lexicon.name, lexicon.source, policies)


def resolved_lexicon(name: str, source: Source, policies: str | Path | None) -> Lexicon:
    """Return the lexicon as the default bundle has it; `policy-unknown-lexicon` at `source` where it has none of that name."""
    lexicons = load_bundle(policies=policies, cache=False).lexicons
    if name not in lexicons:
        message = f"the bundle has no lexicon `{name}`{did_you_mean(name, lexicons)}"
        raise ReflectGateError("policy-unknown-lexicon", message, source)
    return lexicons[name]


def finder(lexicon: Lexicon) -> _Find:
    """Return what finds `(group, matched text)` of `lexicon` in a text."""
    from ..measure.lexicon import LexiconSet

    alone = LexiconSet({lexicon.name: lexicon})

    def find(text: str) -> Sequence[tuple[str, str]]:
        spans = [span for hit in alone.hits({_TARGET: text}) for span in hit.spans_json()]
        return [(span["group"], text[span["start"] : span["end"]]) for span in spans]

    return find


def _run_group(lexicon: str, group: GroupDecl, find: Mapping[str, _Find], file: str) -> list[CaseResult]:
    results = []
    for kind, texts in (("hit", group.hit), ("miss", group.miss)):
        if not texts:
            message = f"group `{group.id}` has no text under `{kind}`"
            results.append(CaseResult(lexicon, f"{group.id}/{kind}", False, message, file, group.source.line))
        for number, text in enumerate(texts, 1):
            wrong = _wrong(kind, group.id, text.text, find[kind](text.text))
            results.append(CaseResult(lexicon, f"{group.id}/{kind}-{number}", not wrong, wrong, file, text.source.line))
    return results


def _wrong(kind: str, group: str, text: str, found: Sequence[tuple[str, str]]) -> str:
    if kind == "hit":
        return "" if found else f"expected `{group}` in `{text}`, got nothing"
    got = ", ".join(f"`{name}` in `{part}`" for name, part in found)
    return f"expected nothing in `{text}`, got {got}" if found else ""
