"""What the C engine does wrong, each shown on the library itself, and what ours does with the same input.

Snippets that may crash run in a process of their own. The traps were found by probing durable_rules 2.0.28; a version that has
mended one fails its test, which then tells that a precaution can go.
"""

from __future__ import annotations

import importlib
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from reflect_gate import Bundle
from reflect_gate.config import Limits
from reflect_gate.errors import ReflectGateError
from reflect_gate.infer._network import ID_LIMIT, KEYS, LANES, build, fnv32
from reflect_gate.infer.durable import Durable, durable_missing
from reflect_gate.policy.model import EncodedFact, Interner

from .infer_programs import When, firings, program

pytestmark = [
    pytest.mark.durable,
    pytest.mark.skipif(bool(durable_missing()), reason=f"durable_rules cannot be imported: {durable_missing()}"),
]

_PRELUDE = """
import json
import durable_rules_engine as library
def make(**rules):
    return library.create_ruleset("r", json.dumps({name: {"all": patterns} for name, patterns in rules.items()}))
def run(handle, facts):
    code, state = library.assert_facts(handle, json.dumps(facts))
    fired, started = [], library.start_action_for_state(handle, state)
    text = started and started[1]
    while text:
        fired += json.loads(text)
        text = library.complete_and_start_action(handle, state)
    return fired
"""


def _alone(code: str, timeout: float = 20) -> tuple[int | None, str]:
    """Run `code` in a process of its own; the exit code is negative for a signal and `None` for a hang."""
    process = [sys.executable, "-c", _PRELUDE + code]
    try:
        done = subprocess.run(
            process, capture_output=True, text=True, timeout=timeout, env={"MALLOC_PERTURB_": "165"}, check=False
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout.strip()


@pytest.fixture
def library() -> Any:
    """The C module."""
    return importlib.import_module("durable_rules_engine")


def _naive(library: Any, rules: dict[str, list[Any]], facts: Sequence[dict[str, Any]]) -> list[str]:
    """Return the rules that fire when the library is used as its manual says."""
    handle = library.create_ruleset("r", json.dumps({name: {"all": patterns} for name, patterns in rules.items()}))
    _, state = library.assert_facts(handle, json.dumps(list(facts)))
    started = library.start_action_for_state(handle, state)
    text = started and started[1]
    fired: list[str] = []
    while text:
        fired += json.loads(text)
        text = library.complete_and_start_action(handle, state)
    return fired


CLAIM = {"claim": ["id"], "evidence": ["claim"], "out": ["id"]}
UNSUPPORTED = ([("claim", {}), ("not evidence", {"claim": "0.id"})], [("out", ["0.id"])])


def _fired(engine: Durable, *facts: EncodedFact) -> list[tuple[int, tuple[EncodedFact, ...]]]:
    return firings(engine, ("one", list(facts)))


class _Sabotage:
    """The library with something done to each batch, as a fault in the library would do it."""

    def __init__(self, library: Any, text: str) -> None:
        self._library = library
        self._text = text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def assert_facts(self, handle: int, batch: str) -> Any:
        return self._library.assert_facts(handle, "[" + self._text + "," + batch[1:])


def test_a_batch_is_cut_silently(library: Any) -> None:
    """The library drops all facts after one that it cannot read and returns success; ours misses its sentinel and refuses."""
    assert _naive(library, {"r": [{"m": {"$gte": {"x": 0}}}]}, [{"x": 1}, {"x": 1e-7}, {"x": 3}]) == ["r"]
    engine = Durable(program({"a": ["x"], "b": ["x"]}, [([("a", {})], [("b", ["0.x"])])]))
    facts = [(0, number) for number in range(40)]
    assert len(_fired(engine, *facts)) == 40
    engine.library = _Sabotage(library, '{"t0":1e-7,"id":900}')
    with pytest.raises(ReflectGateError) as caught:
        _fired(engine, *facts)
    assert caught.value.code == "engine-truncated"


def test_an_empty_batch_crashes() -> None:
    """The library runs into memory that it never set; ours has nothing to assert and says so."""
    code, _ = _alone("handle = make(r=[{'m': {'x': 1}}])\nprint(run(handle, []))")
    assert code is not None
    assert code < 0
    assert _fired(Durable(program(CLAIM, [UNSUPPORTED]))) == []


def test_an_empty_fact_hangs_or_crashes() -> None:
    """A fact without fields is fatal to the library; ours always carries its type and its number."""
    code, _ = _alone("handle = make(r=[{'m': {'x': 1}}])\nprint(run(handle, [{'x': 1}, {}]))", timeout=3)
    assert code is None or code < 0
    assert len(_fired(Durable(program({"bare": [], "out": []}, [([("bare", {})], [("out", [])])])), (0,))) == 1


def test_absence_depends_on_the_order_of_facts(library: Any) -> None:
    """The library fires `claim and not evidence` although the evidence is there, if it comes second; ours never does."""
    rules = {"r": [{"b": {"t": "claim"}}, {"n$not": {"$and": [{"t": "evidence"}, {"claim": {"b": "k"}}]}}]}
    claim, evidence = {"t": "claim", "k": 7}, {"t": "evidence", "claim": 7}
    assert _naive(library, rules, [claim, evidence]) == ["r"]
    assert _naive(library, rules, [evidence, claim]) == []
    engine = Durable(program(CLAIM, [UNSUPPORTED]))
    facts: list[EncodedFact] = [(0, 1), (0, 2), (0, 3), (1, 1), (1, 3)]
    assert {tuple(_fired(engine, *order)) for order in itertools.permutations(facts)} == {((0, ((0, 2),)),)}


def test_absence_alone_never_fires(library: Any) -> None:
    """A rule of nothing but `not` never fires in the library; in ours it asks once the facts are there."""
    assert _naive(library, {"r": [{"n$not": {"t": "evidence"}}]}, [{"t": "claim"}]) == []
    engine = Durable(program(CLAIM, [([("not evidence", {})], [("out", [1])])]))
    assert _fired(engine, (0, 1)) == [(0, ())]
    assert _fired(engine, (0, 1), (1, 1)) == []


def test_absence_takes_unrelated_rules_with_it(library: Any) -> None:
    """A fact that refutes one rule deletes what other rules were about to do in the library; in ours they fire."""
    rules: dict[str, list[Any]] = {
        "refuted": [{"e": {"t": "claim"}}, {"b$not": {"$and": [{"t": "evidence"}, {"k": {"e": "k"}}]}}],
        "unrelated": [{"q": {"t": "claim"}}],
    }
    assert _naive(library, rules, [{"t": "claim", "k": 1}, {"t": "evidence", "k": 1}]) != ["unrelated"]
    engine = Durable(program(CLAIM, [UNSUPPORTED, ([("claim", {})], [("out", ["0.id"])])]))
    assert _fired(engine, (0, 1), (1, 1)) == [(1, ((0, 1),))]


def test_values_of_different_types_are_equal(library: Any) -> None:
    """`true`, 1 and "1" are one value to the library; to ours a name and a number never meet."""
    rules = {"one": [{"m": {"x": 1}}]}
    assert [_naive(library, rules, [{"x": value}]) for value in (1, True, "1")] == [["one"]] * 3
    names = Interner((), {})
    engine = Durable(program({"a": ["name"], "out": ["x"]}, [([("a", {"name": names.number("1")})], [("out", [0])])]))
    assert [len(_fired(engine, (0, names.number(name)))) for name in ("1", "true", "True", "1.0")] == [1, 0, 0, 0]


def test_text_is_greater_than_a_number(library: Any) -> None:
    """'9' is above 10 in the library, by comparing letters; ours compares integers only."""
    assert _naive(library, {"r": [{"m": {"$gt": {"x": 10}}}]}, [{"x": "9"}]) == ["r"]
    engine = Durable(program({"a": ["x"], "out": ["x"]}, [([("a", {"x": ("gt", 10)})], [("out", [0])])]))
    assert [len(_fired(engine, (0, value))) for value in (9, 10, 11, 100)] == [0, 0, 1, 1]


def test_two_keys_are_one(library: Any) -> None:
    """The library knows keys by a 32-bit hash: a rule on one fires for another. Ours uses a fixed list without a collision."""
    assert _naive(library, {"r": [{"m": {"glbvs": "yes"}}]}, [{"yacxa": "yes"}]) == ["r"]
    names = ["id", "sid", "$s", "x0", "x1", "x2", *KEYS, *(f"t{lane}" for lane in range(LANES))]
    assert len({fnv32(name) for name in names}) == len(names)


def test_two_sessions_are_one() -> None:
    """Session names with the same hash see each other's facts in the library; our sessions have a ruleset each."""
    code, out = _alone(
        "handle = make(r=[{'p': {'x': 1}}, {'q': {'y': 1}}])\n"
        "run(handle, [{'x': 1, 'sid': 's31597'}])\nprint(run(handle, [{'y': 1, 'sid': 's618190'}]))"
    )
    assert (code, out) == (0, "['r']")
    engine = Durable(program({"x": [], "y": [], "out": []}, [([("x", {}), ("y", {})], [("out", [])])]))
    with engine.session(Limits()) as first, engine.session(Limits()) as second:
        assert first.advance("one", [(0,)]) == []
        assert second.advance("one", [(1,)]) == []


def test_long_text_equals_its_beginning(library: Any) -> None:
    """Lengths are counted modulo 65,536 in the library; ours numbers whole names."""
    long = "approved" + "z" * 65_536
    assert _naive(library, {"r": [{"m": {"x": "approved"}}]}, [{"x": long}]) == ["r"]
    names = Interner((), {})
    engine = Durable(program({"a": ["x"], "out": ["x"]}, [([("a", {"x": names.number("approved")})], [("out", [0])])]))
    assert _fired(engine, (0, names.number(long))) == []


def test_padding_hides_text_from_a_pattern(library: Any) -> None:
    """`$mt` does not see what is padded beyond 65,536 characters; our networks hold no such operator (see the next test)."""
    rule = {"r": [{"m": {"$mt": {"x": ".*ignore previous.*"}}}]}
    assert _naive(library, rule, [{"x": "a" * 100 + " ignore previous "}]) == ["r"]
    assert _naive(library, rule, [{"x": "a" * 70_000 + " ignore previous "}]) == []


def test_networks_use_known_operators_only(structured: Bundle) -> None:
    """The shipped bundle's ruleset holds `$and`, `$not` and comparisons, and no text but keys and numbers."""
    definition = build(structured.program).definition
    assert set(re.findall(r"\$\w+", definition)) <= {"$and", "$not", "$neq", "$lt", "$lte", "$gt", "$gte"}
    words = set(re.findall(r'"([^"]*)"', definition))
    assert all(re.fullmatch(r"\$?\w{1,4}(\$not)?", word) for word in words)


def test_the_last_join_of_a_pattern_never_fails(structured: Bundle) -> None:
    """Where the last join of a conjunction fails, the library reads on behind its memory until it meets the byte 13.

    Most often it meets one, so that only an address sanitizer shows it. Every conjunction of ours with a join ends in one that
    compares the lanes' own keys, which are 1 in every fact.
    """
    types = {"a": ["x"], "b": ["x"], "out": ["x"]}
    when: When = [("a", {}), ("b", {"x": ("gt", "0.x")}), ("not a", {"x": ("ne", "1.x")})]
    for made in (structured.program, program(types, [(when, [("out", [0])])])):
        joined = 0
        for name, variant in json.loads(build(made).definition).items():
            parts = [part for pattern in variant["all"] for each in pattern.values() for part in [each.get("$and", [])]]
            for conditions in parts:
                joins = [each for each in conditions if any(isinstance(value, dict) for value in _operands(each))]
                if joins:
                    joined += 1
                    assert re.fullmatch(r"\{'\$gte': \{'t\d+': \{'[A-L]': 't\d+'\}\}\}", str(conditions[-1])), name
        assert joined > 0


def _operands(condition: dict[str, Any]) -> list[Any]:
    """Return what a condition compares with; a join is an object."""
    ((key, value),) = condition.items()
    return list(value.values()) if key.startswith("$") else [value]


def test_great_numbers_are_equal(library: Any) -> None:
    """The library saturates at 2^63, so that 2^70 equals 2^80; ours refuses what is above 2^53 and compares exactly below."""
    rules = {"r": [{"a": {"k": 1}}, {"b": {"$and": [{"k": 2}, {"v": {"a": "v"}}]}}]}
    assert _naive(library, rules, [{"k": 1, "v": 2**70}, {"k": 2, "v": 2**80}]) == ["r"]
    types = {"a": ["v"], "b": ["v"], "out": []}
    engine = Durable(program(types, [([("a", {}), ("b", {"v": "0.v"})], [("out", [])])]))
    assert _fired(engine, (0, 2**52), (1, 2**52 + 1)) == []
    assert len(_fired(engine, (0, 2**52), (1, 2**52))) == 1
    for value in (2**70, -(2**70), 2**53):
        with pytest.raises(ReflectGateError, match=r"2\^53|durable_rules failed"):
            _fired(engine, (0, value), *[(1, number) for number in range(40)])


def test_not_a_number_is_null() -> None:
    """NaN equals null in the library; ours cannot be given anything but integers."""
    code, out = _alone("handle = make(r=[{'m': {'x': None}}])\nprint(run(handle, [{'x': float('nan')}]))")
    assert (code, out) == (0, "['r']")
    engine = Durable(program({"a": ["x"], "out": ["x"]}, [([("a", {"x": 0})], [("out", [0])])]))
    with pytest.raises(ReflectGateError, match="engine-failed"):
        _fired(engine, (0, float("nan")))  # type: ignore[arg-type]


def test_the_key_id_decides_what_is_a_duplicate(library: Any) -> None:
    """A field called `id` makes two facts one in the library; ours keeps that key for numbers that it gives itself."""
    handle = library.create_ruleset("r", json.dumps({"r": {"all": [{"m": {"$ex": {"t": 1}}}]}}))
    assert [library.assert_fact(handle, json.dumps({"t": kind, "id": 7}))[0] for kind in ("a", "b")] == [0, 2]
    engine = Durable(program({"a": ["id"], "b": ["id"], "out": []}, [([("a", {}), ("b", {})], [("out", [])])]))
    assert len(_fired(engine, (0, 7), (1, 7))) == 1


def test_different_facts_are_duplicates(library: Any) -> None:
    """Without `id` the library tells facts apart by 32 bits of their content: these two are one. Ours numbers them."""
    handle = library.create_ruleset("r", json.dumps({"r": {"all": [{"m": {"$ex": {"x": 1}}}]}}))
    assert [library.assert_fact(handle, f'{{"x":{value}}}')[0] for value in (75197, 203709)] == [0, 2]
    engine = Durable(program({"a": ["x"], "out": ["x"]}, [([("a", {})], [("out", ["0.x"])])]))
    assert len(_fired(engine, (0, 75197), (0, 203709))) == 2


def test_numbers_of_messages_do_not_collide() -> None:
    """The numbers that we give as `id` are told apart by their 32-bit hashes up to the limit of a session."""
    hashes = {fnv32(str(number)) for number in range(ID_LIMIT)}
    assert len(hashes) == ID_LIMIT
    assert fnv32("sid-0") not in hashes


def test_deleting_an_unstarted_state_crashes() -> None:
    """The library frees what it never allocated; ours starts each state before it can be deleted."""
    code, _ = _alone(
        "handle = make(r=[{'m': {'x': 1}}, {'n': {'y': 1}}])\n"
        "for number in range(3000):\n"
        "    library.assert_fact(handle, json.dumps({'x': 1, 'sid': f's{number}'}))\n"
        "    library.delete_state(handle, f's{number}')"
    )
    assert code is not None
    assert code < 0
    engine = Durable(program(CLAIM, [UNSUPPORTED]))
    for _ in range(300):
        with engine.session(Limits()):
            pass
    assert _fired(engine, (0, 1)) == [(0, ((0, 1),))]


def test_too_many_sessions_break_the_library() -> None:
    """The 1,025th open session is out of memory for good in the library; ours refuses the 257th and has room when one is left."""
    code, out = _alone(
        "handle = make(r=[{'m': {'x': 1}}])\n"
        "try:\n"
        "    for number in range(1100):\n"
        "        run(handle, [{'x': 1, 'sid': f's{number}'}])\n"
        "except MemoryError:\n"
        "    print(number)"
    )
    assert (code, out) == (0, "1024")
    engine = Durable(program(CLAIM, [UNSUPPORTED]))
    held = [engine.session(Limits()) for _ in range(256)]
    with pytest.raises(ReflectGateError, match="256 open sessions"):
        engine.session(Limits())
    held.pop().close()
    assert _fired(engine, (0, 1)) == [(0, ((0, 1),))]
    for session in held:
        session.close()


def _thresholds(count: int) -> Durable:
    types = {"a": ["x"], "out": ["n"]}
    return Durable(program(types, [([("a", {"x": ("gte", number)})], [("out", [number])]) for number in range(count)]))


def test_many_conditions_true_of_one_fact(library: Any) -> None:
    """More than 64 conditions true of one fact are an error in the library; in ours all rules fire."""
    rules = {f"r{number}": [{"m": {"$gte": {"x": number}}}] for number in range(100)}
    handle = library.create_ruleset("r", json.dumps({name: {"all": patterns} for name, patterns in rules.items()}))
    with pytest.raises(library.error, match="303"):
        library.assert_fact(handle, '{"x":1000}')
    assert [rule for rule, _ in _fired(_thresholds(200), (0, 1000))] == list(range(200))


def test_many_conditions_on_one_field() -> None:
    """512 conditions on a level hang the library; ours spreads them."""
    code, _ = _alone(
        "handle = make(**{f'r{n}': [{'m': {'x': n}}] for n in range(512)})\nrun(handle, [{'x': 3, 'zz': 1}])", timeout=3
    )
    assert code is None or code != 0
    types = {"a": ["x"], "out": []}
    engine = Durable(program(types, [([("a", {"x": number})], [("out", [])]) for number in range(600)]))
    assert [rule for rule, _ in _fired(engine, (0, 3), (0, 599))] == [3, 599]


def test_many_rules_on_one_condition(library: Any) -> None:
    """300 rules that begin alike are refused by the library; ours runs them."""
    rules = {f"r{number}": {"all": [{"m": {"x": 1}}]} for number in range(300)}
    with pytest.raises(library.error, match="108"):
        library.create_ruleset("r", json.dumps(rules))
    types = {"a": ["x"], "b": [], "out": []}
    engine = Durable(program(types, [([("a", {"x": 1}), ("not b", {})], [("out", [])]) for _ in range(300)]))
    assert [rule for rule, _ in _fired(engine, (0, 1))] == list(range(300))


def test_a_fact_may_stand_for_two_patterns(library: Any) -> None:
    """The library never binds one fact to two patterns unless told; ours joins as the rule language says."""
    assert _naive(library, {"r": [{"a": {"t": 1}}, {"b": {"t": 1}}]}, [{"t": 1}]) == []
    engine = Durable(program({"a": ["x"], "out": []}, [([("a", {}), ("a", {"x": "0.x"})], [("out", [])])]))
    assert _fired(engine, (0, 1)) == [(0, ((0, 1), (0, 1)))]


def test_small_fractions_cannot_be_read(library: Any) -> None:
    """The library refuses 1e-7; ours keeps a decimal as an integer at its scale."""
    handle = library.create_ruleset("r", json.dumps({"r": {"all": [{"m": {"$gte": {"x": 0}}}]}}))
    with pytest.raises(library.error):
        library.assert_fact(handle, '{"x":1e-7}')
    engine = Durable(program({"a": ["x"], "out": []}, [([("a", {"x": ("gt", 0)})], [("out", [])])]))
    assert len(_fired(engine, (0, 1))) == 1
    assert _fired(engine, (0, -1)) == []


def test_division_by_zero_kills_the_process() -> None:
    """The library divides by what a fact says; the rule language has no arithmetic, so our networks have none."""
    code, _ = _alone(
        "handle = make(r=[{'m': {'$gt': {'v': {'$div': {'$l': {'$m': 'n'}, '$r': {'$m': 'd'}}}}}}])\n"
        "run(handle, [{'n': 1, 'd': 0, 'v': 5}])"
    )
    assert code is not None
    assert code < 0
