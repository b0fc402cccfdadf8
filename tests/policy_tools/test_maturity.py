"""How rules live: experimental ones look on until promoted, deprecated ones are warned about, old names are understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_gate import Bundle, ReflectGateError, load_bundle
from reflect_gate.cli import main
from reflect_gate.policy.bundle import Notice
from reflect_gate.policy.cases import run_cases
from reflect_gate.policy.coverage import coverage
from reflect_gate.policy.lint import Config, lint_world, read_world
from reflect_gate.policy.lint.config import LintException
from reflect_gate.policy.mutate import mutate, subjects
from reflect_gate.policy.reference import PAGE_HEAD, read_policies_files, reference

from .lives import CASES, RULES, load, names

AS_OF = "2026-06-01"

OTHER = """\
  - id: other
    doc: Refuses every lesson.
    maturity: experimental
    when: [{{lesson: {{}}}}]
    then: [{{finding: {{{says}}}}}]
"""


@pytest.fixture
def lives(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with a rule of each maturity, and a cache of its own."""
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(folder / "cache"))
    (folder / "rules" / "speed.yaml").write_text(RULES, encoding="utf-8")
    (folder / "rules" / "speed.cases.yaml").write_text(CASES, encoding="utf-8")
    return folder


def bundles(folder: Path, text: str) -> Path:
    """Write more bundles into the policies file."""
    path = folder / "policies.yaml"
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
    return folder


def rewritten(folder: Path, old: str, new: str) -> Path:
    """Change the rule set, which must hold `old`."""
    path = folder / "rules" / "speed.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return folder


# -- who decides -------------------------------------------------------------------------------------------------------


def test_an_experimental_rule_looks_on(lives: Path) -> None:
    """It is no rule of the program that decides, and one of the program that is tried."""
    bundle = load(lives)
    assert names(bundle) == ["in-limits", "too-many"]
    assert bundle.trial is not None
    assert bundle.trial.rules == ("speed/shouting",)
    assert names(bundle.trying()) == ["in-limits", "shouting", "too-many"]


@pytest.mark.parametrize("given", ["all", "speed", "speed/shouting", "speed/noisy"])
def test_an_option_promotes(lives: Path, given: str) -> None:
    """One rule, by its name or an old one, those of a rule set, or all of them."""
    promoted = load(lives, experimental=[given])
    assert (names(promoted), promoted.trial) == (["in-limits", "shouting", "too-many"], None)


def test_a_bundle_promotes_for_those_that_extend_it(lives: Path) -> None:
    """The key `experimental` is inherited, as settings are."""
    more = (
        "  tried: {doc: With the new rule., extends: ours, experimental: [speed/shouting]}\n  heir: {doc: Too., extends: tried}\n"
    )
    assert names(load(bundles(lives, more), "heir")) == ["in-limits", "shouting", "too-many"]


@pytest.mark.parametrize("given", ["sped", "speed/shoutin", "nothing/shouting", "speed/Shouting"])
def test_a_promotion_of_nothing_is_an_error(lives: Path, given: str) -> None:
    """A misspelt name promotes nothing silently."""
    with pytest.raises(ReflectGateError) as caught:
        load(lives, experimental=[given])
    assert {error.code for error in caught.value.errors} <= {"policy-unknown-rule", "policy-unknown-ruleset", "policy-name"}
    assert str(caught.value.errors[0].source) == "--enable-experimental"


def test_single_rules_are_switched(lives: Path) -> None:
    """A bundle switches one off by an old name, one that extends it switches it on again; so do the options."""
    text = (
        "  lax: {doc: Lax., extends: ours, disable: [speed/few]}\n  again: {doc: On., extends: lax, enable: [speed/in-limits]}\n"
    )
    bundles(lives, text)
    assert names(load(lives, "lax")) == ["too-many"]
    assert names(load(lives, "again")) == ["in-limits", "too-many"]
    assert names(load(lives, "again", disable=["speed/too-many"])) == ["in-limits"]
    assert names(load(lives, "lax", enable=["speed/in-limits"])) == ["in-limits", "too-many"]


def test_a_rule_that_is_off_neither_decides_nor_looks_on(lives: Path) -> None:
    """Switched off, an experimental rule is not tried, and promoting it does not bring it back."""
    assert load(lives, disable=["speed/shouting"]).trial is None
    assert names(load(lives, disable=["speed/shouting"], experimental=["all"])) == ["in-limits", "too-many"]


def test_a_rule_set_that_only_tries_to_pass_does_not_decide(lives: Path) -> None:
    """Switched off, a rule set says its neutral verdict only where a rule that decides could say it."""
    rewritten(lives, "renamed_from: [few, sober]", "maturity: experimental")
    assert not load(lives).ruleset("speed").decides
    assert load(lives, experimental=["speed/in-limits"]).ruleset("speed").decides


# -- digests and the cache ---------------------------------------------------------------------------------------------


def test_the_digest_says_how_mature_rules_are(lives: Path) -> None:
    """Looking on, promoted, stable and gone are four bundles; so is a change of what looks on."""
    digests = [load(lives).digest, load(lives, experimental=["all"]).digest, load(lives, disable=["speed/shouting"]).digest]
    digests.append(load(rewritten(lives, "{lexicon: noise}", "{lexicon: noise, n: {gt: 1}}")).digest)
    digests.append(load(rewritten(lives, "    maturity: experimental\n", "")).digest)
    digests.append(load(rewritten(lives, "    maturity: deprecated\n    replaced_by: in-limits\n", "")).digest)
    assert len(set(digests)) == len(digests)


def test_names_of_before_decide_nothing(lives: Path) -> None:
    """`renamed_from` and `since` are no part of the digest."""
    before = load(lives).digest
    assert load(rewritten(lives, "    since: 1.1.0\n    renamed_from: [noisy]\n", "")).digest == before


def test_shipped_rules_are_all_stable(structured: Bundle) -> None:
    """So they have no trial, no notice, and the digest that they had before there was maturity."""
    from reflect_gate.policy.build import meaning

    assert {rule.maturity for rule in structured.program.rules} == {"stable"}
    assert (structured.trial, structured.notices, dict(structured.renamed)) == (None, (), {})
    assert not meaning(structured).keys() & {"maturity", "trial"}


def test_the_cache_keeps_what_looks_on(lives: Path) -> None:
    """A bundle from the cache is the one that was built, but for the code of its engines."""
    built = load_bundle(policies=lives)
    kept = load_bundle(policies=lives)
    assert kept.trial is not None
    assert built.trial is not None
    assert kept.trial._replace(generated="") == built.trial._replace(generated="")
    assert (kept.renamed, kept.notices, kept.digest) == (built.renamed, built.notices, built.digest)
    assert load_bundle(policies=lives, experimental=["all"]).trial is None


# -- notices -----------------------------------------------------------------------------------------------------------


def test_check_names_replacement_and_new_name(lives: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A deprecated rule at its place with what replaces it, an old name at its place with the new one, an idle promotion."""
    more = "  odd: {doc: Odd., extends: ours, disable: [speed/sober], experimental: [speed/too-many]}\n"
    assert main(["policy", "check", str(bundles(lives, more))]) == 0
    err = capsys.readouterr().err
    assert "speed.yaml:11:9: rule `speed/too-many` is deprecated: use `speed/in-limits` [policy-deprecated]" in err
    assert "policies.yaml:8:45: rule `speed/sober` is now called `speed/in-limits` [policy-old-name]" in err
    assert "policies.yaml:8:74: rule `speed/too-many` is deprecated, so promoting it changes nothing" in err


def test_a_deprecated_rule_that_is_off_is_not_warned_about(lives: Path) -> None:
    """Neither where it is switched off alone nor with its rule set."""
    for gone in ("speed/too-many", "speed"):
        assert "policy-deprecated" not in {notice.code for notice in load(lives, disable=[gone]).notices}


def test_old_names_on_the_command_line_are_warned_about(lives: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where they are given, since no file is to be changed; the option works all the same."""
    assert main(["policy", "show", "--policies", str(lives / "policies.yaml"), "--disable", "speed/few", "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert "--disable: rule `speed/few` is now called `speed/in-limits` [policy-old-name]" in captured.err
    assert '"name":"speed/in-limits"' not in captured.out


# -- cases, coverage, mutants ------------------------------------------------------------------------------------------


def test_a_case_that_names_an_experimental_rule_tries_it(lives: Path) -> None:
    """Any other case is judged as the gate decides; old names are understood and told."""
    told: list[Notice] = []
    results = run_cases([lives / "rules" / "speed.cases.yaml"], lives, tell=told.append)
    assert [(result.id, result.message) for result in results if not result.passed] == []
    assert [(notice.origin.line, notice.message) for notice in told] == [
        (11, "rule `noisy` is now called `shouting`"),
        (11, "rule `few` is now called `in-limits`"),
    ]


def test_a_case_tries_no_other_experimental_rule(lives: Path) -> None:
    """Two rules on trial are tried one at a time."""
    rule = OTHER.format(says="verdict: shallow, reason: all")
    (lives / "rules" / "speed.yaml").write_text(RULES + rule, encoding="utf-8")
    results = run_cases([lives / "rules" / "speed.cases.yaml"], lives)
    assert [(result.id, result.message) for result in results if not result.passed] == []


@pytest.mark.parametrize("name", ["shouting", "noisy", "speed/noisy"])
def test_cases_are_selected_by_both_names(lives: Path, name: str) -> None:
    """`--run` takes what the rule is called and what it was called."""
    results = run_cases([lives / "rules" / "speed.cases.yaml"], lives, name)
    assert [result.id for result in results] == ["loud-tried", "quiet"]


def test_coverage_counts_experimental_rules(lives: Path) -> None:
    """A rule that looks on is to be tried as well."""
    found = coverage([lives / "rules" / "speed.cases.yaml"], lives)
    assert {name: rule.fired for name, rule in found.rules.items()} == {
        "speed/in-limits": 2,
        "speed/shouting": 1,
        "speed/too-many": 1,
    }


def test_mutants_of_experimental_rules_are_judged_by_the_cases_that_try_them(lives: Path) -> None:
    """A mistake in a rule that looks on is noticed, though no decision would show it."""
    found = mutate(subjects([lives / "rules" / "speed.yaml"]), lives, keep=False)
    killed = {result.mutant.kind: result.killed_by for result in found if result.mutant.rule == "speed/shouting"}
    assert killed["disable-rule"] == "case loud-tried"


# -- lint, page, format ------------------------------------------------------------------------------------------------


def _lint(folder: Path, config: Config | None = None) -> list[tuple[str, str]]:
    report = lint_world(read_world(folder, AS_OF), config or Config())
    return [(found.rule, found.subject) for found in report.findings if not found.rule.startswith("missing-")]


def test_lint_tells_deprecated_and_renamed_rules(lives: Path) -> None:
    """The rule, and each file that uses an old name."""
    bundles(lives, "  odd: {doc: Odd., extends: ours, disable: [speed/sober]}\n")
    assert _lint(lives) == [
        ("renamed-rule", "policies.yaml"),
        ("renamed-rule", "speed.cases.yaml"),
        ("renamed-rule", "speed.cases.yaml"),
        ("deprecated-rule", "speed/too-many"),
    ]


def test_fix_writes_the_live_names(lives: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In bundles and cases, and changes nothing of what they say."""
    bundles(lives, "  odd: {doc: Odd., extends: ours, disable: [speed/sober], experimental: ['speed/noisy']}\n")
    before, digest = read_world(lives, AS_OF).meaning, load(lives, "odd").digest
    assert main(["policy", "lint", str(lives / "policies.yaml"), "--fix", "--format", "json"]) == 0
    capsys.readouterr()
    assert "disable: [speed/in-limits], experimental: ['speed/noisy']" in (lives / "policies.yaml").read_text(encoding="utf-8")
    assert "fires: [shouting], silent: [in-limits]" in (lives / "rules" / "speed.cases.yaml").read_text(encoding="utf-8")
    assert (read_world(lives, AS_OF).meaning, load(lives, "odd").digest) == (before, digest)
    # What stands in quotes is left to the author, and told again.
    assert _lint(lives) == [("renamed-rule", "policies.yaml"), ("deprecated-rule", "speed/too-many")]


def test_lint_is_silent_of_a_deprecated_rule_that_no_bundle_has_on(lives: Path) -> None:
    """It is on its way out."""
    policies = lives / "policies.yaml"
    text = policies.read_text(encoding="utf-8").replace("rulesets: [speed]}", "rulesets: [speed], disable: [speed/too-many]}")
    policies.write_text(text, encoding="utf-8")
    assert "deprecated-rule" not in dict(_lint(lives))


def test_an_exception_by_an_old_name_excepts_and_is_told(lives: Path) -> None:
    """It works, and is not called idle."""
    rewritten(lives, "lesson: {hedges: {lte: $limit}}", "lesson: {hedges: {lte: $limit}, words: {gte: 0}}")
    assert ("idle-condition", "speed/in-limits") in _lint(lives)
    source = read_world(lives).rulesets["speed"].source
    exception = LintException("idle-condition", "speed/few", "for a test", "tests", "", source)
    found = _lint(lives, Config({}, (exception,)))
    assert ("idle-condition", "speed/in-limits") not in found
    assert ("renamed-rule", "speed/few") in found
    assert "idle-exception" not in dict(found)


def test_a_rule_that_looks_on_shadows_none_that_decides(lives: Path) -> None:
    """Promoted by a bundle, it does."""
    rule = OTHER.format(says="verdict: too_vague, reason: hedged, about: candidate_lesson")
    (lives / "rules" / "speed.yaml").write_text(RULES + rule, encoding="utf-8")
    assert "shadowed-rule" not in dict(_lint(lives))
    bundles(lives, "  tried: {doc: With it., extends: ours, experimental: [speed/other]}\n")
    assert ("shadowed-rule", "speed/too-many") in _lint(lives)


def test_a_rule_that_waits_for_what_only_looks_on_is_unreachable(lives: Path) -> None:
    """What an experimental rule derives reaches no rule that decides."""
    rewritten(lives, "      - not loud: {}", "      - loud: {}")
    assert ("unreachable-rule", "speed/in-limits") in _lint(lives)
    bundles(lives, "  tried: {doc: With it., extends: ours, experimental: [speed/shouting]}\n")
    assert "unreachable-rule" not in dict(_lint(lives))


def test_the_page_shows_maturity(lives: Path) -> None:
    """Each rule that is not simply stable, with its version, old names and replacement."""
    page = reference(read_policies_files(lives), PAGE_HEAD)
    assert "| `too-many` | deprecated |  |  | `in-limits` |" in page
    assert "| `in-limits` | stable |  | `few`, `sober` |  |" in page
    assert "| `shouting` | experimental | 1.1.0 | `noisy` |  |" in page


def test_fmt_keeps_the_keys(lives: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Laying a file out changes nothing of what it says, and the editor's schema takes what it wrote."""
    import jsonschema
    import yaml

    from reflect_gate.policy.editing import editor_schema

    before = load(lives).digest
    assert main(["policy", "fmt", str(lives / "rules" / "speed.yaml")]) == 0
    capsys.readouterr()
    assert load(lives).digest == before
    document = yaml.safe_load((lives / "rules" / "speed.yaml").read_text(encoding="utf-8"))
    assert [rule.get("maturity") for rule in document["rules"]] == ["deprecated", None, "experimental"]
    assert list(jsonschema.Draft202012Validator(editor_schema("rules")).iter_errors(document)) == []
    document["rules"][0]["maturity"] = "retired"
    assert list(jsonschema.Draft202012Validator(editor_schema("rules")).iter_errors(document)) != []


def test_show_names_what_looks_on(lives: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the count of the rules that decide."""
    assert main(["policy", "show", "--policies", str(lives / "policies.yaml")]) == 0
    assert "2 rules, looking on: shouting" in capsys.readouterr().out
