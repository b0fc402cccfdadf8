"""One layout for policy files, with every comment kept: what `policy fmt` writes.

Blocks are indented by two, items of lists by two below their key; flow collections are spaced alike and become blocks where they
do not fit in `WIDTH` columns; long docs and reasons are folded; the first line names the schema for editors. What a file says is
compared before and after, as are its comments: where either differed, or a second run would change more, nothing is returned.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, MutableMapping, MutableSequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from ..errors import ReflectGateError, Source
from .headers import header_line, header_of, kind_of_path
from .problems import Problems
from .source import ListNode, MapNode, Node, parse_document

__all__ = ["WIDTH", "formatted", "round_trip"]

WIDTH: Final = 200
"""Columns that a flow collection or a doc may reach to."""

_FOLD: Final = 128
_PROSE: Final = frozenset({"doc", "reason"})
_UNBOUND: Final = 1 << 20
_LOADER: Final[type] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BLANK: Final = re.compile("\n{3,}")


def formatted(text: str, path: Path) -> str:
    """Return the text of a policy file in the one layout.

    Raises what is wrong with it as YAML, `policy-shape` where it is no policy file, `policy-format` where it could not be laid
    out without changing what it says.
    """
    file = str(path)
    source = text.replace("\r\n", "\n")
    before = _tree(source, file)
    kind = kind_of_path(path, source)
    if not kind:
        message = "no policy file: it has none of the keys `ruleset`, `lexicon`, `policies` and `cases`"
        raise ReflectGateError("policy-shape", message, Source(file, 1, 1))
    result = _laid_out(source, path, kind)
    known, kept = _comments(source), _comments(result)
    if not header_of(source):
        kept = kept[1:]
    if _said(_tree(result, file)) != _said(before) or known != kept or _laid_out(result, path, kind) != result:
        message = "the file cannot be laid out without changing what it says: it stays as it is"
        raise ReflectGateError("policy-format", message, Source(file))
    return result


def _laid_out(text: str, path: Path, kind: str) -> str:
    if not header_of(text):
        text = f"{header_line(path, kind)}\n{text}"
    reader = round_trip()
    loaded = reader.load(text)
    _arrange(loaded, 0)
    stream = io.StringIO()
    reader.dump(loaded, stream)
    result = "\n".join(line.rstrip() for line in stream.getvalue().split("\n")).rstrip("\n") + "\n"
    return _blank_lines_joined(_comments_moved(result, text))


def _tree(text: str, file: str) -> Node:
    problems = Problems()
    root = parse_document(text.encode("utf-8"), file, problems)
    problems.stop_if_any()
    if root is None:
        raise ReflectGateError("policy-shape", "the file is empty", Source(file))
    return root


def _said(node: Node, key: str = "") -> object:
    """Return what a node says without its places; of prose the text alone counts, however it was quoted or folded."""
    if isinstance(node, MapNode):
        return [(entry.key.text, _said(entry.value, entry.key.text)) for entry in node.entries]
    if isinstance(node, ListNode):
        return [_said(item) for item in node.items]
    return node.text.strip() if key in _PROSE else (node.text, node.plain)


# -- comments ------------------------------------------------------------------------------------------------------------


class _Comment(NamedTuple):
    """A comment: where it stands, whether alone on its line, and whether it is level with the line before but not the next."""

    text: str
    start: int
    alone: bool
    follows: bool


def _comments(text: str) -> list[str]:
    """Return the comments, in order: what stands between the tokens and begins with `#`."""
    return [comment.text for comment in _placed(text)]


def _placed(text: str) -> list[_Comment]:
    found: list[_Comment] = []
    last = 0
    for start, end in _gaps(text):
        at = text.find("#", start, end)
        while at >= 0:
            stop = text.find("\n", at, end)
            stop = end if stop < 0 else stop
            line = text.rfind("\n", 0, at) + 1
            alone = not text[line:at].strip()
            before, after = _indent(text, last), _indent(text, end)
            # An entry that is commented out goes with the entries before it, also where the next key stands in the same column.
            level = at - line == before and (before != after or text.startswith("# - ", at))
            found.append(_Comment(text[at:stop].rstrip(), at, alone, alone and level))
            at = text.find("#", stop, end)
        last = end
    return found


def _gaps(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places between the tokens."""
    end = 0
    for token in yaml.scan(text, Loader=_LOADER):
        if token.start_mark.index > end:
            yield end, token.start_mark.index
        end = max(end, token.end_mark.index)
    if end < len(text):
        yield end, len(text)


def _indent(text: str, place: int) -> int:
    """Return the column at which the line of `place` begins."""
    line = text[text.rfind("\n", 0, place) + 1 :].split("\n", 1)[0]
    return len(line) - len(line.lstrip())


def _comments_moved(text: str, source: str) -> str:
    """Return `text` with one space before each comment at the end of a line, and the others level with what they speak of."""
    known, found = _placed(source), _placed(text)
    if len(known) != len(found):
        return text
    for comment, behind in reversed([(comment, before.follows) for comment, before in zip(found, known, strict=True)]):
        line = text.rfind("\n", 0, comment.start) + 1
        if comment.alone:
            lead = " " * _level(text, comment.start, behind=behind)
        else:
            lead = text[line : comment.start].rstrip() + " "
        text = text[:line] + lead + text[comment.start :]
    return text


def _level(text: str, place: int, *, behind: bool) -> int:
    """Return the column of the line before that is no comment, or of the next one; 0 where there is none."""
    lines = text[:place].split("\n")[-2::-1] if behind else text[place:].split("\n")[1:]
    told = (line for line in lines if line.strip() and not line.strip().startswith("#"))
    return next((len(line) - len(line.lstrip()) for line in told), 0)


def _blank_lines_joined(text: str) -> str:
    """Return `text` with at most one empty line between what it says."""
    for start, end in reversed(list(_gaps(text))):
        text = text[:start] + _BLANK.sub("\n\n", text[start:end]) + text[end:]
    return text


# -- the round trip ------------------------------------------------------------------------------------------------------


def round_trip() -> Any:
    """Return a reader and writer that leaves every scalar as it is written."""
    import ruamel.yaml
    from ruamel.yaml.nodes import ScalarNode as RoundTripScalar
    from ruamel.yaml.resolver import VersionedResolver
    from ruamel.yaml.tag import Tag

    class Verbatim(VersionedResolver):  # type: ignore[misc,unused-ignore]
        """No scalar is taken for a number, a flag or nothing, so none is written in another way."""

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            return Tag(suffix="tag:yaml.org,2002:str") if kind is RoundTripScalar else super().resolve(kind, value, implicit)

    found = ruamel.yaml.YAML(typ="rt", pure=True)
    found.Resolver = Verbatim
    found.preserve_quotes = True
    found.width = _UNBOUND
    found.allow_unicode = True
    found.indent(mapping=2, sequence=4, offset=2)
    return found


def _arrange(node: Any, column: int) -> None:
    """Turn flow collections that do not fit into blocks, and fold prose that does not; `column` is where `node` begins."""
    for key, value, place in _children(node, column):
        if _is_collection(value):
            if value.fa.flow_style() and place + _flow_length(value) > WIDTH:
                value.fa.set_block_style()
            if not value.fa.flow_style():
                _arrange(value, column + 2 if isinstance(node, MutableMapping) else column + 4)
        elif key in _PROSE and type(value).__name__ in {"str", "PlainScalarString"} and place + len(value) > WIDTH:
            node[key] = _folded(str(value), column)


def _is_collection(value: object) -> bool:
    return isinstance(value, MutableMapping | MutableSequence)


def _children(node: Any, column: int) -> Iterator[tuple[Any, Any, int]]:
    """Yield `(key, value, column at which the value begins)` of a block collection."""
    if isinstance(node, MutableMapping):
        for key, value in list(node.items()):
            yield key, value, column + len(str(key)) + 2
    elif isinstance(node, MutableSequence):
        for index, value in enumerate(node):
            yield index, value, column + 4


def _flow_length(node: Any) -> int:
    """Return the columns that a flow collection takes on one line."""
    if isinstance(node, MutableMapping):
        inner = [len(str(key)) + 2 + _flow_length(value) for key, value in node.items()]
    elif isinstance(node, MutableSequence):
        inner = [_flow_length(value) for value in node]
    else:
        return len(str(node)) + (0 if type(node) is str else 2)
    return sum(inner) + 2 * len(inner)


def _folded(text: str, column: int) -> Any:
    """Return prose as a folded block, broken at spaces."""
    from ruamel.yaml.scalarstring import FoldedScalarString

    found = FoldedScalarString(text)
    place, breaks = 0, []
    for line in textwrap.wrap(text, _FOLD - column, break_long_words=False, break_on_hyphens=False)[:-1]:
        place = text.index(line, place) + len(line)
        breaks.append(place)
    found.fold_pos = breaks
    return found
