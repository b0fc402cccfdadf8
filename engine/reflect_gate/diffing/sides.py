"""The two bundles that are compared, each by its name, a policies file, a folder, an archive or a git ref."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..bundles.archive import SUFFIX
from ..bundles.gitref import git_ref
from ..bundles.layout import parsed_policies
from ..config import choose_policies
from ..errors import ReflectGateError, Source
from ..policy.build import Inputs, Parts, Resolved, assemble, read_parts, resolve
from ..policy.bundle import Bundle, LoadRequest
from ..policy.parsed import RuleDecl
from ..policy.problems import Problems
from ..policy.values import KEBAB

__all__ = ["Side", "load_side"]


class Side(NamedTuple):
    """A bundle with everything that it was made of; `label` is how it was named, `root` the folder of its policies file."""

    label: str
    request: LoadRequest
    parts: Parts
    resolved: Resolved
    bundle: Bundle
    root: Path

    def deciding(self, ruleset: str) -> dict[str, RuleDecl]:
        """Return the rules of a rule set that decide, by id: not those that look on, nor those that are off."""
        file, roles = self.parts.rulesets.get(ruleset), self.parts.roles
        rules = file.rules if file else ()
        return {rule.id: rule for rule in rules if roles.of(f"{ruleset}/{rule.id}", rule.maturity) == "decides"}

    def place(self, source: Source | None) -> str:
        """Return `file:line` as seen from the policies file, which may stand in a folder that nobody has heard of."""
        if source is None:
            return ""
        path = Path(source.file)
        for base in (self.root, self.root.parent):
            if path.is_relative_to(base):
                path = path.relative_to(base)
                break
        return f"{path.as_posix()}:{source.line}" if source.line else path.as_posix()


def load_side(text: str, policies: str | None, as_of: str) -> Side:
    """Return the side that `text` names.

    Args:
        text: a bundle of the policies file, or the place of another policies file: a file, a folder, an archive or `REF:path`;
            its default bundle, or the one behind a `#`.
        policies: the policies file whose bundles may be named; as for `choose_policies`.
        as_of: the day that decides what has expired.

    Raises:
        ReflectGateError: with every fault of the bundle's files.
    """
    place, _, name = text.rpartition("#") if "#" in text else (text, "", "")
    chosen = policies
    if not place or ("#" not in text and KEBAB.fullmatch(text) and _is_bundle(text, policies)):
        name = name or text
    elif Path(place).exists() or place.endswith(SUFFIX) or git_ref(place):
        chosen = place
    else:
        name = name or text
    problems = Problems()
    path = choose_policies(chosen).path.absolute()
    request = LoadRequest(name, path, (), (), (), as_of)
    parts = read_parts(request, Inputs(), problems)
    resolved = resolve(parts, request, problems)
    return Side(text, request, parts, resolved, assemble(request, parts, resolved, problems), path.parent)


def _is_bundle(text: str, policies: str | None) -> bool:
    """Return whether the policies file has a bundle of that name; a file of the same name is then named as `./text`."""
    path = choose_policies(policies).path
    try:
        return text in parsed_policies(path.read_bytes(), str(path)).bundles
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ReflectGateError("policy-file", f"`{path}` cannot be read: {reason}") from None
