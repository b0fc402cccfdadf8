"""The part of `doctor` that looks at harnesses: which hooks are installed, whether their command is there and delivers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ..errors import ReflectGateError

if TYPE_CHECKING:
    from ..installing.finding import Installed
    from ..installing.harnesses import Harness, Where

__all__ = ["Finding", "hook_checks"]

_LISTED: Final = 4


class Finding(NamedTuple):
    """One thing that was found; as `doctor.Check`."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""


def hook_checks() -> Iterator[Finding]:
    """Yield how the hooks of each harness stand, for the user and for the project here."""
    from ..installing.finding import wheres
    from ..installing.harnesses import HARNESSES

    some = False
    for harness in HARNESSES:
        for where in wheres(harness):
            for finding in _checked(harness, where):
                some = True
                yield finding
    if not some:
        yield Finding("hooks", "ok", "no harness has them", "reflect-gate init")


def _checked(harness: Harness, where: Where) -> Iterator[Finding]:
    from ..installing.finding import installed, switched_off

    name = f"hooks of {harness.name}"
    again = f"reflect-gate init {harness.name}" + ("" if where.scope == harness.scopes[0] else f" --{where.scope}")
    try:
        ours = list(installed(harness, where))
    except ReflectGateError as error:
        yield Finding(name, "warn", f"({where.scope}) {error}", "mend the file, or move it away")
        return
    if not ours:
        return
    off = switched_off(harness, where)
    if off:
        yield Finding(name, "warn", f"({where.scope}) {'; '.join(off)}", "take that setting out")
        return
    yield _stands(name, harness, where, ours, again)


def _stands(name: str, harness: Harness, where: Where, ours: list[Installed], again: str) -> Finding:
    place = f"({where.scope}) {ours[0].file}"
    missing = list(dict.fromkeys(one.argv[0] for one in ours if not one.argv or not _there(one.argv[0])))
    if missing:
        return Finding(name, "fail", f"{place}: `{missing[0]}` is not there, or cannot be run", again)
    shut = next((one.file for one in ours if one.script and os.name == "posix" and not os.access(one.file, os.X_OK)), None)
    if shut is not None:
        return Finding(name, "fail", f"{place}: `{shut}` cannot be run", f"chmod +x {shut}")
    lacking = sorted(_wanted(harness, where) - {one.event for one in ours})
    if lacking:
        shown = ", ".join(lacking[:_LISTED]) + ("…" if len(lacking) > _LISTED else "")
        return Finding(name, "warn", f"{place}: nothing is installed for {shown}", again)
    return _delivered(name, harness, where, ours, place, again)


def _there(program: str) -> bool:
    return shutil.which(program) is not None


def _wanted(harness: Harness, where: Where) -> set[str]:
    """Return the events that `init` would install a hook for, in the spelling of the file."""
    from ..installing.finding import events_of

    return events_of(harness, where)


def _delivered(name: str, harness: Harness, where: Where, ours: list[Installed], place: str, again: str) -> Finding:
    from ..installing.delivering import PROBES, deliver
    from ..installing.finding import spelt

    probe = PROBES[harness.name]
    one = next(each for each in ours if each.event in spelt(harness, where, probe.event))
    if where.scope == "project" and not _trusted(one, where):
        # A checkout brings its own settings: what it names is run by its harness where the user trusts it, and not by a doctor.
        return Finding(name, "warn", f"{place}: {_strange(one, where)}, and was not run", again)
    done = deliver(one, probe)
    if not done.arrived:
        return Finding(name, "fail", f"{place}: the hook of `{one.event}` {done.fault}", again)
    how = "keeps a failure; this harness takes no text" if probe.silent else "hands a lesson over"
    count = "1 hook" if len(ours) == 1 else f"{len(ours)} hooks"
    return Finding(name, "ok", f"{place}: {count}; `{one.event}` {how}, in {done.seconds:.1f} s")


def _trusted(one: Installed, where: Where) -> bool:
    """Return whether it is what `init` would write here now, to the word: an interpreter, for one, runs what it is given."""
    from ..installing.finding import as_written, words_of

    return as_written(one, where) or (not one.script and one.argv in words_of(one.harness, where))


def _strange(one: Installed, where: Where) -> str:
    if Path(one.argv[0]) == Path(where.program.words[0]):
        return f"gives `{one.argv[0]}` other words than `init` would"
    return f"names `{one.argv[0]}`, which is not this program"
