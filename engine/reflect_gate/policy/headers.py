"""The first line of a policy file, by which editors find the schema that completes and checks it.

`# yaml-language-server: $schema=<path>` names the schema's file relative to the policy file. The schemas stand in the folder
`schemas` beside the policies file, where `reflect-gate policy schema --write` puts them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from .case_files import CASES_SUFFIX

__all__ = ["FOLDER", "SCHEMA_OF", "header_line", "header_of", "kind_of", "kind_of_path", "root_of"]

FOLDER: Final = "schemas"
SCHEMA_OF: Final[Mapping[str, str]] = {"rules": "ruleset", "lexicon": "lexicon", "policies": "policies", "cases": "cases"}
"""The kinds of policy file, and the schema of each."""

_HEADER: Final = re.compile(r"# yaml-language-server: \$schema=(\S+)[ \t]*(?:\n|$)")
_KIND: Final = re.compile(r"^(ruleset|lexicon|policies|cases):", re.MULTILINE)


def header_of(text: str) -> str:
    """Return the schema that the first line names, empty where it names none."""
    found = _HEADER.match(text)
    return found[1] if found else ""


def kind_of(text: str) -> str:
    """Return the kind of a policy file by its keys, empty where it is none."""
    keys = set(_KIND.findall(text))
    if "cases" in keys:
        return "cases"
    return next(
        (kind for kind, key in (("rules", "ruleset"), ("lexicon", "lexicon"), ("policies", "policies")) if key in keys), ""
    )


def kind_of_path(path: Path, text: str) -> str:
    """Return the kind of a policy file; the name tells of cases that hold nothing yet."""
    return "cases" if path.name.endswith(CASES_SUFFIX) else kind_of(text)


def root_of(path: Path) -> Path:
    """Return the folder of the policies of a file: the nearest one above it that holds `policies.yaml`, else the file's own."""
    folder = path.resolve().parent
    return next((above for above in (folder, *folder.parents) if (above / "policies.yaml").is_file()), folder)


def header_line(path: Path, kind: str) -> str:
    """Return the first line that a policy file of this kind should have."""
    schema = root_of(path) / FOLDER / f"{SCHEMA_OF[kind]}.schema.json"
    relative = Path(os.path.relpath(schema, path.resolve().parent)).as_posix()
    return f"# yaml-language-server: $schema={relative}"
