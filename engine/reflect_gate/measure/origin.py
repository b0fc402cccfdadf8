"""Where a crash comes from: the attempt, or the check and its harness.

A crash is `foreign` when everything that its message names as missing stands in no code of the record: an undefined name that
only the check uses, a module that only the check needs, an attribute of an object that the harness made. Such a crash shows that
the check is broken; of the attempt it shows nothing.

Code is read without its strings and comments. A name that the task mentions is the attempt's to define, so that its absence is
the attempt's own fault, unless the attempt defines another function that the task shows with its arguments. Where a record holds
no code, or the message names nothing, a crash is not foreign.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ._english import word_set
from ._pattern import Pattern
from .text import encodable

if TYPE_CHECKING:
    from .index import IndexedItem

__all__ = ["foreign_items", "missing_names"]

_READ = 8_192
_NAMES_LIMIT = 16

_MISSING = Pattern(
    r"name '(\w+)' is not defined",
    r"local variable '(\w+)' (?:referenced|where it is not associated)",
    r"(?m:^(?:\w*Error: )?(\w+) is not defined)",
    r"undefined: (\w+)",
    r"cannot find (?:value|function|macro|type|struct) `(\w+)`",
    r"undeclared identifier '(\w+)'",
    r"undefined (?:local variable or )?method [`'](\w+)'",
    r"symbol: +(?:variable|method|class) (\w+)",
    r"No module named '?([\w.]+)'?",
    r"cannot import name '(\w+)'",
    r"Cannot find module '([^'\n]{1,128})'",
    r"'(\w+)' object has no attribute '(\w+)'",
    r"module '([\w.]+)' has no attribute '(\w+)'",
    r"required (?:positional|keyword-only) arguments?: '(\w+)'",
    r"unexpected keyword argument '(\w+)'",
)
_TYPES = word_set(
    """
    int str float bool list dict tuple set frozenset bytes bytearray complex range nonetype none object type module function
    method generator iterator string number boolean array map null undefined slice property
    """
)
"""Names of built-in types: every message may name them."""

_WORD = Pattern(r"\w+")
_DEFINED = Pattern(r"\b(?:def|fn|func|function|sub|proc|defn|fun)\s+(\w+)")
_SHOWN = Pattern(r"(\w+)\(")
_UNREAD = Pattern(
    r'"""(?s:.*?)"""',
    r"'''(?s:.*?)'''",
    r'"(?:[^"\\\n]|\\.)*"',
    r"'(?:[^'\\\n]|\\.)*'",
    r"/\*(?s:.*?)\*/",
    r"#[^\n]*",
    r"(?m:^\s*//[^\n]*)",
)
"""Strings and comments; `//` only at the start of a line, because it divides in some languages."""

_CODE = frozenset(("code", "action"))


def missing_names(message: str) -> frozenset[str]:
    """Return the names that an error message says are missing, without names of built-in types. Linear."""
    found = (name for groups in _groups(message) for name in groups if name)
    return frozenset(name for name in found if name.casefold() not in _TYPES)


def _groups(message: str) -> Iterator[tuple[str, ...]]:
    for number, groups in enumerate(_MISSING.findall(encodable(message[:_READ]))):
        if number >= _NAMES_LIMIT:
            return
        yield groups


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(encodable(text)))


def foreign_items(items: Iterable[IndexedItem]) -> frozenset[str]:
    """Return the ids of the items whose crash comes from the check or its harness alone. Measure `origin` 1.0.0; linear."""
    known = tuple(items)
    named = {item.id: missing_names(_message(item)) for item in known if item.defect == "crash"}
    if not any(named.values()):
        return frozenset()
    code = [_UNREAD.sub(" ", encodable(str(item.item["text"]))) for item in known if item.usable and item.kind in _CODE]
    if not code:
        return frozenset()
    written = frozenset().union(*map(_words, code))
    task = [item.original for item in known if item.kind == "spec"]
    asked = frozenset[str]().union(*map(_words, task))
    shown = {name for text in task for name in _SHOWN.findall(encodable(text))}
    tried = {name for text in code for name in _DEFINED.findall(text)}
    return frozenset(
        name
        for name, missing in named.items()
        if missing and missing.isdisjoint(written) and (missing.isdisjoint(asked) or not tried.isdisjoint(shown))
    )


def _message(item: IndexedItem) -> str:
    return str(item.item.get("actual") or item.item["text"])
