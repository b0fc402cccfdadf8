"""`policy init`: a folder of policies that decides as the shipped one, and to which `policy new` adds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reflect_gate import load_bundle
from reflect_gate.cli import main
from reflect_gate.errors import ReflectGateError
from reflect_gate.policy.beginning import beginning
from reflect_gate.policy.build import meaning
from reflect_gate.policy.formatting import formatted
from reflect_gate.policy.headers import header_of, kind_of_path
from reflect_gate.policy.scaffold import new_rule
from reflect_gate.resources import data_path


def files_of(folder: Path) -> set[str]:
    """Return the files below a folder, by their paths in it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that `policy init` has filled."""
    monkeypatch.chdir(tmp_path)
    assert main(["policy", "init", "team"]) == 0
    return tmp_path / "team"


def test_it_decides_as_the_shipped_policies(begun: Path) -> None:
    """What the new default bundle means is what the shipped one means, in every rule, setting and lexicon."""
    ours, shipped = load_bundle(policies=begun, cache=False), load_bundle(policies=data_path("policies.yaml"), cache=False)
    assert (ours.name, shipped.name) == ("ours", "structured")
    assert meaning(ours) == meaning(shipped)
    assert all(
        Path(begun, "rules").samefile(Path(ruleset.file).parent) for ruleset in ours.rulesets if Path(ruleset.file).is_absolute()
    )


def test_it_holds_rules_cases_lexicons_and_schemas(begun: Path) -> None:
    """Every file of the shipped rules, byte for byte, and the schema that the first line of each names."""
    shipped = data_path("rules")
    assert {name.removeprefix("rules/") for name in files_of(begun) if name.startswith("rules/")} == {
        name for name in files_of(shipped) if name.endswith(".yaml")
    }
    for name in files_of(begun):
        path = begun / name
        if path.suffix == ".yaml":
            text = path.read_text(encoding="utf-8")
            assert kind_of_path(path, text)
            assert (path.parent / header_of(text)).is_file(), name
    policies = begun / "policies.yaml"
    assert formatted(policies.read_text(encoding="utf-8"), policies) == policies.read_text(encoding="utf-8")
    assert (begun / "rules" / "blame.yaml").read_bytes() == (shipped / "blame.yaml").read_bytes()


def test_nothing_is_overwritten(begun: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One file that is there is enough for nothing to be written."""
    for name in files_of(begun) - {"rules/blame.yaml"}:
        (begun / name).unlink()
    (begun / "rules" / "blame.yaml").write_text("mine\n", encoding="utf-8")
    assert main(["policy", "init", str(begun)]) == 3
    assert re.search(r"blame\.yaml: the file is there already \[policy-duplicate\]", capsys.readouterr().err)
    assert files_of(begun) == {"rules/blame.yaml"}
    assert (begun / "rules" / "blame.yaml").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize(
    ("bundle", "code"), [("Ours", "policy-name"), ("x" * 65, "policy-name"), ("introspect", "policy-duplicate")]
)
def test_names_are_held_to_their_shape(tmp_path: Path, bundle: str, code: str) -> None:
    """A bundle is kebab-case, and no shipped one."""
    with pytest.raises(ReflectGateError) as caught:
        beginning(tmp_path, bundle)
    assert caught.value.code == code
    assert files_of(tmp_path) == set()


def test_a_rule_set_joins_the_new_bundle(begun: Path) -> None:
    """It is enabled before the blank line that ends the bundle, and has a bundle without it."""
    text = new_rule(begun, "tone", "", "", "")[begun / "policies.yaml"]
    assert "    extends: structured\n    enable: [tone@1]\n\n  structured:\n" in text
    assert "  without-tone:\n" in text


@pytest.mark.parametrize(
    ("end", "after"),
    [
        ("    extends: structured  # as shipped\n", "    extends: structured # as shipped\n    enable: [tone@1]\n\n"),
        (
            "    extends: structured\n    # more to come\n",
            "    extends: structured\n    enable: [tone@1]\n    # more to come\n\n",
        ),
    ],
)
def test_comments_stay_where_they_are(begun: Path, end: str, after: str) -> None:
    """A comment beside the last value stays beside it, one below stays below."""
    path = begun / "policies.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("    extends: structured\n", end, 1), encoding="utf-8")
    assert f"{after}  structured:\n" in new_rule(begun, "tone", "", "", "")[path]
