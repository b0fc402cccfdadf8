"""Resolution and compilation: what a bundle holds, where it comes from, and that no order matters."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflect_gate import Bundle, ReflectGateError, Source, load_bundle
from reflect_gate.policy.codec import decode_bundle, encode_bundle, encode_program
from reflect_gate.policy.describe import describe
from reflect_gate.policy.model import Head, Join, Program

POLICIES, GROUNDING, ADMISSION, BLAME = "policies.yaml", "rules/grounding.yaml", "rules/admission.yaml", "lexicons/blame.yaml"
Write = Callable[..., Path]
AS_OF = "2026-01-01"


def test_names_and_switches(write_policies: Write) -> None:
    """A child bundle keeps what it switches off, with its neutral verdict and the place that switched it off."""
    bundle = load_bundle("child", policies=write_policies(), as_of=AS_OF)
    assert [(found.name, found.version, found.stage, found.on, found.neutral) for found in bundle.rulesets] == [
        ("admission", "0.3.0", "admit", False, "admit"),
        ("grounding", "1.2.3", "ground", True, "grounded"),
    ]
    assert str(bundle.ruleset("admission").origin).endswith("policies.yaml:18:15")
    assert {rule.ruleset for rule in bundle.program.rules} == {"grounding"}
    assert bundle.rulesets_of("ground") == (bundle.ruleset("grounding"),)


def test_default_bundle(write_policies: Write) -> None:
    """Without a name the default bundle is loaded."""
    assert load_bundle(policies=write_policies(), as_of=AS_OF).name == "main"


def test_settings_and_origins(write_policies: Write) -> None:
    """An override says its value, place, reason, owner and expiry; a default the place where it stands."""
    bundle = load_bundle(policies=write_policies(), as_of=AS_OF)
    overridden, default = bundle.settings["grounding.min_overlap"], bundle.settings["grounding.weight"]
    assert overridden.value == Decimal("0.6")
    assert overridden[3:] == ("Stricter", "qa", "2030-01-01")
    assert str(overridden.origin).endswith("policies.yaml:12:15")
    assert (default.value, default.reason) == (3, None)
    assert str(default.origin).endswith("grounding.yaml:12:21")


@pytest.mark.parametrize(("as_of", "value"), [("2030-01-01", "0.6"), ("2030-01-02", "0.5")])
def test_override_expires_after_its_date(as_of: str, value: str, write_policies: Write) -> None:
    """An override holds to the end of its date; later it is told as not applied."""
    bundle = load_bundle(policies=write_policies(), as_of=as_of)
    assert bundle.setting("grounding.min_overlap") == Decimal(value)
    (change,) = [change for change in bundle.changes if change.kind == "setting"]
    assert change.applied is (value == "0.6")


def test_set_comes_last(write_policies: Write) -> None:
    """`--set` overrides the file, and its origin says so."""
    bundle = load_bundle(policies=write_policies(), as_of=AS_OF, set_=["grounding.min_overlap=0.75"])
    assert bundle.settings["grounding.min_overlap"][0:3:2] == (Decimal("0.75"), ("--set", 0, 0, ""))


def test_child_overrides_its_parent(policy_files: Mapping[str, str], write_policies: Write) -> None:
    """A bundle's override replaces that of the bundle that it extends."""
    more = "    settings:\n      - {set: grounding.min_overlap, to: 1, reason: All, owner: qa}\n"
    bundle = load_bundle("child", policies=write_policies({POLICIES: policy_files[POLICIES] + more}), as_of=AS_OF)
    assert bundle.setting("grounding.min_overlap") == Decimal(1)


def test_enable_and_disable(write_policies: Write) -> None:
    """The command line switches rule sets on and off after the file."""
    bundle = load_bundle("child", policies=write_policies(), as_of=AS_OF, enable=["admission@0.3"], disable=["grounding"])
    assert [(found.name, found.on, str(found.origin)) for found in bundle.rulesets] == [
        ("admission", True, "--enable"),
        ("grounding", False, "--disable"),
    ]


def test_lexicon_changes(policy_files: Mapping[str, str], write_policies: Write) -> None:
    """Patterns are appended, removed and replaced, and sorted."""
    more = (
        "      - {lexicon: blame, group: outward, remove: [blame], reason: R, owner: o}\n"
        "      - {lexicon: blame, group: luck, replace: [misfortune, doom], reason: R, owner: o}\n"
    )
    text = policy_files[POLICIES].replace("  child:\n", f"{more}  child:\n")
    lexicon = load_bundle(policies=write_policies({POLICIES: text}), as_of=AS_OF).lexicons["blame"]
    assert [(group.id, group.patterns) for group in lexicon.groups] == [
        ("luck", ("doom", "misfortune")),
        ("outward", ("flaky", "the (?:tests|framework)")),
    ]


def test_removing_all_and_appending_one(policy_files: Mapping[str, str], write_policies: Write) -> None:
    """A group may be emptied by one change while another of the same bundle fills it, in either order."""
    remove = "{lexicon: blame, group: luck, remove: [bad luck], reason: R, owner: o}"
    append = "{lexicon: blame, group: luck, append: [fate], reason: R, owner: o}"
    for first, second in ((remove, append), (append, remove)):
        text = policy_files[POLICIES].replace("  child:\n", f"      - {first}\n      - {second}\n  child:\n")
        bundle = load_bundle(policies=write_policies({POLICIES: text}), as_of=AS_OF)
        assert bundle.lexicons["blame"].groups[0].patterns == ("fate",)


def test_limits_and_engine(write_policies: Write) -> None:
    """Limits that are not written keep their defaults; a compiled bundle runs the compiled engine."""
    bundle = load_bundle(policies=write_policies(), as_of=AS_OF)
    assert (bundle.limits.facts, bundle.limits.cited) == (1000, 256)
    assert (bundle.engine, bundle.cross_check) == ("compiled", False)
    assert isinstance(bundle.generated, str)
    assert "def " in bundle.generated


def test_unknown_names_of_a_bundle(write_policies: Write) -> None:
    """Asking a bundle for what it does not hold names the nearest."""
    bundle = load_bundle(policies=write_policies(), as_of=AS_OF)
    with pytest.raises(ReflectGateError, match="did you mean `grounding`"):
        bundle.ruleset("groundin")
    with pytest.raises(ReflectGateError, match=r"did you mean `grounding\.weight`"):
        bundle.setting("grounding.weigth")


def test_program_of_the_small_policies(write_policies: Write) -> None:
    """Symbols are sorted and shared, types are private to their owner, tests are numbers, joins point at positive patterns."""
    program = load_bundle(policies=write_policies(), as_of=AS_OF).program
    assert list(program.symbols) == sorted(set(program.symbols))
    judged = ("evidence", "ledger", "ground", "generalize", "calibrate", "dedupe", "admit", "lifecycle")
    assert program.stages == (*judged, "sweep", "adjudicate", "retrieve", "record", "audit")
    assert [(decl.owner, decl.name) for decl in program.types if decl.owner] == [
        ("admission", "earned"),
        ("grounding", "supported"),
        ("grounding", "wanted"),
    ]
    rules = {rule.name: rule for rule in program.rules}
    support = rules["grounding/supported"].positive[2]
    overlap = next(test for test in support.tests if test.field == "anchor_overlap")
    assert (overlap.op, overlap.value, overlap.setting) == ("gte", 60, "grounding.min_overlap")
    assert re.fullmatch(r"grounding\.yaml:\d+:\d+", str(overlap.source))
    kind = next(test for test in support.tests if test.field == "kind")
    assert kind.value == Join(1, 1)
    grounded = program.symbols.index("grounded")
    about = program.symbols.index("")
    assert rules["grounding/grounded"].heads == (
        Head(program.type_index("finding"), (grounded, program.symbols.index("supported"), about)),
    )
    assert [program.symbols[value] for _, *row in program.tables for value in row] == [
        "strategy_error",
        "plan",
        "violated_invariant",
        "spec",
    ]


def test_strata_follow_what_rules_read(write_policies: Write) -> None:
    """A rule stands after every rule that derives what it reads, stage by stage."""
    program = load_bundle(policies=write_policies(), as_of=AS_OF).program
    place = {rule.name: rule.stratum for rule in program.rules}
    assert place["grounding/supported"] < place["grounding/unsupported"]
    assert place["grounding/supported"] < place["grounding/grounded"]
    assert place["grounding/grounded"] < place["admission/earned"] < place["admission/admit"]
    assert [stratum.recursive for stratum in program.strata] == [False] * len(program.strata)
    for index, stratum in enumerate(program.strata):
        assert {program.rules[rule].stratum for rule in stratum.rules} == {index}


def test_recursion_is_one_stratum(policy_files: Mapping[str, str], write_policies: Write) -> None:
    """Rules that feed each other run together, without absence among them."""
    rules = (
        "  - id: there\n    doc: D.\n    when: [earned: {}]\n    then: [back: {by: x}]\n"
        "  - id: and-back\n    doc: D.\n    when: [back as b: {}]\n    then: [earned: {by: $b.by}]\n"
    )
    text = policy_files[ADMISSION].replace("  earned: {by: id}\n", "  earned: {by: id}\n  back: {by: id}\n") + rules
    program = load_bundle(policies=write_policies({ADMISSION: text}), as_of=AS_OF).program
    recursive = [[program.rules[rule].id for rule in stratum.rules] for stratum in program.strata if stratum.recursive]
    assert recursive == [["and-back", "there"]]


def test_negation_cycle_names_the_cycle(policy_files: Mapping[str, str], write_policies: Write) -> None:
    """A cycle through absence is told rule by rule."""
    rules = (
        "  - id: one\n    doc: D.\n    when: [record: {}, not beta: {}]\n    then: [alpha: {by: x}]\n"
        "  - id: two\n    doc: D.\n    when: [alpha: {}]\n    then: [beta: {by: x}]\n"
    )
    text = policy_files[ADMISSION].replace("derive:\n", "derive:\n  alpha: {by: id}\n  beta: {by: id}\n") + rules
    with pytest.raises(ReflectGateError, match="`beta`, which depends on the rule itself: `one` → `two` → `one`"):
        load_bundle(policies=write_policies({ADMISSION: text}), as_of=AS_OF)


def test_two_rule_sets_may_use_one_name(policy_files: Mapping[str, str], write_policies: Write) -> None:
    """Private types of the same name stay apart."""
    text = policy_files[ADMISSION].replace("earned: {by: id}", "supported: {by: id}").replace("- earned:", "- supported:")
    program = load_bundle(policies=write_policies({ADMISSION: text}), as_of=AS_OF).program
    owners = {decl.owner for decl in program.types if decl.name == "supported"}
    assert owners == {"admission", "grounding"}


def test_shipped_policies_load(structured: Bundle) -> None:
    """The shipped bundle compiles, and the naive baseline has every rule set off that decides what is remembered (R-c2)."""
    assert structured.program.rules
    baseline = load_bundle("introspect", cache=False)
    assert {rule.ruleset for rule in baseline.program.rules} == {"audit"}
    assert [ruleset.name for ruleset in baseline.rulesets if ruleset.on] == ["audit"]


def test_description_names_origins(write_policies: Write) -> None:
    """`describe` gives plain data with the place of every value."""
    described = describe(load_bundle("child", policies=write_policies(), as_of=AS_OF))
    assert encode_plain(described) == described
    rulesets = described["rulesets"]
    assert isinstance(rulesets, list)
    assert [str(found["origin"]).rpartition("/")[2] for found in rulesets] == ["policies.yaml:18:15", "policies.yaml:10:16"]


def encode_plain(value: object) -> object:
    """Return `value` if it is JSON data all through."""
    if isinstance(value, dict):
        return {str(key): encode_plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [encode_plain(part) for part in value]
    assert value is None or isinstance(value, str | int | bool)
    return value


def meaning(bundle: Bundle) -> object:
    """Return what decides, without places."""
    return (
        bundle.digest,
        encode_program(bundle.program, meaning_only=True),
        {key: found.value for key, found in bundle.settings.items()},
    )


def shuffled(text: str, seed: int) -> str:
    """Return YAML with its mappings, rules, rows, overrides and patterns in another order; patterns of `when` keep theirs."""
    rng = random.Random(seed)

    def walk(value: object, key: str = "") -> object:
        if isinstance(value, dict):
            entries = [(name, walk(part, str(name))) for name, part in value.items()]
            rng.shuffle(entries)
            return dict(entries)
        if isinstance(value, list):
            items = [walk(part) for part in value]
            if key != "when":
                rng.shuffle(items)
            return items
        return value

    texts = yaml.load(text, yaml.BaseLoader)  # noqa: S506 - makes texts of everything and constructs nothing
    return yaml.dump(walk(texts), sort_keys=False).replace("'", "")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_no_order_matters(seed: int, policy_files: Mapping[str, str], write_policies: Write) -> None:
    """Shuffling keys, rules, rows, overrides, patterns and options changes neither digest nor program."""
    more = (
        "      - {set: grounding.weight, to: 4, reason: R, owner: o}\n"
        "    lexicons:\n      - {lexicon: blame, group: outward, remove: [blame], reason: R, owner: o}\n"
    )
    files = {**policy_files, POLICIES: policy_files[POLICIES].replace("    lexicons:\n", more)}
    options = ["grounding.min_overlap=0.7", "grounding.weight=5"]
    plain = load_bundle(policies=write_policies(files), as_of=AS_OF, set_=options, cache=False)
    mixed = write_policies({name: shuffled(text, seed + index) for index, (name, text) in enumerate(files.items())})
    assert meaning(load_bundle(policies=mixed, as_of=AS_OF, set_=options[::-1], cache=False)) == meaning(plain)


CHANGES: list[tuple[str, str, str]] = [
    (GROUNDING, "version: 1.2.3", "version: 1.2.4"),
    (GROUNDING, "neutral: grounded", "neutral: speculative"),
    (GROUNDING, "default: 3,", "default: 4,"),
    (GROUNDING, "kind: spec}", "kind: log}"),
    (GROUNDING, "{gt: 1}", "{gte: 1}"),
    (GROUNDING, "reason: missing,", "reason: absent,"),
    (BLAME, "[bad luck]", "[worse luck]"),
    (POLICIES, "{facts: 1000}", "{facts: 1001}"),
    (POLICIES, "to: 0.6", "to: 0.61"),
]


@pytest.mark.parametrize(("file", "old", "new"), CHANGES)
def test_digest_changes_with_the_meaning(
    file: str, old: str, new: str, policy_files: Mapping[str, str], write_policies: Write
) -> None:
    """Whatever can change a decision changes the digest."""
    before = load_bundle(policies=write_policies(), as_of=AS_OF).digest
    assert load_bundle(policies=write_policies({file: policy_files[file].replace(old, new)}), as_of=AS_OF).digest != before


def test_digest_ignores_words_and_places(policy_files: Mapping[str, str], write_policies: Write) -> None:
    """Docs, comments, reasons and lines decide nothing."""
    before = load_bundle(policies=write_policies(), as_of=AS_OF).digest
    files = {
        name: "# A comment.\n\n" + text.replace("doc: ", "doc: Now ").replace("0.6,", "0.60,")
        for name, text in policy_files.items()
    }
    assert load_bundle(policies=write_policies(files), as_of=AS_OF).digest == before
    assert load_bundle(policies=write_policies(), as_of="2026-01-02").digest != before


def test_codec_is_lossless(structured: Bundle) -> None:
    """A bundle survives the cache's form with every place, and its meaning is that of its program."""
    assert isinstance(structured.generated, str)
    code = compile(structured.generated, "<compiled bundle>", "exec")
    assert decode_bundle(encode_bundle(structured)) == structured._replace(generated=code)
    changed = structured._replace(doc="other", generated=code)
    assert decode_bundle(encode_bundle(changed)) == changed


def test_places_of_a_program_name_no_folder(structured: Bundle) -> None:
    """Decisions carry places of rules, so these must not tell where the rules are installed."""

    def places(program: Program) -> Iterator[Source]:
        for rule in program.rules:
            yield rule.source
            for pattern in (*rule.positive, *rule.negative):
                yield from (pattern.source, *(test.source for test in pattern.tests))

    assert {place.file for place in places(structured.program)} == {
        f"{ruleset.name}.yaml" for ruleset in structured.rulesets if ruleset.on
    }


def test_only_a_rule_set_that_can_pass_says_neutral_when_off(structured: Bundle) -> None:
    """Each shipped rule set that concludes a stage by itself decides; switching off one that only refuses passes nothing."""
    decides = {ruleset.name for ruleset in structured.rulesets if ruleset.decides}
    assert {"grounding", "calibration", "admission", "blame"} <= decides
    assert "poisoning" not in decides
