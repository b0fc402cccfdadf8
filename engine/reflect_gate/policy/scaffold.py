"""Scaffolds for authors: a rule, a rule set with its cases and its ablation, a lexicon. Each passes its own cases and lint.

What is made is a real rule on a real measure of its stage, to be changed: an empty template would load only once it is filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..errors import ReflectGateError, Source, did_you_mean
from ..facts import load_vocabulary
from .build import lexicon_files, ruleset_folder
from .case_files import CASES_SUFFIX
from .formatting import formatted, round_trip
from .headers import header_line
from .lint.world import World, read_world
from .parsed import RuleFile
from .values import KEBAB

__all__ = ["PROBES", "Probe", "dumped", "new_lexicon", "new_rule"]

_LIMIT: Final = 20
_HITS: Final = 1
_PHRASES: Final = """\
version: 1.0.0
doc: Phrases of the team; replace them by your own.
groups:
  - id: first-phrases
    doc: Phrases to begin with.
    patterns:
      - 'as a rule of thumb'
    cases:
      hit:
        - As a rule of thumb, restart it.
      miss:
        - The rule names the thumb drive.
"""


class Probe(NamedTuple):
    """A measure that a first rule of a stage may look at: a count with a limit, or a flag with the value that fires."""

    fact: str
    field: str
    flag: str = ""


PROBES: Final[Mapping[str, Probe]] = {
    "ground": Probe("claim", "anchors"),
    "generalize": Probe("scope", "terms"),
    "calibrate": Probe("lesson", "sentences"),
    "dedupe": Probe("scope", "terms"),
    "admit": Probe("scope", "terms"),
    "lifecycle": Probe("blame", "corroborations"),
    "sweep": Probe("tenure", "hurt"),
    "adjudicate": Probe("dispute", "hurt"),
    "retrieve": Probe("match", "words"),
    "record": Probe("trial", "withheld", "true"),
    "audit": Probe("entry", "words"),
}
"""What a first rule of each stage looks at."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The pieces of a rule: its doc and condition, and the facts of a case that fires it and of one that just does not."""

    doc: str
    when: str
    fires: str
    silent: str


def new_rule(policies: str | Path | None, ruleset: str, rule: str, stage: str, lexicon: str) -> dict[Path, str]:
    """Return the files, new and changed, that add a rule; its rule set and lexicon are made where they are not there.

    Args:
        policies: the policies file; it must have folders of its own.
        ruleset: the rule set, made for `stage` where there is none.
        rule: the rule's id; empty for one that says what it looks at.
        stage: the stage of a new rule set; empty for `calibrate`.
        lexicon: a lexicon that the rule asks for, made where there is none; empty for a measure of the stage.

    Raises:
        ReflectGateError: a name of the wrong shape, one that is taken, or policies that use the shipped rules.
    """
    world = _own(policies)
    _sound("rule set", ruleset)
    file = world.rulesets.get(ruleset)
    if file is not None and stage and stage != file.stage.text:
        message = f"rule set `{ruleset}` is of stage `{file.stage.text}`, not `{stage}`"
        raise ReflectGateError("policy-unknown-stage", message, file.stage.source)
    of = file.stage.text if file else stage or "calibrate"
    if of not in PROBES:
        raise ReflectGateError("policy-unknown-stage", f"there is no stage `{of}`{did_you_mean(of, PROBES)}")
    if file is not None and rule and any(known.id == rule for known in file.rules):
        raise ReflectGateError("policy-duplicate", f"rule `{ruleset}/{rule}` is there already", file.source)
    for probe in [Probe("hits", "n")] if lexicon else _probes(of, file):
        rule_id = rule or _id_of(probe, lexicon)
        _sound("rule", rule_id)
        texts = dict(_lexicon(world, lexicon)) if lexicon and lexicon not in world.lexicons else {}
        parts = _parts(probe, lexicon, "" if file else f"${_setting(probe)}")
        if file is None:
            return _checked(world, texts | _ruleset(world, ruleset, rule_id, of, probe, parts))
        made = _checked(world, texts | _added(world, ruleset, rule_id, of, parts))
        if _passes(world, made, ruleset):
            return made
    message = f"no rule to begin with agrees with the cases of `{ruleset}`: write it beside a rule of yours that is like it"
    raise ReflectGateError("policy-scaffold", message, file.source if file else None)


def _probes(stage: str, file: RuleFile | None) -> list[Probe]:
    """Return the measures to try: the stage's first one, then the counts of its facts, without those that the rule set reads."""
    vocabulary = load_vocabulary()
    found = {PROBES[stage]: None}
    for fact in vocabulary.facts.values():
        if fact.stage == stage and "lexicon" not in fact.fields.values():
            found |= {Probe(fact.name, field): None for field, domain in fact.fields.items() if domain == "count"}
    read = {
        (pattern.type, test.field.text)
        for rule in (file.rules if file else ())
        for pattern in rule.when
        for test in pattern.tests
    }
    return [probe for probe in found if (probe.fact, probe.field) not in read]


def _id_of(probe: Probe, lexicon: str) -> str:
    name = (lexicon or probe.field).replace("_", "-")
    return f"{probe.fact}-{name}" if probe.flag else f"too-many-{name}"


def _passes(world: World, texts: Mapping[Path, str], ruleset: str) -> bool:
    """Return whether every case of a rule set passes with `texts` in place, in a copy of the policies' folders."""
    import tempfile

    from .cases import run_cases

    with tempfile.TemporaryDirectory() as name:
        rules, lexicons = ruleset_folder(world.policies), lexicon_files(world.policies)[0]
        moved = {rules.resolve(): Path(name, "rules"), lexicons.resolve(): Path(name, "lexicons")}
        for old, new in moved.items():
            new.mkdir()
            for file in old.glob("*.yaml"):
                (new / file.name).write_text(world.texts.get(str(file), file.read_text(encoding="utf-8")), encoding="utf-8")
        for path, text in texts.items():
            (moved[path.resolve().parent] / path.name).write_text(text, encoding="utf-8")
        reader = round_trip()
        loaded = reader.load(world.texts[world.policies.file])
        loaded["rules"], loaded["lexicons"] = "rules", "lexicons"
        copy = Path(name, "policies.yaml")
        copy.write_text(dumped(reader, loaded), encoding="utf-8")
        return all(result.passed for result in run_cases([Path(name, "rules", f"{ruleset}.yaml")], copy))


def new_lexicon(policies: str | Path | None, name: str) -> dict[Path, str]:
    """Return the file of a new lexicon; raises where one of that name is there."""
    world = _own(policies)
    if name in world.lexicons:
        raise ReflectGateError("policy-duplicate", f"lexicon `{name}` is there already", world.lexicons[name].source)
    return _checked(world, _lexicon(world, name))


def _own(policies: str | Path | None) -> World:
    world = read_world(policies)
    if not (world.policies.rules and world.policies.lexicons):
        message = "these policies take the shipped rules: give them folders of their own with `rules` and `lexicons`"
        raise ReflectGateError("policy-shipped", message, Source(world.policies.file))
    return world


def _sound(what: str, name: str) -> None:
    if not (KEBAB.fullmatch(name) and len(name) <= 64):
        raise ReflectGateError("policy-name", f"{what} `{name[:80]}` must be kebab-case, of at most 64 characters")


def _checked(world: World, texts: Mapping[Path, str]) -> dict[Path, str]:
    """Return `texts` in the one layout; raises where the policies would not load with them."""
    laid_out = {path: formatted(text, path) for path, text in texts.items()}
    for path in laid_out:
        if path.exists() and str(path) not in world.texts:
            raise ReflectGateError("policy-duplicate", "the file is there already", Source(str(path)))
    return laid_out


def _setting(probe: Probe) -> str:
    return f"max_{probe.field}" if probe.fact != "hits" else "max_hits"


def _parts(probe: Probe, lexicon: str, limit: str) -> _Parts:
    if probe.flag:
        other = "false" if probe.flag == "true" else "true"
        return _Parts(
            f"The {probe.fact} is {probe.field}.",
            f"{probe.fact}: {{{probe.field}: {probe.flag}}}",
            f"{probe.fact}: {{{probe.field}: {probe.flag}}}",
            f"{probe.fact}: {{{probe.field}: {other}}}",
        )
    if lexicon:
        where = f"lexicon: {lexicon}, target: candidate_lesson"
        facts = [f"hits: {{{where}, n: {count}}}" for count in (_HITS + 1, _HITS)]
        return _Parts(
            f"The lesson holds more phrases of the lexicon {lexicon} than allowed.",
            f"hits: {{{where}, n: {{gt: {limit or _HITS}}}}}",
            *facts,
        )
    facts = [f"{probe.fact}: {{{probe.field}: {count}}}" for count in (_LIMIT + 1, _LIMIT)]
    name = probe.field.replace("_", " ")
    return _Parts(
        f"The {name} of the {probe.fact} are more than allowed.",
        f"{probe.fact}: {{{probe.field}: {{gt: {limit or _LIMIT}}}}}",
        *facts,
    )


def _rule_text(rule: str, stage: str, parts: _Parts) -> str:
    verdict = load_vocabulary().stages[stage].verdicts[-1]
    return (
        f"  - id: {rule}\n    doc: {parts.doc}\n    when:\n      - {parts.when}\n"
        f"    then:\n      - finding: {{verdict: {verdict}, reason: {rule}, about: reflection}}\n"
    )


def _cases_text(rule: str, stage: str, parts: _Parts) -> str:
    spec = load_vocabulary().stages[stage]
    return (
        f"  - id: {rule}-fires\n    facts:\n      - {parts.fires}\n    expect:\n      verdict: {spec.verdicts[-1]}\n"
        f"      findings:\n        - {{rule: {rule}, reason: {rule}, about: reflection}}\n      fires: [{rule}]\n\n"
        f"  - id: {rule}-stays-silent\n    facts:\n      - {parts.silent}\n    expect:\n      verdict: {spec.default}\n"
        f"      findings: []\n      silent: [{rule}]\n"
    )


def _ruleset(world: World, name: str, rule: str, stage: str, probe: Probe, parts: _Parts) -> dict[Path, str]:
    spec = load_vocabulary().stages[stage]
    path = ruleset_folder(world.policies) / f"{name}.yaml"
    cases = path.with_name(name + CASES_SUFFIX)
    setting = (
        ""
        if probe.flag
        else (
            f"settings:\n  {_setting(probe)}:\n    default: {_HITS if probe.fact == 'hits' else _LIMIT}\n"
            f"    doc: How many a reflection may have before the rule {rule} fires.\n    minimum: 0\n    maximum: 1000\n\n"
        )
    )
    text = (
        f"{header_line(path, 'rules')}\nruleset: {name}\nversion: 1.0.0\nstage: {stage}\n"
        f"doc: Rules of the team for the stage {stage}.\nneutral: {spec.verdicts[0]}\n\n{setting}rules:\n"
        f"{_rule_text(rule, stage, parts)}"
    )
    tried = f"{header_line(cases, 'cases')}\nruleset: {name}\ncases:\n{_cases_text(rule, stage, parts)}"
    return {path: text, cases: tried, Path(world.policies.file): _named(world, name)}


def _named(world: World, name: str) -> str:
    """Return the policies with the rule set in the default bundle, and a bundle that switches it off."""
    reader = round_trip()
    text = world.texts[world.policies.file]
    loaded = reader.load(text)
    default = world.policies.default
    bundle = loaded["bundles"][default]
    key = "rulesets" if "rulesets" in bundle else "enable"
    if key in bundle:
        bundle[key].append(f"{name}@1")
    else:
        _last(bundle, key, reader.load(f"[{name}@1]"))
    ablation = f"without-{name}"
    if ablation not in loaded["bundles"]:
        loaded["bundles"][ablation] = reader.load(
            f"doc: The bundle {default} without the rule set {name}, to see what it changes.\n"
            f"extends: {default}\ndisable: [{name}]\n"
        )
    return dumped(reader, loaded).replace(f"\n  {ablation}:", f"\n\n  {ablation}:", 1)


def _last(mapping: Any, key: str, value: Any) -> None:
    """Add a key at the end of a mapping, before the blank lines and comments on the lines after its last value."""
    import copy

    before = list(mapping)[-1]
    mapping[key] = value
    token = (mapping.ca.items.get(before) or [None] * 4)[2]
    if token is None:
        return
    beside, newline, below = token.value.partition("\n")
    moved = copy.copy(token)
    moved.value = newline + below
    mapping.ca.items[key] = [None, None, moved, None]
    token.value = beside + newline
    if not beside:
        del mapping.ca.items[before]


def _added(world: World, ruleset: str, rule: str, stage: str, parts: _Parts) -> dict[Path, str]:
    path = Path(world.rulesets[ruleset].file)
    cases = path.with_name(ruleset + CASES_SUFFIX)
    known = world.texts.get(str(cases), f"{header_line(cases, 'cases')}\nruleset: {ruleset}\ncases: []\n")
    return {
        path: _appended(world.texts[str(path)], "rules", _rule_text(rule, stage, parts)),
        cases: _appended(known, "cases", _cases_text(rule, stage, parts)),
    }


def _appended(text: str, key: str, entries: str) -> str:
    """Return `text` with more entries at the end of the list at `key`."""
    reader = round_trip()
    loaded = reader.load(text)
    more = reader.load(f"{key}:\n{entries}")[key]
    if key in loaded and len(loaded[key]):
        loaded[key].extend(more)
    else:
        loaded[key] = more
    result = dumped(reader, loaded)
    for entry in more:
        result = result.replace(f"\n  - id: {entry['id']}\n", f"\n\n  - id: {entry['id']}\n", 1)
    return result


def dumped(reader: Any, loaded: Any) -> str:
    """Return what a round-trip reader loaded as YAML."""
    import io

    stream = io.StringIO()
    reader.dump(loaded, stream)
    return stream.getvalue()


def _lexicon(world: World, name: str) -> dict[Path, str]:
    _sound("lexicon", name)
    path = lexicon_files(world.policies)[0] / f"{name}.yaml"
    return {path: f"{header_line(path, 'lexicon')}\nlexicon: {name}\n{_PHRASES}"}
