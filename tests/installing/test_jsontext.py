"""A text of JSON is changed where it stands; what is put in can be taken out again without a trace."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_gate.errors import ReflectGateError
from reflect_gate.installing.jsonc import parse
from reflect_gate.installing.jsontext import append, remove, render, replace

KEYS = st.text(st.characters(codec="utf-8"), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)
INDENTS = st.sampled_from([None, 2, 4, "\t", 0])
REMARKS = st.sampled_from(["", " ", "// no\n", "/* , ] } */", "\n", '\n  // "a": 1\n  '])
YES = st.booleans()
PLAIN = st.sampled_from([True, False, False, False])
PATIENT = settings(max_examples=60, deadline=None)
OURS = {"type": "command", "command": "/opt/reflect-gate", "args": ["evaluate", "--hook", "ü"]}


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Return a document as somebody may have laid it out, with remarks and trailing commas where they may stand."""
    return _laid_out(draw, draw(DOCUMENTS))


def _laid_out(draw: st.DrawFn, value: Any) -> str:
    if draw(PLAIN):
        return json.dumps(value, indent=draw(INDENTS), ensure_ascii=draw(YES))
    gap = draw(REMARKS)
    if isinstance(value, dict):
        inner = [f"{gap}{json.dumps(name)}{draw(REMARKS)}:{draw(REMARKS)}{_laid_out(draw, each)}" for name, each in value.items()]
        opened, closed = "{", "}"
    elif isinstance(value, list):
        inner = [gap + _laid_out(draw, each) for each in value]
        opened, closed = "[", "]"
    else:
        return json.dumps(value)
    trailing = draw(YES)
    comma = "," if inner and trailing else ""
    return opened + f"{draw(REMARKS)},".join(inner) + comma + draw(REMARKS) + closed


@PATIENT
@given(texts(), st.booleans())
def test_what_is_appended_can_be_taken_out(text: str, windows: bool) -> None:
    """To the byte, from the end of the root; between the two it is there, last, and all else is as it was."""
    text = text.replace("\n", "\r\n") if windows else text
    before = parse(text, "").value
    if "hooks" in before:
        return
    after = append(text, (), OURS, "hooks")
    assert parse(after, "").value == {**before, "hooks": OURS}
    assert list(parse(after, "").value) == [*before, "hooks"]
    root = parse(text, "")
    empty = text[root.start + 1 : root.end - 1] if not root.parts else None
    assert remove(after, ("hooks",), empty) == text


@PATIENT
@given(texts(), DOCUMENTS, st.integers(0, 3))
def test_any_member_can_go_and_the_others_stay(text: str, more: dict[str, Any], index: int) -> None:
    """Whatever stands around it, remarks included."""
    before = parse(text, "").value
    if not before:
        before, text = more, render(more)
    if not before:
        return
    name = list(before)[index % len(before)]
    after = remove(text, (name,))
    assert parse(after, "").value == {key: value for key, value in before.items() if key != name}


@PATIENT
@given(texts(), texts(), st.integers(0, 2))
def test_an_array_keeps_its_order(first: str, second: str, index: int) -> None:
    """Ours goes behind the last, also when somebody adds one behind it before it is taken out."""
    text = f'{{"list": [{first},\n {second}]}}'
    values = [parse(first, "").value, parse(second, "").value]
    ours = append(text, ("list",), OURS)
    assert parse(ours, "").value["list"] == [*values, OURS]
    theirs = append(ours, ("list",), index)
    assert parse(remove(theirs, ("list", 2)), "").value["list"] == [*values, index]
    assert remove(ours, ("list", 2)) == text


@PATIENT
@given(texts())
def test_a_replaced_value_stands_in_the_same_place(text: str) -> None:
    """And nothing else moves."""
    before = parse(text, "").value
    for name in before:
        after = replace(text, (name,), OURS)
        assert list(parse(after, "").value) == list(before)
        assert parse(after, "").value == {**before, name: OURS}


@PATIENT
@given(DOCUMENTS, INDENTS, st.booleans())
def test_plain_json_is_read_as_json_is(document: dict[str, Any], indent: int | str | None, ascii_: bool) -> None:
    """The reader agrees with the standard library's."""
    assert parse(json.dumps(document, indent=indent, ensure_ascii=ascii_), "").value == document


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('{"a": 1', "f:1:8", "expected `,` or `}`, found the end of the file"),
        ('{"a": 1\n "b": 2}', "f:2:2", "expected `,` or `}`"),
        ('{\n  "a" 1}', "f:2:7", "expected `:`"),
        ("{a: 1}", "f:1:2", "expected a name in quotes"),
        ('{"a": 01}', "f:1:8", "expected `,` or `}`"),
        ('{"a": nan}', "f:1:7", "expected a value"),
        ('{"a": "x\ny"}', "f:1:7", "expected a value"),
        ('{"a": "\\q"}', "f:1:7", "sound escapes"),
        ('{"a": 1} x', "f:1:10", "expected the end of the file"),
        ('{"a": 1, "a": 2}', "f:1:10", "`a` is there twice"),
        ("[1,,2]", "f:1:4", "expected a value"),
        ("/* open", "f:1:1", "expected a value"),
        ("[" * 200, "f:1:102", "at most 100 levels"),
    ],
)
def test_what_is_no_json_is_told_with_its_place(text: str, place: str, message: str) -> None:
    """Line and column, and what was expected there."""
    with pytest.raises(ReflectGateError) as found:
        parse(text, "f")
    assert found.value.code == "settings-syntax"
    assert str(found.value.source) == place
    assert message in found.value.message


def test_a_remark_stays_with_what_it_is_about() -> None:
    """The comma goes behind the value, and ours behind the remark."""
    text = '{\n  "a": 1 // about a\n}\n'
    after = append(text, (), 2, "b")
    assert after == '{\n  "a": 1, // about a\n  "b": 2\n}\n'
    assert remove(after, ("b",)) == text


def test_a_file_keeps_its_own_layout() -> None:
    """Tabs, line breaks of Windows, and one line."""
    assert append('{\r\n\t"a": {\r\n\t\t"b": 1\r\n\t}\r\n}', ("a",), [1], "c") == (
        '{\r\n\t"a": {\r\n\t\t"b": 1,\r\n\t\t"c": [\r\n\t\t\t1\r\n\t\t]\r\n\t}\r\n}'
    )
    assert append('{"a": 1}', (), [1], "c") == '{"a": 1, "c": [1]}'
