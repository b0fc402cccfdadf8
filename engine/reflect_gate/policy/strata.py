"""Strata: rules that feed each other run together, readers after derivers, and absence is read only when it is final."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .checked import CheckedPattern, CheckedRule, TypeInfo
from .problems import Problems

__all__ = ["Component", "stratify"]


@dataclass(frozen=True, slots=True)
class Component:
    """One stratum: its rules by name; `recursive` when one of them reads what another (or itself) derives here."""

    rules: tuple[CheckedRule, ...]
    recursive: bool


def stratify(rules: Sequence[CheckedRule], problems: Problems) -> list[Component]:
    """Return the strata of one stage's rules: strongly connected components in topological order, ties by rule name.

    A cycle through `not` is a fault that names the cycle.
    """
    ordered = sorted(rules, key=lambda rule: rule.name)
    makers: dict[TypeInfo, list[int]] = {}
    for index, rule in enumerate(ordered):
        for derived in dict.fromkeys(head.type for head in rule.heads):
            makers.setdefault(derived, []).append(index)
    feeds: list[set[int]] = [set() for _ in ordered]
    for index, rule in enumerate(ordered):
        for pattern in (*rule.positive, *rule.negative):
            for maker in makers.get(pattern.type, ()):
                feeds[maker].add(index)
    component = _components(feeds)
    _refuse_negative_cycles(ordered, makers, feeds, component, problems)
    return _in_order(ordered, feeds, component)


def _components(feeds: Sequence[set[int]]) -> list[int]:
    """Return the component of each rule, named by its first rule (Tarjan's algorithm, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    component = [-1] * len(feeds)
    stack: list[int] = []
    for root in range(len(feeds)):
        if root in index:
            continue
        work = [(root, iter(sorted(feeds[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, edges = work[-1]
            for target in edges:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    work.append((target, iter(sorted(feeds[target]))))
                    break
                if component[target] < 0:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    for member in members:
                        component[member] = min(members)
    return component


def _in_order(rules: Sequence[CheckedRule], feeds: Sequence[set[int]], component: Sequence[int]) -> list[Component]:
    after: dict[int, set[int]] = {name: set() for name in component}
    waiting: dict[int, int] = dict.fromkeys(after, 0)
    for source, targets in enumerate(feeds):
        after[component[source]] |= {component[target] for target in targets} - {component[source]}
    for targets in after.values():
        for target in targets:
            waiting[target] += 1
    ready = [name for name, count in waiting.items() if not count]
    heapq.heapify(ready)
    found = []
    while ready:
        name = heapq.heappop(ready)
        members = [index for index, of in enumerate(component) if of == name]
        recursive = any(target in feeds[member] for member in members for target in members)
        found.append(Component(tuple(rules[member] for member in members), recursive))
        for target in sorted(after[name]):
            waiting[target] -= 1
            if not waiting[target]:
                heapq.heappush(ready, target)
    return found


def _refuse_negative_cycles(
    rules: Sequence[CheckedRule],
    makers: Mapping[TypeInfo, Sequence[int]],
    feeds: Sequence[set[int]],
    component: Sequence[int],
    problems: Problems,
) -> None:
    for index, rule in enumerate(rules):
        for pattern in rule.negative:
            inside = [maker for maker in makers.get(pattern.type, ()) if component[maker] == component[index]]
            if inside:
                path = _path(index, inside[0], feeds, component)
                _report(rule, pattern, [rules[step] for step in path], problems)


def _path(start: int, end: int, feeds: Sequence[set[int]], component: Sequence[int]) -> list[int]:
    """Return the shortest way along `feeds` from `start` to `end`, which one component holds."""
    came: dict[int, int] = {start: start}
    queue = [start]
    for node in queue:
        for target in sorted(feeds[node]):
            if target not in came and component[target] == component[start]:
                came[target] = node
                queue.append(target)
    path = [end]
    while path[-1] != start:
        path.append(came[path[-1]])
    return path[::-1]


def _report(rule: CheckedRule, pattern: CheckedPattern, path: Sequence[CheckedRule], problems: Problems) -> None:
    cycle = " → ".join(f"`{step.id}`" for step in path)
    absent = pattern.type.name
    message = f"rule `{rule.id}` waits for the absence of `{absent}`, which depends on the rule itself: {cycle} → `{rule.id}`"
    problems.add("policy-negation-cycle", message, pattern.source)
