"""Lint for policies: named rules over everything that the files say, as data and plain functions (`registry.RULES`)."""

from __future__ import annotations

from .config import CONFIG_NAME, Config, read_config
from .model import Edit, Finding, Found, LintRule, Severity
from .registry import BY_ID, RULES
from .run import IDLE_EXCEPTION, Repaired, Report, lint, lint_world, repair
from .world import World, read_world

__all__ = [
    "BY_ID",
    "CONFIG_NAME",
    "IDLE_EXCEPTION",
    "RULES",
    "Config",
    "Edit",
    "Finding",
    "Found",
    "LintRule",
    "Repaired",
    "Report",
    "Severity",
    "World",
    "lint",
    "lint_world",
    "read_config",
    "read_world",
    "repair",
]
