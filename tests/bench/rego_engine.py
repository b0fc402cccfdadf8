"""A program as Rego, run by regorus."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Final

import orjson

from reflect_gate.policy.model import EncodedFact, Head, Join, Pattern, Program, Rule, Test

from .engines import Answer, Derived, Facts, finding_heads, read_fields, read_types

__all__ = ["Regorus"]

_OPERATORS: Final = {"eq": "==", "ne": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


class Regorus:
    """One partial set a rule head, one document a derived type; a pattern whose fields are all known becomes a set lookup.

    A set holds the derived facts (the one value of a type with one field, else a list), or only the joined values where no rule
    reads the type. Input and result travel as JSON, which is the fastest way in and out.
    """

    name = "regorus"

    def __init__(self, program: Program, *, trace: bool) -> None:
        self._program = program
        self._fields = read_fields(program)
        self._read = read_types(program)
        self._findings = [(f"{rule}_{place}", head) for rule, place, head in finding_heads(program)]
        self._heads = {
            f"{rule.number}_{place}": (rule.number, head) for rule in program.rules for place, head in enumerate(rule.heads)
        }
        self._shown = list(self._heads) if trace else [key for key, _ in self._findings]
        self._makers: dict[int, list[str]] = {}
        for key, (_, head) in self._heads.items():
            self._makers.setdefault(head.type, []).append(key)
        self._engine: Any = importlib.import_module("regorus").Engine()
        self._engine.add_policy("gate.rego", self.text())
        self._engine.add_data_json(orjson.dumps(self._group(program.tables)).decode())

    def text(self) -> str:
        """Return the module."""
        lines = ["package gate", "import rego.v1"]
        for kind, makers in self._makers.items():
            if kind in self._read:
                lines.append(f"d{kind} := " + " |\n  ".join(f"r{key}" for key in makers))
        for rule in self._program.rules:
            lines += self._rule(rule)
        # The parser takes no line above 1,024 characters.
        shown = ",\n  ".join(f'"{key}":r{key}' for key in self._shown)
        lines.append(f"result := {{{shown}}}")
        return "\n".join(lines)

    def _rule(self, rule: Rule) -> list[str]:
        body: list[str] = []
        extra: list[str] = []
        for place, pattern in enumerate(rule.positive):
            known = self._lookup(rule, pattern)
            if known and not _later(rule, place):
                body.append(known)
                continue
            body.append(f"some x{place} in {self._source(pattern.type)}")
            body += [self._test(rule, pattern.type, f"x{place}", test) for test in pattern.tests]
        for place, pattern in enumerate(rule.negative):
            body.append(self._absent(rule, place, pattern, extra))
        return [
            f"r{rule.number}_{place} contains {self._element(rule, head)} if {{{'; '.join(body)}}}"
            for place, head in enumerate(rule.heads)
        ] + extra

    def _source(self, kind: int) -> str:
        if kind in self._makers:
            return f"d{kind}"
        return f"data.t{kind}" if any(fact[0] == kind for fact in self._program.tables) else f"input.t{kind}"

    def _lookup(self, rule: Rule, pattern: Pattern) -> str:
        """Return the set lookup that a pattern comes to, or nothing where it must be searched."""
        known = {test.position: test.value for test in pattern.tests if test.op == "eq" and not isinstance(test.value, tuple)}
        width = len(self._program.types[pattern.type].fields)
        if pattern.type not in self._makers or len(known) != width or len(pattern.tests) != width:
            return ""
        values = [self._term(rule, known[position]) for position in range(width)]
        return f"{_element(values)} in d{pattern.type}"

    def _field(self, kind: int, name: str, position: int) -> str:
        if kind not in self._makers:
            return f"{name}.f{position}"
        return name if len(self._program.types[kind].fields) == 1 else f"{name}[{position}]"

    def _term(self, rule: Rule, value: int | Join) -> str:
        if isinstance(value, Join):
            return self._field(rule.positive[value.pattern].type, f"x{value.pattern}", value.position)
        return str(value)

    def _test(self, rule: Rule, kind: int, name: str, test: Test) -> str:
        left = self._field(kind, name, test.position)
        if isinstance(test.value, tuple):
            return f"{left} in {{{','.join(map(str, test.value))}}}"
        return f"{left} {_OPERATORS[test.op]} {self._term(rule, test.value)}"

    def _absent(self, rule: Rule, place: int, pattern: Pattern, extra: list[str]) -> str:
        known = self._lookup(rule, pattern)
        if known:
            return f"not {known}"
        if not pattern.tests:
            return f"count({self._source(pattern.type)}) == 0"
        name = f"n{rule.number}_{place}"
        names = ",".join(f"x{number}" for number in range(len(rule.positive)))
        tests = "; ".join(self._test(rule, pattern.type, "y", test) for test in pattern.tests)
        extra.append(f"{name}({names}) if {{some y in {self._source(pattern.type)}; {tests}}}")
        return f"not {name}({names})"

    def _element(self, rule: Rule, head: Head) -> str:
        if head.type in self._read:
            return _element([self._term(rule, value) for value in head.values])
        return _element([self._term(rule, value) for value in head.values if isinstance(value, Join)] or ["0"])

    def _group(self, facts: Sequence[EncodedFact]) -> dict[str, list[dict[str, int]]]:
        grouped: dict[str, list[dict[str, int]]] = {f"t{fact[0]}": [] for fact in facts}
        for fact in facts:
            grouped[f"t{fact[0]}"].append({f"f{position}": fact[position + 1] for position in self._fields[fact[0]]})
        return grouped

    def prepare(self, facts: Facts) -> dict[str, list[dict[str, int]]]:
        """See `engines.Contender`; a type without facts is an empty list, for Rego knows no difference to a missing one."""
        empty: dict[str, list[dict[str, int]]] = {f"t{kind}": [] for kind in self._read if kind not in self._makers}
        return {**empty, **self._group([fact for own in facts.values() for fact in dict.fromkeys(own)])}

    def run(self, prepared: Any) -> Answer:
        """See `engines.Contender`."""
        self._engine.set_input_json(orjson.dumps(prepared).decode())
        result = orjson.loads(self._engine.eval_rule_as_json("data.gate.result"))
        return Answer({fact[1:] for key, head in self._findings for fact in self._facts(head, result[key])}, result)

    def _facts(self, head: Head, elements: Sequence[Any]) -> list[EncodedFact]:
        lists = [element if isinstance(element, list) else [element] for element in elements]
        if head.type in self._read:
            return [(head.type, *values) for values in lists]
        filled = []
        for values in lists:
            joined = iter(values)
            filled.append((head.type, *[next(joined) if isinstance(value, Join) else value for value in head.values]))
        return filled

    def derived(self, trace: Any) -> set[Derived]:
        """See `engines.Contender`."""
        return {(self._heads[key][0], fact) for key, found in trace.items() for fact in self._facts(self._heads[key][1], found)}


def _element(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"[{','.join(values)}]"


def _later(rule: Rule, place: int) -> bool:
    """Return whether something after the pattern joins with it, so that it needs a name."""
    values = [test.value for pattern in (*rule.positive, *rule.negative) for test in pattern.tests]
    values += [value for head in rule.heads for value in head.values]
    return any(isinstance(value, Join) and value.pattern == place for value in values)
