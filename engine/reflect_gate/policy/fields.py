"""Reading mappings: required and optional keys, unknown ones with the nearest name, and values of the expected shape."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errors import Source, did_you_mean
from .problems import Problems
from .source import Entry, ListNode, MapNode, Node, ScalarNode
from .values import KEBAB, SNAKE

__all__ = ["Fields", "as_items", "as_map", "as_name", "as_scalar", "as_text", "no_such_key"]

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_NAME_LENGTH = 64


def as_map(node: Node, what: str, problems: Problems) -> tuple[Entry, ...]:
    """Return the entries of a mapping; none, with a problem, where `node` is something else."""
    if isinstance(node, MapNode):
        return node.entries
    problems.add("policy-shape", f"{what} must be a mapping{_found(node)}", node.source)
    return ()


def as_items(node: Node, what: str, problems: Problems) -> tuple[Node, ...]:
    """Return the items of a list; none, with a problem, where `node` is something else."""
    if isinstance(node, ListNode):
        return node.items
    problems.add("policy-shape", f"{what} must be a list{_found(node)}", node.source)
    return ()


def as_scalar(node: Node, what: str, problems: Problems) -> ScalarNode | None:
    """Return a scalar that says something; `None`, with a problem, for anything else."""
    if not isinstance(node, ScalarNode):
        problems.add("policy-shape", f"{what} must be one value{_found(node)}", node.source)
        return None
    if not node.text.strip() or (node.plain and node.text in _NULLS):
        problems.add("policy-value", f"{what} is empty", node.source)
        return None
    return node


def as_text(node: Node, what: str, problems: Problems) -> str:
    """Return the text of a scalar, empty with a problem for anything else."""
    scalar = as_scalar(node, what, problems)
    return scalar.text.strip() if scalar else ""


def as_name(node: Node, what: str, problems: Problems, pattern: re.Pattern[str] = KEBAB) -> str:
    """Return a name of the house's shape (`kebab-case`, or `snake_case` with `SNAKE`), empty with a problem for anything else."""
    scalar = as_scalar(node, what, problems)
    if scalar is None:
        return ""
    if pattern.fullmatch(scalar.text) and len(scalar.text) <= _NAME_LENGTH:
        return scalar.text
    shape = "snake_case" if pattern is SNAKE else "kebab-case"
    problems.add(
        "policy-name", f"{what} `{scalar.text[:80]}` must be {shape}, of at most {_NAME_LENGTH} characters", scalar.source
    )
    return ""


def _found(node: Node) -> str:
    if isinstance(node, ScalarNode):
        return f", not `{node.text[:40]}`" if node.text else ", not nothing"
    return ", not a mapping" if isinstance(node, MapNode) else ", not a list"


def no_such_key(key: ScalarNode, known: tuple[str, ...], what: str, problems: Problems) -> None:
    """Note that `what` has no such key."""
    near = did_you_mean(key.text, known)
    choice = "" if near else f"; it has {', '.join(f'`{name}`' for name in known)}"
    problems.add("policy-unknown-key", f"{what} has no key `{key.text}`{near}{choice}", key.source)


class Fields:
    """A mapping with a closed set of keys, read key by key; what is wrong goes to `problems` once."""

    def __init__(
        self, node: Node, what: str, problems: Problems, *, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()
    ) -> None:
        self.what = what
        self.source: Source = node.source
        self._problems = problems
        self._values: dict[str, Node] = {}
        known = required + optional
        for entry in as_map(node, what, problems):
            if entry.key.text in known:
                self._values[entry.key.text] = entry.value
            else:
                no_such_key(entry.key, known, what, problems)
        if isinstance(node, MapNode):
            for key in required:
                if key not in self._values:
                    problems.add("policy-missing-key", f"{what} needs the key `{key}`", node.source)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def get(self, key: str) -> Node | None:
        """Return the value of `key`, `None` where it is absent."""
        return self._values.get(key)

    def scalar(self, key: str) -> ScalarNode | None:
        """Return the scalar of `key`."""
        node = self._values.get(key)
        return as_scalar(node, self._label(key), self._problems) if node else None

    def text(self, key: str) -> str:
        """Return the text of `key`, empty where it is absent or wrong."""
        node = self._values.get(key)
        return as_text(node, self._label(key), self._problems) if node else ""

    def name(self, key: str, pattern: re.Pattern[str] = KEBAB) -> str:
        """Return the name of `key`, empty where it is absent or wrong."""
        node = self._values.get(key)
        return as_name(node, self._label(key), self._problems, pattern) if node else ""

    def items(self, key: str) -> tuple[Node, ...]:
        """Return the items of `key`, none where it is absent or wrong."""
        node = self._values.get(key)
        return as_items(node, self._label(key), self._problems) if node else ()

    def entries(self, key: str) -> Iterator[tuple[ScalarNode, Node]]:
        """Yield the entries of the mapping at `key`, none where it is absent or wrong."""
        node = self._values.get(key)
        for entry in as_map(node, self._label(key), self._problems) if node else ():
            yield entry.key, entry.value

    def _label(self, key: str) -> str:
        return f"`{key}` of {self.what}"
