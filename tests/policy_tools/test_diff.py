"""`policy diff`: what differs, which way it can go, which change flipped which decision, and which version that asks for."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.acceptance.corpora import folder
from tests.policy_tools.diff_reverts import counts, requests

from reflect_gate import evaluate, load_bundle, schemas
from reflect_gate.cli import main
from reflect_gate.cli.demo import load_demo
from reflect_gate.cli.demo import requests as demo_requests
from reflect_gate.diffing.behaviour import Flip, Outcome, compare, smallest
from reflect_gate.diffing.changes import Change, changes
from reflect_gate.diffing.hybrid import reverted
from reflect_gate.diffing.sides import Side, load_side
from reflect_gate.diffing.textual import file_changes
from reflect_gate.diffing.versions import Suggestion, suggestions
from reflect_gate.errors import ReflectGateError

AS_OF = "2026-01-01"

RULES = """ruleset: hedging
version: 1.0.0
stage: calibrate
doc: A rule set for tests.
neutral: calibrated
settings:
  limit: {default: 2, doc: Hedges that a lesson may hold.}
tables:
  watched: {doc: Fields., columns: {target: target}, rows: [{target: scope}]}
derive:
  noisy: {target: target}
rules:
  - id: few
    doc: Few hedges.
    when:
      - lesson: {hedges: {lte: $limit}}
    then:
      - finding: {verdict: calibrated, reason: plain}
  - id: many
    doc: Many hedges.
    when:
      - lesson: {hedges: {gt: $limit}}
    then:
      - finding: {verdict: shallow, reason: hedged}
  - id: loud-field
    doc: A watched field shouts.
    when:
      - watched as w: {}
      - hits: {lexicon: noise, target: $w.target}
    then:
      - noisy: {target: $w.target}
  - id: loud
    doc: A field shouts.
    when:
      - noisy: {}
    then:
      - finding: {verdict: too_vague, reason: loud}
"""
LEXICON = """lexicon: noise
version: 1.0.0
doc: A lexicon for tests.
groups:
  - {id: shouts, doc: Shouts., patterns: [hurrah, ahoy], cases: {hit: [Hurrah and ahoy], miss: [Quiet]}}
"""
HEDGES = """lexicon: hedges
version: 1.0.0
doc: Hedges.
groups:
  - {id: hedges, doc: Hedges., patterns: [perhaps, maybe], cases: {hit: [Perhaps maybe], miss: [Sure]}}
"""
POLICIES = """policies: 1
default: ours
rules: rules
lexicons: lexicons
engine: {mode: compiled}
bundles:
  ours: {doc: Ours., rulesets: [hedging]}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own."""
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def side(tmp_path: Path) -> Callable[..., Side]:
    """Return a side of the rules above, with texts replaced in whichever file has them."""
    made: list[Path] = []

    def build(*replaced: tuple[str, str]) -> Side:
        root = tmp_path / f"side{len(made)}"
        made.append(root)
        for name, text in {
            "policies.yaml": POLICIES,
            "rules/hedging.yaml": RULES,
            "lexicons/noise.yaml": LEXICON,
            "lexicons/hedges.yaml": HEDGES,
        }.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(functools.reduce(lambda said, pair: said.replace(*pair), replaced, text))
        return load_side(str(root), None, AS_OF)

    return build


def told(found: list[Change]) -> list[tuple[str, str, str]]:
    """Return what changes, and which way it can go."""
    return [(change.kind, change.name, change.can) for change in found]


# -- what is in force ---------------------------------------------------------------------------------------------------------


def test_equal_sides_have_no_changes(side: Callable[..., Side]) -> None:
    """Comments, docs and layout change the text and nothing that is in force."""
    before, after = side(), side(("doc: Few hedges.", "doc: Hardly any.  # a remark"))
    assert changes(before, after) == []
    assert [(file.path, file.added, file.removed) for file in file_changes(before, after)] == [("rules/hedging.yaml", 1, 1)]


STRICTER = "      - lesson: {hedges: {gt: $limit}}\n"
CASES: dict[str, tuple[tuple[str, str], tuple[str, str, str]]] = {
    "an earning rule gets more": (("default: 2", "default: 5"), ("setting", "hedging.limit", "milder")),
    "an earning rule gets less": (("default: 2", "default: 1"), ("setting", "hedging.limit", "stricter")),
    "a rule refuses less": (
        (STRICTER, STRICTER.replace("hedges:", "cause: false, hedges:")),
        ("rule", "hedging/many", "either"),
    ),
    "another verdict": (("verdict: shallow", "verdict: episodic"), ("rule", "hedging/many", "either")),
    "another row": (("rows: [{target: scope}]", "rows: [{target: counterfactual}]"), ("table", "hedging.watched", "either")),
    "a pattern more": (("[hurrah, ahoy]", "[hurrah, ahoy, eureka]"), ("pattern", "noise/shouts", "either")),
    "another limit": (("engine: {mode", "limits: {items: 7}\nengine: {mode"), ("limit", "items", "neither")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_one_change(side: Callable[..., Side], name: str) -> None:
    """Each is found alone, under its kind and name, with the way that it can go."""
    replaced, expected = CASES[name]
    found = told(changes(side(), side(replaced)))
    if name.startswith("an earning rule"):
        # The other rule reads the same setting the other way round: together, either.
        assert found == [(*expected[:2], "either")] or found == [expected]
    else:
        assert found == [expected]


MILD = """  - id: extra
    doc: Another rule.
    when:
      - lesson: {hedges: {gt: 7}}
    then:
      - finding: {verdict: VERDICT, reason: extra}
"""


@pytest.mark.parametrize(("verdict", "can"), [("too_vague", "stricter"), ("calibrated", "milder"), ("shallow", "either")])
def test_which_way_a_rule_can_go(side: Callable[..., Side], verdict: str, can: str) -> None:
    """At least as severe as the default: stricter. The mildest: milder, where nothing else is said. Between them: either."""
    before, after = side(), side(("  - id: many", MILD.replace("VERDICT", verdict) + "  - id: many"))
    assert told(changes(before, after)) == [("rule", "hedging/extra", can)]
    mirrored = {"stricter": "milder", "milder": "stricter"}.get(can, can)
    assert told(changes(after, before)) == [("rule", "hedging/extra", mirrored)]


def test_a_pattern_of_a_rule_that_says_the_default(side: Callable[..., Side]) -> None:
    """Where rules name the lexicon themselves, and only to refuse, one more pattern is stricter and one less milder."""
    direct = ("      - noisy: {}\n", "      - noisy: {}\n      - hits: {lexicon: hedges}\n")
    plain = (
        """    then:
      - noisy: {target: $w.target}
  - id: loud
    doc: A field shouts.
    when:
      - noisy: {}
""",
        "",
    )
    tidy = ("derive:\n  noisy: {target: target}\n", "")
    before, after = side(plain, tidy), side(plain, tidy, ("[hurrah, ahoy]", "[hurrah, ahoy, eureka]"))
    assert told(changes(before, after)) == [("pattern", "noise/shouts", "stricter")]
    assert told(changes(after, before)) == [("pattern", "noise/shouts", "milder")]
    # What a measure counts with is read under other names, so it may go either way.
    counted = changes(side(direct), side(direct, ("[perhaps, maybe]", "[perhaps, maybe, might]")))
    assert told(counted) == [("pattern", "hedges/hedges", "either")]


@pytest.mark.parametrize("name", CASES)
def test_all_changes_taken_back_give_the_first_bundle(side: Callable[..., Side], name: str) -> None:
    """The mixture of both sides is complete: nothing that decides is left of the second one."""
    before, after = side(), side(CASES[name][0])
    back = reverted(before, after, changes(before, after))
    assert back.digest == before.bundle.digest != after.bundle.digest
    assert reverted(before, after, []).digest == after.bundle.digest


def test_a_rule_is_taken_back_with_what_it_reads(side: Callable[..., Side]) -> None:
    """A removed rule returns with its setting and its derived type, and one that was added goes with them."""
    cut = RULES[RULES.index("  - id: loud-field") :]
    before, after = side(), side((cut, ""), ("derive:\n  noisy: {target: target}\n", ""), ("limit", "most"))
    found = changes(before, after)
    assert {change.name for change in found if change.kind == "rule"} == {
        "hedging/few",
        "hedging/many",
        "hedging/loud",
        "hedging/loud-field",
    }
    assert reverted(before, after, found).digest == before.bundle.digest
    assert reverted(after, before, changes(after, before)).digest == after.bundle.digest


def test_parts_that_do_not_fit_are_no_bundle(side: Callable[..., Side]) -> None:
    """A rule alone that reads what only the other side derives."""
    cut = RULES[RULES.index("  - id: loud-field") :]
    before, after = side(), side((cut, ""), ("derive:\n  noisy: {target: target}\n", ""))
    only = [change for change in changes(before, after) if change.name == "hedging/loud"]
    with pytest.raises(ReflectGateError):
        reverted(before, after, only)


# -- decisions ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped() -> dict[str, Side]:
    """The shipped bundles that the tests compare."""
    return {name: load_side(name, None, AS_OF) for name in ("structured", "introspect", "episodic-line-level")}


@pytest.fixture
def judged(request_document: dict[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """One request that is admitted, and one of a line-level lesson."""
    return [("good", request_document), ("line-level", dict(demo_requests(load_demo()))["line-level"])]


def test_a_flip_is_put_down_to_its_setting(shipped: dict[str, Side], judged: list[tuple[str, Mapping[str, Any]]]) -> None:
    """A setting, of which the option takes it back, and the rule that carries the stricter decision."""
    before, after = shipped["structured"], shipped["episodic-line-level"]
    found = compare(before, after, changes(before, after), judged)
    assert found.judged == 2
    (flip,) = found.flips
    assert (flip.place, flip.before.status, flip.way) == ("line-level", "refused", "milder")
    assert flip.cause is not None
    (change,) = flip.cause.changes
    assert change.revert == "--set calibration.line_level_verdict=shallow"
    assert flip.cause.rules[0].startswith("calibration/")


def test_every_flip_of_the_naive_baseline_is_attributed(
    shipped: dict[str, Side], judged: list[tuple[str, Mapping[str, Any]]]
) -> None:
    """Taking back the named rule sets, by the loader's own options, decides as before."""
    before, after = shipped["structured"], shipped["introspect"]
    found = compare(before, after, changes(before, after), judged)
    assert found.flips
    for flip in found.flips:
        assert flip.cause is not None
        enable = [change.name for change in flip.cause.changes]
        decision = evaluate(dict(judged)[flip.place], load_bundle("introspect", enable=enable, as_of=AS_OF, cache=False))
        assert (decision.status, decision.reason) == flip.before
        for left_out in enable:
            fewer = [name for name in enable if name != left_out]
            decision = evaluate(dict(judged)[flip.place], load_bundle("introspect", enable=fewer, as_of=AS_OF, cache=False))
            assert (decision.status, decision.reason) != flip.before


def test_a_request_that_cannot_be_judged_any_more(side: Callable[..., Side], judged: list[tuple[str, Mapping[str, Any]]]) -> None:
    """An error admits nothing, so it counts as stricter; a limit is its cause."""
    before, after = side(), side(("engine: {mode", "limits: {items: 1}\nengine: {mode"))
    found = compare(before, after, changes(before, after), judged[:1])
    (flip,) = found.flips
    assert (flip.after.status, flip.way) == ("error", "stricter")
    assert flip.cause is not None
    assert [change.name for change in flip.cause.changes] == ["items"]


@pytest.mark.corpora
@pytest.mark.skipif(not folder().is_dir(), reason="the corpora are not here")
def test_must_show_on_a_part_of_the_corpus() -> None:
    """Every flip between `structured` and `introspect` is attributed, and comes back by the named rule sets and rules alone."""
    found = counts("structured", "introspect", requests("reflexion_programming", 8))
    assert found["flips"] > 2
    assert found["flips"] == found["attributed"] == found["by_options"] == found["by_rules"]


@pytest.mark.parametrize("wanted", [set(), {3}, {0, 7}, {2, 5, 6}, set(range(8))])
def test_smallest_finds_what_is_needed(wanted: set[int]) -> None:
    """Whatever is needed and nothing else, with few trials."""
    trials = []

    def holds(parts: Any) -> bool:
        trials.append(parts)
        return wanted <= set(parts)

    assert set(smallest(range(8), holds)) == wanted
    assert len(trials) <= 40


# -- versions -----------------------------------------------------------------------------------------------------------------


def suggested(before: Side, after: Side, flips: tuple[Flip, ...] = ()) -> dict[str, Suggestion]:
    """Return the suggestions by rule set."""
    found = suggestions(before, after, changes(before, after), file_changes(before, after), flips)
    return {one.ruleset: one for one in found}


def test_versions(side: Callable[..., Side]) -> None:
    """Milder: major. Stricter: minor. Text: patch. Nothing: none."""
    added = ("  - id: many", MILD.replace("VERDICT", "too_vague") + "  - id: many")
    assert suggested(side(), side())[""].bump == "none"
    assert suggested(side(), side(("doc: Few hedges.", "doc: Hardly any.")))["hedging"].bump == "patch"
    assert suggested(side(), side(added))["hedging"].bump == "minor"
    assert suggested(side(added), side())["hedging"].bump == "major"
    assert "reason extra of hedging is gone" in suggested(side(added), side())["hedging"].why


@pytest.mark.parametrize(
    ("version", "enough"), [("1.0.0", False), ("1.0.1", False), ("1.1.0", True), ("2.0.0", True), ("0.9.0", False)]
)
def test_a_version_that_moved_too_little(side: Callable[..., Side], version: str, enough: bool) -> None:
    """A rule that can only make it stricter asks for a minor version at least."""
    added = ("  - id: many", MILD.replace("VERDICT", "too_vague") + "  - id: many")
    assert suggested(side(), side(added, ("1.0.0\nstage", f"{version}\nstage")))["hedging"].enough is enough


def test_a_decision_that_got_milder_asks_for_a_major_version(side: Callable[..., Side]) -> None:
    """Whatever the files seem to say."""
    flip = Flip("x", "f", Outcome("refused", "shallow"), Outcome("admitted", None), None)
    assert suggested(side(), side(), (flip,))[""].bump == "major"


# -- the command line ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def corpus(tmp_path: Path, judged: list[tuple[str, Mapping[str, Any]]]) -> str:
    """The requests as a file."""
    path = tmp_path / "requests.ndjson"
    path.write_bytes(b"".join(orjson.dumps(request) + b"\n" for _, request in judged))
    return str(path)


def test_exit_codes(corpus: str) -> None:
    """0 without a demand; 5 where a decision differs that may not, or got milder; stricter is allowed."""
    mild = ["policy", "diff", "structured", "episodic-line-level", "--corpus", corpus]
    strict = ["policy", "diff", "episodic-line-level", "structured", "--corpus", corpus]
    assert main([*mild, "--allow-only", "stricter"]) == 5
    assert main([*strict, "--allow-only", "stricter"]) == 0
    assert main([*strict, "--fail-any"]) == 5


def test_exit_codes_without_a_corpus(side: Callable[..., Side], capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Then what may be milder, and what differs in force, counts."""
    first, mild = str(side().root), str(side(("default: 2", "default: 5")).root)
    strict = str(side(("  - id: many", MILD.replace("VERDICT", "too_vague") + "  - id: many")).root)
    assert main(["policy", "diff", first, first, "--fail-any"]) == 0
    assert main(["policy", "diff", first, strict, "--fail-any"]) == 5
    assert main(["policy", "diff", first, strict, "--allow-only", "stricter"]) == 0
    assert main(["policy", "diff", first, mild, "--allow-only", "stricter"]) == 5
    assert b"none may" in capsysbinary.readouterr().err


def test_the_document_is_as_its_schema_says(corpus: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """And names each flip's causes by their places."""
    assert main(["policy", "diff", "structured", "episodic-line-level", "--corpus", corpus, "-f", "json"]) == 0
    document = orjson.loads(capsysbinary.readouterr().out)
    schemas.check("policy-diff", document, "diff")
    (flip,) = document["behaviour"]["decisions"]
    assert document["changes"][flip["changes"][0]]["name"] == "calibration.line_level_verdict"
    assert document["behaviour"]["attributed"] == 1


def test_a_line_that_is_no_request(corpus: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """It is told with its place; the rest is judged; the exit code says that not all was."""
    with Path(corpus).open("ab") as stream:
        stream.write(b"{\n")
    assert main(["policy", "diff", "structured", "structured", "--corpus", corpus]) == 3
    said = capsysbinary.readouterr()
    assert b"decisions: 0 of 2 differ" in said.out
    assert b"requests.ndjson:3" in said.err


def test_a_commit_against_the_working_tree(
    side: Callable[..., Side], monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The lines of the files, and the place as the policies file has it."""
    root = side().root
    monkeypatch.chdir(root)
    for arguments in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"]):
        subprocess.run(["git", *arguments], check=True, capture_output=True)  # noqa: S607 - the git of the machine
    (root / "rules/hedging.yaml").write_text(RULES.replace("default: 2", "default: 4"))
    assert main(["policy", "diff", "HEAD:policies.yaml", "./policies.yaml", "--lines"]) == 0
    said = capsysbinary.readouterr().out.decode()
    assert "+  limit: {default: 4, doc: Hedges that a lesson may hold.}" in said
    assert "rules/hedging.yaml:7" in said


def test_a_side_is_named_in_several_ways(side: Callable[..., Side], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By bundle, by file or folder with a bundle, and by the bundle alone behind `#`; a bundle goes before a file of its name."""
    root = side().root
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ours").write_text("")
    expected = load_side(str(root), None, AS_OF).bundle.digest
    named = [load_side(text, str(root), AS_OF).bundle for text in ("ours", "#ours", f"{root}#ours", f"{root}/policies.yaml")]
    assert [bundle.digest for bundle in named] == [expected] * 4


def test_a_name_that_is_nothing(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """A misspelt bundle is answered with the nearest."""
    assert main(["policy", "diff", "structured", "introspct"]) == 3
    assert b"did you mean `introspect`?" in capsysbinary.readouterr().err
