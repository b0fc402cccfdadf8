"""Which pattern of a lexicon finds which of its own texts under `hit`: what coverage and mutation testing ask of a lexicon."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..errors import Source
from .bundle import Group
from .lexicon_cases import declared_and_resolved, finder

__all__ = ["PatternHits", "pattern_hits"]


class PatternHits(NamedTuple):
    """One pattern in force, where it stands (or its group, where the policies add it), and the texts that it finds.

    `found` and `alone` count the texts under `hit` of its group that it finds, and those that no other pattern of it finds.
    """

    lexicon: str
    group: str
    pattern: str
    source: Source
    found: int
    alone: int


def pattern_hits(data: bytes, file: str, policies: str | Path | None) -> list[PatternHits]:
    """Return what each pattern of the lexicon that `data` holds finds; raises where lexicon or policies are broken."""
    lexicon, resolved = declared_and_resolved(data, file, policies)
    found: list[PatternHits] = []
    for group in resolved.groups:
        declared = lexicon.groups[group.id]
        places = {pattern.text: pattern.source for pattern in declared.patterns}
        finds = {}
        for number, pattern in enumerate(group.patterns):
            only = Group(group.id, group.doc, (pattern,), group.atoms[number : number + 1])
            find = finder(resolved._replace(groups=(only,)))
            finds[pattern] = {place for place, text in enumerate(declared.hit) if find(text.text)}
        for pattern in group.patterns:
            others = set().union(*(texts for other, texts in finds.items() if other != pattern))
            source = places.get(pattern, declared.source)
            found.append(PatternHits(lexicon.name, group.id, pattern, source, len(finds[pattern]), len(finds[pattern] - others)))
    return found
