"""Runs every lint rule that is on, applies exceptions, and sorts what is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...errors import ReflectGateError, Source
from .config import CONFIG_NAME, Config, LintException, read_config
from .model import Edit, Finding
from .registry import BY_ID, RULES
from .world import World, read_world

__all__ = ["IDLE_EXCEPTION", "Repaired", "Report", "lint", "lint_world", "repair"]

IDLE_EXCEPTION = "idle-exception"
"""The id under which an exception is told that has expired, or that excepts nothing; it cannot be switched off."""


_RENAMED = "renamed-rule"


class Report(NamedTuple):
    """What was found, in the order of files and lines; `excepted` counts what exceptions took out; `files` were read."""

    findings: tuple[Finding, ...]
    excepted: int
    files: tuple[str, ...]

    @property
    def errors(self) -> int:
        """How many findings are errors."""
        return sum(finding.severity == "error" for finding in self.findings)


def lint(policies: str | Path | None = None, as_of: str | None = None) -> Report:
    """Return what lint finds in the policies and the files beside them; raises what does not load, and a broken configuration."""
    world = read_world(policies, as_of)
    return lint_world(world, read_config(Path(world.policies.file).parent / CONFIG_NAME))


class Repaired(NamedTuple):
    """What `--fix` would write: the new text of each file, and how many findings it repairs."""

    texts: Mapping[str, str]
    findings: int


def repair(world: World, report: Report) -> Repaired:
    """Return the repairs of `report` that change nothing that decides or is tested, by the meaning before and after."""
    edits = [finding.edit for finding in report.findings if finding.edit is not None]
    texts = _edited(world.texts, edits)
    if edits and _meaning(world, texts) != world.meaning:
        sound = [edit for edit in edits if _meaning(world, _edited(world.texts, [edit])) == world.meaning]
        edits, texts = sound, _edited(world.texts, sound)
        if _meaning(world, texts) != world.meaning:
            edits, texts = [], {}
    return Repaired(texts, len(edits))


def _meaning(world: World, instead: Mapping[str, str]) -> str:
    try:
        return read_world(world.policies.file, world.as_of, instead).meaning
    except ReflectGateError:
        return ""


def _edited(texts: Mapping[str, str], edits: Sequence[Edit]) -> dict[str, str]:
    """Return the texts that edits change; later places first, so that earlier ones stay where they are."""
    found: dict[str, str] = {}
    for edit in sorted(edits, key=lambda edit: (edit.file, edit.line, edit.column), reverse=True):
        lines = found.get(edit.file, texts[edit.file]).split("\n")
        line, place = lines[edit.line - 1], edit.column - 1
        if line.startswith(edit.old, place):
            lines[edit.line - 1] = line[:place] + edit.new + line[place + len(edit.old) :]
            found[edit.file] = "\n".join(lines)
    return found


def lint_world(world: World, config: Config) -> Report:
    """Return what the rules that are on find in `world`."""
    found = list(_all(world, config))
    live = [one for one in config.exceptions if not one.expires or world.as_of <= one.expires]
    used = {one for one in live for finding in found if _excepts(one, finding, world)}
    kept = [finding for finding in found if not any(_excepts(one, finding, world) for one in live)]
    excepted = len(found) - len(kept)
    kept += _old_names(live, world, config)
    kept += _idle([one for one in config.exceptions if one not in used], world.as_of)
    kept.sort(key=lambda finding: (finding.source.file, finding.source.line, finding.source.column, finding.rule))
    return Report(tuple(kept), excepted, tuple(world.texts))


def _all(world: World, config: Config) -> Iterator[Finding]:
    for rule in RULES:
        severity = config.severities.get(rule.id, rule.severity)
        if severity != "off":
            for found in rule.find(world):
                yield Finding(rule.id, severity, found.subject, found.message, found.source, found.edit)


def _excepts(exception: LintException, finding: Finding, world: World) -> bool:
    return exception.rule == finding.rule and world.renamed.get(exception.at, exception.at) == finding.subject


def _old_names(exceptions: Sequence[LintException], world: World, config: Config) -> Iterator[Finding]:
    """Yield the exceptions that name a rule as it was called before, which except what it is called now."""
    severity = config.severities.get(_RENAMED, BY_ID[_RENAMED].severity)
    for one in exceptions:
        now = world.renamed.get(one.at)
        if now is not None and severity != "off":
            yield Finding(_RENAMED, severity, one.at, f"rule `{one.at}` is now called `{now}`", one.source, None)


def _idle(exceptions: Sequence[LintException], as_of: str) -> Iterator[Finding]:
    for one in exceptions:
        expired = bool(one.expires) and as_of > one.expires
        why = f"expired on {one.expires}" if expired else "excepts nothing"
        message = f"the exception of `{one.rule}` at `{one.at}` {why}"
        source = Source(one.source.file, one.source.line, one.source.column)
        yield Finding(IDLE_EXCEPTION, "warning", one.at, message, source, None)
