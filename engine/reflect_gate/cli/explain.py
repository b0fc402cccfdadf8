"""`reflect-gate explain`: why a decision came out as it did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import click

from .._canonical import canonical_bytes
from ..config import Limits
from ..errors import ReflectGateError, Source
from ..report._paint import Paint
from ..report.explain import explanation_document, explanation_text
from ..report.text import GOOD_VERDICTS
from ._batch import judge_one
from ._input import open_input
from ._options import BundleChoice, bundle_options, examples, format_option, output_option
from ._output import open_output
from ._whynot import Asked

if TYPE_CHECKING:
    from ..policy import Bundle
    from ..policy.model import Rule

__all__ = ["explain", "near_misses"]

_GATES = frozenset({"ground", "generalize", "calibrate", "admit"})


@click.command
@click.argument("file", default="-", metavar="[FILE|-]")
@click.option(
    "--why-not",
    "goal",
    metavar="RULE|VERDICT",
    help="Say what stands in the way of this rule or verdict, and the smallest changes that lead to it.",
)
@click.option("--request", "request_file", metavar="FILE", help="The request of the decision, with --why-not.")
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=200,
    show_default=True,
    help="Evaluations that each search of --why-not may use.",
)
@bundle_options
@format_option("text", "json")
@output_option
@examples(
    "reflect-gate explain request.json",
    "reflect-gate evaluate request.json --explain --format json | reflect-gate explain",
    "reflect-gate explain request.json --set calibration.min_link=0.1 --format json",
    "reflect-gate explain request.json --why-not admitted",
    "reflect-gate explain request.json --why-not grounding/supported-by-terms --format json",
)
def explain(
    file: str,
    goal: str | None,
    request_file: str | None,
    limit: int,
    choice: BundleChoice,
    format_: str,
    output: str | None,
) -> None:
    """Say why a decision came out as it did.

    FILE holds a decision that kept its firings (`evaluate --explain --format json`), or a request, which is then judged; `-`
    or nothing reads stdin. The derivation is printed as a tree: the verdict, the findings behind it, the rule of each with its
    file and line, the facts that it matched with their values against the thresholds, and what derived those in turn. Exit
    code 0 when it could be explained, whatever was decided.

    With `--why-not`, name a rule (`ruleset/rule`), a decision (admitted, undecided, refused) or a verdict (calibrated, or
    `stage:verdict`). Told is what stands in its way, the condition that each rule lacks with its value and what it needed, and
    the smallest changes that lead to it, of the measured facts and apart from that of the policy. Each change was judged again
    before it is told, and no part of it can be left out. A decision alone tells what stands in the way; with `--request` it is
    searched.
    """
    with open_input(file) as (stream, name):
        document = _one(stream, name)
    if goal is not None:
        _tell_why_not(document, request_file, choice, Asked(goal, limit), name, (format_, output))
        return
    if request_file is not None:
        raise click.UsageError("--request goes with --why-not")
    if str(document.get("schema", "")).startswith("urn:reflect-gate:schema:decision:"):
        decision, misses = _checked(document, name), []
    else:
        bundle = choice.load()
        decision, misses = _judged(document, name, bundle), near_misses(document, bundle)
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(explanation_document(decision, misses)) + b"\n")
        else:
            sink.text(explanation_text(decision, misses, Paint(sink.coloured)))


def _tell_why_not(
    document: dict[str, Any], request_file: str | None, choice: BundleChoice, asked: Asked, name: str, how: tuple[str, str | None]
) -> None:
    from ..report.whynot import why_not_text
    from ._whynot import why_not

    request = None
    if request_file is not None:
        with open_input(request_file) as (stream, request_name):
            request = _one(stream, request_name)
    answer = why_not(document, request, choice.load(), asked, name)
    format_, output = how
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(answer) + b"\n")
        else:
            sink.text(why_not_text(answer, Paint(sink.coloured)))


def _one(stream: Any, name: str) -> dict[str, Any]:
    """Return the one document of the input."""
    from ..documents import read_documents

    entries = read_documents(stream, name, Limits())
    document = next(entries)[1]
    if isinstance(document, ReflectGateError):
        raise document
    if next(entries, None) is not None:
        raise ReflectGateError("document-many", "holds more than one document; explain one at a time", Source(name))
    return cast("dict[str, Any]", document)


def _checked(decision: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a decision that may have come from anywhere, once its schema holds and its firings are there."""
    from ..schemas import check

    check("decision", decision, name)
    if "firings" not in decision:
        message = "the decision holds no firings: make it with `evaluate --explain --format json`, or explain the request"
        raise ReflectGateError("explain-without-firings", message, Source(name))
    return decision


def _judged(request: dict[str, Any], name: str, bundle: Bundle) -> Mapping[str, Any]:
    judged = judge_one(("", request), name, bundle, explain=True)
    if judged.decision is None:
        raise judged.error or ReflectGateError("internal", "neither a decision nor an error")
    return judged.decision


def near_misses(request: Mapping[str, Any], bundle: Bundle) -> list[dict[str, Any]]:
    """Return how near each rule came that would have let the candidate pass a stage that kept it out.

    `request` has been judged, so it is valid. Where a stage before `admit` kept it out, that is told, and not that admission
    lacks that stage's verdict. A rule that lacks a derived fact is followed by the rules that could have derived it.
    """
    from ..pipeline import judge
    from ..runtime import runtime
    from ..stages._case import Case
    from ..stages._prepare import prepare

    gate = runtime(bundle)
    run = judge(Case(request, prepare(request["record"], bundle.limits), bundle, gate.lexicons), gate)
    explainer, rules = gate.explainer(run.facts, run.firings, run.interner), bundle.program.rules
    blocking = {stage for stage, judged in run.case.judgements.items() if stage in _GATES and judged.verdict not in GOOD_VERDICTS}
    told = blocking - {"admit"} or blocking
    misses = [miss for rule in rules if rule.stage in told and _passes(rule, bundle) and (miss := explainer.nearest(rule.number))]
    lacking = [bundle.program.type_index(miss["missing"]) for miss in misses if "missing" in miss]
    deriving = [rule for rule in rules if any(head.type in lacking for head in rule.heads)]
    return [*misses, *(miss for rule in deriving if (miss := explainer.nearest(rule.number)))]


def _passes(rule: Rule, bundle: Bundle) -> bool:
    """Return whether `rule` derives a finding that lets a candidate pass its stage."""
    program = bundle.program
    finding = program.type_index("finding")
    verdicts = [head.values[0] for head in rule.heads if head.type == finding]
    return any(isinstance(verdict, int) and program.symbols[verdict] in GOOD_VERDICTS for verdict in verdicts)
