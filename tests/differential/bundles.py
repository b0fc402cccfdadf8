"""Random policies and facts: valid rule sets as YAML text, and facts small enough in range for joins to meet.

Everything is drawn from one `random.Random`, so that a seed is a case and Hypothesis can shrink one (`strategies.randoms`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import yaml

from reflect_gate.facts import Domain, Fact, load_vocabulary

__all__ = ["ALL_STAGES", "Policies", "facts_for", "policies", "write"]

Policies = list[dict[str, Any]]
ALL_STAGES = ("evidence", "ledger", *load_vocabulary().stages)
_JUDGING = ALL_STAGES[2:]
_PRIVATE_DOMAINS = ("field", "flag", "percent", "id", "count", "kind")
_ORDERED = {"count", "scaled"}


class _Plain(yaml.SafeDumper):
    """Writes no anchors: the policy reader refuses them."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def _constant(rng: Random, domain: Domain) -> Any:
    match domain.kind:
        case "symbol":
            return rng.choice(domain.symbols[:3])
        case "id":
            return rng.choice(["i1", "i2", "i3"])
        case "flag":
            return rng.random() < 0.5
        case "count":
            return rng.randrange(4)
        case _:
            return rng.choice([0, 0.25, 0.5, 0.75, 1])


class _RuleSetWriter:
    """Draws one rule set. A derived type has a level: it may be read at its level and above, and negated only above."""

    def __init__(self, rng: Random, name: str, stage: str) -> None:
        self._rng = rng
        self._domains = {
            name: domain for name, domain in load_vocabulary().domains.items() if domain.symbols or domain.kind != "symbol"
        }
        self._name = name
        self._stage = stage
        self._settings: dict[str, dict[str, Any]] = {}
        limit = ALL_STAGES.index(stage)
        self._types: dict[str, Mapping[str, str]] = {
            fact.name: fact.fields
            for fact in load_vocabulary().facts.values()
            if ALL_STAGES.index(fact.stage) <= limit and all(domain in self._domains for domain in fact.fields.values())
        }
        if stage == "ground":
            self._types.pop("conclusion", None)
        self._tables = {f"table_{n}": self._columns() for n in range(rng.randrange(2))}
        self._derive = {f"derived_{n}": self._columns() for n in range(rng.randrange(1, 5))}
        self._level = {name: rng.randrange(3) for name in self._derive}
        self._types |= self._tables | self._derive

    def _columns(self) -> dict[str, str]:
        return {f"f{n}": self._rng.choice(_PRIVATE_DOMAINS) for n in range(self._rng.randrange(1, 4))}

    def document(self) -> dict[str, Any]:
        rng = self._rng
        rules = [self._rule(number) for number in range(rng.randrange(1, 9))]
        made = {name for rule in rules for head in rule["then"] for name in head}
        rules += [self._rule(len(rules) + more, name) for more, name in enumerate(self._derive) if name not in made]
        document: dict[str, Any] = {
            "ruleset": self._name,
            "version": "1.0.0",
            "stage": self._stage,
            "doc": "Drawn at random.",
            "neutral": load_vocabulary().stages[self._stage].verdicts[0],
        }
        if self._settings:
            document["settings"] = self._settings
        if self._tables:
            document["tables"] = {name: self._table(columns) for name, columns in self._tables.items()}
        return document | {"derive": self._derive, "rules": rules}

    def _table(self, columns: Mapping[str, str]) -> dict[str, Any]:
        drawn = [
            {c: _constant(self._rng, self._domains[d]) for c, d in columns.items()} for _ in range(self._rng.randrange(1, 4))
        ]
        rows = list({repr(row): row for row in drawn}.values())
        return {"doc": "Drawn at random.", "columns": dict(columns), "rows": rows}

    def _rule(self, number: int, makes: str = "") -> dict[str, Any]:
        rng = self._rng
        level = self._level[makes] if makes else rng.randrange(4)
        aliases: dict[str, str] = {}
        readable = [name for name in self._types if self._level.get(name, 0) <= level]
        below = [name for name in self._types if name not in self._level or self._level[name] < level]
        when = []
        for place in range(rng.choice([1, 1, 2, 2, 3])):
            name = self._pick(readable)
            tests = self._tests(name, aliases)
            if rng.random() < 0.8:
                aliases[f"a{place}"] = name
                when.append({f"{name} as a{place}": tests})
            else:
                when.append({name: tests})
        for _ in range(rng.choice([0, 1, 1, 2])):
            name = self._pick(below)
            when.append({f"not {name}": self._tests(name, aliases)})
        heads = [name for name, its in self._level.items() if its == level]
        then = [self._head(makes or rng.choice(heads), aliases) for _ in range(rng.randrange(1, 3)) if heads]
        return {"id": f"r{number}", "doc": "Drawn at random.", "when": when, "then": then or [self._finding(aliases)]}

    def _pick(self, names: list[str]) -> str:
        """Return one of `names`, half of the time one that the rule set derives: there lie chains, recursion and absence."""
        derived = [name for name in names if name in self._derive]
        return self._rng.choice(derived if derived and self._rng.random() < 0.5 else names)

    def _sources(self, domain: str, aliases: Mapping[str, str]) -> list[str]:
        return [f"${alias}.{f}" for alias, name in aliases.items() for f, its in self._types[name].items() if its == domain]

    def _tests(self, name: str, aliases: Mapping[str, str]) -> dict[str, Any]:
        rng = self._rng
        fields = self._types[name]
        chosen = rng.sample(sorted(fields), min(len(fields), rng.choice([0, 0, 1, 1, 2])))
        tests = {field: self._test(fields[field], aliases) for field in chosen}
        if name == "conclusion":
            earlier = [stage for stage in _JUDGING if ALL_STAGES.index(stage) < ALL_STAGES.index(self._stage)]
            tests["stage"] = rng.choice(earlier)
            if "verdict" in tests:
                tests["verdict"] = rng.choice(load_vocabulary().stages[tests["stage"]].verdicts)
        return tests

    def _test(self, domain_name: str, aliases: Mapping[str, str]) -> Any:
        rng = self._rng
        domain = self._domains[domain_name]
        joins = self._sources(domain_name, aliases)
        if domain.kind != "flag" and rng.random() < 0.15:
            return {"in": sorted({_constant(rng, domain) for _ in range(rng.randrange(1, 4))}, key=str)}
        if joins and rng.random() < 0.6:
            value: Any = rng.choice(joins)
        elif domain.kind in _ORDERED and rng.random() < 0.2:
            value = f"$s_{domain_name}"
            self._settings.setdefault(value[1:], {"default": _constant(rng, domain), "doc": "Drawn at random."})
        else:
            value = _constant(rng, domain)
        if rng.random() < 0.5:
            return value
        return {rng.choice(["ne", "lt", "lte", "gt", "gte"] if domain.kind in _ORDERED else ["ne"]): value}

    def _head(self, name: str, aliases: Mapping[str, str]) -> dict[str, Any]:
        values = {}
        for field, domain in self._derive[name].items():
            joins = self._sources(domain, aliases)
            values[field] = (
                self._rng.choice(joins) if joins and self._rng.random() < 0.7 else _constant(self._rng, self._domains[domain])
            )
        return {name: values}

    def _finding(self, aliases: Mapping[str, str]) -> dict[str, Any]:
        rng = self._rng
        head = {"verdict": rng.choice(load_vocabulary().stages[self._stage].verdicts), "reason": f"because-{rng.randrange(3)}"}
        joins = self._sources("id", aliases)
        return {"finding": head | ({"about": rng.choice(joins)} if joins else {})}


def policies(rng: Random) -> Policies:
    """Return one to four rule sets over the judging stages; several may share one."""
    stages = sorted((rng.choice(_JUDGING) for _ in range(rng.randrange(1, 5))), key=ALL_STAGES.index)
    return [_RuleSetWriter(rng, f"fuzz-{number}", stage).document() for number, stage in enumerate(stages)]


def facts_for(rng: Random) -> dict[str, list[Fact]]:
    """Return measured facts of every stage, with duplicates, in random order."""
    found: dict[str, list[Fact]] = {stage: [] for stage in ALL_STAGES}
    vocabulary = load_vocabulary()
    for spec in vocabulary.facts.values():
        domains = [vocabulary.domains[domain] for domain in spec.fields.values()]
        if spec.name == "conclusion" or any(domain.kind == "symbol" and not domain.symbols for domain in domains):
            continue
        for _ in range(rng.choice([0, 1, 3, 6])):
            values = [_constant(rng, domain) for domain in domains]
            exact = [v if isinstance(v, str) else domain.exact(v) or 0 for v, domain in zip(values, domains, strict=True)]
            found[spec.stage] += [(spec.name, *exact)] * rng.choice([1, 1, 2])
    for stage, after in pairwise(_JUDGING):
        found[after].append(("conclusion", stage, rng.choice(vocabulary.stages[stage].verdicts)))
    for facts in found.values():
        rng.shuffle(facts)
    return found


def write(folder: Path, documents: Policies) -> Path:
    """Write the rule sets and a policies file with one bundle `fuzz`; return the policies file."""
    rules = folder / "rules"
    (folder / "lexicons").mkdir(exist_ok=True)
    rules.mkdir(exist_ok=True)
    for old in rules.iterdir():
        old.unlink()
    for document in documents:
        (rules / f"{document['ruleset']}.yaml").write_text(_text(document), encoding="utf-8")
    path = folder / "policies.yaml"
    names = [document["ruleset"] for document in documents]
    bundle = {"doc": "Drawn at random.", "rulesets": names}
    path.write_text(
        _text({"policies": 1, "default": "fuzz", "rules": "rules", "lexicons": "lexicons", "bundles": {"fuzz": bundle}}),
        encoding="utf-8",
    )
    return path


def _text(document: Mapping[str, Any]) -> str:
    return yaml.dump(document, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=200)
