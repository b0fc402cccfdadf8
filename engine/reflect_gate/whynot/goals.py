"""What is asked for: a decision, a verdict of a stage, or a rule that fires."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from ..errors import ReflectGateError, did_you_mean
from ..facts import load_vocabulary
from ..pipeline import STAGES

if TYPE_CHECKING:
    from ..pipeline import _Run
    from ..policy import Bundle

__all__ = ["STATUSES", "Goal", "parse_goal"]

STATUSES = {"admitted": "admit", "undecided": "undecided", "refused": "refuse"}
"""The verdict of stage `admit` that each decision is."""


class Goal(NamedTuple):
    """A verdict of a stage, or a rule (`ruleset/id`) of it; `name` is how it was asked for."""

    kind: Literal["verdict", "rule"]
    stage: str
    verdict: str
    rule: str
    name: str

    def reached(self, run: _Run) -> bool:
        """Return whether an evaluation came to it."""
        if self.kind == "rule":
            rules = run.gate.program.rules
            return any(rules[index].name == self.rule for index, _ in run.firings)
        judged = run.case.judgements.get(self.stage)
        return judged is not None and judged.verdict == self.verdict


def parse_goal(text: str, bundle: Bundle) -> Goal:
    """Return what `text` asks for: a rule of the bundle, `admitted`, `undecided`, `refused`, a verdict, or `stage:verdict`.

    A verdict that several stages have is that of the earliest. Only stages of the pipeline can be asked for.

    Raises:
        ReflectGateError: `why-not-unknown`, with the nearest name.
    """
    rules = {rule.name: rule for rule in bundle.program.rules}
    text = bundle.renamed.get(text, text)
    staged = {stage.name for stage in STAGES}
    if text in rules and rules[text].stage in staged:
        return Goal("rule", rules[text].stage, "", text, text)
    if text in STATUSES:
        return Goal("verdict", "admit", STATUSES[text], "", text)
    wanted, colon, verdict = text.partition(":")
    for stage in load_vocabulary().stages.values():
        if stage.name in staged and (verdict if colon else text) in stage.verdicts and (not colon or wanted == stage.name):
            return Goal("verdict", stage.name, verdict if colon else text, "", text)
    known = [*rules, *STATUSES, *(name for stage in load_vocabulary().stages.values() for name in stage.verdicts)]
    if bundle.trial is not None and text in bundle.trial.rules:
        message = f"rule `{text}` is experimental and only looks on: `--enable-experimental {text}` lets it decide"
        raise ReflectGateError("why-not-unknown", message)
    message = f"`{text[:80]}` is no rule of bundle `{bundle.name}` that is on, no decision and no verdict"
    raise ReflectGateError("why-not-unknown", message + did_you_mean(text, known))
