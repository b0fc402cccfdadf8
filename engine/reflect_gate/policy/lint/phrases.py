"""Lint rules about patterns of one lexicon that find the same texts; each finding shows a text that proves it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from ...measure.lexicon import wrapped
from ..parsed import GroupDecl, LexiconFile
from ..source import ScalarNode
from .model import Found
from .samples import Samples, samples
from .world import World

__all__ = ["overlapping_patterns", "redundant_pattern"]

_TRIED: Final = 96
"""Texts of one pattern that are looked for by the other groups' patterns."""

_SHARE: Final = 75
"""Per cent of the texts that two patterns must share to be said to overlap: groups of one lexicon touch here and there."""


class _Pattern(NamedTuple):
    group: GroupDecl
    node: ScalarNode
    compiled: Any
    made: Samples


def redundant_pattern(world: World) -> Iterator[Found]:
    """Yield patterns of which every text is found by another pattern of the group; only where all their texts could be tried."""
    for lexicon in world.lexicons.values():
        for group in lexicon.groups.values():
            patterns = [_pattern(group, node) for node in group.patterns]
            gone: set[str] = set()
            for one in patterns:
                if not one.made.whole or not one.made.texts:
                    continue
                for other in patterns:
                    if other.node is not one.node and other.node.text not in gone and _finds_all(other, one):
                        gone.add(one.node.text)
                        witness = one.made.texts[0]
                        message = f"pattern `{one.node.text}` finds nothing that `{other.node.text}` does not, as in `{witness}`"
                        yield Found(f"{lexicon.name}/{group.id}", message, one.node.source)
                        break


def overlapping_patterns(world: World) -> Iterator[Found]:
    """Yield patterns of which nearly all texts are matched from end to end by a pattern of another group."""
    for lexicon in world.lexicons.values():
        patterns = [_pattern(group, node) for group in lexicon.groups.values() for node in group.patterns]
        index = _Index(patterns)
        told: set[frozenset[int]] = set()
        for number, one in enumerate(patterns):
            texts = _texts(one, lexicon)
            for other, shared in index.shared(number, texts):
                pair = frozenset((number, other))
                if len(shared) * 100 < len(texts) * _SHARE or pair in told:
                    continue
                told.add(pair)
                theirs = patterns[other]
                message = (
                    f"`{shared[0]}` is matched by `{one.node.text}` and by `{theirs.node.text}` of group `{theirs.group.id}`, "
                    f"as {len(shared)} of {len(texts)} texts tried are"
                )
                yield Found(f"{lexicon.name}/{one.group.id}", message, one.node.source)


def _pattern(group: GroupDecl, node: ScalarNode) -> _Pattern:
    return _Pattern(group, node, _compile(wrapped(node.text)), samples(node.text))


def _compile(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.case_sensitive = False
    return re2.compile(pattern, options)


def _finds_all(other: _Pattern, one: _Pattern) -> bool:
    """Whether `other` covers every text of `one`, which lists them all; an equal pair loses the later one only."""
    if not all(_covered(other.compiled, text) for text in one.made.texts):
        return False
    equal = other.made.whole and bool(other.made.texts) and all(_covered(one.compiled, text) for text in other.made.texts)
    return not equal or other.node.source.line < one.node.source.line


def _covered(compiled: Any, text: str) -> bool:
    return any(match.span() == (0, len(text)) for match in compiled.finditer(text))


def _texts(one: _Pattern, lexicon: LexiconFile) -> list[str]:
    """Return texts that the pattern matches whole: made ones, spread over its alternatives, and those of the cases."""
    made = one.made.texts[:: max(1, len(one.made.texts) // _TRIED)][:_TRIED]
    found: dict[str, None] = dict.fromkeys(text for text in made if _covered(one.compiled, text))
    for group in lexicon.groups.values():
        for node in group.hit:
            found.update(dict.fromkeys(match.group() for match in one.compiled.finditer(node.text)))
    return [text for text in found if text]


class _Index:
    """All patterns of a lexicon in one automaton, so that a text meets only those that may match it."""

    def __init__(self, patterns: Iterable[_Pattern]) -> None:
        import re2

        options = re2.Options()
        options.log_errors = False
        options.case_sensitive = False
        options.max_mem = 256 << 20
        self._patterns = list(patterns)
        self._set = re2.Set.FullMatchSet(options)
        for pattern in self._patterns:
            self._set.Add(wrapped(pattern.node.text))
        self._set.Compile()

    def shared(self, number: int, texts: Iterable[str]) -> list[tuple[int, list[str]]]:
        """Return which patterns of other groups match which of the texts of pattern `number` whole."""
        found: dict[int, list[str]] = {}
        for text in texts:
            for other in sorted(set(self._set.Match(text) or ())):
                if self._patterns[other].group.id != self._patterns[number].group.id:
                    found.setdefault(other, []).append(text)
        return sorted(found.items())
