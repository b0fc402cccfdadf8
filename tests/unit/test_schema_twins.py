"""Two validators, one verdict: jsonschema, the authority, and jsonschema-rs, which is asked first."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflect_gate import schemas
from reflect_gate.errors import ReflectGateError

NAMES = schemas.names()
TWINS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Strings on which regular-expression engines, length counts or blankness are known to differ.
STRINGS = st.one_of(
    st.sampled_from(
        [
            "",
            " ",
            "\n",
            "a\n",
            "grounding\n",
            "1.0.0\n",
            "\u00e9",
            "\U0001f600",
            "e\u0301",
            "\u0085",
            "\u2028",
            "\x1c",
            "$mt",
            "\ufeffa",
        ]
    ),
    st.text(max_size=12),
)
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, 1, 1.0, -0.0, 1e300, 13.0]),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, STRINGS)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(STRINGS, inner, max_size=4)), max_leaves=8
)


def verdicts(name: str, document: object) -> tuple[bool, bool]:
    """Return what the fast validator and the authority say."""
    fast = schemas._fast(name)
    assert fast is not None
    return fast.is_valid(document), not any(True for _ in schemas._authority(name).iter_errors(document))


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value within `value`."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in inner:
        yield (*path, step)
        yield from places(child, (*path, step))


def holder(document: Any, path: tuple[Any, ...]) -> Any:
    """Return the object or array that holds the value at `path`."""
    for step in path[:-1]:
        document = document[step]
    return document


@st.composite
def mutants(draw: st.DrawFn, name: str) -> Any:
    """Return an example of a schema with one to three values replaced, removed, repeated, or added to."""
    document = copy.deepcopy(draw(st.sampled_from(schemas.schema(name)["examples"])))
    for _ in range(draw(st.integers(1, 3))):
        paths = list(places(document))
        if not paths:
            break
        path = draw(st.sampled_from(paths))
        place, step = holder(document, path), path[-1]
        action = draw(st.sampled_from(["replace", "remove", "repeat", "line end", "add"]))
        if action == "replace":
            place[step] = draw(VALUES)
        elif action == "remove":
            del place[step]
        elif action == "line end" and isinstance(place[step], str):
            place[step] += "\n"
        elif isinstance(place, list):
            place.insert(step, copy.deepcopy(place[step]))
        else:
            place[draw(STRINGS)] = draw(VALUES)
    return document


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@TWINS
def test_both_validators_agree_on_mutated_examples(name: str, data: st.DataObject) -> None:
    """A disagreement would refuse such a document by accident, or let one through that the authority refuses."""
    document = data.draw(mutants(name))
    fast, authority = verdicts(name, document)
    assert fast == authority


@given(name=st.sampled_from(NAMES), document=VALUES)
@settings(max_examples=300, deadline=None)
def test_both_validators_agree_on_any_json(name: str, document: object) -> None:
    """Whatever is sent, both refuse it (nothing this small is valid) or both take it."""
    fast, authority = verdicts(name, document)
    assert fast == authority


@pytest.mark.parametrize("name", NAMES)
def test_both_validators_agree_on_a_line_end_after_every_text(name: str) -> None:
    """`$` is the end of the text for one and the place before a last line end for the other, unless `schemas` sees to it."""
    for example in schemas.schema(name)["examples"]:
        for path in places(example):
            document = copy.deepcopy(example)
            place = holder(document, path)
            if isinstance(place[path[-1]], str):
                place[path[-1]] += "\n"
                fast, authority = verdicts(name, document)
                assert fast == authority, path


def test_a_disagreement_lets_nothing_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the fast validator refuses and the authority finds nothing wrong, the document is refused by a code of its own."""

    class Refusing:
        def is_valid(self, document: object) -> bool:
            return document is None

    monkeypatch.setattr(schemas, "_fast", lambda name: Refusing() if name else None)
    with pytest.raises(ReflectGateError) as caught:
        schemas.check("reflection", schemas.schema("reflection")["examples"][0], "example")
    assert caught.value.code == "schema-disagreement"


def test_without_the_fast_validator_the_authority_decides_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """jsonschema-rs may be missing on a platform without its wheel; nothing else changes."""
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    schemas._fast.cache_clear()
    try:
        assert schemas._fast("item") is None
        example = schemas.schema("item")["examples"][0]
        schemas.check("item", example, "example")
        with pytest.raises(ReflectGateError) as caught:
            schemas.check("item", {**example, "seq": -1}, "example")
    finally:
        schemas._fast.cache_clear()
    assert [error.code for error in caught.value.errors] == ["schema"]
