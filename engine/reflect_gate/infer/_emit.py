"""Small pieces of generated Python: they hold integers and fixed words only, never a name from a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from ..policy.model import EncodedFact, Firing, Head, Join, Program, Rule

__all__ = ["Taker", "head_expression", "plain_taker", "run", "takers_of"]

_Frames = list[dict[str, dict[str, int]]]
_Sink = Callable[[EncodedFact], None]
Taker = Callable[[list[EncodedFact], _Frames, Callable[[Firing], None], set[EncodedFact], _Sink], None]


def head_expression(head: Head, bound: Sequence[str]) -> str:
    """Return the tuple that `head` derives; `bound` are the expressions of the facts bound to the rule's positive patterns."""
    values = [
        f"{bound[value.pattern]}[{value.position + 1}]" if isinstance(value, Join) else f"{value:d}" for value in head.values
    ]
    return "(" + ",".join([f"{head.type:d}", *values]) + ",)"


def run(source: str | CodeType, names: dict[str, Any]) -> dict[str, Any]:
    """Run generated module text in a name space without builtins other than those given; return the name space."""
    space: dict[str, Any] = {"__builtins__": {}, **names}
    exec(source, space)  # noqa: S102 -- text of our own making: fixed words and integers
    return space


def plain_taker(rule: Rule, aliases: Sequence[str]) -> Taker:
    """Return what `takers_of` generates for `rule`, but without compiling text: cheaper where a process evaluates once."""
    own = aliases[: len(rule.positive)]
    heads = [(head.type, head.values) for head in rule.heads]
    index = rule.index

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
        lines.append(f"def r{rule.index}(k,z,o,s,d):")
        lines.append(" for f in z:")
        lines += [f'  f{place}=k[f["{aliases[place]}"]["id"]]' for place in places]
        lines.append(f"  o(({rule.index},({''.join(name + ',' for name in bound)})))")
        for head in rule.heads:
            lines.append(f"  h={head_expression(head, bound)}")
            lines.append("  if h not in s:s.add(h);d(h)")
    lines.append("R=[" + ",".join(f"r{rule.index}" for rule in program.rules) + "]")
    found: list[Taker] = run("\n".join(lines), {})["R"]
    return found
