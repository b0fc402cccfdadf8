"""Taking secrets out of a request before it is judged or kept.

Each secret becomes a marker, `[secret-1 redacted]`; the same secret has the same marker in the record and in the reflection, so
that a citation still matches what it cites. Ids and enumerations stay as they are: an item remains citable. What makes a text a
secret is said in `measure/_secrets.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..measure._secrets import Secret, found, suspected

__all__ = ["Redacted", "redact"]

_KEPT = frozenset(
    {"id", "ids", "failure_id", "component", "kind", "oracle", "outcome", "evidence_ids", "cited", "recalled", "language"}
    | {"recalled_beside", "signature", "prior_reflection_id", "store_view"}
)
"""Keys whose values are names or words of a fixed list; a store view holds what was redacted when it was stored."""

_LINES = frozenset({"class", "commit", "error_class", "path", "repository", "session", "site"})
_LINE, _TEXT = 4_096, 65_536
"""Characters that `item.schema.json` allows a line and a text; a marker can be longer than what it stands for."""

_ANYWHERE = 256
"""Distinct secrets of one request that are looked for beyond the places that show them to be secrets."""

_SEAM = "\x1e"


class Redacted(NamedTuple):
    """A request without secrets, and how many distinct ones were taken out."""

    request: dict[str, Any]
    secrets: int


def _texts(value: object, key: str = "") -> Iterator[str]:
    """Yield every string that may hold a secret, in an order that does not depend on the order of keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name in sorted(value):
            if name not in _KEPT:
                yield from _texts(value[name], name)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry, key)


def _merged(text: str) -> list[Secret]:
    """Return the secrets of a text in order; of overlapping ones the union."""
    merged: list[Secret] = []
    for secret in sorted(found(text)):
        if merged and secret.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Secret(last.start, max(last.end, secret.end), last.anywhere or secret.anywhere)
        else:
            merged.append(secret)
    return merged


class _Markers:
    """The markers given so far: by the secret itself."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._anywhere: set[str] = set()

    def __len__(self) -> int:
        return len(self._numbers)

    def _marker(self, secret: str) -> str:
        return f"[secret-{self._numbers.setdefault(secret, len(self._numbers) + 1)} redacted]"

    def learn(self, text: str) -> None:
        """Number the secrets of a text."""
        for secret in _merged(text):
            value = text[secret.start : secret.end]
            self._marker(value)
            if secret.anywhere:
                self._anywhere.add(value)

    def everywhere(self) -> Any:
        """Return what finds the secrets wherever they stand, the longest first, or `None`; RE2, so it is linear."""
        import re2

        values = sorted(self._anywhere, key=lambda value: (-len(value), value))[:_ANYWHERE]
        return re2.compile("|".join(map(re2.escape, values))) if values else None

    def without(self, text: str, everywhere: Any) -> str:
        """Return a text with its secrets replaced."""
        pieces, at = [], 0
        for secret in _merged(text) if suspected(text) else ():
            pieces += [text[at : secret.start], self._marker(text[secret.start : secret.end])]
            at = secret.end
        bare = "".join([*pieces, text[at:]])
        return str(everywhere.sub(lambda met: self._marker(met.group()), bare)) if everywhere else bare


def _replaced(value: Any, markers: _Markers, everywhere: Any, key: str = "") -> Any:
    if isinstance(value, str):
        text = markers.without(value, everywhere)
        return text if text == value else text[: max(len(value), _LINE if key in _LINES else _TEXT)]
    if isinstance(value, dict):
        return {name: inner if name in _KEPT else _replaced(inner, markers, everywhere, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(entry, markers, everywhere, key) for entry in value]
    return value


def redact(request: Mapping[str, Any]) -> Redacted:
    """Return `request` with a marker in place of every secret; the same request where it holds none.

    A value that is called a secret in one place is taken out wherever else it stands. Redacting again changes nothing.

    Args:
        request: an evaluation request as plain JSON data; need not be valid.
    """
    markers = _Markers()
    texts = list(_texts(dict(request)))
    # Most requests hold no secret, and one search of all their texts says so.
    for text in texts if suspected(_SEAM.join(texts)) else ():
        if suspected(text):
            markers.learn(text)
    if not len(markers):
        return Redacted(dict(request), 0)
    return Redacted(_replaced(dict(request), markers, markers.everywhere()), len(markers))
