"""Secrets in a text: the token formats of well-known providers, and values of high entropy that are called a secret.

The formats are matched by RE2, so that no text makes the search slow. The detectors on the package index use backtracking
expressions: on `api_key` and four thousand blanks the best known of them took more than six minutes, and three milliseconds for
an ordinary line.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

__all__ = ["HINT", "Secret", "found", "secrets", "suspected"]

HINT = (
    r"(?:A3T|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12}|gh[opusr]_\w{16}|github_pat_|glpat-|gloas-|glrt-|xox[a-z]-|xapp-|hooks\.slack|sk-\w{3}|[srp]k_live_"
    r"|rk_test_|sk_test_|whsec_|AIza|ya29\.|GOCSPX|npm_\w{16}|pypi-|dop_v1|SG\.\w|hf_\w{16}|shp(?:at|ca|pa|ss)_|AccountKey|SharedAccess|eyJ[\w-]{8}"
    r"|-----BEGIN|(?:-u|--user)[ =]\S{1,64}:|PuTTY-User-Key|://[^\s/@:]*:[^\s/@]+@|discord(?:app)?\.com/api/webhooks"
    r"|dapi[0-9a-f]|lin_api_|ntn_|hvs\.|AGE-SECRET"
    r"|key-[0-9a-f]{16}|(?:SK|AC)[0-9a-f]{32}|\d{8,10}:[\w-]{30}|sig=|xkeysib-|PMAK-|sq0(?:atp|csp)-|EAAA|gsk_\w{8}|tskey-|r8_\w{8}"
    r"|(?i:bearer [\w.~+/=-]{16}|(?:secret|token|passw(?:or)?d|passwd|pwd|api[_-]?key|access[_-]?key|credentials?|auth)\w{0,24}"
    r"[\"'`]{0,2}\s{0,3}(?::=|=>|[:=]|is)\s{0,3}\S{8})"
)
"""One expression that finds something in every text that holds a secret, and in few others."""

_FORMATS = (
    r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    r"\bgh[opusr]_[A-Za-z0-9]{36,251}\b",
    r"\bgithub_pat_\w{22,255}\b",
    r"\bgl(?:pat|oas|rt|ptt|dt)-[\w-]{20,128}",
    r"\bxox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,255}|\bxapp-\d-[A-Z0-9]{6,}-\d{6,}-[a-f0-9]{16,}",
    r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}",
    r"\bsk-(?:ant-|proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,255}",
    r"\b[srp]k_(?:live|test)_[A-Za-z0-9]{16,255}\b|\bwhsec_[A-Za-z0-9+/=]{24,}",
    r"\bAIza[\w-]{35}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}",
    r"\bnpm_[A-Za-z0-9]{36}\b|\bpypi-AgE[\w-]{50,}",
    r"\bdo[opr]_v1_[a-f0-9]{64}\b|\bSG\.[\w-]{16,32}\.[\w-]{16,64}|\bhf_[A-Za-z0-9]{30,40}\b",
    r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b|\bEAAA[A-Za-z0-9_-]{40,}",
    r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/=]{30,}|\bsig=[A-Za-z0-9%+/]{40,}",
    r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{8,}",
    r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d",
    r"discord(?:app)?\.com/api/webhooks/\d{16,20}/[\w-]{40,}",
    r"\bdapi[a-f0-9]{32}\b|\blin_api_[A-Za-z0-9]{32,}|\bntn_[A-Za-z0-9]{40,}|\bhvs\.[\w-]{24,}|\bAGE-SECRET-KEY-1[A-Z0-9]{50,}",
    r"\bkey-[0-9a-f]{32}\b|\b(?:SK|AC)[0-9a-f]{32}\b|\b\d{8,10}:[A-Za-z0-9_-]{35}\b|\bxkeysib-[a-f0-9]{64}|\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}",
    r"\bsq0(?:atp|csp)-[\w-]{22,}|\bgsk_[A-Za-z0-9]{40,}|\btskey-[a-z]+-[A-Za-z0-9-]{20,}|\br8_[A-Za-z0-9]{36,}",
)
_NAMED = (
    r"(?i)\b\w{0,40}(?:secret|token|passw(?:or)?d|passwd|pwd|api[_-]?key|access[_-]?key|credentials?|auth)\w{0,24}[\"'`]{0,2}"
    r"\s{0,3}(?::=|=>|[:=]|\bis\b)\s{0,3}[\"'`]?([^\s\"'`,;(){}<>\[\]]{8,200})"
)
_BEARER = r"(?i)\b(?:bearer|basic) ([A-Za-z0-9._~+/=-]{16,512})"
_LOGIN = r"\s(?:-u|--user)[ =][\"'`]?[\w.@-]{1,64}:([^\s\"'`$<]{6,128})"
_ADDRESS = r"[a-z][a-z0-9+.-]{1,20}://[^\s/@:\"'`<>]{0,64}:([^\s/@\"'`<>]{3,128})@"
_PLACEHOLDER = (
    r"(?i)^(?:\$|%|\*+$|\.+$|x{4,}|<|\{)|example|placeholder|dummy|changeme|your[_-]|redacted|getenv|environ"
    r"|process\.env|secrets\.|vault|xxxx|\*\*\*|^(?:none|null|true|false|undefined|password|secret|token|string|optional)"
)
_KEYS = ("-----BEGIN", "PuTTY")
_KEY_LENGTH = 16_384
_KEY_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\ \r\n\t"
_LIMIT = 1_000
_MIN_BITS = 2.9


@cache
def _compiled() -> tuple[Any, tuple[Any, ...], Any, Any]:
    import re2

    valued = tuple(re2.compile(pattern) for pattern in (_NAMED, _BEARER, _LOGIN))
    return re2.compile("|".join(_FORMATS)), valued, re2.compile(_ADDRESS), re2.compile(_PLACEHOLDER)


def _bits(value: str) -> float:
    """Return the Shannon entropy of the characters of a value, in bits a character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


def _random(value: str) -> bool:
    """Return whether a value varies as no word and no name does: digits among letters, or letters whose case keeps changing."""
    if _bits(value) < _MIN_BITS or not any(map(str.isalpha, value)):
        return False
    changes = sum(one.isupper() != other.isupper() for one, other in pairwise(value))
    return any(map(str.isdigit, value)) or (len(value) >= 12 and value.isalpha() and changes * 5 >= len(value) * 2)


class Secret(NamedTuple):
    """Where a secret stands in a text (offsets in characters), and whether it is one wherever else it stands.

    A login of an address can be a plain word: it is a secret where it stands, and nothing but a word elsewhere.
    """

    start: int
    end: int
    anywhere: bool


def _key_end(text: str, start: int, end: int) -> int:
    """Return where a private key ends that is announced from `start` to `end`: at its own last words, if they are there."""
    part = text[end : end + _KEY_LENGTH]
    closed = part.find("-----END" if text.startswith("-", start) else "Private-MAC")
    if closed < 0:
        return end + len(part) - len(part.lstrip(_KEY_CHARACTERS))
    last = part.find("-----", closed + 8, closed + 128) if text.startswith("-", start) else -1
    if last >= 0:
        return end + last + 5
    line = part.find("\n", closed)
    return end + (line if line >= 0 else len(part))


def found(text: str) -> Iterator[Secret]:
    """Yield the secrets of a text, not in order and possibly overlapping; documented placeholders are none. Linear."""
    formats, valued, address, placeholder = _compiled()
    for match in formats.finditer(text):
        if len(set(match.group())) > 8 and "example" not in match.group().casefold():
            key = match.group().startswith(_KEYS)
            yield Secret(match.start(), _key_end(text, *match.span()) if key else match.end(), anywhere=True)
    for pattern in valued:
        for match in pattern.finditer(text):
            value = match.group(1)
            if _random(value) and not placeholder.search(value):
                yield Secret(match.start(1), match.end(1), anywhere=True)
    for match in address.finditer(text):
        if not placeholder.search(match.group(1)):
            yield Secret(match.start(1), match.end(1), anywhere=_random(match.group(1)))


@cache
def _hint() -> Any:
    import re2

    return re2.compile(HINT)


def suspected(text: str) -> bool:
    """Return whether a text may hold a secret; one search, which says no of nearly every text."""
    return _hint().search(text) is not None


def secrets(text: str) -> int:
    """Return how many secrets a text holds (at most 1,000); documented placeholders are none. Linear."""
    count = 0
    for count, _ in enumerate(found(text), 1):
        if count == _LIMIT:
            break
    return count
