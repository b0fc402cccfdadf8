"""What is read off an entry, as the facts that the rules of stage `audit` decide on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ..facts import Fact
from ..measure import _secrets
from ..measure._pattern import Pattern
from ..measure.anchors import anchors_of
from ..measure.hazards import hazard_facts
from ..measure.lesson import action, cause, condition, contrast, platitudes
from ..measure.lexicon import LexiconHit, LexiconSet, Span
from ..measure.text import LIMIT, analyse, encodable, language
from .entries import Entry

__all__ = ["Measured", "measure", "references", "secret_spans"]

_PROSE_LEXICONS: Final = frozenset({"line-level", "virtue-level", "outward-blame", "hedges"})
_MOST: Final = 1_000
_FEW: Final = 16

_REFERENCE: Final = Pattern(
    r"https?://[^\s)>\]]{4}"
    r"|(?:\.{0,2}/|~/)?(?:[\w.@-]+/){1,24}[\w.@-]*\w\.[A-Za-z]\w{0,7}\b"
    r"|(?:[\w.@-]+/){2,24}[\w.@-]+"
    r"|\b(?:src|tests?|docs?|lib|app|pkg|cmd|scripts|internal|packages|modules|tools)/[\w.-]+"
    r"|\b[\w-]{1,64}\.(?:py|pyi|js|jsx|mjs|ts|tsx|rs|go|java|kt|rb|c|h|cc|cpp|hpp|cs|php|swift|scala|zig|sh|ps1|sql|yaml|yml|toml|json"
    r"|jsonl|html|css|scss|md|txt|lock|cfg|ini|env|proto|tf|vue|svelte|ipynb|csv|xml)\b"
    r"|\b(?:Dockerfile|Makefile|Justfile|Gemfile|Procfile)\b"
    r"|\b[A-Z]\w{0,64}(?:Error|Exception|Panic|Fault)\b|\bSIG(?:KILL|SEGV|TERM|INT|ABRT|PIPE)\b|\bE(?:RR_\w+|[0-9]{3,5})\b"
    r"|\b(?:exit|status|error) codes? \d|\bHTTP [45]\d\d\b"
    r"|(?:^|[\s(\[])#\d{1,7}\b|\b[A-Z]{2,10}-\d{1,7}\b"
    r"|\btest_\w+|\b\w+_test\b|\w+\.(?:spec|test)\.\w+|\bTest[A-Z]\w+"
)
_COMMIT: Final = Pattern(r"\b[0-9a-f]{7,40}\b")
_TOLD: Final = Pattern(
    r"(?i)\b(?:failed|failure|failures|failing|fails|broke|broken|breaks|crash(?:ed|es)?|regress(?:ed|ion|ions)|incident|outage"
    r"|traceback|stack trace|timed out|root cause|post-?mortem|went wrong|(?:did not|didn.t|does not|doesn.t|do not|don.t) work"
    r"|hung|corrupted|panicked|rejected|got lost|was lost|errored|flaky|deadlock(?:ed)?|blew up|undefined symbol"
    r"|errors? (?:in|at|from|on|when|message|code|with)"
    r"|(?:an?|the|this|that|with|threw|raised|raises|throws) (?:\w+ )?(?:error|exception|bug)"
    r"|(?:triggers?|triggered|catch(?:es)?|prevents?|hides?|reports?|gives?|yields?|produces?) [^.\n]{0,80}"
    r"(?:errors?|exceptions?|violations?|warnings?)"
    r"|(?:caused|causing|causes) \w+)\b"
)


class Measured(NamedTuple):
    """An entry with its facts, the places of each lexicon in its text, and those of its secrets."""

    entry: Entry
    facts: tuple[Fact, ...]
    spans: Mapping[str, Sequence[Span]]
    secrets: tuple[tuple[int, int], ...]


def references(text: str) -> int:
    """Return how many files, commits, tests, error classes, issues and addresses a text points to, at most 1,000. Linear."""
    count = 0
    for _ in _REFERENCE.finditer(text):
        count += 1
        if count == _MOST:
            return count
    for found in _COMMIT.finditer(text):
        word = found.group()
        # A number alone, or a word made of the first six letters, names no commit.
        count += not word.isdigit() and not word.isalpha()
    return min(count, _MOST)


def secret_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return the places of the secrets of a text in order."""
    if not _secrets.suspected(text):
        return ()
    return tuple(sorted({(secret.start, secret.end) for secret in _secrets.found(text)}))


def _hits(entry: Entry, lexicons: LexiconSet) -> tuple[LexiconHit, ...]:
    """Return the lexicons of an entry: those of style are looked for outside code, the others everywhere."""
    if entry.prose == entry.text:
        return lexicons.hits({"text": entry.text})
    found = lexicons.hits({"text": entry.text, "prose": entry.prose})
    return tuple(hit for hit in found if (hit.target == "prose") == (hit.lexicon in _PROSE_LEXICONS))


def _own(entry: Entry, hits: Sequence[LexiconHit], whole: bool, neighbours: str) -> Fact:
    prose = entry.prose[:LIMIT]
    words = len(analyse(prose).words)
    virtues = [(span.start, span.end) for hit in hits if hit.lexicon == "virtue-level" for span in hit.spans]
    return (
        "entry",
        entry.id,
        # A few words read as no language for sure; then they are in that of the file.
        neighbours if words < _FEW and prose.isascii() else language(prose),
        words,
        condition(prose) or action(prose) or contrast(prose) or cause(prose),
        len(anchors_of(prose).found),
        references(encodable(entry.text)),
        _TOLD.search(encodable(prose)) is not None,
        *platitudes(prose, virtues),
        whole,
    )


def _hazards(entry: Entry, hits: Sequence[LexiconHit], lexicons: LexiconSet) -> Iterable[Fact]:
    """Yield hazard facts named for their entry; a stray sentence cannot be told where there is no evidence to stray from."""
    named = [LexiconHit(hit.lexicon, entry.id, hit.count, hit.coverage, ()) for hit in hits]
    for kind, *fields in hazard_facts({entry.id: entry.text}, named, lexicons):
        if kind == "hazard":
            yield ("risk", entry.id, fields[0], fields[2])
        elif kind == "disguised":
            yield ("beneath", entry.id, fields[0], fields[1], fields[3])
        else:
            yield (kind, *fields)


def measure(entry: Entry, lexicons: LexiconSet, neighbours: str = "english") -> Measured:
    """Return an entry's facts (`entry`, `phrase`, `risk`, `beneath`), of its first `LIMIT` characters. Linear.

    `neighbours` is the language of what stands around it (`english`, `unmeasurable`).
    """
    cut = entry._replace(text=encodable(entry.text), prose=encodable(entry.prose))
    hits = _hits(cut, lexicons)
    found = list(_hazards(cut, hits, lexicons))
    whole = all(fact[1] for fact in found if fact[0] == "screen") and len(entry.text) <= LIMIT
    phrases: list[Fact] = [("phrase", entry.id, hit.lexicon, hit.count, hit.coverage) for hit in hits]
    facts = [_own(cut, hits, whole, neighbours), *phrases, *(fact for fact in found if fact[0] != "screen")]
    return Measured(entry, tuple(facts), {hit.lexicon: hit.spans for hit in hits}, secret_spans(cut.text))
