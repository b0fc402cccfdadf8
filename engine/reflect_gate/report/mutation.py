"""Results of mutation testing: the kill rate by rule set and by kind of mistake, and the survivors with their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._paint import Paint
from ._places import relative
from ._safe import one_line, plain
from ._table import table

if TYPE_CHECKING:
    from ..policy.coverage import Share
    from ..policy.mutants import Mutant
    from ..policy.mutate import Result

__all__ = ["MUTATE_SCHEMA", "mutation_document", "mutation_text", "rate"]

MUTATE_SCHEMA = "urn:reflect-gate:schema:policy-mutate:1"


def rate(results: Sequence[Result]) -> Share:
    """Return how many mutants were killed, of how many."""
    from ..policy.coverage import Share

    return Share(sum(bool(result.killed_by) for result in results), len(results))


def _by(results: Sequence[Result], key: str) -> Mapping[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in results:
        name = result.mutant.rule.partition("/")[0] if key == "owner" else result.mutant.kind
        found.setdefault(name, []).append(result)
    return found


def mutation_text(results: Sequence[Result], paint: Paint | None = None) -> str:
    """Return the rates as tables, never rounded up, and each survivor with the place where the mistake would stand."""
    from ..policy.coverage import floored

    paint = paint or Paint()
    lines: list[str] = []
    for key, title in (("owner", "mutants of"), ("kind", "kind of mistake")):
        rows = [[name, *_figures(part)] for name, part in _by(results, key).items()]
        lines += [*table((title, "killed", "of", "%"), rows, paint, right=(1, 2, 3)), ""]
    survivors = [result.mutant for result in results if not result.killed_by]
    if survivors:
        lines.append(paint("survivors", "bold"))
        lines += [_survivor(mutant, paint) for mutant in survivors]
        lines.append("")
    share = rate(results)
    told = f"{share.covered} of {share.total} mutants killed, {floored(share)} %"
    lines.append(paint(told, "green" if share.covered == share.total else "yellow"))
    return "\n".join(lines) + "\n"


def _survivor(mutant: Mutant, paint: Paint) -> str:
    place = plain(f"{relative(mutant.source.file)}:{mutant.source.line}")
    return f"  {plain(mutant.rule)}: {one_line(mutant.text, 120)}  {paint(place, 'dim')}"


def _figures(results: Sequence[Result]) -> list[str]:
    from ..policy.coverage import floored

    share = rate(results)
    return [str(share.covered), str(share.total), floored(share)]


def mutation_document(results: Sequence[Result]) -> dict[str, Any]:
    """Return the results as `policy-mutate.schema.json` has them."""
    from ..policy.coverage import floored

    share = rate(results)
    return {
        "schema": MUTATE_SCHEMA,
        "killed": share.covered,
        "total": share.total,
        "percent": floored(share),
        "mutants": [
            {
                "kind": result.mutant.kind,
                "rule": result.mutant.rule,
                "change": result.mutant.text,
                "file": result.mutant.source.file,
                "line": result.mutant.source.line,
                "killed_by": result.killed_by or None,
            }
            for result in results
        ],
    }
