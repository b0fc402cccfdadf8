"""Claims against the items that they cite: overlap, quotations, order, and the facts' shapes and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.facts import load_vocabulary
from reflect_gate.measure.index import RecordIndex
from reflect_gate.measure.support import cite_facts, claim_facts, support_facts

FIELDS = load_vocabulary().domains["field"].symbols
VOCABULARY = load_vocabulary()

CHECK = {
    "id": "check",
    "component": 12,
    "kind": "test_output",
    "seq": 2,
    "text": "test_share_of_none: split_bill([], 12.5) returned [0.0]",
    "expected": "[]",
    "actual": "[0.0]",
    "passed": False,
    "oracle": "authoritative",
}
PLAN = {"id": "plan", "component": 11, "kind": "plan", "seq": 1, "text": "Divide the bill by the number of guests, at least one."}


def record(*traces: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    """Return a record of the given traces."""
    empty: dict[str, Any] = {
        "failure_id": "f",
        "outcome": "resolved",
        "diagnosis": None,
        "repair_delta": None,
        "successful_trajectory": [],
    }
    return {**empty, "traces": list(traces), **others}


def claims(**texts: str) -> dict[str, str]:
    """Return the four causal fields, blank where not given."""
    return {field: texts.get(field, "") for field in FIELDS}


def support(text: str, *traces: Mapping[str, Any], cited: str = "check") -> dict[str, Any]:
    """Return the `support` fact of one claim and one item by field name."""
    index = RecordIndex(record(*(traces or (PLAN, CHECK))))
    [fact] = support_facts(claims(strategy_error=text), [cited], index)
    return dict(zip(VOCABULARY.facts["support"].fields, fact[1:], strict=True))


def test_claim_facts_count_what_a_field_names() -> None:
    """Anchors, those found nowhere, and content terms; blank fields are not populated."""
    index = RecordIndex(record(PLAN, CHECK))
    facts = claim_facts(claims(strategy_error="split_bill() divides before `validate_guests` has looked at the guests"), index)
    assert facts == [
        ("claim", "failed_assumption", False, 0, 0, 0, False),
        ("claim", "overlooked_evidence", False, 0, 0, 0, False),
        ("claim", "strategy_error", True, 2, 1, 6, False),
        ("claim", "violated_invariant", False, 0, 0, 0, False),
    ]


def test_a_sum_worked_out_in_numbers_is_not_invented() -> None:
    """It illustrates; a value or a name that stands nowhere does not."""
    counted = [
        claim_facts(claims(strategy_error=text), RecordIndex(record(PLAN)))[2][4]
        for text in (
            "It computes `(3 + 5) * 2` here.",
            "It computes `split_tip` here.",
            "It returns [3, 5] here.",
            "It returns `-1` here.",
        )
    ]
    assert counted == [0, 1, 1, 1]


def test_a_repair_can_hold_what_a_claim_names() -> None:
    """`unfound` asks the whole record: what stands in the repair is not invented."""
    repair = {"id": "r", "component": 14, "kind": "repair", "seq": 3, "text": "+    validate_guests(guests)"}
    index = RecordIndex(record(CHECK, repair_delta=repair))
    [_, _, fact, _] = claim_facts(claims(strategy_error="It never calls validate_guests()"), index)
    assert fact[4] == 0


def test_cite_facts_tell_which_ids_exist() -> None:
    """An id outside the record is a fact of its own (R-L2); a repeated one is one fact."""
    facts = cite_facts(["check", "ghost", "check"], RecordIndex(record(CHECK)))
    assert facts == [("cite", "check", True), ("cite", "ghost", False)]


def test_only_populated_fields_and_existing_items_are_supported() -> None:
    """A pair of which one side is missing has no `support` fact."""
    index = RecordIndex(record(PLAN, CHECK))
    facts = support_facts(
        claims(strategy_error="It divides.", violated_invariant="  "), ["plan", "ghost", "check", "plan"], index
    )
    assert [fact[1:3] for fact in facts] == [("strategy_error", "plan"), ("strategy_error", "check")]


def test_overlaps_are_shares_of_the_claim() -> None:
    """One of two anchors is a half; overlaps round down."""
    shown = support("split_bill() and `merge_bills` return a wrong share")
    assert (shown["anchors"], shown["anchor_overlap"]) == (1, 50)
    assert (shown["terms"], shown["term_overlap"]) == (4, 66)


def test_a_claim_without_anchors_overlaps_in_none() -> None:
    """Nothing named is nothing found, not everything."""
    shown = support("The division went wrong")
    assert (shown["anchors"], shown["anchor_overlap"]) == (0, 0)


def test_a_quotation_is_found_byte_for_byte() -> None:
    """The call as written is in the check; with another spacing it is not."""
    assert [support(f"It ran `{call}` then")["quoted"] for call in ("split_bill([], 12.5)", "split_bill( [], 12.5 )")] == [
        True,
        False,
    ]


def test_an_item_says_its_kind_trust_defect_and_order() -> None:
    """They travel with every pair."""
    shown = support("The division went wrong", cited="plan")
    assert [shown[name] for name in ("kind", "usable", "oracle", "defect", "order")] == ["plan", True, "none", "none", "before"]


def test_successes_are_not_usable() -> None:
    """The successful trajectory supports the counterfactual alone (R-a1)."""
    success = {**PLAN, "id": "ok", "kind": "success"}
    index = RecordIndex(record(CHECK, successful_trajectory=[success]))
    [fact] = support_facts(claims(strategy_error="It divides."), ["ok"], index)
    assert fact[4] is False


# -- properties ------------------------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    """
    split_bill() guests `a <= b` returns None expected 3 but got 2 [1, 2] never fails too few lower than 12.5 KeyError
    "no such file" missing exists before after the a not . , ; instead of ﬁ é \ud800 ' ` ( [
    """.split()
)
SENTENCES = st.one_of(st.lists(WORDS, max_size=14).map(" ".join), st.text(max_size=60))
ITEMS = st.builds(
    lambda kind, text, more: {"component": 12, "kind": kind, "text": text, **more},
    st.sampled_from(["test_output", "tool_output", "log", "error", "code", "plan", "user"]),
    SENTENCES,
    st.fixed_dictionaries(
        {},
        optional={
            "passed": st.booleans(),
            "expected": st.sampled_from(["3", "[]", "None", "'a'", "True"]),
            "actual": st.sampled_from(["2", "[1]", "None", "'b'", "False", "KeyError: 'a'"]),
        },
    ),
)


def numbered(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return items with an id and a sequence number each."""
    return [{**item, "id": f"i{number}", "seq": number} for number, item in enumerate(items)]


@given(SENTENCES, SENTENCES, st.lists(ITEMS, min_size=1, max_size=5))
def test_every_fact_fits_the_vocabulary(first: str, second: str, items: list[dict[str, Any]]) -> None:
    """Types, symbols and bounds of every field, and the counts behind the shares."""
    listed, stated = numbered(items), claims(failed_assumption=first, violated_invariant=second)
    index = RecordIndex(record(*listed))
    facts = [*claim_facts(stated, index), *support_facts(stated, [item["id"] for item in listed], index)]
    known = {fact[1]: fact for fact in facts if fact[0] == "claim"}
    for fact in facts:
        domains = [VOCABULARY.domains[name] for name in VOCABULARY.facts[str(fact[0])].fields.values()]
        for value, domain in zip(fact[1:], domains, strict=True):
            assert value in domain.symbols if domain.kind == "symbol" else isinstance(value, str) or 0 <= value <= domain.maximum
        if fact[0] == "support":
            assert int(fact[5]) <= int(known[fact[1]][3])
            assert int(fact[7]) <= int(known[fact[1]][5])


@given(SENTENCES, st.lists(ITEMS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_facts_do_not_depend_on_the_order_of_items(text: str, items: list[dict[str, Any]], random: Any) -> None:
    """Shuffling the record and the citations shuffles the facts and changes none."""
    listed, stated = numbered(items), claims(strategy_error=text)
    shuffled = random.sample(listed, len(listed))
    facts, again = (
        set(support_facts(stated, [item["id"] for item in order], RecordIndex(record(*order)))) for order in (listed, shuffled)
    )
    assert facts == again


@given(SENTENCES, st.lists(ITEMS, min_size=1, max_size=4), ITEMS)
def test_another_item_raises_no_overlap(text: str, items: list[dict[str, Any]], other: dict[str, Any]) -> None:
    """What an item holds of a claim does not depend on what else the record holds."""
    listed, stated = numbered(items), claims(strategy_error=text)
    cited = [item["id"] for item in listed]
    alone = support_facts(stated, cited, RecordIndex(record(*listed)))
    joined = support_facts(stated, cited, RecordIndex(record(*listed, {**other, "id": "other", "seq": 99})))
    assert [fact[:10] for fact in alone] == [fact[:10] for fact in joined]


@given(SENTENCES, ITEMS, st.text(max_size=40))
def test_more_text_never_lowers_the_term_overlap(text: str, item: dict[str, Any], more: str) -> None:
    """An item that says more holds at least the same terms."""
    stated = claims(strategy_error=text)
    if not text.strip():
        return
    shares = [
        support_facts(stated, ["i0"], RecordIndex(record(*numbered([{**item, "text": said}]))))[0][7]
        for said in (item["text"], f"{item['text']}\n{more}")
    ]
    assert int(shares[0]) <= int(shares[1])
