"""`reflect-gate demo`: five shipped reflections on one failure, and what the gate says to each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .._canonical import canonical_bytes
from ..errors import ReflectGateError
from ..report._paint import VERDICT_STYLE, Paint
from ..report._safe import plain
from ..report.text import deciding, finding_line, marked
from ._options import BundleChoice, bundle_options, examples, format_option
from ._output import INVALID, OK, open_output

if TYPE_CHECKING:
    from ..policy import Bundle

__all__ = ["DEMO_SCHEMA", "Outcome", "demo", "load_demo", "requests"]

DEMO_SCHEMA = "urn:reflect-gate:schema:demo:1"

Document = Mapping[str, Any]


class Outcome(NamedTuple):
    """One reflection of the demo with its decision; `as_labelled` when the gate said what the label says."""

    case: Document
    decision: Document
    as_labelled: bool


def load_demo() -> dict[str, Any]:
    """Return the shipped demo: a record, and cases with a label and a reflection each."""
    document: dict[str, Any] = json.loads((files("reflect_gate") / "_demo" / "demo.json").read_bytes())
    return document


def requests(shipped: Document) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield `(name, evaluation request)` of each case; all share one record."""
    for case in shipped["cases"]:
        yield case["name"], {"record": shipped["record"], "reflection": case["reflection"], "project": shipped["project"]}


@click.command
@bundle_options
@format_option("text", "json")
@click.option("--write", "folder", metavar="DIR", type=click.Path(file_okay=False), help="Write the five requests there instead.")
@examples(
    "reflect-gate demo",
    "reflect-gate demo --disable calibration",
    "reflect-gate demo --write demo && reflect-gate explain demo/platitude.json",
)
def demo(choice: BundleChoice, format_: str, folder: str | None) -> int:
    """Judge five shipped reflections on one real-looking failure.

    A payment retry charges a customer twice. Five reflections explain the same failure: one is admitted, one is speculative,
    one restates the line, one is a platitude, one blames the tests. Exit code 0 when each came out as its label says, 3 when
    not, as with a rule set switched off.
    """
    shipped = load_demo()
    if folder is not None:
        return _write(shipped, Path(folder))
    outcomes = _judge(shipped, choice.load())
    with open_output(None) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(_document(outcomes)) + b"\n")
        else:
            sink.text("\n\n".join(_text(shipped, outcomes, Paint(sink.coloured))) + "\n")
    return OK if all(outcome.as_labelled for outcome in outcomes) else INVALID


def _judge(shipped: Document, bundle: Bundle) -> list[Outcome]:
    from ..pipeline import evaluate

    outcomes = []
    for case, (_, request) in zip(shipped["cases"], requests(shipped), strict=True):
        decision = evaluate(request, bundle).to_json()
        outcomes.append(Outcome(case, decision, _seen(decision) == case["expect"]))
    return outcomes


def _seen(decision: Document) -> dict[str, Any]:
    """Return of a decision what a label speaks of."""
    envelope = decision["envelope"]
    flagged = envelope is not None and bool(envelope["red_flag"])
    return {"status": decision["status"], "reason": decision["reason"], "red_flag": flagged}


def _write(shipped: Document, folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, request in requests(shipped):
            (folder / f"{name}.json").write_text(json.dumps(request, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise ReflectGateError("cannot-write", f"cannot write to `{folder}`: {(error.strerror or '').lower()}") from None
    with open_output(None) as sink:
        for name, _ in requests(shipped):
            sink.text(plain(f"{folder / name}.json") + "\n")
    return OK


def _document(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    cases = [
        {
            "name": outcome.case["name"],
            "expect": outcome.case["expect"],
            "as_labelled": outcome.as_labelled,
            "decision": outcome.decision,
        }
        for outcome in outcomes
    ]
    return {"schema": DEMO_SCHEMA, "as_labelled": all(outcome.as_labelled for outcome in outcomes), "cases": cases}


def _text(shipped: Document, outcomes: Sequence[Outcome], paint: Paint) -> Iterator[str]:
    yield f"{paint(shipped['title'], 'bold')}\n\n{_evidence(shipped['record'], paint)}"
    for outcome in outcomes:
        yield "\n".join(_case(outcome, paint))
    good = sum(outcome.as_labelled for outcome in outcomes)
    told = f"{good} of {len(outcomes)} as labelled"
    hint = "see why: reflect-gate demo --write demo && reflect-gate explain demo/platitude.json"
    yield f"{paint(told, 'green' if good == len(outcomes) else 'red')}\n{hint}"


def _evidence(record: Document, paint: Paint) -> str:
    """The failing check, of which every reflection speaks."""
    check = next(item for item in record["traces"] if item.get("passed") is False)
    lines = [line for line in check["text"].splitlines() if line.startswith(("FAILED", ">", "E "))]
    return "\n".join(f"  {paint(plain(line), 'dim')}" for line in lines)


def _case(outcome: Outcome, paint: Paint) -> Iterator[str]:
    case, decision = outcome.case, outcome.decision
    status = decision["status"]
    verdict = f"{status}: {decision['reason']}" if decision["reason"] else status
    if _seen(decision)["red_flag"]:
        verdict += f", red-flagged at confidence {decision['lesson']['confidence']}"
    label = "" if outcome.as_labelled else paint(f"  not as labelled ({case['expect']['status']})", "red")
    yield f"{paint(case['name'], 'bold')}  {case['title']}"
    spans = [span for span in decision["spans"] if span["target"] == "candidate_lesson"]
    yield f"  “{marked(case['reflection']['candidate_lesson'], spans, paint)}”"
    yield f"  {paint(verdict, 'bold', VERDICT_STYLE[status])}{label}"
    for finding in deciding(decision):
        yield f"    {finding_line(finding, paint)}"
