"""Where the parts that put jobs into the queue come together, and only there."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

from reflect_gate import capture, jobs
from reflect_gate.capture.working import HANDLER


def test_the_pool_finds_the_handler_by_its_name() -> None:
    """No type checker sees the name."""
    module, _, name = HANDLER.partition(":")
    assert getattr(importlib.import_module(module), name) is jobs.handle


def test_what_captures_imports_no_hook() -> None:
    """Hooks import `capture`; the other way would be a cycle of packages."""
    modules = sorted(Path(str(capture.__file__)).parent.glob("*.py"))
    imported = {
        name.partition(".")[0]
        for module in modules
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level == 2
        for name in ([node.module] if node.module else [alias.name for alias in node.names])
    }
    assert "policy" in imported
    assert not imported & {"hooks", "jobs"}
