"""Mutants: each changes one thing, is a valid request, depends on its arguments alone, and is made only where it applies."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_gate import Bundle, evaluate, schemas
from reflect_gate.config import Limits
from reflect_gate.corpus.mutate import LABEL, MUTATORS, Mutant, chosen, describe, mutants, name_of
from reflect_gate.errors import ReflectGateError
from reflect_gate.stages._prepare import prepare

NAMES = [name_of(mutator) for mutator in MUTATORS]

MAILER: dict[str, Any] = {
    "record": {
        "failure_id": "mailer-12",
        "outcome": "escalated",
        "traces": [
            {"id": "task", "component": 11, "kind": "spec", "seq": 0, "text": "deliver(queue) sends each mail once, in order."},
            {
                "id": "plan",
                "component": 11,
                "kind": "plan",
                "seq": 1,
                "text": "Pop the last mail with queue.pop() and send_mail() it.",
            },
            {
                "id": "test",
                "component": 12,
                "kind": "test_output",
                "seq": 2,
                "text": "assert deliver(['a', 'b']) == ['a', 'b'] # output: ['b', 'a']",
                "expected": "['a', 'b']",
                "actual": "['b', 'a']",
                "passed": False,
                "oracle": "repeats_example",
            },
        ],
        "diagnosis": None,
        "repair_delta": None,
        "successful_trajectory": [],
    },
    "reflection": {
        "outcome": "escalated",
        "failed_assumption": "",
        "overlooked_evidence": "",
        "strategy_error": "The plan pops from the wrong end, so deliver() returned ['b', 'a'] instead of ['a', 'b'].",
        "violated_invariant": "",
        "evidence_ids": ["plan", "test"],
        "counterfactual": "Popping index 0 would have kept the order of the 2 mails.",
        "candidate_lesson": "When a queue must keep its order, take from its front, because queue.pop() takes the last one.",
        "scope": "task:mailer lang:python",
        "confidence": 0.6,
    },
    "project": {"task": "mailer"},
}


@pytest.fixture
def source(request_document: dict[str, Any]) -> dict[str, Any]:
    """A candidate of one failed check, whose claim names two things, quotes the check and states a number."""
    test = request_document["record"]["traces"][2]
    test["text"] += "\nexpected 250, got nothing"
    request_document["reflection"]["failed_assumption"] += " The check says 'object is not subscriptable' where 250 was expected."
    return {**request_document, "project": {"task": "checkout"}}


def mutant(name: str, source: Mapping[str, Any], others: list[dict[str, Any]] | None = None, seed: int = 0) -> dict[str, Any]:
    """Return the one mutant that a mutator makes."""
    (made,) = mutants([source], [MAILER] if others is None else others, seed=seed, mutators=chosen([name]))
    assert isinstance(made, Mutant)
    assert made.to_json()["label"] == LABEL
    schemas.check("corpus-mutant", made.to_json(), name)
    return made.request


def made_nothing(name: str, source: Mapping[str, Any], others: list[dict[str, Any]] | None = None) -> bool:
    """Return whether a mutator finds nothing to change."""
    return list(mutants([source], [MAILER] if others is None else others, mutators=chosen([name]))) == [(name, None)]


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """Return the keys of the record and the reflection that differ."""
    return {f"{part}.{key}" for part in ("record", "reflection") for key in before[part] if before[part][key] != after[part][key]}


@pytest.mark.parametrize("name", NAMES)
def test_a_mutant_is_a_valid_request(source: dict[str, Any], name: str) -> None:
    """It passes the schema and the checks that follow it, and the original is left as it was."""
    before = copy.deepcopy(source)
    made = mutant(name, source)
    schemas.check("request", made, name)
    prepare(made["record"], Limits())
    assert source == before
    assert made != before


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_makes_the_same_mutant(source: dict[str, Any], name: str) -> None:
    """Neither the other mutators nor the other sources have a say."""
    alone = mutant(name, source, seed=5)
    among = [made for made in mutants([MAILER, source], [MAILER], seed=5) if isinstance(made, Mutant)]
    assert [made.request for made in among if made.mutator == name and made.source == "checkout-1187"] == [alone]


@pytest.mark.parametrize("name", NAMES)
def test_every_mutator_says_what_it_does(name: str) -> None:
    """One line of description each, for completion and reports."""
    (mutator,) = chosen([name])
    assert describe(mutator).endswith((".", "`."))


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in {"other-names", "other-numbers", "altered-quote", "opposite"}]
)
def test_the_gate_refuses_mutants_of_structure(source: dict[str, Any], structured: Bundle, name: str) -> None:
    """Foreign, missing, late or unfit evidence, a wider scope and a foreign reflection never pass (R-c2)."""
    assert evaluate(source, structured).status == "admitted"
    assert evaluate(mutant(name, source), structured).status == "refused"


def test_cited_items_show_another_failure(source: dict[str, Any]) -> None:
    """Ids, components and places stay; what stood in the cited items is another's, and what was not cited stays."""
    made = mutant("other-evidence", source)
    traces = {item["id"]: item for item in made["record"]["traces"]}
    assert traces["plan"]["text"] == MAILER["record"]["traces"][1]["text"]
    assert (traces["test"]["actual"], traces["test"]["seq"]) == ("['b', 'a']", 2)
    assert traces["code"] == source["record"]["traces"][1]
    assert changed(source, made) == {"record.traces"}


def test_an_item_without_counterpart_is_no_longer_cited(source: dict[str, Any]) -> None:
    """The other failure has no code, so that the code is not cited any more."""
    source["reflection"]["evidence_ids"] = ["code", "test"]
    assert mutant("other-evidence", source)["reflection"]["evidence_ids"] == ["test"]


def test_failures_that_fail_alike_are_not_exchanged(source: dict[str, Any]) -> None:
    """What is said of one would be true of the other."""
    alike = copy.deepcopy(MAILER)
    alike["record"]["traces"][2]["error_class"] = "TypeError"
    for name in ("other-evidence", "wrong-kind", "swapped-reflection"):
        assert made_nothing(name, source, [alike])


def test_a_partner_is_of_another_task(source: dict[str, Any]) -> None:
    """A second failure of the same task is no other failure."""
    for name in ("other-evidence", "swapped-reflection", "overlooked-later"):
        assert made_nothing(name, source, [{**MAILER, "project": {"task": "checkout"}}])


def test_one_id_is_missing(source: dict[str, Any]) -> None:
    """One of the two cited ids stands nowhere in the record; the other stays."""
    made = mutant("missing-ids", source)
    held = {item["id"] for item in source["record"]["traces"]}
    assert len(set(made["reflection"]["evidence_ids"]) - held) == 1
    assert changed(source, made) == {"reflection.evidence_ids"}


def test_only_what_is_no_evidence_of_a_cause_bears_the_claim_out(source: dict[str, Any]) -> None:
    """A repair repeats the claim; beside it stands a failure that is another's."""
    made = mutant("wrong-kind", source)
    repair = made["record"]["repair_delta"]
    cited = made["reflection"]["evidence_ids"]
    assert source["reflection"]["failed_assumption"] in repair["text"]
    assert repair["id"] in cited
    assert not {"plan", "code", "test"} & set(cited)


def test_names_are_replaced_in_claim_and_lesson(source: dict[str, Any]) -> None:
    """`load_cart` stands in neither any more, and the evidence is the same."""
    made = mutant("other-names", source)
    assert "load_cart" not in json.dumps(made["reflection"])
    assert changed(source, made) == {"reflection.failed_assumption", "reflection.candidate_lesson"}


def test_numbers_of_the_check_are_altered(source: dict[str, Any]) -> None:
    """The stated value is not the shown one any more."""
    made = mutant("other-numbers", source)
    assert "250" not in made["reflection"]["failed_assumption"]
    assert changed(source, made) == {"reflection.failed_assumption"}


def test_claims_are_denied(source: dict[str, Any]) -> None:
    """`always` becomes `never`."""
    assert "load_cart() never returns a dict" in mutant("opposite", source)["reflection"]["failed_assumption"]


def test_what_was_overlooked_came_later(source: dict[str, Any]) -> None:
    """The quoted observation is the last item, and the candidate cites it beside the failing check."""
    made = mutant("overlooked-later", source)
    later = made["record"]["traces"][-1]
    assert later["seq"] > max(item["seq"] for item in source["record"]["traces"])
    assert later["text"] in made["reflection"]["overlooked_evidence"]
    assert made["reflection"]["evidence_ids"] == ["test", later["id"]]


def test_scope_is_widened(source: dict[str, Any]) -> None:
    """Nothing but the scope changes; a scope that bounds nothing cannot be widened."""
    assert changed(source, mutant("wider-scope", source)) == {"reflection.scope"}
    source["reflection"]["scope"] = "everywhere"
    assert made_nothing("wider-scope", source)


def test_quotation_is_altered(source: dict[str, Any]) -> None:
    """The words of the check no longer stand in the claim."""
    made = mutant("altered-quote", source)
    assert "object is not subscriptable" not in made["reflection"]["failed_assumption"]
    assert changed(source, made) == {"reflection.failed_assumption"}


def test_reflection_is_swapped(source: dict[str, Any]) -> None:
    """Another's claims and lesson, this record's scope, and citations that exist here."""
    made = mutant("swapped-reflection", source)
    assert made["reflection"]["strategy_error"] == MAILER["reflection"]["strategy_error"]
    assert made["reflection"]["scope"] == source["reflection"]["scope"]
    assert made["reflection"]["evidence_ids"] == ["plan", "test"]
    assert made["record"] == source["record"]


def test_a_changed_record_keeps_no_signature(source: dict[str, Any]) -> None:
    """The ledger's word was about the record as it was."""
    given = {
        "signature": "0" * 64,
        "class": "",
        "template": "",
        "site": "",
        "reflected_before": False,
        "prior_reflection_id": None,
    }
    source["signature_context"] = given
    assert "signature_context" not in mutant("other-evidence", source)
    assert mutant("missing-ids", source)["signature_context"] == given


def test_nothing_applies_to_an_empty_candidate(source: dict[str, Any]) -> None:
    """A record without items and a claim without names, numbers or quotations."""
    source["record"]["traces"] = []
    source["reflection"].update(failed_assumption="Hm", counterfactual="", candidate_lesson="Hm", scope="", evidence_ids=[])
    assert all(made[1] is None for made in mutants([source], [MAILER]))


def test_a_misspelt_mutator_is_named() -> None:
    """The nearest name is offered."""
    with pytest.raises(ReflectGateError, match="did you mean `opposite`") as caught:
        chosen(["oposite"])
    assert caught.value.code == "corpus-unknown-mutator"


def test_mutators_keep_their_order() -> None:
    """Whatever the order in which they are asked for."""
    assert [name_of(one) for one in chosen(["opposite", "missing-ids"])] == ["missing-ids", "opposite"]


WORDS = """`load_cart` never 'no such thing' returns 250 not cannot "cart['items']" load_cart() is - 0 it's 1.5 ` ' . missing"""
CLAIM = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf"]), min_size=1, max_size=60),
    st.lists(st.sampled_from([*WORDS.split(" "), "\n"]), min_size=1, max_size=12).map(" ".join),
)


@settings(max_examples=60, deadline=None)
@given(
    claims=st.lists(CLAIM, min_size=4, max_size=4),
    evidence=CLAIM,
    seed=st.integers(0, 2**32),
    last=st.sampled_from([2, 2**31 - 1]),
)
def test_mutants_of_any_text_are_valid(claims: list[str], evidence: str, seed: int, last: int) -> None:
    """Whatever the claims and the evidence say, a mutant passes the schema and the checks that follow it."""
    source = copy.deepcopy(MAILER)
    source["project"] = {"task": "other"}
    source["record"]["traces"][2].update(text=evidence, seq=last)
    fields = ("failed_assumption", "overlooked_evidence", "violated_invariant", "candidate_lesson")
    source["reflection"].update({field: claim for field, claim in zip(fields, claims, strict=True) if claim.strip()})
    for made in mutants([source], [MAILER], seed=seed):
        if isinstance(made, Mutant):
            schemas.check("request", made.request, made.mutator)
            prepare(made.request["record"], Limits())


def test_a_mutant_that_grew_too_large_is_not_made(source: dict[str, Any]) -> None:
    """A longer name may push a text over its limit."""
    source["reflection"]["candidate_lesson"] = "load_cart() " * 5461 + "rest"
    assert len(source["reflection"]["candidate_lesson"]) == 65_536
    long = copy.deepcopy(MAILER)
    long["record"]["traces"][1]["text"] = "some_very_long_name()"
    long["record"]["traces"][0]["text"] = long["record"]["traces"][2]["text"] = "fails again and again"
    assert made_nothing("other-names", source, [long])
