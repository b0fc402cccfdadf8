"""How a failure ended: resolved where its command passes, escalated where the session ends before that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reflect_gate.capture.intake import take
from reflect_gate.hooks.places import Place
from reflect_gate.hooks.terminations import Session, terminations
from reflect_gate.hooks.transcripts import Evidence, read_transcript
from reflect_gate.stages._record import assemble, complete

if __package__:
    from .records import COMMAND, WRITERS
else:
    from records import COMMAND, WRITERS  # type: ignore[import-not-found, no-redef]

SESSION = Session("codex", "s-1", Place("acme/shop", "4be1c07"), (("lesson-1", -1),))
PROMPT = Evidence("user", "Count empty lines")
EDIT = Evidence("code", "int(x or 0)", "edit cart.py", "edit", "cart.py")


def ran(command: str, failed: bool | None, text: str = "", code: int | None = None) -> list[Evidence]:
    """Return a call of a command and what came back."""
    kind: Any = "test_output" if "pytest" in command else "tool_output"
    return [Evidence("action", command, command, "sh"), Evidence(kind, text, command, "sh", "", code, "", failed)]


def ended(*entries: Evidence, over: bool = True) -> list[dict[str, Any]]:
    """Return the terminations of a session."""
    return list(terminations(entries, SESSION, over=over))


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_a_termination_that_can_be_judged(name: str, tmp_path: Path) -> None:
    """It holds to the schema, is assembled to a complete record, and its repair is the edit (R-a1)."""
    entries = read_transcript(WRITERS[name](tmp_path)).entries
    (one,) = terminations(entries, SESSION, over=True)
    taken = take(one).termination
    assert complete(assemble(taken))
    assert taken["outcome"] == "resolved"
    assert [item["error_class"] for item in taken["traces"] if item.get("passed") is False] == ["ValueError"]
    assert taken["successful_trajectory"][-1]["passed"] is True
    assert (taken["repair_delta"] is None) == (name == "mini-swe-agent")


def test_a_command_that_passes_later_is_resolved_with_its_repair() -> None:
    """The repair is what was edited since the last failure; the trajectory leads to the success."""
    (one,) = ended(PROMPT, *ran("pytest -q", True, "1 failed"), EDIT, *ran("pytest -q", False, "1 passed"))
    assert one["outcome"] == "resolved"
    assert one["repair_delta"] == {"component": 14, "kind": "repair", "seq": 3, "text": "int(x or 0)", "path": "cart.py"}
    assert [item["seq"] for item in one["successful_trajectory"]] == [3, 4, 5]
    assert (one["task"], one["language"], one["failing_action_seq"]) == ("Count empty lines", "python", 1)
    assert (one["repository"], one["commit"], one["session"], one["recalled"]) == ("acme/shop", "4be1c07", "s-1", ["lesson-1"])


def test_what_came_too_late_to_prevent_a_failure_is_told_apart() -> None:
    """A lesson that was given when the failure had shown, or to another agent, is `recalled_beside`: it falsifies nothing."""
    session = SESSION._replace(given=(("early", 0), ("late", 2), ("elsewhere", None)))
    (one,) = terminations([PROMPT, *ran("pytest -q", True, "1 failed")], session, over=True)
    assert (one["recalled"], one["recalled_beside"]) == (["early"], ["late", "elsewhere"])
    assert take(one).termination["recalled_beside"] == ["late", "elsewhere"]


def test_only_the_edits_after_the_last_failure_repaired_it() -> None:
    """What was tried in vain is evidence of the failure, not its repair."""
    vain = EDIT._replace(text="int(x.strip())")
    (one,) = ended(*ran("pytest", True, "a"), vain, *ran("pytest", True, "b"), EDIT, *ran("pytest", False, "c"))
    assert one["repair_delta"]["text"] == "int(x or 0)"
    assert "int(x.strip())" in [item["text"] for item in one["traces"]]


def test_a_session_that_ends_first_escalates() -> None:
    """No repair, no successful trajectory."""
    (one,) = ended(*ran("pytest", True, "a"), EDIT)
    assert (one["outcome"], one["repair_delta"], one["successful_trajectory"]) == ("escalated", None, [])


def test_a_failure_that_goes_on_is_no_termination_yet() -> None:
    """While the session lives it may still pass."""
    assert ended(*ran("pytest", True, "a"), over=False) == []


def test_another_command_that_passes_resolves_nothing() -> None:
    """`ls` passing says nothing of the tests."""
    (one,) = ended(*ran("pytest", True, "a"), *ran("make docs", False, "b"))
    assert one["outcome"] == "escalated"


def test_each_failing_command_is_a_failure_of_its_own() -> None:
    """Two commands, two terminations, and neither shows the other's symptom."""
    both = ended(*ran("pytest", True, "ValueError: a"), *ran("make", True, "TypeError: b", 2))
    assert len({one["failure_id"] for one in both}) == 2
    assert [[item["error_class"] for item in one["traces"] if "error_class" in item] for one in both] == [
        ["ValueError"],
        ["TypeError"],
    ]


def test_the_same_failure_has_the_same_id() -> None:
    """However often it is read, with more of the session after it or less."""
    short = ended(*ran("pytest", True, "a"))
    long = ended(*ran("pytest", True, "a"), EDIT, *ran("pytest", False, "b"), *ran("ls", False))
    assert short[0]["failure_id"] == long[0]["failure_id"]
    other = list(terminations(ran("pytest", True, "a"), SESSION._replace(name="s-2"), over=True))
    assert other[0]["failure_id"] != short[0]["failure_id"]


@pytest.mark.parametrize(
    ("command", "code", "failures"), [("grep -n x y", 1, 0), ("/usr/bin/rg x", 1, 0), ("grep x y", 2, 1), ("make", 1, 1)]
)
def test_an_answer_is_no_failure(command: str, code: int, failures: int) -> None:
    """Exit code 1 of a command that asks means "no"."""
    assert len(ended(*ran(command, True, "x", code))) == failures


def test_an_error_without_a_command_escalates() -> None:
    """A run that ended at its limit has no command that could pass."""
    (one,) = ended(PROMPT, Evidence("error", "the run ended with exit_cost", error_class="exit_cost", failed=True))
    assert one["traces"][-1]["error_class"] == "exit_cost"
    assert "failing_action_seq" not in one


def test_a_long_streak_keeps_its_beginning_and_its_end() -> None:
    """A thousand attempts are a bounded termination."""
    entries = [entry for number in range(1_000) for entry in ran("pytest", True, f"try {number}")]
    (one,) = ended(*entries)
    texts = [item["text"] for item in one["traces"]]
    assert len(texts) < 100
    assert "try 0" in texts
    assert "try 999" in texts
    assert take(one).termination["failure_id"]


def test_the_command_of_a_transcript_is_found_in_it() -> None:
    """A change of folder before the command makes no difference to whether it passed."""
    from reflect_gate.hooks.transcripts._evidence import Calls

    calls = Calls()
    entries = [*calls.called("1", "sh", {"command": f"cd /w && {COMMAND}"}), *calls.returned("1", "1 failed")]
    entries += [*calls.called("2", "sh", {"command": COMMAND}), *calls.returned("2", "1 passed")]
    assert [one["outcome"] for one in ended(*entries)] == ["resolved"]
