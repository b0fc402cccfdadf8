"""Explanations: measured values against what was needed, in words and numbers that a policy author knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reflect_gate import Bundle, load_bundle
from reflect_gate.facts import Fact, load_vocabulary
from reflect_gate.infer import make_engine
from reflect_gate.infer._near import BUDGET, nearest_miss
from reflect_gate.infer.explain import Explainer, nearest
from reflect_gate.policy.model import EncodedFact, Firing, Interner

from .infer_programs import program

RULES = """\
ruleset: hand
version: 1.0.0
stage: ground
doc: Written by hand.
neutral: grounded
settings:
  least: {default: 0.5, doc: The least overlap.}
tables:
  wanted:
    doc: What kind each field needs.
    columns: {field: field, kind: kind}
    rows:
      - {field: strategy_error, kind: plan}
derive:
  supported: {field: field}
rules:
  - id: supported
    doc: Enough overlap with an item of the right kind.
    when:
      - claim as c: {populated: true}
      - wanted as w: {field: $c.field}
      - support: {field: $c.field, kind: $w.kind, anchor_overlap: {gte: $least}}
    then:
      - supported: {field: $c.field}
  - id: unsupported
    doc: Not supported.
    when:
      - claim as c: {populated: true, anchors: {in: [1, 2]}}
      - not supported: {field: $c.field}
    then:
      - finding: {verdict: speculative, reason: unsupported, about: $c.field}
  - id: blind
    doc: No usable support.
    when:
      - record: {}
      - not support: {usable: true, term_overlap: {gte: 0.25}}
    then:
      - finding: {verdict: speculative, reason: blind}
"""
POLICIES = "policies: 1\ndefault: b\nrules: rules\nlexicons: lexicons\nbundles: {b: {doc: Hand., rulesets: [hand]}}\n"


class Said(NamedTuple):
    """What a rule said."""

    rule: int
    verdict: str
    reason: str
    about: str


class Evaluation(NamedTuple):
    """One evaluation, ready to be explained."""

    bundle: Bundle
    facts: list[EncodedFact]
    firings: list[Firing]
    interner: Interner

    @property
    def explainer(self) -> Explainer:
        """What explains it."""
        return Explainer(self.bundle.program, self.facts, self.firings, self.interner)

    def rule(self, name: str) -> int:
        """The place of a rule."""
        return next(rule.number for rule in self.bundle.program.rules if rule.id == name)


def _claim(anchors: int = 2) -> Fact:
    return load_vocabulary().make(
        "claim", field="strategy_error", populated=True, anchors=anchors, unfound=0, terms=4, faultless=False
    )


def _support(overlap: int, kind: str = "plan", terms: int = 10) -> Fact:
    spec = load_vocabulary().facts["support"]
    defaults: dict[str, Any] = {"flag": True, "count": 1, "percent": terms}
    values = {name: defaults.get(domain, "none") for name, domain in spec.fields.items()}
    values |= {"field": "strategy_error", "item": "i1", "kind": kind, "anchor_overlap": overlap, "order": "unknown"}
    return load_vocabulary().make("support", **values)


@pytest.fixture
def evaluate(tmp_path: Path) -> Any:
    """Evaluate facts by the rules above."""
    for folder in ("rules", "lexicons"):
        (tmp_path / folder).mkdir()
    (tmp_path / "rules" / "hand.yaml").write_text(RULES, encoding="utf-8")
    (tmp_path / "policies.yaml").write_text(POLICIES, encoding="utf-8")
    bundle = load_bundle(policies=tmp_path, cache=False)

    def run(*facts: Fact) -> Evaluation:
        made = bundle.program
        interner = Interner(made.symbols, {name: number for number, name in enumerate(made.symbols)})
        encoded: list[EncodedFact] = [
            (made.type_index(str(f[0])), *[interner.number(v) if isinstance(v, str) else int(v) for v in f[1:]]) for f in facts
        ]
        with make_engine(made, "compiled", cross_check=False).session(bundle.limits) as session:
            firings = session.advance("ground", encoded)
        return Evaluation(bundle, encoded, firings, interner)

    return run


def test_a_finding_shows_what_was_measured(evaluate: Any) -> None:
    """A finding carries its rule's place and each comparison, decoded; an identity between facts is none (R-P2)."""
    done = evaluate(_claim())
    found = done.explainer.finding("ground", Said(done.rule("unsupported"), "speculative", "unsupported", "strategy_error"))
    assert found["source"] == "hand.yaml:25:9"
    assert found["measured"] == [
        {"fact": "claim", "field": "populated", "value": True, "op": "eq", "needed": True, "setting": ""},
        {"fact": "claim", "field": "anchors", "value": 2, "op": "in", "needed": [1, 2], "setting": ""},
    ]


def test_an_absence_shows_how_near_it_came(evaluate: Any) -> None:
    """`not supported` is explained by the overlap of the nearest item and the setting that it missed."""
    done = evaluate(_claim(), _support(10), _support(33), _support(90, "code"))
    found = done.explainer.finding("ground", Said(done.rule("unsupported"), "speculative", "unsupported", "strategy_error"))
    assert found["measured"][-1] == {
        "fact": "support",
        "field": "anchor_overlap",
        "value": 0.33,
        "op": "gte",
        "needed": 0.5,
        "setting": "hand.least",
    }


def test_the_absence_of_a_measured_fact_shows_the_condition_it_failed(evaluate: Any) -> None:
    """Where a negated pattern speaks of measured facts, the one that failed a single condition is shown."""
    done = evaluate(
        load_vocabulary().make("record", outcome="resolved", complete=True, traces=1, items=1), _support(10, terms=20)
    )
    found = done.explainer.finding("ground", Said(done.rule("blind"), "speculative", "blind", ""))
    assert [(m["field"], m["value"], m["needed"]) for m in found["measured"]] == [("term_overlap", 0.2, 0.25)]


def test_a_finding_that_no_firing_derived_has_no_measurements(evaluate: Any) -> None:
    """Nothing is made up."""
    done = evaluate(_claim())
    found = done.explainer.finding("ground", Said(done.rule("blind"), "speculative", "blind", ""))
    assert found["measured"] == []


def test_firings_show_their_facts(evaluate: Any) -> None:
    """Every firing names its rule, its place, the facts it rests on and those it derived."""
    done = evaluate(_claim(), _support(50))
    (firing,) = done.explainer.firings()
    assert (firing["rule"], firing["stage"], firing["source"]) == ("hand/supported", "ground", "hand.yaml:17:9")
    assert [fact["fact"] for fact in firing["facts"]] == ["claim", "wanted", "support"]
    assert firing["facts"][2]["fields"]["anchor_overlap"] == 0.5
    assert firing["derived"] == [{"fact": "supported", "fields": {"field": "strategy_error"}}]


def test_nearest_says_which_condition_failed(evaluate: Any) -> None:
    """A rule that did not fire tells the deepest match and the first condition that failed there."""
    done = evaluate(_claim(), _support(49))
    near = nearest(done.bundle.program, done.rule("supported"), done.facts, done.interner)
    assert near is not None
    assert near["condition"]["value"] == 0.49
    assert [fact["fact"] for fact in near["facts"]] == ["claim", "wanted"]
    assert near == done.explainer.nearest(done.rule("supported"))


def test_nearest_says_which_fact_is_missing(evaluate: Any) -> None:
    """Where there is no fact to look at, its type is named."""
    done = evaluate(_claim())
    near = done.explainer.nearest(done.rule("supported"))
    assert near is not None
    assert near["missing"] == "support"


def test_nearest_says_what_refuted(evaluate: Any) -> None:
    """Where all is there but a fact that must not be, that fact is shown."""
    done = evaluate(_claim(), _support(60))
    near = done.explainer.nearest(done.rule("unsupported"))
    assert near is not None
    assert near["refuted"] == {"fact": "supported", "fields": {"field": "strategy_error"}}


def test_nearest_is_silent_about_what_fired(evaluate: Any) -> None:
    """A rule that every fact satisfies has no near miss."""
    done = evaluate(_claim(), _support(60))
    assert done.explainer.nearest(done.rule("supported")) is None


def test_the_search_is_bounded() -> None:
    """Looking for the nearest match ends, however many combinations there are."""
    types = {"b": ["x"], "out": ["x"]}
    made = program(types, [([("b", {}), ("b", {}), ("b", {}), ("b", {}), ("b", {"x": -1})], [("out", [0])])])
    looked = 0

    class Counted(list[EncodedFact]):
        def __iter__(self) -> Any:
            nonlocal looked
            looked += len(self)
            return super().__iter__()

    facts = Counted((0, number) for number in range(100))
    assert nearest_miss(made.rules[0], {0: facts}) is not None
    assert looked < 20 * BUDGET


def test_every_shipped_rule_has_a_place(structured: Bundle) -> None:
    """A finding of any shipped rule can name its file and line."""
    assert all(rule.source.line > 0 and rule.source.file.endswith(".yaml") for rule in structured.program.rules)
