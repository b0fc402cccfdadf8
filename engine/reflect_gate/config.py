"""Where reflect-gate looks: its home folder, its cache, and the policies that are in force.

The environment variables read here must name absolute paths (`~` is expanded): the program runs in hooks, in whatever repository
is being worked on, and a relative path would let a repository bring its own policies. An empty variable counts as unset.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from .errors import ReflectGateError, Source
from .resources import data_path

__all__ = [
    "CACHE_VARIABLE",
    "HOME_VARIABLE",
    "POLICIES_VARIABLE",
    "QUEUE_VARIABLE",
    "SIGNATURE_VARIABLE",
    "STORE_VARIABLE",
    "Limits",
    "PolicyChoice",
    "cache_dir",
    "choose_policies",
    "home_dir",
    "queue_address",
    "store_path",
]

HOME_VARIABLE = "REFLECT_GATE_HOME"
CACHE_VARIABLE = "REFLECT_GATE_CACHE"
POLICIES_VARIABLE = "REFLECT_GATE_POLICIES"
STORE_VARIABLE = "REFLECT_GATE_STORE"
QUEUE_VARIABLE = "REFLECT_GATE_QUEUE"
SIGNATURE_VARIABLE = "REFLECT_GATE_REQUIRE_SIGNATURE"
_FILE = "policies.yaml"
_STORE_FILE = "store.db"
_ADDRESSES = ("postgresql://", "postgres://")


class Limits(NamedTuple):
    """What one evaluation may use: bytes of the request, its items, characters of a text, cited ids, facts and firings."""

    request_bytes: int = 8_388_608
    items: int = 2_000
    text_chars: int = 65_536
    cited: int = 256
    facts: int = 20_000
    firings: int = 50_000


class PolicyChoice(NamedTuple):
    """The policies file in force and the rule by which it was chosen, in words."""

    path: Path
    chosen_by: str


def _absolute(variable: str) -> Path | None:
    given = os.environ.get(variable, "")
    if not given:
        return None
    path = Path(given).expanduser()
    if not path.is_absolute():
        raise ReflectGateError("config-relative", f"`{variable}` must be an absolute path, not `{given}`")
    return path


def home_dir() -> Path:
    """Return the home folder, which need not exist: `REFLECT_GATE_HOME`, else `~/.reflect-gate`."""
    return _absolute(HOME_VARIABLE) or Path.home() / ".reflect-gate"


def cache_dir() -> Path:
    """Return the folder of what can be rebuilt, which need not exist: `reflect-gate` in `REFLECT_GATE_CACHE` or the platform's.

    The platform's is `XDG_CACHE_HOME` or `~/.cache`, `~/Library/Caches` on macOS, `LOCALAPPDATA` on Windows.
    """
    return (_absolute(CACHE_VARIABLE) or _platform_cache()) / "reflect-gate"


def _platform_cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    windows = sys.platform == "win32"
    given = Path(os.environ.get("LOCALAPPDATA" if windows else "XDG_CACHE_HOME", ""))
    # The XDG specification has a relative path ignored.
    if given.is_absolute():
        return given
    return Path.home() / ("AppData/Local" if windows else ".cache")


def choose_policies(explicit: str | Path | None = None, require_signature: str | Path | None = None) -> PolicyChoice:
    """Return the policies in force: `--policies`, else `REFLECT_GATE_POLICIES`, else the home folder's, else the shipped file.

    A folder stands for the `policies.yaml` in it. What is named explicitly is taken as it is, so that a missing file is an error
    of the loader and never a fall-back to another policy. The working directory is not looked at.

    An archive (`.rgb`) and a git ref (`REF:path`) stand for the policies file in them. With `require_signature`, or
    `REFLECT_GATE_REQUIRE_SIGNATURE`, a file of public keys, only an archive is accepted that one of the keys signed.
    """
    choice = _choose(explicit)
    keys = require_signature or _absolute(SIGNATURE_VARIABLE)
    if keys is None and choice.path.suffix != ".rgb" and ":" not in str(choice.path)[2:]:
        return choice
    from .bundles.unpacking import located

    return choice._replace(path=located(choice.path, keys))


def _choose(explicit: str | Path | None) -> PolicyChoice:
    if explicit is not None:
        return PolicyChoice(_file(Path(explicit)), "--policies")
    named = _absolute(POLICIES_VARIABLE)
    if named is not None:
        return PolicyChoice(_file(named), POLICIES_VARIABLE)
    own = home_dir() / _FILE
    if os.path.lexists(own):
        return PolicyChoice(own, "home folder")
    return PolicyChoice(data_path(_FILE), "shipped")


def store_path(explicit: str | Path | None = None) -> Path | str:
    """Return the place of the lesson store, which need not exist: `--store`, else `REFLECT_GATE_STORE`, else the home folder's.

    A file is a path; the address of a server (`postgresql://…`) stays the text that it is, and may hold a password.
    """
    named = os.environ.get(STORE_VARIABLE, "") if explicit is None else str(explicit)
    if named.startswith(_ADDRESSES):
        return named
    if explicit is not None:
        return Path(explicit)
    return _absolute(STORE_VARIABLE) or home_dir() / _STORE_FILE


def queue_address() -> str:
    """Return the address of the queue's server (`REFLECT_GATE_QUEUE`), which may hold a password; empty for a folder.

    Raises:
        ReflectGateError: `settings` where it is something else; the error does not repeat it.
    """
    named = os.environ.get(QUEUE_VARIABLE, "").strip()
    if named and not named.startswith(_ADDRESSES):
        message = "expected the address of a server, `postgresql://…`; a folder is named by `REFLECT_GATE_QUEUE_BASE_DIR`"
        raise ReflectGateError("settings", message, Source(QUEUE_VARIABLE))
    return named


def _file(path: Path) -> Path:
    return path / _FILE if path.is_dir() else path
