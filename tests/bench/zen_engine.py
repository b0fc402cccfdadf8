"""A program as a decision of the JSON Decision Model, run by zen-engine."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Final

import orjson

from reflect_gate.policy.model import EncodedFact, Head, Join, Pattern, Program, Rule, Test

from .engines import Answer, Derived, Facts, finding_heads, read_fields, read_types

__all__ = ["Zen"]

_OPERATORS: Final = {"eq": "==", "ne": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


class Zen:
    """One list expression a rule head, in the order of the strata: zen-engine does not chain, the order does.

    A derived type is the list of what its rules derive: the one value of a type with one field, else objects. A pattern on a type
    with one field that is known becomes `in`. Duplicates stay, for zen-engine has no sets.
    """

    name = "zen-engine"

    def __init__(self, program: Program, *, trace: bool) -> None:
        del trace  # every expression is in the result, asked for or not
        self._program = program
        self._fields = read_fields(program)
        self._read = read_types(program)
        self._findings = [(f"r{rule}_{place}", head) for rule, place, head in finding_heads(program)]
        self._heads = {
            f"r{rule.number}_{place}": (rule.number, head) for rule in program.rules for place, head in enumerate(rule.heads)
        }
        self._makers: dict[int, list[str]] = {}
        for key, (_, head) in self._heads.items():
            self._makers.setdefault(head.type, []).append(key)
        self._tables = self._group(program.tables)
        if any(stratum.recursive for stratum in program.strata):
            raise ValueError("zen-engine cannot run a recursive stratum")
        self._decision: Any = importlib.import_module("zen").ZenEngine().create_decision(orjson.dumps(self._model()).decode())

    def _model(self) -> dict[str, Any]:
        expressions: list[tuple[str, str]] = []
        waiting = {kind: set(makers) for kind, makers in self._makers.items()}
        for rule in [self._program.rules[index] for stratum in self._program.strata for index in stratum.rules]:
            for place, head in enumerate(rule.heads):
                key = f"r{rule.number}_{place}"
                expressions.append((key, self._rule(rule, head)))
                waiting[head.type].discard(key)
                if not waiting[head.type] and head.type in self._read:
                    expressions.append((f"d{head.type}", self._union(self._makers[head.type])))
        rules = {"expressions": [{"id": key, "key": key, "value": text} for key, text in expressions]}
        nodes = [
            {"id": "in", "type": "inputNode", "name": "in"},
            {"id": "rules", "type": "expressionNode", "name": "rules", "content": rules},
            {"id": "out", "type": "outputNode", "name": "out"},
        ]
        edges = [
            {"id": "1", "sourceId": "in", "targetId": "rules", "type": "edge"},
            {"id": "2", "sourceId": "rules", "targetId": "out", "type": "edge"},
        ]
        return {"nodes": nodes, "edges": edges}

    def _union(self, makers: Sequence[str]) -> str:
        if len(makers) == 1:
            return f"$.{makers[0]}"
        return f"flatMap([{','.join(f'$.{key}' for key in makers)}], #)"

    def _rule(self, rule: Rule, head: Head) -> str:
        """Nest the searched patterns; lookups and absences are conditions of the innermost one."""
        known = {place: self._lookup(rule, pattern) for place, pattern in enumerate(rule.positive)}
        searched = [place for place in known if not known[place] or _joined(rule, place)]
        conditions = [text for place, text in known.items() if place not in searched]
        conditions += [self._absent(rule, pattern) for pattern in rule.negative]
        text = self._element(rule, head)
        for depth, place in enumerate(reversed(searched)):
            pattern, name = rule.positive[place], f"x{place}"
            tests = [self._test(rule, pattern.type, name, test) for test in pattern.tests] + (conditions if depth == 0 else [])
            over = self._source(pattern.type)
            if tests:
                over = f"filter({over} as {name}, {' and '.join(tests)})"
            text = f"{'map' if depth == 0 else 'flatMap'}({over} as {name}, {text})"
        return text if searched else f"({' and '.join(conditions)}) ? [{text}] : []"

    def _source(self, kind: int) -> str:
        return f"$.d{kind}" if kind in self._makers else f"t{kind}"

    def _lookup(self, rule: Rule, pattern: Pattern) -> str:
        if pattern.type not in self._makers or len(self._program.types[pattern.type].fields) != 1 or len(pattern.tests) != 1:
            return ""
        (test,) = pattern.tests
        if test.op != "eq" or isinstance(test.value, tuple):
            return ""
        return f"({self._term(rule, test.value)} in $.d{pattern.type})"

    def _absent(self, rule: Rule, pattern: Pattern) -> str:
        known = self._lookup(rule, pattern)
        if known:
            return f"(not {known})"
        if not pattern.tests:
            return f"(len({self._source(pattern.type)}) == 0)"
        tests = " and ".join(self._test(rule, pattern.type, "y", test) for test in pattern.tests)
        return f"none({self._source(pattern.type)} as y, {tests})"

    def _field(self, kind: int, name: str, position: int) -> str:
        scalar = kind in self._makers and len(self._program.types[kind].fields) == 1
        return name if scalar else f"{name}.f{position}"

    def _term(self, rule: Rule, value: int | Join) -> str:
        if isinstance(value, Join):
            return self._field(rule.positive[value.pattern].type, f"x{value.pattern}", value.position)
        return str(value)

    def _test(self, rule: Rule, kind: int, name: str, test: Test) -> str:
        left = self._field(kind, name, test.position)
        if isinstance(test.value, tuple):
            return f"({left} in [{','.join(map(str, test.value))}])"
        return f"{left} {_OPERATORS[test.op]} {self._term(rule, test.value)}"

    def _element(self, rule: Rule, head: Head) -> str:
        if head.type not in self._read:
            values = [self._term(rule, value) for value in head.values if isinstance(value, Join)] or ["0"]
            return values[0] if len(values) == 1 else f"[{','.join(values)}]"
        terms = [self._term(rule, value) for value in head.values]
        if len(terms) == 1:
            return terms[0]
        return f"{{{','.join(f'f{position}: {term}' for position, term in enumerate(terms))}}}"

    def _group(self, facts: Sequence[EncodedFact]) -> dict[str, list[dict[str, int]]]:
        grouped: dict[str, list[dict[str, int]]] = {f"t{fact[0]}": [] for fact in facts}
        for fact in facts:
            grouped[f"t{fact[0]}"].append({f"f{position}": fact[position + 1] for position in self._fields[fact[0]]})
        return grouped

    def prepare(self, facts: Facts) -> dict[str, list[dict[str, int]]]:
        """See `engines.Contender`."""
        empty: dict[str, list[dict[str, int]]] = {f"t{kind}": [] for kind in self._read if kind not in self._makers}
        return {**empty, **self._tables, **self._group([fact for own in facts.values() for fact in dict.fromkeys(own)])}

    def run(self, prepared: Any) -> Answer:
        """See `engines.Contender`."""
        result = self._decision.evaluate(prepared)["result"]
        return Answer({fact[1:] for key, head in self._findings for fact in self._facts(head, result[key])}, result)

    def _facts(self, head: Head, elements: Sequence[Any]) -> list[EncodedFact]:
        found = []
        for element in elements:
            values = element if isinstance(element, list) else [element]
            if isinstance(element, dict):
                values = [element[f"f{position}"] for position in range(len(head.values))]
            if head.type not in self._read:
                joined = iter(values)
                values = [next(joined) if isinstance(value, Join) else value for value in head.values]
            found.append((head.type, *map(int, values)))
        return found

    def derived(self, trace: Any) -> set[Derived]:
        """See `engines.Contender`."""
        return {(rule, fact) for key, (rule, head) in self._heads.items() for fact in self._facts(head, trace[key])}


def _joined(rule: Rule, place: int) -> bool:
    """Return whether anything joins with the pattern, so that it needs a name."""
    values = [test.value for pattern in (*rule.positive, *rule.negative) for test in pattern.tests]
    values += [value for head in rule.heads for value in head.values]
    return any(isinstance(value, Join) and value.pattern == place for value in values)
