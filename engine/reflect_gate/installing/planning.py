"""From a harness to the files that change: worked out first, shown, and then made, or only shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from ..errors import ReflectGateError, Source, raise_all
from . import blocks, entries, files
from .harnesses import Harness, Where
from .jsonc import parse
from .parts import MARK, Block, Entries, Part, Whole
from .record import Kept, Record, recorded, records

__all__ = ["Action", "Change", "Plan", "install", "uninstall"]

Action: TypeAlias = Literal["created", "changed", "removed", "unchanged"]

_BOM = "\ufeff"


class Change(NamedTuple):
    """What becomes of one file: its bytes before and after, None where it is not there; `kept` is what to remember of it."""

    file: Path
    part: Part
    before: bytes | None
    after: bytes | None
    kept: Kept

    @property
    def action(self) -> Action:
        """In a word."""
        if self.before == self.after:
            return "unchanged"
        if self.before is None:
            return "created"
        return "removed" if self.after is None else "changed"


class Plan(NamedTuple):
    """The changes of an installation or its end, and remarks on what is not done."""

    record: Record
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()
    ends: bool = False

    @property
    def idle(self) -> bool:
        """Whether no file changes."""
        return all(change.action == "unchanged" for change in self.changes)

    def carry_out(self) -> list[Path]:
        """Make the changes and return the copies that were made; what was to be done is recorded before anything is."""
        backups: list[Path] = []
        folders: list[str] = list(self.record.folders)
        if self.ends:
            return _end(self)
        changes = [change for change in self.changes if change.action != "unchanged"]
        for change in changes:
            folders += [str(folder) for folder in files.made(change.file.parent)]
        if changes or self.record.files:
            self.record._replace(folders=tuple(dict.fromkeys(folders))).keep()
        for change in changes:
            for name in change.kept.backups:
                backup = Path(name)
                if change.before is not None and backup == files.backup_of(change.file, change.before) and not backup.exists():
                    # A copy must not be readable by more people than what it was copied from.
                    files.write(backup, None, change.before, as_private_as=change.file)
                    backups.append(backup)
            executable = isinstance(change.part, Whole) and change.part.executable
            files.write(change.file, change.before, change.after, executable=executable)
        return backups


def _end(plan: Plan) -> list[Path]:
    """Take everything out and return the copies that are left: those that hold more than the file does now."""
    for change in plan.changes:
        if change.action != "unchanged":
            files.write(change.file, change.before, change.after)
    left: list[Path] = []
    for name, kept in plan.record.files.items():
        now = files.read(Path(name))
        for backup in map(Path, kept.backups):
            held = files.read(backup)
            if held is not None and held == now:
                backup.unlink(missing_ok=True)
            elif held is not None:
                left.append(backup)
    files.swept(Path(folder) for folder in plan.record.folders)
    plan.record.forget()
    _handed_on(plan.record)
    return left


def _handed_on(record: Record) -> None:
    """Let those whose files lie in a folder that was made for this installation remove it when they go."""
    left = [folder for folder in record.folders if Path(folder).exists()]
    for other in records() if left else ():
        theirs = tuple(folder for folder in left if any(Path(name).is_relative_to(folder) for name in other.files))
        if theirs:
            other._replace(folders=tuple(dict.fromkeys((*other.folders, *theirs)))).keep()


def install(harness: Harness, where: Where) -> Plan:
    """Return what installing a harness's hooks changes; nothing is written yet.

    Raises:
        ReflectGateError: for every file that cannot be read, has another shape, or is somebody else's; then nothing may change.
    """
    known = recorded(harness.name, where.scope, where.root) or Record(harness.name, where.scope, str(where.root))
    changes: list[Change] = []
    notes: list[str] = []
    errors: list[ReflectGateError] = []
    for part in harness.parts(harness, where):
        try:
            file = files.guarded(part.file, _roots(harness, where))
            before = files.read(file)
            if isinstance(part, Whole) and before is not None and not _own(before, file):
                _occupied(part, file, notes)
                continue
            after = _installed(part, before, file)
            # What could not be read again could not be taken out again either.
            files.bounded(after, file)
            changes.append(Change(file, part, before, after, _remembered(part, file, before, after, known)))
        except ReflectGateError as error:
            errors.append(error)
    raise_all(errors)
    kept = {str(change.file): change.kept for change in changes}
    return Plan(known._replace(files={**known.files, **kept}), tuple(changes), tuple(notes))


def _roots(harness: Harness, where: Where) -> list[Path]:
    """Return the folders that files may lie in: what the user's own variable moves elsewhere counts, what a link does not."""
    moved = harness.home(where.root)
    return [where.root, moved] if where.scope == "user" and moved != where.root / harness.folder else [where.root]


def _occupied(part: Whole, file: Path, notes: list[str]) -> None:
    if not part.optional:
        message = f"is somebody else's: {_way_out(part)}move it away"
        raise ReflectGateError("settings-occupied", message, Source(str(file)))
    notes.append(f"{file} is somebody else's, and is left as it is")


def _way_out(part: Whole) -> str:
    command = part.text.rstrip("\n").rsplit("\n", 1)[-1].removeprefix("exec ")
    return f"call `{command}` from it, or " if part.executable else ""


def _own(data: bytes, file: Path) -> bool:
    return MARK in files.decoded(data, file)


def _installed(part: Part, before: bytes | None, file: Path) -> bytes:
    if isinstance(part, Whole):
        return files.encoded(part.text)
    bom, text = _text(before, file)
    if isinstance(part, Block):
        return files.encoded(bom + blocks.install(text, part.text, str(file)))
    return files.encoded(bom + entries.install(text, part._replace(file=file)))


def _text(data: bytes | None, file: Path) -> tuple[str, str]:
    text = files.decoded(data or b"", file)
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def _remembered(part: Part, file: Path, before: bytes | None, after: bytes, known: Record) -> Kept:
    """Return what to keep of a file: of one that stands as it was left, what is known; else what it is now."""
    was = known.files.get(str(file))
    now = files.digest(after)
    if was is not None and before is not None:
        if before == after or files.digest(before) == was.digest:
            return was._replace(digest=now)
        # Edited since: the first copy is no longer what the file would be without us.
        return was._replace(digest=now, original="", backups=(*was.backups, str(files.backup_of(file, before))))
    if before is None:
        return Kept(created=True, digest=now, defaults=_missing("", part))
    empty, fresh = {}, True
    defaults: tuple[str, ...] = ()
    if isinstance(part, Entries):
        _, text = _text(before, file)
        part = part._replace(file=file)
        empty = entries.empties(text, part)
        fresh = not entries.handlers(text, part)
        defaults = _missing(text, part)
    if before == after:
        return Kept(digest=now, empty=empty)
    backup = str(files.backup_of(file, before))
    return Kept(digest=now, original=backup if fresh else "", backups=(backup,), empty=empty, defaults=defaults)


def _missing(text: str, part: Part) -> tuple[str, ...]:
    """Return what a settings file needs beside the handlers, and lacks."""
    if not isinstance(part, Entries) or part.yaml:
        return ()
    root = parse(text, str(part.file)) if text.strip() else None
    return tuple(name for name in part.defaults if root is None or root.get(name) is None)


def uninstall(harness: Harness, where: Where) -> Plan:
    """Return what taking a harness's hooks out changes; nothing is written yet."""
    known = recorded(harness.name, where.scope, where.root) or Record(harness.name, where.scope, str(where.root))
    others = {name for record in records() if record.file != known.file for name in record.files}
    changes: list[Change] = []
    errors: list[ReflectGateError] = []
    notes: list[str] = []
    for part in harness.parts(harness, where):
        try:
            changes += _leaving(part, files.guarded(part.file, _roots(harness, where)), known, others, notes)
        except ReflectGateError as error:
            errors.append(error)
    raise_all(errors)
    return Plan(known, tuple(changes), tuple(notes), ends=True)


def _leaving(part: Part, file: Path, known: Record, others: set[str], notes: list[str]) -> Iterator[Change]:
    before = files.read(file)
    kept = known.files.get(str(file), Kept())
    if before is None:
        return
    if isinstance(part, Whole):
        if not _own(before, file):
            return
        if str(file) in others:
            notes.append(f"{file} stays: another harness uses it")
            return
        if kept.digest and kept.digest != files.digest(before):
            notes.append(f"{file} was edited; it goes all the same")
        yield Change(file, part, before, None, kept)
        return
    yield Change(file, part, before, _left(part, file, before, kept), kept)


def _left(part: Entries | Block, file: Path, before: bytes, kept: Kept) -> bytes | None:
    """Return what is left of a file of others: the copy, where nothing has changed since, else the file less what is ours."""
    if kept.digest == files.digest(before):
        if kept.created:
            return None
        original = files.read(Path(kept.original)) if kept.original else None
        if original is not None and files.backup_of(file, original) == Path(kept.original):
            return original
    bom, text = _text(before, file)
    if isinstance(part, Block):
        left = blocks.remove(text, str(file))
        gone = not left.strip()
    else:
        part = part._replace(file=file)
        whole = kept.created or (not kept.digest and _named(file))
        left = entries.remove(text, part, kept.empty, tuple(part.defaults) if whole else kept.defaults, created=whole)
        gone = _nothing(left, part)
    return None if gone and (kept.created or _named(file)) else files.encoded(bom + left)


def _named(file: Path) -> bool:
    """Whether a file is called after us, or lies in a folder that is."""
    return file.name.startswith("reflect-gate") or file.parents[1].name == "reflect-gate"


def _nothing(text: str, part: Entries) -> bool:
    """Whether a settings file says nothing any more, not even in remarks."""
    return "".join(text.split()) in ("", "{}") and (not part.yaml or not text.strip())
