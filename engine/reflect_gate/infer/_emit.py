"""Small pieces of generated Python: they hold integers and fixed words only, never a name from a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from ..policy.model import EncodedFact, Firing, Head, Join, Pattern, Program, Rule, Test

__all__ = [
    "FORMAT",
    "Encode",
    "Taker",
    "Wanted",
    "condition_expression",
    "encoders_of",
    "head_expression",
    "plain_taker",
    "run",
    "takers_of",
    "telling",
    "value_expression",
    "wanted_of",
]

FORMAT = 1
"""The form of the generated engine; `compiled.load` takes no other."""

_OPERATORS = {"eq": "==", "ne": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_Frames = list[dict[str, dict[str, int]]]
_Sink = Callable[[EncodedFact], None]
_Lanes = Sequence[Sequence[tuple[int, tuple[int, ...]]]]
Encode = Callable[[int, EncodedFact], str]
Wanted = bool | Callable[[EncodedFact], bool]
Taker = Callable[[list[EncodedFact], _Frames, Callable[[Firing], None], set[EncodedFact], _Sink], None]


def head_expression(head: Head, bound: Sequence[str]) -> str:
    """Return the tuple that `head` derives; `bound` are the expressions of the facts bound to the rule's positive patterns."""
    values = [
        f"{bound[value.pattern]}[{value.position + 1}]" if isinstance(value, Join) else f"{value:d}" for value in head.values
    ]
    return "(" + ",".join([f"{head.type:d}", *values]) + ",)"


def value_expression(value: int | Join) -> str:
    """Return a constant, or the field of the fact bound to another pattern, which is called `f<place>`."""
    return f"f{value.pattern}[{value.position + 1}]" if isinstance(value, Join) else f"{value:d}"


def condition_expression(test: Test, fact: str) -> str:
    """Return a test as an expression on the fact called `fact`."""
    left = f"{fact}[{test.position + 1}]"
    if isinstance(test.value, tuple):
        return f"{left} in {{{','.join(f'{value:d}' for value in sorted(set(test.value)))}}}"
    return f"{left}{_OPERATORS[test.op]}{value_expression(test.value)}"


def run(source: str | CodeType, names: dict[str, Any]) -> dict[str, Any]:
    """Run generated module text in a name space without builtins other than those given; return the name space."""
    space: dict[str, Any] = {"__builtins__": {}, **names}
    exec(source, space)  # noqa: S102 -- text of our own making: fixed words and integers
    return space


def plain_taker(rule: Rule, aliases: Sequence[str]) -> Taker:
    """Return what `takers_of` generates for `rule`, but without compiling text: cheaper where a process evaluates once."""
    own = aliases[: len(rule.positive)]
    heads = [(head.type, head.values) for head in rule.heads]
    index = rule.number

    def take(
        known: list[EncodedFact], frames: _Frames, fired: Callable[[Firing], None], seen: set[EncodedFact], derived: _Sink
    ) -> None:
        for frame in frames:
            bound = tuple([known[frame[alias]["id"]] for alias in own])
            fired((index, bound))
            for kind, values in heads:
                fact = (kind, *[bound[v.pattern][v.position + 1] if isinstance(v, Join) else v for v in values])
                if fact not in seen:
                    seen.add(fact)
                    derived(fact)

    return take


def takers_of(program: Program, aliases: Sequence[str]) -> list[Taker]:
    """Return for each rule a function that turns dispatched frames into firings and new facts.

    A taker is called with the facts by message number, the frames, `append` of the firings, the set of all facts and `append` of
    the facts to assert. A frame maps an alias to the message bound to it.
    """
    lines = []
    for rule in program.rules:
        places = range(len(rule.positive))
        bound = [f"f{place}" for place in places]
        lines.append(f"def r{rule.number}(k,z,o,s,d):")
        lines.append(" for f in z:")
        lines += [f'  f{place}=k[f["{aliases[place]}"]["id"]]' for place in places]
        lines.append(f"  o(({rule.number},({''.join(name + ',' for name in bound)})))")
        for head in rule.heads:
            lines.append(f"  h={head_expression(head, bound)}")
            lines.append("  if h not in s:s.add(h);d(h)")
    lines.append("R=[" + ",".join(f"r{rule.number}" for rule in program.rules) + "]")
    found: list[Taker] = run("\n".join(lines), {})["R"]
    return found


def encoders_of(lanes: _Lanes, keys: Sequence[str]) -> list[list[Encode]]:
    """Return for each fact type what writes a fact for each of its lanes, with the fields that a rule reads there."""
    texts = [[_encoder(lane, positions, keys) for lane, positions in entries] for entries in lanes]
    rows = ",".join("[" + ",".join(row) + "]" for row in texts)
    found: list[list[Encode]] = run(f"R=[{rows}]", {})["R"]
    return found


def _encoder(lane: int, positions: tuple[int, ...], keys: Sequence[str]) -> str:
    fields = "".join(f',"{keys[position]}":{{f[{position + 1:d}]}}' for position in positions)
    return f"""lambda n,f:f'{{{{"t{lane:d}":1,"id":{{n}}{fields}}}}}'"""


def wanted_of(program: Program) -> list[Wanted]:
    """Return for each fact type whether a fact of it can pass the constant tests of any pattern, or what tells of one fact.

    A fact that passes none is bound by no rule and hinders none, so it need not be asserted.
    """
    patterns = [pattern for rule in program.rules for pattern in (*rule.positive, *rule.negative)]
    parts = [_tells([pattern for pattern in patterns if pattern.type == kind]) for kind in range(len(program.types))]
    found: list[Wanted] = run(f"R=[{','.join(parts)}]", {})["R"]
    return found


def telling(patterns: Sequence[Pattern]) -> bool | Callable[[Sequence[int]], bool]:
    """Return whether a fact can pass the constant tests of any of some patterns of one type, or what tells of one fact."""
    found: bool | Callable[[Sequence[int]], bool] = run(f"R={_tells(patterns)}", {})["R"]
    return found


def _tells(patterns: Sequence[Pattern]) -> str:
    ways = set()
    for pattern in patterns:
        ways.add(" and ".join([condition_expression(test, "f") for test in pattern.tests if not isinstance(test.value, Join)]))
    return "lambda f:" + " or ".join(sorted(ways)) if ways and "" not in ways else str(bool(ways))
