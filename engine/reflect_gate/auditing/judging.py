"""What the rules say of the entries of a memory: findings, each with its place and what it was judged on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..errors import ReflectGateError
from ..facts import Fact, load_vocabulary
from ..measure.text import LIMIT, language
from ..report._places import relative
from ..runtime import Runtime, runtime
from .entries import Entry, Memory
from .measuring import Measured, measure
from .twins import twins

if TYPE_CHECKING:
    from ..policy import Bundle
    from ..policy.model import Interner

__all__ = ["REASONS", "STAGE", "Audit", "Finding", "Said", "audit", "conclude", "gate_of"]

STAGE: Final = "audit"

REASONS: Final = {
    "shallow": "restates a line or a slip and teaches nothing above it",
    "vague": "names a virtue, or says nothing to do",
    "blaming": "looks for the cause elsewhere",
    "duplicate": "says what an earlier entry says",
    "contradictory": "says otherwise than an earlier entry",
    "injected": "commands its reader, or hides or disguises something",
    "secret": "gives a secret away",
    "unevidenced": "points to no failure, file, commit, test or error",
    "unread": "is too long to be read to its end",
}
"""What each reason of the shipped rules means."""

_BATCH: Final = 64
_MATCH: Final = 120
_READ: Final = 1_024

Progress = Callable[[int, int], None]


class Said(NamedTuple):
    """A finding of a rule: its name and place, the verdict, the reason, what it is about, and the facts that it was said on."""

    rule: str
    source: str
    verdict: str
    reason: str
    about: str
    facts: tuple[tuple[str, Mapping[str, Any]], ...]


class Finding(NamedTuple):
    """What is wrong with an entry.

    `verdict` is `review` or `remove`; `match` is the words that show it, empty where none do or where they hold a secret;
    `other` is the earlier entry of a pair. Lines are 0 in a database.
    """

    entry: Entry
    line: int
    column: int
    reason: str
    verdict: str
    rule: str
    source: str
    match: str
    other: Entry | None
    measured: Mapping[str, Any]


class Audit(NamedTuple):
    """A memory, and what is wrong with it in the order of its entries."""

    memory: Memory
    findings: tuple[Finding, ...]

    def counts(self) -> dict[str, int]:
        """Return how many entries each reason was said of."""
        return dict(sorted(Counter(reason for _, reason in {(each.entry.id, each.reason) for each in self.findings}).items()))

    def removed(self) -> tuple[Entry, ...]:
        """Return the entries that a pruned file does without."""
        return tuple({each.entry.id: each.entry for each in self.findings if each.verdict == "remove"}.values())


def _decoder(gate: Runtime, interner: Interner) -> Callable[[Sequence[int]], tuple[str, Mapping[str, Any]]]:
    domains = load_vocabulary().domains

    def decode(fact: Sequence[int]) -> tuple[str, Mapping[str, Any]]:
        declared = gate.program.types[fact[0]]
        pairs = zip(declared.fields, declared.domains, fact[1:], strict=True)
        return declared.name, {
            field: domains[domain].show(number, _named(interner, domains[domain].kind, number)) for field, domain, number in pairs
        }

    return decode


def _named(interner: Interner, kind: str, number: int) -> str:
    return interner.name(number) if kind in {"symbol", "id"} else ""


def conclude(gate: Runtime, facts: Sequence[Fact]) -> Iterator[Said]:
    """Yield what the rules of the stage say of facts alone, in the order of the rules and of what they are about."""
    interner = gate.interner()
    with gate.engine_of(STAGE).session(gate.bundle.limits) as session:
        fired = session.advance(STAGE, gate.encode(facts, interner))
    decode, found = _decoder(gate, interner), []
    for firing in fired:
        for number, (verdict, reason, about) in gate.finding_heads([firing]):
            rule = gate.program.rules[number]
            bound = tuple(decode(fact) for fact in firing[1])
            names = (interner.name(verdict), interner.name(reason), interner.name(about))
            found.append((number, Said(rule.name, _place(rule.source), *names, bound)))
    yield from (said for _, said in sorted(found, key=lambda pair: (pair[0], pair[1].about, str(pair[1].facts))))


def _place(source: Any) -> str:
    return str(source._replace(file=source.file.rpartition("/")[2] or relative(source.file)))


def gate_of(bundle: Bundle) -> Runtime:
    """Return the runtime of a bundle; `audit-off` where no rule set of the stage is on."""
    if not any(ruleset.on for ruleset in bundle.rulesets_of(STAGE)):
        raise ReflectGateError("audit-off", f"bundle `{bundle.name}` has no rule set of stage `{STAGE}` that is on")
    return runtime(bundle)


def _batches(measured: Iterable[Measured]) -> Iterator[list[Measured]]:
    batch: list[Measured] = []
    for each in measured:
        batch.append(each)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def audit(memory: Memory, bundle: Bundle, only: Iterable[str] = (), progress: Progress | None = None) -> Audit:
    """Return what the rules say of each entry of a memory.

    Args:
        memory: the entries.
        bundle: the policies, of which the rules of stage `audit` decide.
        only: keep findings of these reasons alone; all where empty.
        progress: hears how many of how many entries were judged.

    Raises:
        ReflectGateError: `audit-off` where no rule set of the stage is on, or the engines failed.
    """
    gate = gate_of(bundle)
    entries = {entry.id: entry for entry in memory.entries}
    pairs = defaultdict(list)
    alike = int(100 * Decimal(str(bundle.setting("audit.min_similarity"))))
    for fact in twins(memory.entries, int(bundle.setting("audit.candidates")), alike):
        pairs[fact[1]].append(fact)
    wanted, done = frozenset(only), 0
    findings: list[Finding] = []
    around = language("\n".join(entry.prose[:_READ] for entry in memory.entries[:_BATCH])[:LIMIT])
    for batch in _batches(measure(entry, gate.lexicons, around) for entry in memory.entries):
        facts = [fact for each in batch for fact in (*each.facts, *pairs[each.entry.id])]
        by_id = {each.entry.id: each for each in batch}
        said = [each for each in conclude(gate, facts) if not wanted or each.reason in wanted]
        findings += [_finding(each, by_id[each.about], entries) for each in said if each.about in by_id]
        done += len(batch)
        if progress is not None:
            progress(done, len(entries))
    place = {name: number for number, name in enumerate(entries)}
    return Audit(memory, tuple(sorted(_once(findings), key=lambda each: place[each.entry.id])))


def _once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield each finding once: of the pairs of one entry by one rule, the one that is most alike."""
    best: dict[tuple[str, str, str], Finding] = {}
    for each in findings:
        key = (each.entry.id, each.rule, str(each.measured.get("lexicon", "")) + str(each.measured.get("kind", "")))
        kept = best.get(key)
        if kept is None or each.measured.get("similarity", 0) > kept.measured.get("similarity", 0):
            best[key] = each
    yield from best.values()


def _finding(said: Said, measured: Measured, entries: Mapping[str, Entry]) -> Finding:
    entry = measured.entry
    fact = {name: value for _, fields in said.facts for name, value in fields.items()}
    start, end = _span(fact, measured)
    line, column = entry.place(start)
    other = entries.get(str(fact.get("other", "")))
    told = {name: value for name, value in fact.items() if name not in {"entry", "other"}}
    match = entry.text[start:end][:_MATCH] if not _touches(measured.secrets, start, end) else ""
    return Finding(entry, line, column, said.reason, said.verdict, said.rule, said.source, match, other, told)


def _span(fact: Mapping[str, Any], measured: Measured) -> tuple[int, int]:
    """Return the place of what a finding is said of, the start of the entry where it is said of all of it."""
    spans = measured.spans.get(str(fact.get("lexicon", "")), ()) if "form" not in fact else ()
    if spans:
        return spans[0].start, spans[0].end
    if fact.get("kind") == "secret" and measured.secrets:
        return measured.secrets[0]
    if fact.get("kind") in {"invisible", "bidi-control"}:
        text = measured.entry.text
        start = next((place for place, sign in enumerate(text) if not sign.isprintable() and sign not in "\n\r\t"), 0)
        return start, start + 1
    return 0, 0


def _touches(secrets: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    return any(first < end and start < last for first, last in secrets)
