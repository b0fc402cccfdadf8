"""The answer to "why not": what stands in the way, and the smallest changes of facts and of policy that lead to the goal."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..infer.compiled import Compiled
from ..infer.explain import Explainer
from ..pipeline import evaluate
from ..policy.model import Rule
from ..replaying import Replay
from ..report.text import GOOD_VERDICTS
from ..runtime import Runtime, runtime
from .facts import FactRepairs, Facts
from .goals import Goal
from .planner import Planner
from .policies import Policy, PolicyRepairs, allowed, nearest_of_shape
from .search import EVALUATIONS, Found, Space, search
from .world import World

if TYPE_CHECKING:
    from ..pipeline import _Run
    from ..policy import Bundle

__all__ = ["Answer", "ask"]

_FOLLOWED = 3
"""How far the rules are followed that could have derived what another rule lacks."""


class Answer(NamedTuple):
    """What was found.

    Attributes:
        decision: the decision as it is.
        run: the evaluation behind it.
        reached: whether it is what was asked for; then nothing is searched.
        in_the_way: the decision's findings that speak against it.
        lacking: how near each rule came that would have to fire.
        facts: changes of facts, `None` where they were not searched for.
        policy: changes of the policy.
    """

    decision: Mapping[str, Any]
    run: _Run
    reached: bool
    in_the_way: Sequence[Mapping[str, Any]]
    lacking: Sequence[Mapping[str, Any]]
    facts: Found[Facts] | None
    policy: Found[Policy] | None


def ask(request: Mapping[str, Any], bundle: Bundle, goal: Goal, *, limit: int = EVALUATIONS, wanted: int = 3) -> Answer:
    """Return why `request` is not decided as `goal` says, and what would change that.

    Args:
        request: as for `evaluate`, which it raises as.
        bundle: the policies.
        goal: what is asked for.
        limit: evaluations that each of the two searches may use.
        wanted: changes of each kind to look for.
    """
    decision = evaluate(request, bundle, explain=True).to_json()
    replay = Replay(request, bundle)
    run = replay.run(_quick(bundle))
    explainer = run.gate.explainer(run.facts, run.firings, run.interner)
    reached = goal.reached(run)
    return Answer(
        decision,
        run,
        reached,
        [] if reached else [found for found in decision["findings"] if _against(found, goal, run)],
        [] if reached else _lacking(goal, run, explainer),
        None if reached else search(_fact_space(replay, bundle, goal), limit, wanted),
        None if reached else _policy(replay, bundle, goal, limit, wanted),
    )


def _quick(bundle: Bundle) -> Runtime:
    """Return what judges by the compiled engine alone: for proposals, each of which is confirmed by what the bundle says."""
    return runtime(bundle._replace(engine="compiled", cross_check=False))


def _fact_space(replay: Replay, bundle: Bundle, goal: Goal) -> Space[Facts]:
    quick, whole = _quick(bundle), runtime(bundle)

    def proposals(run: _Run, change: Facts) -> list[tuple[float, Facts]]:
        world = World(run)
        repairs = FactRepairs(world)
        plans = Planner(world, repairs).goal(goal)
        return [(change.size + repairs.weight(atoms), change.then(world, atoms)) for atoms in plans]

    return Space(
        Facts(),
        lambda change: replay.run(quick, change.change()),
        goal.reached,
        proposals,
        lambda change: goal.reached(replay.run(whole, change.change())),
    )


def _policy(replay: Replay, bundle: Bundle, goal: Goal, limit: int, wanted: int) -> Found[Policy]:
    """Return changes of settings and lexicons alone, and those that may switch rule sets off as well.

    Switching off the rule set that refuses is nearly always a smallest change, and seldom the one that was looked for.
    """
    parts = [search(_policy_space(replay, bundle, goal, toggles), limit // 2, wanted) for toggles in (False, True)]
    flips = nearest_of_shape(bundle, (flip for part in parts for flip in part.flips))
    evaluations = sum(part.evaluations for part in parts)
    return Found(tuple(flips), evaluations, limit, all(part.exhausted for part in parts))


def _policy_space(replay: Replay, bundle: Bundle, goal: Goal, toggles: bool) -> Space[Policy]:
    quick = _quick(bundle)

    def judge(policy: Policy) -> _Run:
        changed = policy.apply(quick.bundle, in_place=True)
        # What a lexicon finds is measured; whatever else can be changed here is not.
        if policy.dropped:
            return Replay(replay.request, changed).run(Runtime(changed))
        return replay.run(_like(quick, changed))

    def proposals(run: _Run, change: Policy) -> list[tuple[float, Policy]]:
        world = World(run)
        repairs = PolicyRepairs(world, toggles=toggles)
        plans = Planner(world, repairs).goal(goal)
        return [(change.size + repairs.weight(atoms), change.then(world, atoms)) for atoms in plans]

    def verify(policy: Policy) -> bool:
        changed = policy.apply(bundle)
        return allowed(bundle, policy) and goal.reached(Replay(replay.request, changed).run(Runtime(changed)))

    return Space(Policy(), judge, goal.reached, proposals, verify)


def _like(gate: Runtime, bundle: Bundle) -> Runtime:
    """Return a runtime of a bundle changed in place, which takes from `gate` what has not changed: all stages but a few."""
    made = copy.copy(gate)
    made.bundle, made.program = bundle, bundle.program
    if isinstance(gate.engine, Compiled):
        made.engine = gate.engine.changed(bundle.program)
    return made


def _against(finding: Mapping[str, Any], goal: Goal, run: _Run) -> bool:
    """Return whether a finding speaks against the goal: a bad verdict of its stage or of one before."""
    order = list(run.case.judgements)
    if finding["stage"] == goal.stage and goal.kind == "verdict":
        return bool(finding["verdict"] != goal.verdict)
    return finding["verdict"] not in GOOD_VERDICTS and order.index(finding["stage"]) < order.index(goal.stage)


def _lacking(goal: Goal, run: _Run, explainer: Explainer) -> list[dict[str, Any]]:
    """Return how near the rules came that would have to fire: for the goal, and for the stages before that say something bad."""
    program = run.gate.program
    wanted = [rule for rule in program.rules if rule.name == goal.rule or _says(rule, goal.stage, {goal.verdict}, run)]
    for stage, judged in run.case.judgements.items():
        if stage == goal.stage:
            break
        if judged.verdict and judged.verdict not in GOOD_VERDICTS:
            wanted += [rule for rule in program.rules if _says(rule, stage, GOOD_VERDICTS, run)]
    found: dict[int, dict[str, Any]] = {}
    for _ in range(_FOLLOWED):
        near = {rule.number: miss for rule in wanted if rule.number not in found and (miss := explainer.nearest(rule.number))}
        found |= near
        missing = {miss["missing"] for miss in near.values() if "missing" in miss}
        wanted = [rule for rule in program.rules if any(program.types[head.type].name in missing for head in rule.heads)]
    return list(found.values())


def _says(rule: Rule, stage: str, verdicts: Iterable[str], run: _Run) -> bool:
    program = run.gate.program
    finding = program.type_index("finding")
    said = [head.values[0] for head in rule.heads if head.type == finding]
    return rule.stage == stage and any(isinstance(number, int) and program.symbols[number] in set(verdicts) for number in said)
