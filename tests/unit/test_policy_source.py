"""YAML with places: both parsers agree, and values stay what was written."""

from __future__ import annotations

from decimal import Decimal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.facts import load_vocabulary
from reflect_gate.policy import source
from reflect_gate.policy.problems import Problems
from reflect_gate.policy.source import ListNode, MapNode, Node, ScalarNode, parse_document
from reflect_gate.policy.values import Misfit, constant, encode, parse_date, scalar_value


def parse(text: str) -> tuple[Node | None, list[str]]:
    """Return the document and the codes of its faults."""
    problems = Problems()
    node = parse_document(text.encode(), "f.yaml", problems)
    return node, [error.code for error in problems.errors]


def scalar(text: str) -> ScalarNode:
    """Return the scalar that `text` is as a value."""
    node, _ = parse(f"x: {text}\n")
    assert isinstance(node, MapNode)
    (entry,) = node.entries
    assert isinstance(entry.value, ScalarNode)
    return entry.value


def test_places_of_values() -> None:
    """Every value knows its line and column, counted from 1, in characters and not in bytes."""
    node, codes = parse("é: [ü, 'x']\nb:\n  - {c: d}\n")
    assert codes == []
    assert isinstance(node, MapNode)
    first, second = node.entries
    assert isinstance(first.value, ListNode)
    assert isinstance(second.value, ListNode)
    assert [item.source[1:3] for item in first.value.items] == [(1, 5), (1, 8)]
    assert [item.source[1:3] for item in second.value.items] == [(3, 5)]


@pytest.mark.parametrize(
    "text", ["a: [1, 'b', \"c\"]\nd:\n  - |\n    x\n  - {e: f}\n", "é: ü\r\nb: '☃' # c\r\nc: d\r\n", "- - a\n  - b: c\n"]
)
def test_pure_parser_gives_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where libyaml is not there, nodes and places are the same."""
    fast = parse(text)
    monkeypatch.setattr(source, "_LOADER", yaml.SafeLoader)
    assert parse(text) == fast


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Whatever the bytes, the reader returns a document or says why not, and never fails otherwise."""
    problems = Problems()
    node = parse_document(data, "f.yaml", problems)
    assert node is not None or len(problems) > 0


@given(
    st.recursive(
        st.text("ab01:- ", max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xyz", min_size=1, max_size=2), inner, max_size=3),
        max_leaves=12,
    )
)
def test_reads_what_yaml_writes(value: object) -> None:
    """The nodes hold the texts that PyYAML wrote, in their order."""

    def plain(node: Node | None) -> object:
        if isinstance(node, MapNode):
            return {entry.key.text: plain(entry.value) for entry in node.entries}
        if isinstance(node, ListNode):
            return [plain(item) for item in node.items]
        assert node is not None
        return node.text

    class Writer(yaml.SafeDumper):
        """Writes every value out: the reader takes no aliases."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - PyYAML's signature
            return True

    node, codes = parse(yaml.dump(value, Dumper=Writer, default_style='"'))
    assert codes == []
    assert plain(node) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-3", -3),
        ("0.5", Decimal("0.5")),
        ("0.50", Decimal("0.5")),
        ("10.0", Decimal("10.0")),
        ("'true'", "true"),
        ("'0.5'", "0.5"),
        ("plan", "plan"),
        ("2027-01-01", "2027-01-01"),
    ],
)
def test_scalar_values(text: str, value: object) -> None:
    """Plain decimal numbers are exact, `true` and `false` are flags, quoted and other text is text."""
    found = scalar_value(scalar(text))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "No",
        "ON",
        "off",
        "y",
        "True",
        "~",
        "null",
        "''"[:0],
        "0x1F",
        "0o7",
        "012",
        "1_0",
        "1:30",
        "1e3",
        ".5",
        "5.",
        ".nan",
        "-.inf",
        "+1",
    ],
)
def test_unclear_scalars(text: str) -> None:
    """What YAML 1.1 would read as something else than it looks like is refused."""
    assert isinstance(scalar_value(scalar(text)), Misfit)


@pytest.mark.parametrize("text", ["no", "on", "11", "1.5", "'x'", "2027-01-01", "0x1F"])
def test_symbols_are_text(text: str) -> None:
    """Where a name is wanted, `no`, `on` and `11` are names."""
    assert constant(scalar(text), load_vocabulary().domains["id"]) == text.strip("'")


def test_component_numbers_are_symbols() -> None:
    """The components 11 to 14 are symbols, in quotes or not, but a number of a setting is none."""
    domain = load_vocabulary().domains["component"]
    assert constant(scalar("11"), domain) == constant(scalar("'11'"), domain) == "11"
    assert isinstance(encode(11, domain), Misfit)


@given(st.integers(-10, 210), st.integers(0, 3))
def test_shares_are_exact_or_refused(whole: int, places: int) -> None:
    """A share is kept as written at two places, or refused; it is never rounded."""
    number = Decimal(whole).scaleb(-places)
    found = constant(scalar(f"{number:f}"), load_vocabulary().domains["percent"])
    scaled = number * 100
    fits = scaled == scaled.to_integral_value() and 0 <= scaled <= 100
    assert found == int(scaled) if fits else isinstance(found, Misfit)


@pytest.mark.parametrize(
    ("text", "good"), [("2026-02-28", True), ("2026-02-29", False), ("26-02-01", False), ("2026-2-1", False), ("20260201", False)]
)
def test_dates(text: str, good: bool) -> None:
    """A date is `YYYY-MM-DD` and exists."""
    assert (parse_date(text) is not None) is good
