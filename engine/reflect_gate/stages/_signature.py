"""The failure signature: one hash for the same failure, whoever met it, wherever the checkout lies, whatever the line is now.

`signature` = SHA-256 of the canonical JSON of `[class, template, site]`.

- class: the last segment of the error class (`socket.timeout` and `timeout` are one).
- template: the message with everything that varies between two runs of the same failure replaced, in this order: terminal
  escapes dropped; typographic quotes made plain; URLs → `<url>`; e-mail and `user@host` → `<email>`; UUIDs → `<uuid>`; dates
  and times → `<time>`; addresses and long hexadecimal runs → `<hex>`; paths (POSIX, Windows, `file:`; absolute or relative) →
  their last component without line and column, a home folder → `<home>`, a nameless or random entry of a temporary folder →
  `<tmp>`; quoted strings → `<str>`; a name after `user`, `username`, `uid`, `owner` or `login` → `<user>`; numbers → `<n>`; a
  run of equal placeholders → one; white space → one space.
- site: `file:function`, the file by its last component (with its folder where every package has a file of that name), no line.

Three things in quotes are the identity of a failure, not data, and are kept: an identifier beside a word that says it is a name
of code (`name 'x'`, `module named 'x'`, `'T' object`), one in backticks, and one to three marks of punctuation (`expected
';'`). All patterns are RE2 (linear); a message is read up to `MESSAGE_LIMIT` characters, a template holds at most
`TEMPLATE_LIMIT`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from .._canonical import plain_digest
from ..measure._errortext import read_error
from ..measure._pattern import Pattern

if TYPE_CHECKING:
    from ..types import SignatureContext

__all__ = ["signature", "site", "template"]

MESSAGE_LIMIT = 8_192
TEMPLATE_LIMIT = 512
SITE_LIMIT = 256

_PLAIN_QUOTES = str.maketrans("\u2018\u2019\u201b\u00b4\u201c\u201d", "'" * 4 + '"' * 2)
_PACKAGE_FILES = frozenset({"__init__.py", "__main__.py", "mod.rs"})

_LINE = r"(?::\d+){0,2}"
_PATH = Pattern(
    r"(?:file://)?(?:"
    r"[A-Za-z]:[\\/](?:[^\\/\s:*?\"'<>|,;()\[\]{}`]+[\\/])*[^\\/\s:*?\"'<>|,;()\[\]{}`]*"
    r"|(?:~|\.{1,2}|[\w.@+-]+)?(?:/[\w.@+~%=-]+)+/?"
    r"|\\\\[\w.$-]+(?:\\[\w.$ -]+)+"
    r")" + _LINE
)
_FILE_LINE = Pattern(r"\b([\w.+-]+\.[A-Za-z]\w{0,4}):\d+(?::\d+)?")
_LINE_SUFFIX = Pattern(_LINE + "$")
_HOME = Pattern(r"^(?:/home/[^/]+|/Users/[^/]+|/root|[A-Za-z]:/Users/[^/]+)/?$")
_TEMPORARY = Pattern(
    r"^(?:/private)?(?:/tmp|/var/tmp|/dev/shm|/var/folders/[^/]+/[^/]+/\w)/|^[A-Za-z]:/(?:Users/[^/]+/AppData/Local/)?(?i:temp|tmp)/"
)
_RANDOM_NAME = Pattern(r"^(?i:tmp|temp|pytest-|npm-|go-build|cargo-)|^[0-9a-f]{6,}\b|\d{4,}")
_EXTENSION = Pattern(r"\.[A-Za-z]\w{0,4}$")

_NAME_WORDS = (
    r"name|named|module|attribute|function|method|variable|type|symbol|value|argument|keyword|property|field|import|package|crate|trait|"
    r"class|struct|enum|macro|member|identifier|interface|fixture|column|table|command|option"
)
_IDENTIFIER = r"[A-Za-z_@][\w.:$-]{0,63}"
_NAMED = Pattern(rf"\b(?i:{_NAME_WORDS}) (['\"]){_IDENTIFIER}['\"]")
_NAMED_AFTER = Pattern(
    rf"['\"]{_IDENTIFIER}['\"] (?:object|undeclared|was not declared|is not defined|has no (?:attribute|member)"
    r"|is not (?:a function|assignable))\b"
)
_BACKTICKED = Pattern(r"`[^`\s]{1,64}`")
_MARKS = Pattern(r"(?:'[^\w\s']{1,3}'|\"[^\w\s\"]{1,3}\")")
_QUOTED = Pattern(r"\"(?:[^\"\\\n]|\\.)*\"|\B[bru]?'(?:[^'\\\n]|\\.)*'(?:\B|$)|`[^`\n]*`")
_SHIELD = Pattern("\ue000(\\d+)\ue001")


class _Step(NamedTuple):
    """A replacement, tried only where the text holds one of `needs`: most messages need few of them."""

    needs: tuple[str, ...]
    pattern: Pattern
    replacement: str

    def apply(self, text: str) -> str:
        return self.pattern.sub(self.replacement, text) if any(part in text for part in self.needs) else text


_DIGITS = tuple("0123456789")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BEFORE_PATHS: tuple[_Step, ...] = (
    _Step(("\x1b",), Pattern(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"), ""),
    _Step(("://",), Pattern(r"\b(?:https?|wss?|ftp|s3|gs|postgres(?:ql)?|redis|mongodb|amqp)://[^\s'\"<>)\]}`]+"), "<url>"),
    _Step(("@",), Pattern(r"([A-Za-z][\w.-]*)@\d[\w.+-]*"), r"\1@<n>"),
    _Step(("@",), Pattern(r"\b[\w.+-]+@[A-Za-z][\w.-]*"), "<email>"),
    _Step(("-",), Pattern(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"), "<uuid>"),
    _Step(
        ("-", "/"),
        Pattern(
            r"\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?",
        ),
        "<time>",
    ),
    _Step(
        _MONTHS,
        Pattern(
            r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{1,4}"
            r"(?:,? \d\d:\d\d:\d\d)?(?: \d{4})?"
        ),
        "<time>",
    ),
    _Step((":",), Pattern(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    _Step(("0x", "0X"), Pattern(r"\b0[xX][0-9a-fA-F]+\b"), "<hex>"),
)
_AFTER_QUOTES: tuple[_Step, ...] = (
    _Step((" ", "=", ":"), Pattern(r"\b((?i:user(?:name)?|owner|login|uid)(?:[ =:]| = |: ))[A-Za-z_][\w.-]*"), r"\1<user>"),
    _Step(("v",), Pattern(r"\bv\d+(?:\.\d+)+"), "v<n>"),
    _Step(_DIGITS, Pattern(r"(?:\B[-+])?\b(?:\d{1,3}(?:,\d{3})+|\d[\d_]*)(?:\.\d+)?(?:[eE][-+]?\d+)?"), "<n>"),
    _Step(("<n>",), Pattern(r"<n>(?:\.<n>)+|(?:\B[-+])?\B\.+<n>"), "<n>"),
    _Step(("<n>",), Pattern(r"<n>(?:\s*,\s*<n>)+"), "<n>"),
    _Step(("<str>",), Pattern(r"<str>(?:\s*,\s*<str>)+"), "<str>"),
)
_HEX_RUN = Pattern(r"\b[0-9a-fA-F]{7,}\b")
_DIGIT = Pattern(r"\d")
_LETTER = Pattern(r"[a-fA-F]")


def _hex_run(run: str) -> str:
    """A run of hexadecimal digits is a hash where it mixes letters and digits; `decade` and `1234567` are not."""
    return "<hex>" if _DIGIT.search(run) and _LETTER.search(run) else run


def _path_tail(path: str) -> str:
    """Return what of a path is the same in every checkout: its last component, `<home>` or `<tmp>`."""
    plain = _LINE_SUFFIX.sub("", path).removeprefix("file://").replace("\\", "/")
    if _HOME.search(plain):
        return "<home>"
    parts = [part for part in plain.split("/") if part not in {"", ".", "~"}]
    if not parts:
        return plain
    name = parts[-1]
    if plain[0] not in "/~." and plain[1:2] != ":" and not _EXTENSION.search(name):
        return path
    if name in _PACKAGE_FILES and len(parts) > 1:
        return f"{parts[-2]}/{name}"
    extension = _EXTENSION.search(name)
    if _TEMPORARY.search(plain) and (not extension or _RANDOM_NAME.search(name)):
        return "<tmp>" + (extension.group(0) if extension else "")
    return name


class _Kept:
    """Quoted names that stay: each is set aside under a private-use mark while the quoted strings around it are replaced."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def shield(self, text: str) -> str:
        self.texts.append(text)
        return f"\ue000{len(self.texts) - 1}\ue001"

    def restore(self, text: str) -> str:
        return _SHIELD.sub(lambda match: self.texts[int(match.group(1))], text)


def _without_quotes(message: str) -> str:
    kept = _Kept()
    for pattern in (_NAMED, _NAMED_AFTER, _BACKTICKED, _MARKS):
        message = pattern.sub(lambda match: kept.shield(match.group(0)), message)
    message = _QUOTED.sub("<str>", message)
    while "\ue000" in message:
        message = kept.restore(message)
    return message


def template(message: str) -> str:
    """Return the message with all that varies between runs replaced (module text), at most 512 characters."""
    text = unicodedata.normalize("NFC", message[:MESSAGE_LIMIT]).translate(_PLAIN_QUOTES)
    text = text.replace("\ue000", "").replace("\ue001", "")
    for step in _BEFORE_PATHS:
        text = step.apply(text)
    if "/" in text or "\\" in text:
        text = _PATH.sub(lambda match: _path_tail(match.group(0)), text)
    if ":" in text:
        text = _FILE_LINE.sub(r"\1", text)
    text = _HEX_RUN.sub(lambda match: _hex_run(match.group(0)), text)
    if any(mark in text for mark in "'\"`"):
        text = _without_quotes(text)
    for step in _AFTER_QUOTES:
        text = step.apply(text)
    return " ".join(text.split())[:TEMPLATE_LIMIT].rstrip()


_SITE_LINE = Pattern(
    r"^(?P<path>[^\n]*?\.[A-Za-z]\w{0,4}|<[\w ]+>)(?::\d+)*(?:(?:::?| in |, in )(?P<function>[A-Za-z_<$*(][^\n]*))?$"
)
_SITE_NOISE = Pattern(r"::h[0-9a-f]{16}\b|\{\{closure\}\}|\[[^\]]*\]|0x[0-9a-f]+|\s+")


def _site_form(raw: str) -> str:
    line = raw.strip()[:MESSAGE_LIMIT]
    match = _SITE_LINE.search(line)
    path, function = (match.group("path"), match.group("function") or "") if match else ("", line)
    if not match and ("/" in line or "\\" in line):
        path, function = line, ""
    parts = [part for part in (_path_tail(path) if path else "", _SITE_NOISE.sub("", function)) if part]
    return ":".join(parts)[:SITE_LIMIT]


def site(source: str | Mapping[str, object]) -> str:
    """Return `file:function` of a failure.

    `source` is a raw error text (several lines, or with a stack frame), a site that a tool wrote in one line, or a diagnosis,
    whose `site` counts, else its `text`. Empty where nothing names a site.
    """
    if not isinstance(source, str):
        return site(str(source.get("site") or source.get("text") or ""))
    stripped = source.strip()
    if " " not in stripped.replace(" in ", "") and "\n" not in stripped:
        return _site_form(stripped)
    return _site_form(read_error(stripped).site)


def _class_form(error_class: str) -> str:
    return error_class.strip().replace("::", ".").rsplit(".", 1)[-1][:SITE_LIMIT]


def signature(error_class: str, message: str, site_text: str) -> SignatureContext:
    """Return the signature context of a failure of this class, message and site, each raw or already normalised.

    `reflected_before` and `prior_reflection_id` say "never" until a store says otherwise.
    """
    name, form, place = _class_form(error_class), template(message), site(site_text)
    return {
        "signature": plain_digest([name, form, place]),
        "class": name,
        "template": form,
        "site": place,
        "reflected_before": False,
        "prior_reflection_id": None,
    }
