"""A program as a durable_rules ruleset: its definition, how facts are written for it, and which gates open its negated rules.

The C engine breaks above a few counts that it does not check (64 conditions true of one fact, 256 patterns on one condition, 511
conditions on one level, 32 joins in a pattern) and counts fact types, keys and ids by 32-bit FNV hashes. So a fact type with many
patterns is asserted once per lane, each lane serving at most `LANE` patterns, and everything else is checked here, at load.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Final, NamedTuple

from ..errors import ReflectGateError
from ..policy.model import Join, Pattern, Program, Rule, Test

__all__ = [
    "ALIASES",
    "END",
    "GATE",
    "ID_LIMIT",
    "KEYS",
    "LANE",
    "LANES",
    "NUMBER_LIMIT",
    "OPEN",
    "Level",
    "Network",
    "build",
    "fnv32",
]

LANES: Final = 400
OPEN: Final = "x0"
END: Final = "x1"
GATE: Final = "x2"
"""The keys of the sentinels; a fact has the key `t` and the number of its lane, so that the engine finds its patterns by hash."""

KEYS: Final = tuple("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""The key of a field by its position."""

ALIASES: Final = tuple("ABCDEFGHIJKL")
LANE: Final = 48
ID_LIMIT: Final = 250_000
"""Messages of a session: the decimal strings below it have distinct 32-bit hashes, by which the engine tells facts apart."""

NUMBER_LIMIT: Final = 2**53
CONSTANT_LIMIT: Final = 2**31
"""Numbers of a fact are 64 bits, those of a rule a C `long`, which is 32 bits on some systems."""

_VARIANTS = 64
_ALL_VARIANTS = 2_048
_ALL_PATTERNS = 8_192
_JOINS = 28
_GAPS = 16
_OPERATORS = {"ne": "$neq", "lt": "$lt", "lte": "$lte", "gt": "$gt", "gte": "$gte"}
_Condition = tuple[str, int, int | Join]
"""`(operator, position, value)` as the engine is told it; `in` no longer occurs."""


class Level(NamedTuple):
    """The gates of the negated rules of a stage that may run at the same time.

    They open when no fact of a type in `loud` waits to be asserted: it could still lead to a fact that these rules negate.
    """

    gates: tuple[int, ...]
    loud: frozenset[int]


class Network(NamedTuple):
    """What `durable.Durable` needs to run a program.

    Attributes:
        definition: the ruleset as JSON; its rules are named by their place in `owners`.
        owners: the rule of each variant.
        lanes: for each fact type, the number and the field positions of every lane; without a lane no rule reads the type.
        levels: for each stage with negated rules its levels in order; the first one opens with the stage's facts.
    """

    definition: str
    owners: tuple[int, ...]
    lanes: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]
    levels: Mapping[str, tuple[Level, ...]]


def fnv32(text: str) -> int:
    """Return the 32-bit FNV-1a hash that the C engine takes for keys, aliases and ids."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def _too_large(rule: Rule, message: str) -> ReflectGateError:
    return ReflectGateError("engine-limit", f"rule `{rule.name}` {message}", rule.source)


def _clusters(values: Sequence[int]) -> list[list[int]]:
    """Cut sorted values where many numbers are missing between two of them; a cluster is one range with few exceptions."""
    clusters: list[list[int]] = [[values[0]]]
    gaps = 0
    for before, value in pairwise(values):
        gaps += value - before - 1
        if gaps > _GAPS:
            clusters.append([])
            gaps = 0
        clusters[-1].append(value)
    return clusters


def _range(position: int, cluster: list[int]) -> list[_Condition]:
    low, high = cluster[0], cluster[-1]
    if low == high:
        return [("eq", position, low)]
    held = set(cluster)
    missing = [("ne", position, value) for value in range(low, high + 1) if value not in held]
    return [("gte", position, low), ("lte", position, high), *missing]


def _choices(pattern: Pattern) -> list[list[_Condition]]:
    """Return the conjunctions of which exactly one holds where the pattern holds; more than one only for a scattered `in`."""
    fixed: list[_Condition] = []
    spread: list[list[list[_Condition]]] = []
    for test in pattern.tests:
        if isinstance(test.value, tuple):
            clusters = _clusters(sorted(set(test.value)))
            spread.append([_range(test.position, cluster) for cluster in clusters])
        else:
            fixed.append((test.op, test.position, test.value))
    return [[*fixed, *(condition for part in chosen for condition in part)] for chosen in product(*spread)]


def _order(condition: _Condition) -> tuple[bool, bool, int, str, int]:
    """Constants before joins and equalities first, in one order for all patterns, so that equal beginnings share nodes."""
    op, position, value = condition
    joined = isinstance(value, Join)
    return joined, op != "eq", position, op, value if isinstance(value, int) else 0


class _Lanes:
    """Hands out the lane of each pattern of a fact type, a new one after every `LANE` patterns, and notes the fields read."""

    def __init__(self, program: Program) -> None:
        self._next = 0
        self._used = [0] * len(program.types)
        self.read: list[list[tuple[int, set[int]]]] = [[] for _ in program.types]

    def take(self, type_index: int) -> tuple[int, set[int]]:
        if self._used[type_index] % LANE == 0:
            self.read[type_index].append((self._next, set()))
            self._next += 1
            if self._next > LANES:
                raise ReflectGateError("engine-limit", f"the bundle needs more than {LANES} lanes of fact types")
        self._used[type_index] += 1
        return self.read[type_index][-1]

    def done(self) -> tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]:
        return tuple(tuple((lane, tuple(sorted(read))) for lane, read in lanes) for lanes in self.read)


class _Gates:
    """Hands out the gate of each negated rule, a new one after every `LANE` rules of a stage and level."""

    def __init__(self) -> None:
        self._next = 0
        self._used: dict[tuple[str, int], int] = {}
        self._taken: dict[tuple[str, int], list[int]] = {}

    def take(self, stage: str, level: int) -> int:
        key = (stage, level)
        used = self._used.get(key, 0)
        if used % LANE == 0:
            self._taken.setdefault(key, []).append(self._next)
            self._next += 1
            if self._next > LANES:
                raise ReflectGateError("engine-limit", f"the bundle needs more than {LANES} gates for its negated rules")
        self._used[key] = used + 1
        return self._taken[key][-1]

    def done(self, program: Program, waits: Sequence[int]) -> dict[str, tuple[Level, ...]]:
        levels: dict[str, list[Level]] = {}
        for stage, level in sorted(self._taken):
            own = levels.setdefault(stage, [])
            own += [Level((), frozenset())] * (level - len(own))
            own.append(Level(tuple(self._taken[stage, level]), _loud(program, waits, stage, level)))
        return {stage: tuple(own) for stage, own in levels.items()}


def _gated(rule: Rule) -> bool:
    return bool(rule.negative) or not rule.positive


def _loud(program: Program, waits: Sequence[int], stage: str, level: int) -> frozenset[int]:
    """Return the types that rules below `level` can turn, over any number of steps, into what a rule of `level` negates."""
    own = [rule for rule in program.rules if rule.stage == stage]
    aims = {p.type for rule in own if _gated(rule) and waits[rule.number] == level for p in rule.negative}
    below = [rule for rule in own if not _gated(rule) or waits[rule.number] < level]
    loud: set[int] = set()
    while True:
        more = {p.type for r in below for p in r.positive if any(head.type in aims or head.type in loud for head in r.heads)}
        if more <= loud:
            return frozenset(loud)
        loud |= more


def _levels(program: Program) -> list[int]:
    """Return for each rule the level whose gate it waits for; level 0 opens with the stage's facts, level n after n fixpoints.

    A rule that negates a type derived in its own stage waits until every rule that may derive it has been run to a fixpoint.
    """
    derived: dict[tuple[str, int], int] = {}
    waits = [0] * len(program.rules)
    for stratum in program.strata:
        reached = 0
        rules = [program.rules[index] for index in stratum.rules]
        for rule in rules:
            needs = [derived[rule.stage, p.type] for p in rule.negative if (rule.stage, p.type) in derived]
            waits[rule.number] = max(needs) + 1 if needs else 0
            reads = [derived.get((rule.stage, pattern.type), 0) for pattern in rule.positive]
            reached = max(reached, waits[rule.number], *reads, 0)
        for rule in rules:
            for head in rule.heads:
                key = (rule.stage, head.type)
                derived[key] = max(derived.get(key, 0), reached)
    return waits


def _condition(condition: _Condition) -> str:
    op, position, value = condition
    key = KEYS[position]
    right = str(value) if isinstance(value, int) else f'{{"{ALIASES[value.pattern]}":"{KEYS[value.position]}"}}'
    inner = f'{{"{key}":{right}}}'
    return inner if op == "eq" else f'{{"{_OPERATORS[op]}":{inner}}}'


class _Writer:
    """Writes one variant after another and counts what they use."""

    def __init__(self, program: Program) -> None:
        self.lanes = _Lanes(program)
        self.gates = _Gates()
        self.owners: list[int] = []
        self.rules: list[str] = []
        self._patterns = 0

    def _pattern(self, alias: str, type_index: int, conditions: list[_Condition], before: list[tuple[int, set[int]]]) -> str:
        """Write one pattern; `before` are the lanes of the positive patterns so far and the fields read there."""
        lane, read = self.lanes.take(type_index)
        self._patterns += 1
        parts = [f'{{"t{lane}":1}}', *map(_condition, sorted(conditions, key=_order))]
        joins = [value for _, _, value in conditions if isinstance(value, Join)]
        for join in joins:
            before[join.pattern][1].add(join.position)
        if joins:
            # Where the last join of a conjunction fails, the engine looks for the end of it one place too far, in foreign memory.
            # So the last one is made never to fail: the lanes' own keys are 1 in every fact. (`==` would be hashed, at a cost.)
            first = joins[0].pattern
            parts.append(f'{{"$gte":{{"t{lane}":{{"{ALIASES[first]}":"t{before[first][0]}"}}}}}}')
        read.update(position for _, position, _ in conditions)
        if not alias.endswith("$not"):
            before.append((lane, read))
        body = parts[0] if len(parts) == 1 else f'{{"$and":[{",".join(parts)}]}}'
        return f'{{"{alias}":{body}}}'

    def variant(
        self, rule: Rule, level: int, positive: Sequence[list[_Condition]], negative: Sequence[tuple[int, list[_Condition]]]
    ) -> None:
        before: list[tuple[int, set[int]]] = []
        parts = [
            self._pattern(ALIASES[place], pattern.type, conditions, before)
            for place, (pattern, conditions) in enumerate(zip(rule.positive, positive, strict=True))
        ]
        if _gated(rule):
            parts.append(f'{{"Z":{{"{GATE}":{self.gates.take(rule.stage, level)}}}}}')
        parts += [
            self._pattern(f"n{place}$not", type_index, conditions, before)
            for place, (type_index, conditions) in enumerate(negative)
        ]
        self.rules.append(f'"{len(self.owners)}":{{"cap":64,"dist":0,"all":[{",".join(parts)}]}}')
        self.owners.append(rule.number)
        if len(self.owners) > _ALL_VARIANTS or self._patterns > _ALL_PATTERNS:
            raise _too_large(
                rule, f"brings the bundle above {_ALL_VARIANTS} rules or {_ALL_PATTERNS} patterns with its `in` tests"
            )

    def rule(self, rule: Rule, level: int) -> None:
        choices = [_choices(pattern) for pattern in rule.positive]
        count = 1
        for choice in choices:
            count *= len(choice)
        if count > _VARIANTS:
            raise _too_large(rule, f"has `in` tests that make {count} variants, at most {_VARIANTS} are allowed")
        negative = [(pattern.type, conditions) for pattern in rule.negative for conditions in _choices(pattern)]
        for positive in product(*choices):
            self.variant(rule, level, positive, negative)


def _numbers(tests: Sequence[Test]) -> Iterator[int]:
    for test in tests:
        if isinstance(test.value, tuple):
            yield from test.value
        elif isinstance(test.value, int):
            yield test.value


def _check(program: Program) -> None:
    """Raise where a rule is outside what the engine is known to run correctly; the compiler's own limits are tighter."""
    for declared in program.types:
        if len(declared.fields) > len(KEYS):
            raise ReflectGateError("engine-limit", f"fact type `{declared.name}` has more than {len(KEYS)} fields")
    for rule in program.rules:
        if len(rule.positive) > len(ALIASES):
            raise _too_large(rule, f"has more than {len(ALIASES)} positive patterns")
        for pattern in (*rule.positive, *rule.negative):
            if any(not -CONSTANT_LIMIT < number < CONSTANT_LIMIT for number in _numbers(pattern.tests)):
                raise _too_large(rule, "compares with a number above 2^31")
            if sum(isinstance(test.value, Join) for test in pattern.tests) > _JOINS:
                raise _too_large(rule, f"has a pattern with more than {_JOINS} joins")


def build(program: Program, stages: Container[str] | None = None) -> Network:
    """Return the network of the rules of `stages`, of all when absent; `engine-limit` where the C engine cannot hold it."""
    _check(program)
    levels = _levels(program)
    writer = _Writer(program)
    for rule in program.rules:
        if stages is None or rule.stage in stages:
            writer.rule(rule, levels[rule.number])
    sentinels = [f'"O":{{"cap":1,"all":[{{"A":{{"{OPEN}":1}}}}]}}', f'"E":{{"cap":1,"all":[{{"A":{{"{END}":1}}}}]}}']
    return Network(
        "{" + ",".join([*sentinels, *writer.rules]) + "}",
        tuple(writer.owners),
        writer.lanes.done(),
        writer.gates.done(program, levels),
    )
