"""The `claim`, `cite` and `support` facts: a reflection's causal fields against the items that it cites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..facts import Fact, ratio
from . import failure, fault, numbers, polarity
from .anchors import Anchor, anchors_of, quoted_in
from .index import IndexedItem, RecordIndex
from .text import terms

__all__ = ["cite_facts", "claim_facts", "support_facts"]


def claim_facts(claims: Mapping[str, str], index: RecordIndex) -> list[Fact]:
    """Return one `claim` fact for each causal field. Measure `support` 1.1.0.

    `anchors` counts the distinct anchors of the field, `unfound` those that no item of the record holds (cited or not, repair and
    successes included; a sum worked out in numbers alone names nothing that could stand there), `terms` its distinct content
    terms; `faultless`: see the measure `fault`. A blank field is not populated and counts 0 throughout.
    """
    facts: list[Fact] = []
    for field, text in claims.items():
        found = anchors_of(text).found
        unfound = sum(1 for anchor in found if not _worked_out(anchor) and not index.names(anchor))
        facts.append(("claim", field, bool(text.strip()), len(found), unfound, len(terms(text)), fault.faultless(field, text)))
    return facts


def _worked_out(anchor: Anchor) -> bool:
    """Return whether a span is a calculation of numbers: an operator between them and no letter."""
    if anchor.kind != "span" or any(character.isalpha() or character in "'\"" for character in anchor.form):
        return False
    return any(mark in anchor.form for mark in "+*/%") or "-" in anchor.form.lstrip("-([{")


def cite_facts(cited: Sequence[str], index: RecordIndex) -> list[Fact]:
    """Return one `cite` fact for each distinct cited id, in order: whether the record holds an item of that id."""
    return [("cite", name, name in index.items) for name in dict.fromkeys(cited)]


def support_facts(claims: Mapping[str, str], cited: Sequence[str], index: RecordIndex) -> list[Fact]:
    """Return one `support` fact for each populated causal field and each distinct cited item that exists.

    Measure `support` 1.1.0. `anchors` and `terms` count what of the claim the item holds; the overlaps are their shares of the
    claim's own, in hundredths rounded down, 0 where the claim has none. `quoted`: a quotation or code span of the claim (four
    characters or more, more than one name) stands in the item byte for byte. `polarity`, `numbers`, `failure`: see those
    measures. `order`: see `RecordIndex.order`.
    """
    items = [index.items[name] for name in dict.fromkeys(cited) if name in index.items]
    return [_support(field, text, item, index) for field, text in claims.items() if text.strip() for item in items]


def _support(field: str, text: str, item: IndexedItem, index: RecordIndex) -> Fact:
    named, own = anchors_of(text), terms(text)
    held = sum(1 for anchor in named.found if item.holds(anchor))
    shared = len(own & item.terms)
    return (
        "support",
        field,
        item.id,
        item.kind,
        item.usable,
        held,
        ratio(held, len(named.found)),
        shared,
        ratio(shared, len(own)),
        bool(named.quotes) and quoted_in(named.quotes, item.original),
        polarity.agreement(field, text, item, index),
        numbers.agreement(text, item, index),
        failure.agreement(text, item, index),
        item.oracle,
        item.defect,
        index.order(item),
    )
