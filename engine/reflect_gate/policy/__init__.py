"""Policies: rule sets, lexicons and bundles from YAML, resolved, checked and compiled.

`load_bundle` is the way in. Names are imported when they are asked for, so that a warm load never reads YAML.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .bundle import Bundle, Change, Group, Lexicon, RuleSet, Setting
    from .loading import load_bundle
    from .model import Limits, Program
    from .problems import POLICY_CODES

__all__ = [
    "POLICY_CODES",
    "Bundle",
    "Change",
    "Group",
    "Lexicon",
    "Limits",
    "Program",
    "RuleSet",
    "Setting",
    "load_bundle",
]

_HOMES: Final = {
    "POLICY_CODES": "problems",
    "Bundle": "bundle",
    "Change": "bundle",
    "Group": "bundle",
    "Lexicon": "bundle",
    "Limits": "model",
    "Program": "model",
    "RuleSet": "bundle",
    "Setting": "bundle",
    "load_bundle": "loading",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    return getattr(importlib.import_module(f".{home}", __name__), name)
