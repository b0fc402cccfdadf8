"""The archive: a ZIP of stored entries whose bytes follow from its files alone, and reading one that nobody vouches for.

Nothing is compressed, so that no entry is larger than the archive and the bytes do not depend on a compressor. What is read is
written again and must give the same bytes: what two ZIP readers could see differently is thereby refused.
"""

from __future__ import annotations

import hashlib
import io
import re
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from ..errors import ReflectGateError, Source

__all__ = [
    "MANIFEST",
    "MAX_ARCHIVE_BYTES",
    "MAX_FILES",
    "MAX_FILE_BYTES",
    "SIGNATURES",
    "SUFFIX",
    "Archive",
    "archive_bytes",
    "open_archive",
    "read_archive",
]

SUFFIX: Final = ".rgb"
MANIFEST: Final = "manifest.json"
SIGNATURES: Final = "signatures.json"
MAX_ARCHIVE_BYTES: Final = 16 * 1_048_576
MAX_FILE_BYTES: Final = 1_048_576
MAX_FILES: Final = 1_000

_PATH: Final = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]{0,99}/){0,4}[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_DAWN: Final = (1980, 1, 1, 0, 0, 0)
_MODE: Final = (stat.S_IFREG | 0o644) << 16


class Archive(NamedTuple):
    """An archive that is whole. `manifest_bytes` is what is signed; `digest` is the SHA-256 of the archive's bytes."""

    name: str
    digest: str
    manifest: Mapping[str, Any]
    manifest_bytes: bytes
    files: Mapping[str, bytes]
    signatures: tuple[Mapping[str, str], ...]


def archive_bytes(manifest: bytes, files: Mapping[str, bytes], signatures: bytes = b"") -> bytes:
    """Return the archive of a manifest, files and, if they are not empty, signatures; the same parts give the same bytes."""
    stream = io.BytesIO()
    entries = [(MANIFEST, manifest), *sorted(files.items()), *([(SIGNATURES, signatures)] if signatures else [])]
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries:
            info = zipfile.ZipInfo(name, _DAWN)
            info.create_system = 3
            info.external_attr = _MODE
            archive.writestr(info, data)
    return stream.getvalue()


def open_archive(path: str | Path) -> Archive:
    """Return the archive at `path`; see `read_archive` for what is refused."""
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(MAX_ARCHIVE_BYTES + 1)
    except OSError as error:
        raise ReflectGateError("cannot-read", f"cannot read `{path}`: {(error.strerror or '').lower()}") from None
    return read_archive(data, str(path))


def read_archive(data: bytes, name: str) -> Archive:
    """Return the archive that `data` holds, each file of it held to the manifest; nothing is written.

    Raises:
        ReflectGateError: with a code of `BUNDLE_CODES`.
    """
    if len(data) > MAX_ARCHIVE_BYTES:
        raise ReflectGateError("bundle-too-large", f"the archive has more than {MAX_ARCHIVE_BYTES} bytes", Source(name))
    entries = _entries(data, name)
    manifest_bytes, signatures = entries.pop(MANIFEST, None), entries.pop(SIGNATURES, b"")
    if manifest_bytes is None:
        raise ReflectGateError("bundle-manifest", f"there is no `{MANIFEST}`", Source(name))
    manifest = _document(manifest_bytes, "policy-bundle", f"{name}/{MANIFEST}")
    _hold(manifest, entries, name)
    signed = _document(signatures, "policy-signatures", f"{name}/{SIGNATURES}")["signatures"] if signatures else []
    if archive_bytes(manifest_bytes, entries, signatures) != data:
        raise ReflectGateError("bundle-not-canonical", "the archive holds bytes that its files do not account for", Source(name))
    return Archive(name, hashlib.sha256(data).hexdigest(), manifest, manifest_bytes, entries, tuple(signed))


def _entries(data: bytes, name: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            _refuse(infos, len(data), name)
            for info in infos:
                found[info.filename] = archive.read(info)
    except ReflectGateError:
        raise
    # A broken archive shows as any of these, depending on where it is broken.
    except (zipfile.BadZipFile, ValueError, EOFError, OSError, NotImplementedError, RuntimeError, IndexError) as error:
        raise ReflectGateError("bundle-damaged", f"no archive: {' '.join(str(error).split()).lower()}", Source(name)) from None
    return found


def _refuse(infos: list[zipfile.ZipInfo], size: int, name: str) -> None:
    """Refuse an archive by what it says of its entries, before one of them is read."""
    if len(infos) > MAX_FILES:
        raise ReflectGateError("bundle-too-large", f"more than {MAX_FILES} files", Source(name))
    seen: set[str] = set()
    for info in infos:
        # `orig_filename` is what stands there; `filename` ends at a zero byte and has other separators replaced.
        path, place = info.orig_filename, Source(name)
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in {0, stat.S_IFREG} or path.endswith("/"):
            raise ReflectGateError("bundle-symlink", f"`{path!a}` is no file but a link, a folder or a device", place)
        if not _PATH.fullmatch(path):
            raise ReflectGateError("bundle-traversal", f"`{path!a}` is no path of a bundle's file", place)
        if path.casefold() in seen:
            raise ReflectGateError("bundle-duplicate", f"`{path}` stands twice in the archive", place)
        seen.add(path.casefold())
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise ReflectGateError("bundle-bomb", f"`{path}` is compressed; files are stored as they are", place)
        if info.file_size > MAX_FILE_BYTES:
            raise ReflectGateError("bundle-too-large", f"`{path}` has more than {MAX_FILE_BYTES} bytes", place)
    if sum(info.file_size for info in infos) > size:
        raise ReflectGateError("bundle-bomb", "the entries claim more bytes than the archive has", Source(name))


def _document(data: bytes, schema: str, name: str) -> dict[str, Any]:
    from .. import schemas
    from .._canonical import canonical_bytes

    try:
        document = orjson.loads(data)
        schemas.check(schema, document, name)
    except orjson.JSONDecodeError:
        raise ReflectGateError("bundle-manifest", "not JSON", Source(name)) from None
    except ReflectGateError as error:
        raise ReflectGateError("bundle-manifest", error.errors[0].message, error.errors[0].source) from None
    # One document has one form, or what was signed could be read in two ways.
    if canonical_bytes(document) != data:
        raise ReflectGateError("bundle-manifest", "not in canonical form", Source(name))
    found: dict[str, Any] = document
    return found


def _hold(manifest: Mapping[str, Any], entries: Mapping[str, bytes], name: str) -> None:
    listed: Mapping[str, Mapping[str, Any]] = manifest["files"]
    for path in sorted(entries.keys() | listed.keys()):
        if path not in listed:
            raise ReflectGateError("bundle-foreign", f"the manifest does not name `{path}`", Source(name))
        if path not in entries:
            raise ReflectGateError("bundle-missing-file", f"there is no `{path}`", Source(name))
        if hashlib.sha256(entries[path]).hexdigest() != listed[path]["sha256"]:
            raise ReflectGateError("bundle-tampered", f"`{path}` is not the file that the manifest names", Source(name))
