"""Bearer tokens: made once, kept as hashes in a file, compared in constant time, each with what it may do.

The file is JSON with mode 0600. A token is `rgt_<id>_<secret>`; its secret has 256 bits from the system, so that one round of
SHA-256 is enough: there is nothing to guess. The server reads the file again when it changes, so a revoked token ends at once.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from ..config import Limits, home_dir
from ..documents import read_json
from ..errors import ReflectGateError, Source, raise_all

__all__ = ["SCOPES", "Scope", "Token", "TokenFile", "Tokens", "now", "tokens_path"]

Scope: TypeAlias = Literal["evaluate", "apply", "capture", "retrieve", "record", "read", "metrics"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
"""What a token may do: judge, commit what was judged, capture, retrieve, record, read lessons and decisions, read metrics."""

_FILE: Final = "server-tokens.json"
_FORM: Final = 1
_PREFIX: Final = "rgt"
_SECRET_BYTES: Final = 32
_GIVEN: Final = re.compile(r"rgt_(?P<id>[0-9a-f]{8})_(?P<secret>[A-Za-z0-9_-]{43})")
_KEPT: Final = re.compile(r"[0-9a-f]{64}")
_MOMENT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_OTHERS: Final = 0o022
_NOBODY: Final = hashlib.sha256(b"nobody").hexdigest()


class Token(NamedTuple):
    """A token as it is kept; times are UTC as `2026-11-30T09:00:00Z`, `expires` is `None` where it does not end."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    created: str
    expires: str | None
    hash: str

    def to_json(self) -> dict[str, Any]:
        """Return what may be told of it (`token-report.schema.json`); the hash stays in the file."""
        told = self._asdict()
        del told["hash"]
        return {**told, "scopes": list(self.scopes)}


def now() -> str:
    """Return the time as tokens have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def tokens_path(explicit: str | Path | None = None) -> Path:
    """Return the file of the tokens, which need not exist: `--tokens`, else that in the home folder."""
    return Path(explicit).absolute() if explicit is not None else home_dir() / _FILE


class TokenFile:
    """The file of the tokens, as the commands change it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[Token, ...]:
        """Return the tokens; none where there is no file.

        Raises:
            ReflectGateError: `tokens-file` where it is not such a file, or others may write it; `cannot-read`.
        """
        try:
            mode, data = self.path.stat().st_mode, self.path.read_bytes()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise ReflectGateError("cannot-read", f"cannot read `{self.path}`: {(error.strerror or '').lower()}") from None
        if sys.platform != "win32" and mode & _OTHERS:
            raise ReflectGateError("tokens-file", "others may write it: chmod 600", Source(str(self.path)))
        return _tokens(data, str(self.path))

    def add(self, name: str, scopes: Sequence[Scope], expires: str | None = None) -> tuple[str, Token]:
        """Make a token and keep its hash; return the token itself, which nothing can tell again, and its entry."""
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        with self._changing() as tokens:
            known = {token.id for token in tokens}
            id_ = next(made for made in iter(lambda: secrets.token_hex(4), "") if made not in known)
            text = f"{_PREFIX}_{id_}_{secret}"
            ordered = tuple(scope for scope in SCOPES if scope in scopes)
            made = Token(id_, name, ordered, now(), expires, _hash(text))
            tokens.append(made)
        return text, made

    def revoke(self, id_: str) -> Token:
        """Remove a token for good; `token-unknown` where there is none of that id."""
        with self._changing() as tokens:
            found = next((token for token in tokens if token.id == id_), None)
            if found is None:
                raise ReflectGateError("token-unknown", f"`{self.path}` has no token `{id_}`")
            tokens.remove(found)
        return found

    @contextmanager
    def _changing(self) -> Iterator[list[Token]]:
        """Yield the tokens and keep what they are then, while no other process changes them."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked(self.path.with_name(f"{self.path.name}.lock")):
                tokens = list(self.read())
                yield tokens
                self._write(tokens)
        except OSError as error:
            raise ReflectGateError("cannot-write", f"cannot write `{self.path}`: {(error.strerror or '').lower()}") from None

    def _write(self, tokens: Sequence[Token]) -> None:
        document = {"tokens": _FORM, "entries": [{**token.to_json(), "hash": token.hash} for token in tokens]}
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:  # noqa: PTH123 - with its mode
                stream.write(json.dumps(document, indent=2).encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(self.path)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file; where the system has none, two changes at once are the caller's to avoid."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with path.open("ab") as handle:
        path.chmod(0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _tokens(data: bytes, name: str) -> tuple[Token, ...]:
    document = read_json(data, name, Limits())
    entries = document.get("entries") if isinstance(document, dict) and document.get("tokens") == _FORM else None
    if not isinstance(entries, list):
        raise ReflectGateError("tokens-file", f"no file of tokens of form `{_FORM}`", Source(name))
    found, problems = [], []
    for index, entry in enumerate(entries):
        token = _token(entry)
        if token is None:
            problems.append(ReflectGateError("tokens-file", "no token", Source(name, pointer=f"/entries/{index}")))
        else:
            found.append(token)
    raise_all(problems)
    return tuple(found)


def _token(entry: object) -> Token | None:
    """Return the token of an entry, `None` where it is none."""
    if not isinstance(entry, dict) or set(entry) != set(Token._fields):
        return None
    scopes, expires = entry["scopes"], entry["expires"]
    texts = [entry[key] for key in ("id", "name", "created", "hash")]
    if not all(isinstance(text, str) for text in texts) or not isinstance(scopes, list) or not _KEPT.fullmatch(entry["hash"]):
        return None
    # Times are compared as texts: one of another form could lie in the future for ever.
    if expires is not None and not (isinstance(expires, str) and _MOMENT.fullmatch(expires)):
        return None
    known = tuple(scope for scope in SCOPES if scope in scopes)
    if len(known) != len(scopes):
        return None
    return Token(entry["id"], entry["name"], known, entry["created"], expires, entry["hash"])


class Tokens:
    """The tokens as a running server knows them: read again whenever the file is another; safe to use from several threads.

    Once there was a file, or where `required`, nobody comes in without a token, also when the file is gone later.
    """

    def __init__(self, file: TokenFile, *, required: bool) -> None:
        self._file = file
        self._required = required
        self._seen: tuple[int, ...] | None = None
        self._by_id: dict[str, Token] = {}
        self._lock = threading.Lock()

    @property
    def required(self) -> bool:
        """A request needs a token; `ReflectGateError` where the file cannot be read."""
        self._refresh()
        return self._required

    def live(self) -> int:
        """Return how many tokens there are that have not ended."""
        self._refresh()
        return sum(token.expires is None or now() < token.expires for token in self._by_id.values())

    def holder(self, given: str) -> Token | None:
        """Return the token that a text is, `None` where it is none or has ended."""
        self._refresh()
        match = _GIVEN.fullmatch(given)
        token = self._by_id.get(match["id"]) if match else None
        # Always one comparison of full length: how long it takes says nothing of which ids there are.
        same = hmac.compare_digest(_hash(given), token.hash if token else _NOBODY)
        if token is None or not same or (token.expires is not None and now() >= token.expires):
            return None
        return token

    def _refresh(self) -> None:
        with self._lock:
            try:
                status = self._file.path.stat()
                seen: tuple[int, ...] = (status.st_mtime_ns, status.st_size, status.st_ino)
            except FileNotFoundError:
                seen = ()
            except OSError as error:
                message = f"cannot read `{self._file.path}`: {(error.strerror or '').lower()}"
                raise ReflectGateError("cannot-read", message) from None
            if seen == self._seen:
                return
            # Until the new file is read nobody holds a token: a broken file lets nobody in.
            self._by_id, self._seen = {}, None
            self._required = self._required or bool(seen)
            self._by_id = {token.id: token for token in self._file.read()}
            self._seen = seen
