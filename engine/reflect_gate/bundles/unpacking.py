"""From an archive or a git ref to a policies file that can be loaded: its files in the cache, held to their bytes."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from .._canonical import digest
from ..config import cache_dir
from ..errors import ReflectGateError, Source
from .archive import SUFFIX, open_archive
from .gitref import git_ref, ref_files

__all__ = ["located", "unpacked"]

_POLICIES: Final = "policies.yaml"
_KEPT: Final = 16


def located(path: Path, keys: str | Path | None = None) -> Path:
    """Return the policies file that `path` stands for: itself, or the one of the archive or git ref that it names.

    Args:
        path: a policies file, an archive, or `REF:path`; what exists is taken for what it is.
        keys: a file of trusted public keys; only an archive that one of them signed is then accepted.

    Raises:
        ReflectGateError: with a code of `BUNDLE_CODES`.
    """
    if path.suffix == SUFFIX:
        archive = open_archive(path)
        if keys is not None:
            from .signing import require_signature

            require_signature(archive, keys)
        from .building import check_requirements

        check_requirements(archive)
        return unpacked(archive.files)
    if keys is not None:
        message = f"a signature is required, and `{path}` is no archive (`{SUFFIX}`) that could have one"
        raise ReflectGateError("bundle-unsigned", message, Source(str(path)))
    ref = None if path.exists() else git_ref(path.as_posix())
    return path if ref is None else unpacked(ref_files(ref))


def unpacked(files: Mapping[str, bytes]) -> Path:
    """Return the policies file of `files`, which stand in a folder of the cache that holds them and nothing else."""
    folder = cache_dir() / "unpacked" / digest({path: data.hex() for path, data in files.items()})[:32]
    try:
        if not _holds(folder, files):
            _write(folder, files)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ReflectGateError("bundle-unpack", f"the files cannot be kept in `{folder}`: {reason}") from None
    return folder / _POLICIES


def _holds(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Return whether the folder holds these files, byte for byte, and no other."""
    found = {}
    for base, folders, names in os.walk(folder):
        for name in (*names, *(name for name in folders if (Path(base) / name).is_symlink())):
            path = Path(base) / name
            if path.is_symlink():
                return False
            found[path.relative_to(folder).as_posix()] = path
    return found.keys() == files.keys() and all(found[name].read_bytes() == data for name, data in files.items())


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = folder.with_name(f".{folder.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        for name, data in files.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.write_bytes(data)
        if folder.is_symlink():
            folder.unlink()
        elif folder.exists():
            shutil.rmtree(folder)
        # Another process may have been quicker; then its files are as good, and are looked at below.
        with contextlib.suppress(OSError):
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    if not _holds(folder, files):
        raise OSError(None, "they were changed meanwhile")
    _prune(folder.parent)


def _prune(parent: Path) -> None:
    ages = sorted(((entry.stat().st_mtime_ns, entry) for entry in parent.iterdir()), reverse=True)
    for _, entry in ages[_KEPT:]:
        shutil.rmtree(entry, ignore_errors=True)
