"""The hooks of a YAML file come and go by whole lines, and every other line keeps its bytes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_gate.errors import ReflectGateError
from reflect_gate.installing.yamltext import empties, install, load, remove

ENTRY = {"command": "/opt/it's/reflect-gate evaluate --hook hermes", "timeout": 5}
ENTRIES = [("pre_llm_call", ENTRY), ("post_tool_call", ENTRY)]
WORDS = st.text("abcxyz", min_size=1, max_size=5).filter(lambda word: word not in {"y", "n"})
EVENTS = st.sampled_from(["pre_llm_call", "post_tool_call", "on_session_end", "other"])
HANDLERS = st.fixed_dictionaries({"command": st.text(max_size=12)}, optional={"timeout": st.integers(0, 9), "matcher": WORDS})
HOOKS = st.dictionaries(EVENTS, st.lists(HANDLERS, max_size=3), max_size=3)
OTHERS = st.dictionaries(WORDS, st.integers() | st.text(max_size=10) | st.lists(st.integers(), max_size=3), max_size=3)


def ours(entry: Any) -> bool:
    """Whether an entry is one of ours."""
    return isinstance(entry, dict) and "reflect-gate" in str(entry.get("command"))


@settings(max_examples=40, deadline=None)
@given(OTHERS, HOOKS | st.none(), OTHERS, st.sampled_from([2, 4]), st.booleans(), st.booleans())
def test_what_is_put_in_can_be_taken_out(
    before: dict[str, Any], hooks: dict[str, Any] | None, after: dict[str, Any], indent: int, ended: bool, windows: bool
) -> None:
    """To the byte, whatever stands before and behind; a second time changes nothing."""
    after = {name: value for name, value in after.items() if name not in before}
    parts = [before, {} if hooks is None else {"hooks": hooks}, after]
    text = "".join(yaml.safe_dump(part, indent=indent, sort_keys=False, allow_unicode=True) for part in parts if part)
    text = text if ended else text.removesuffix("\n")
    text = text.replace("\n", "\r\n") if windows else text
    document = load(text, "")
    there = install(text, "", ENTRIES, ours)
    expected = {event: list(entries or ()) for event, entries in (document.get("hooks") or {}).items()}
    for event, entry in ENTRIES:
        expected[event] = [*expected.get(event, []), entry]
    assert load(there, "") == {**document, "hooks": expected}
    assert install(there, "", ENTRIES, ours) == there
    assert remove(there, "", ours, empties(text, "")) == text


def test_an_older_one_is_renewed_where_it_stands() -> None:
    """Between others, with their remarks; what stands twice is left once."""
    text = (
        "hooks:\n  pre_llm_call:\n    - command: mine # 1\n"
        "    - command: /old/reflect-gate evaluate --hook hermes\n      timeout: 9\n"
        "    - command: theirs\n    - {command: reflect-gate hook}\n  old_event:\n    - command: reflect-gate hook\n"
    )
    assert install(text, "", ENTRIES[:1], ours) == (
        "hooks:\n  pre_llm_call:\n    - command: mine # 1\n"
        "    - command: '/opt/it''s/reflect-gate evaluate --hook hermes'\n      timeout: 5\n"
        "    - command: theirs\n"
    )


@pytest.mark.parametrize(
    ("text", "place", "code"),
    [
        ("a: [1\nb: 2", "f:2:2", "settings-syntax"),
        ("a: !!python/object:os.system x", "f:1:4", "settings-syntax"),
        ("a: *no", "f:1:4", "settings-syntax"),
        ("a: 1\n---\nb: 2", "f:2:1", "settings-syntax"),
        ("- 1", "f:1:1", "settings-shape"),
        ("hooks: 1", "f:1:1", "settings-shape"),
        ("hooks: {pre_llm_call: 3}", "f:1:1", "settings-shape"),
        ("hooks: {other: [{command: a}]}", "f", "settings-shape"),
        ("hooks:\n  pre_llm_call: [{command: a}]", "f", "settings-shape"),
        (
            "a: &a [1]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c]\n"
            + "e: &e [*d,*d,*d,*d,*d]\n" * 1
            + "f: &f [*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g]",
            "f",
            "settings-shape",
        ),
    ],
)
def test_what_cannot_be_changed_safely_is_refused(text: str, place: str, code: str) -> None:
    """With its place, and before anything is changed."""
    with pytest.raises(ReflectGateError) as found:
        install(text, "f", ENTRIES, ours)
    assert (found.value.code, str(found.value.source)) == (code, place)
