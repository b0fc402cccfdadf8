"""A folder of policies to begin with: the shipped rules with their cases and lexicons, and a bundle of one's own on top."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from ..errors import ReflectGateError, Source
from ..resources import data_path
from .editing import editor_schema
from .formatting import formatted, round_trip
from .headers import FOLDER, SCHEMA_OF
from .scaffold import dumped
from .values import KEBAB

__all__ = ["beginning"]

_POLICIES: Final = "policies.yaml"
_RULES: Final = "rules"
_LEXICONS: Final = "rules/lexicons"


def beginning(folder: Path, bundle: str) -> dict[Path, str]:
    """Return the files of a new folder of policies, with what each holds.

    The shipped rules are copied and not referred to, so that an upgrade of the package changes no decision of the team before
    its author has looked at it. `bundle` is the default one; it extends the shipped default and changes nothing of it yet.

    Raises:
        ReflectGateError: `policy-name` for a name that is no kebab-case, `policy-duplicate` for one that a shipped bundle has
            and for every file that is there already.
    """
    if not (KEBAB.fullmatch(bundle) and len(bundle) <= 64):
        raise ReflectGateError("policy-name", f"bundle `{bundle[:80]}` must be kebab-case, of at most 64 characters")
    policies = folder / _POLICIES
    texts = {policies: formatted(_policies(bundle), policies)}
    shipped = data_path(_RULES)
    texts |= {folder / _RULES / file.relative_to(shipped): _text(file) for file in sorted(shipped.rglob("*.yaml"))}
    for kind, name in SCHEMA_OF.items():
        schema = json.dumps(editor_schema(kind), indent=2, ensure_ascii=False)
        texts[folder / FOLDER / f"{name}.schema.json"] = f"{schema}\n"
    there = [path for path in texts if path.exists() or path.is_symlink()]
    if there:
        more = f", with {len(there) - 1} more" if there[1:] else ""
        raise ReflectGateError("policy-duplicate", f"the file is there already{more}", Source(str(there[0])))
    return texts


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8")


def _policies(bundle: str) -> str:
    reader = round_trip()
    loaded: Any = reader.load(_text(data_path(_POLICIES)))
    bundles, default = loaded["bundles"], loaded["default"]
    if bundle in bundles:
        message = f"the shipped policies have a bundle `{bundle}` already: choose another name"
        raise ReflectGateError("policy-duplicate", message)
    loaded["default"] = bundle
    place = list(loaded).index("default") + 1
    loaded.insert(place, "rules", _RULES)
    loaded.insert(place + 1, "lexicons", _LEXICONS)
    # First, so that an author finds it without reading past the shipped ones.
    own = reader.load(f"doc: What the team adds to the bundle {default}.\nextends: {default}\n")
    bundles.insert(0, bundle, own)
    return dumped(reader, loaded).replace(f"\n  {default}:", f"\n\n  {default}:", 1)
