"""Ed25519 signatures of manifests, by the package `cryptography` (extra `sign`), with keys as PEM files.

Signing is an extra: judging never needs it, and `cryptography` is chosen because it reads the PEM keys that OpenSSL and others
write. Where it is absent and a signature is required, everything is refused.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .._canonical import canonical_bytes
from ..errors import ReflectGateError, Source
from .archive import Archive

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = ["key_id", "new_key", "require_signature", "signed", "trusted_keys"]

SIGNATURES_SCHEMA: Final = "urn:reflect-gate:schema:policy-signatures:1"

# A key that also signs other things must not sign a manifest by accident.
_PURPOSE: Final = b"reflect-gate policy bundle 1\n"
_BLOCK: Final = re.compile(rb"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----\r?\n?", re.DOTALL)
_MAX_KEY_BYTES: Final = 65_536


def _missing() -> ReflectGateError:
    return ReflectGateError("bundle-signing-missing", "signatures need the extra `sign`: install `reflect-gate[sign]`")


def _read(path: str | Path) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(_MAX_KEY_BYTES)
    except OSError as error:
        reason = (error.strerror or "").lower()
        raise ReflectGateError("bundle-key", f"the key file `{path}` cannot be read: {reason}") from None


def key_id(key: Ed25519PublicKey) -> str:
    """Return the SHA-256 of a public key's 32 bytes, 64 hexadecimal digits."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()


def trusted_keys(path: str | Path) -> dict[str, Ed25519PublicKey]:
    """Return the public keys of a PEM file by id; `bundle-key` where there is none, or one of another kind."""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ImportError:
        raise _missing() from None
    found = {}
    for block in _BLOCK.findall(_read(path)):
        try:
            key = load_pem_public_key(block)
        except Exception:  # noqa: BLE001 - whatever the library finds wrong with a block, it is no key
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise ReflectGateError("bundle-key", "holds a key that is not an Ed25519 public key", Source(str(path)))
        found[key_id(key)] = key
    if not found:
        raise ReflectGateError("bundle-key", "holds no public key in PEM form", Source(str(path)))
    return found


def _private_key(path: str | Path) -> Ed25519PrivateKey:
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise _missing() from None
    try:
        key = load_pem_private_key(_read(path), password=None)
    except ReflectGateError:
        raise
    except Exception:  # noqa: BLE001 - as above; an encrypted key is one of these
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ReflectGateError("bundle-key", "holds no Ed25519 private key in PEM form without a password", Source(str(path)))
    return key


def new_key(path: str | Path) -> str:
    """Write a new private key to `path`, for its owner alone, and its public key to `path` with `.pub`; return the key's id.

    Nothing is overwritten: `cannot-write` where a file stands there.
    """
    try:
        from cryptography.hazmat.primitives import serialization as form
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError:
        raise _missing() from None
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    _create(Path(path), secret, 0o600)
    _create(Path(f"{path}.pub"), public, 0o644)
    return key_id(key.public_key())


def _create(path: Path, data: bytes, mode: int) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    except OSError as error:
        raise ReflectGateError("cannot-write", f"cannot write `{path}`: {(error.strerror or '').lower()}") from None
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)


def signed(archive: Archive, private_key: str | Path) -> tuple[bytes, str]:
    """Return the bytes of `archive` with a signature added, and the id of the key; a signature of the same key is replaced."""
    from .archive import archive_bytes

    key = _private_key(private_key)
    own = key_id(key.public_key())
    signature = base64.b64encode(key.sign(_PURPOSE + archive.manifest_bytes)).decode()
    others = [dict(entry) for entry in archive.signatures if entry["key"] != own]
    entries = sorted([*others, {"key": own, "signature": signature}], key=lambda entry: entry["key"])
    document = canonical_bytes({"schema": SIGNATURES_SCHEMA, "signatures": entries})
    return archive_bytes(archive.manifest_bytes, archive.files, document), own


def require_signature(archive: Archive, keys: str | Path) -> str:
    """Return the id of the trusted key that signed the archive.

    Args:
        archive: an archive that is whole.
        keys: a PEM file of the public keys that are trusted; the signature of one suffices.

    Raises:
        ReflectGateError: `bundle-unsigned`, `bundle-untrusted`, `bundle-signature`, `bundle-key` or `bundle-signing-missing`.
    """
    trusted = trusted_keys(keys)
    from cryptography.exceptions import InvalidSignature

    if not archive.signatures:
        raise ReflectGateError("bundle-unsigned", "a signature is required, and the bundle has none", Source(archive.name))
    for entry in archive.signatures:
        key = trusted.get(entry["key"])
        if key is None:
            continue
        try:
            key.verify(base64.b64decode(entry["signature"]), _PURPOSE + archive.manifest_bytes)
        except (InvalidSignature, ValueError):
            message = f"the signature of the trusted key {entry['key'][:16]} does not fit the manifest"
            raise ReflectGateError("bundle-signature", message, Source(archive.name)) from None
        return entry["key"]
    raise ReflectGateError("bundle-untrusted", f"no signature is of a key in `{keys}`", Source(archive.name))
