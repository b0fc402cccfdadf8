"""Shell completion: the scripts, and the names that they complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


def complete(process: Run, *words: str, **env: str) -> list[str]:
    """Return what bash would offer after `words`, the last of them incomplete."""
    asked = {
        "_REFLECT_GATE_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["reflect-gate", *words]),
        "COMP_CWORD": str(len(words)),
    }
    code, out, err = process(env={**asked, **env})
    assert (code, err) == (0, "")
    return [line.partition(",")[2] for line in out.split()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script(here: Run, shell: str) -> None:
    """Each script asks the program by its own variable."""
    code, out, err = here("completion", shell)
    assert (code, err) == (0, "")
    assert "_REFLECT_GATE_COMPLETE" in out


def test_unknown_shell(here: Run) -> None:
    """A shell without a script is a usage error."""
    assert here("completion", "tcsh").code == 64


def test_verbs(process: Run) -> None:
    """Verbs complete from the table."""
    assert complete(process, "ev") == ["evaluate"]


def test_bundles(process: Run) -> None:
    """Bundle names come from the policies in force."""
    assert complete(process, "evaluate", "--bundle", "intro") == ["introspect"]


def test_rule_sets(process: Run) -> None:
    """Rule sets complete after `--disable`."""
    assert complete(process, "evaluate", "--disable", "gr") == ["grounding"]


def test_settings(process: Run) -> None:
    """Settings complete after `--set`, ready for their value."""
    assert "grounding.min_anchor_overlap=" in complete(process, "evaluate", "--set", "grounding.min_a")


def test_broken_policies_complete_nothing(process: Run, tmp_path: Any) -> None:
    """A policies file that does not load is no reason to write into the user's prompt."""
    broken = tmp_path / "policies.yaml"
    broken.write_text("bundles: [", encoding="utf-8")
    assert complete(process, "evaluate", "--bundle", "in", REFLECT_GATE_POLICIES=str(broken)) == []
