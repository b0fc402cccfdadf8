"""Lexicon files: from YAML to `LexiconFile`; every pattern is held to RE2 here, so that none can fail while text is measured."""

from __future__ import annotations

import functools
import unicodedata
from pathlib import PurePath
from typing import Final

from .fields import Fields, as_scalar
from .load import read_version
from .parsed import GroupDecl, LexiconFile
from .problems import Problems
from .source import ListNode, Node, ScalarNode, parse_document

__all__ = ["check_lexicon_pattern", "load_lexicon"]

_PATTERN_LENGTH: Final = 1_000
_REQUIRED: Final = ("lexicon", "version", "doc", "groups")


def load_lexicon(data: bytes, file: str, problems: Problems) -> LexiconFile | None:
    """Return the lexicon that `data` holds, or `None` where it cannot even be named; `file` is the name that sources carry."""
    root = parse_document(data, file, problems)
    if root is None:
        return None
    fields = Fields(root, "a lexicon", problems, required=_REQUIRED)
    name, version, doc = fields.name("lexicon"), read_version(fields, problems), fields.text("doc")
    node = fields.get("lexicon")
    source = node.source if node else fields.source
    stem = PurePath(file).stem
    if name and name != stem:
        problems.add("policy-name", f"lexicon `{name}` must stand in `{name}.yaml`, not `{stem}.yaml`", source)
    groups: dict[str, GroupDecl] = {}
    for item in fields.items("groups"):
        group = _group(item, problems)
        if group is None:
            continue
        first = groups.setdefault(group.id, group)
        if first is not group:
            problems.add("policy-duplicate", f"group `{group.id}` stands twice, first in line {first.source.line}", group.source)
    listed = fields.get("groups")
    if isinstance(listed, ListNode) and not listed.items:
        problems.add("policy-shape", "a lexicon needs at least one group", listed.source)
    return LexiconFile(name, version, doc, groups, file, source) if name else None


def _group(node: Node, problems: Problems) -> GroupDecl | None:
    parts = Fields(node, "a group", problems, required=("id", "doc", "patterns"), optional=("cases",))
    group_id, doc = parts.name("id"), parts.text("doc")
    patterns = _patterns(parts, problems)
    cases_node = parts.get("cases")
    hit: tuple[ScalarNode, ...] = ()
    miss: tuple[ScalarNode, ...] = ()
    if cases_node is not None:
        cases = Fields(cases_node, f"`cases` of group `{group_id}`", problems, optional=("hit", "miss"))
        hit, miss = _texts(cases, "hit", problems), _texts(cases, "miss", problems)
    id_node = parts.get("id")
    source = id_node.source if id_node else node.source
    return GroupDecl(group_id, doc, patterns, hit, miss, source) if group_id else None


def _texts(fields: Fields, key: str, problems: Problems) -> tuple[ScalarNode, ...]:
    found = (as_scalar(item, f"an entry of `{key}`", problems) for item in fields.items(key))
    return tuple(scalar for scalar in found if scalar)


def _patterns(parts: Fields, problems: Problems) -> tuple[ScalarNode, ...]:
    seen: dict[str, ScalarNode] = {}
    for scalar in _texts(parts, "patterns", problems):
        first = seen.setdefault(scalar.text, scalar)
        if first is scalar:
            check_lexicon_pattern(scalar, problems)
        else:
            problems.add(
                "policy-duplicate", f"pattern `{scalar.text}` stands twice, first in line {first.source.line}", scalar.source
            )
    listed = parts.get("patterns")
    if isinstance(listed, ListNode) and not listed.items:
        problems.add("policy-shape", "`patterns` of a group needs at least one", listed.source)
    return tuple(seen.values())


def check_lexicon_pattern(pattern: ScalarNode, problems: Problems) -> bool:
    """Note why `pattern` could not be matched or would match everywhere; true when it is sound."""
    fault = _fault(pattern.text)
    if fault:
        problems.add("policy-lexicon-pattern", fault, pattern.source)
    return not fault


@functools.lru_cache(maxsize=4096)  # The bundles of a policies file share nearly all of their patterns.
def _fault(text: str) -> str:
    """Return what is wrong with a pattern, empty where nothing is."""
    import re2

    if len(text) > _PATTERN_LENGTH:
        return f"a pattern of {len(text)} characters, more than {_PATTERN_LENGTH}"
    if unicodedata.normalize("NFKC", text) != text:
        return f"pattern `{text}` is not in the NFKC form of the text that it is matched on"
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    try:
        compiled = re2.compile(text, options)
    except re2.error as error:
        detail = error.args[0] if error.args else ""
        reason = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        return f"pattern `{text}` is not RE2: {reason}"
    return f"pattern `{text}` matches the empty text" if compiled.search("") is not None else ""
