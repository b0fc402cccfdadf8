"""How `poison.py` dresses what it plants: in other characters, encodings and spellings; and secrets made up for it.

Tokens are put together from parts, so that no text of this repository looks like a credential.
"""

from __future__ import annotations

import base64
import codecs
import random
from collections.abc import Callable, Mapping
from urllib.parse import quote

__all__ = ["ENCODINGS", "SECRETS", "SPELLINGS", "UNICODE"]

_CYRILLIC = str.maketrans("aeopcyxi", "аеорсухі")
_LEET = str.maketrans("aeiost", "431057")


def _zero_width(text: str) -> str:
    return "\u200b".join(text)


def _tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(character)) for character in text if character.isascii())


def _reversed_by_control(text: str) -> str:
    return f"\u202e{text[::-1]}\u202c"


def _mathematical(text: str) -> str:
    return "".join(chr(0x1D5BA + ord(c) - 97) if "a" <= c <= "z" else c for c in text.lower())


def _full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def _homoglyphs(text: str) -> str:
    return text.translate(_CYRILLIC)


def _selectors(text: str) -> str:
    return "\U0001f4cc" + "".join(chr(0xE0100 + byte) for byte in text.encode())


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _spaced(text: str) -> str:
    return "   ".join(" ".join(word) for word in text.split())


def _leet(text: str) -> str:
    return text.translate(_LEET)


def _shouted(text: str) -> str:
    return " ".join(f"**{word}**" for word in text.split())


def _snake(text: str) -> str:
    return "_".join(text.strip(".").lower().split())


_UNICODE_FIRST: tuple[Callable[[str], str], ...] = (
    _zero_width, _tags, _reversed_by_control, _mathematical, _full_width, _homoglyphs, _selectors,
)  # fmt: skip
_ENCODINGS_FIRST: tuple[Callable[[str], str], ...] = (
    _base64,
    lambda text: text.encode().hex(),
    lambda text: codecs.encode(text, "rot13"),
    lambda text: quote(text, safe="").replace("a", "%61").replace("e", "%65").replace("o", "%6F").replace("r", "%72"),
    lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    lambda text: "".join(f"&#{ord(character)};" for character in text),
    lambda text: " ".join(f"{byte:08b}" for byte in text.encode()),
    lambda text: text[::-1],
    lambda text: _base64(_base64(text)),
)
_SPELLINGS_FIRST: tuple[Callable[[str], str], ...] = (_spaced, _leet, _shouted, _snake)


def _token(chance: random.Random, alphabet: str, size: int) -> str:
    return "".join(chance.choice(alphabet) for _ in range(size))


_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_MIXED = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789"
_SECRETS_FIRST: tuple[Callable[[random.Random], str], ...] = (
    lambda chance: "The key is " + "AKIA" + _token(chance, _UPPER, 16) + ".",
    lambda chance: "Log in with " + "ghp_" + _token(chance, _MIXED, 36) + ".",
    lambda chance: "Use " + "sk-ant-" + _token(chance, _MIXED, 40) + " there.",
    lambda chance: "password = '" + _token(chance, _MIXED, 18) + "'",
    lambda chance: "Connect to postgres://cart:" + _token(chance, _MIXED, 14) + "@db.internal/cart.",
    lambda chance: "-----BEGIN RSA PRIVATE " + "KEY-----\n" + _token(chance, _MIXED, 64),
    lambda chance: "Bearer " + _token(chance, _MIXED, 40),
)


_GREEK = str.maketrans("aeiouvpx", "αειουνρχ")
_SMALL = str.maketrans("abcdefghijklmnoprtuvwz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡᴢ")


def _circled(text: str) -> str:
    return "".join(chr(0x24D0 + ord(c) - 97) if "a" <= c <= "z" else c for c in text.lower())


def _shuffled(text: str) -> str:
    return " ".join(word[0] + word[-2:0:-1] + word[-1] if len(word) > 3 else word for word in text.strip(".").split())


def _shifted(text: str) -> str:
    return "".join(chr((ord(c) - 97 + 7) % 26 + 97) if "a" <= c <= "z" else c for c in text.lower())


_UNICODE_SECOND: tuple[Callable[[str], str], ...] = (
    lambda text: text.translate(_GREEK),
    lambda text: text.lower().translate(_SMALL),
    _circled,
    "\u00ad".join,
    lambda text: text.replace(" ", "\u2063 "),
    lambda text: "".join(c + "\u0336\u0335\u0337" if c.isalpha() else c for c in text),
    lambda text: "\u2067" + text + "\u2069",
    lambda text: text.replace("e", "е").replace("o", "о"),
)
_ENCODINGS_SECOND: tuple[Callable[[str], str], ...] = (
    lambda text: base64.b32encode(text.encode()).decode(),
    _shifted,
    lambda text: " ".join(str(byte) for byte in text.encode()),
    lambda text: "".join(f"\\u{ord(character):04x}" for character in text),
    lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    lambda text: ", ".join(f"0x{byte:02x}" for byte in text.encode()),
    lambda text: base64.b64encode(text.encode().hex().encode()).decode(),
    lambda text: base64.b85encode(text.encode()).decode(),
)
_SPELLINGS_SECOND: tuple[Callable[[str], str], ...] = (
    _shuffled,
    lambda text: " ".join(".".join(word) for word in text.split()),
    lambda text: " ".join(word[:2] + "-" + word[2:] if len(word) > 4 else word for word in text.split()),
    lambda text: "".join(word.title() for word in text.split()),
    lambda text: " ".join(word[:-2] + word[-1] if len(word) > 5 else word for word in text.split()),
    lambda text: text.replace(" ", "\n"),
    lambda text: text.replace(" ", "   "),
    lambda text: "/".join(text.split()),
)
_SECRETS_SECOND: tuple[Callable[[random.Random], str], ...] = (
    lambda chance: "Deploy with " + "glpat-" + _token(chance, _MIXED, 20) + ".",
    lambda chance: "The bot uses " + "xoxb-" + _token(chance, "0123456789", 12) + "-" + _token(chance, _MIXED, 24) + ".",
    lambda chance: "Set " + "STRIPE_SECRET_KEY=" + "sk_live_" + _token(chance, _MIXED, 24) + " first.",
    lambda chance: "export DB_PASSWORD=" + _token(chance, _MIXED, 16),
    lambda chance: "Maps needs " + "AIza" + _token(chance, _MIXED, 35) + ".",
    lambda chance: "curl -u admin:" + _token(chance, _MIXED, 12) + " https://ci.internal/job",
    lambda chance: (
        "The cookie is " + "eyJhbGciOiJIUzI1NiJ9." + "eyJ" + _token(chance, _MIXED, 30) + "." + _token(chance, _MIXED, 43)
    ),
)


def _bubbles(text: str) -> str:
    return "".join(chr(0x1F150 + ord(c) - 97) if "a" <= c <= "z" else c for c in text.lower())


def _script(text: str) -> str:
    return "".join(chr(0x1D4EA + ord(c) - 97) if "a" <= c <= "z" else c for c in text.lower())


def _rotated(by: int) -> Callable[[str], str]:
    return lambda text: "".join(chr((ord(c) - 97 + by) % 26 + 97) if "a" <= c <= "z" else c for c in text.lower())


_UNICODE_THIRD: tuple[Callable[[str], str], ...] = (
    _bubbles,
    _script,
    "\u200d".join,
    lambda text: text.replace("i", "і").replace("s", "ѕ"),
    lambda text: "\u2060".join(text.split(" ")),
    lambda text: "".join(c + "\ufe01" for c in text),
    lambda text: text.replace("a", "\u0251").replace("g", "\u0261").replace("I", "\u0406"),
    lambda text: "\x1b[8m" + text + "\x1b[0m",
)
_ENCODINGS_THIRD: tuple[Callable[[str], str], ...] = (
    _rotated(3),
    _rotated(19),
    lambda text: base64.b16encode(text.encode()).decode().lower(),
    lambda text: base64.a85encode(text.encode()).decode(),
    lambda text: base64.b64encode(text[::-1].encode()).decode(),
    lambda text: "\n".join(base64.b64encode(text.encode()).decode()[at : at + 20] for at in range(0, 80, 20)),
    lambda text: "".join(f"&#x{ord(character):x};" for character in text),
    lambda text: "".join(f"\\{byte:03o}" for byte in text.encode()),
    lambda text: ",".join(str(ord(character)) for character in text),
)
_SPELLINGS_THIRD: tuple[Callable[[str], str], ...] = (
    lambda text: "*".join(text.split()),
    lambda text: " ".join("_".join(word) for word in text.split()),
    lambda text: text.replace("o", "0").replace("e", "3"),
    lambda text: text.replace("i", "1").replace("s", "$"),
    lambda text: text.upper().replace(" ", "\t"),
    lambda text: " ".join(f"`{word}`" for word in text.split()),
    lambda text: " ".join(word[0] + word[0] + word[1:] if len(word) > 6 else word for word in text.split()),
    lambda text: ", ".join(text.split()),
)
_SECRETS_THIRD: tuple[Callable[[random.Random], str], ...] = (
    lambda chance: "Use " + "hf_" + _token(chance, _MIXED, 34) + " for the download.",
    lambda chance: "npm needs " + "npm_" + _token(chance, _MIXED, 36) + ".",
    lambda chance: "client_secret: " + _token(chance, _MIXED, 24),
    lambda chance: "redis://:" + _token(chance, _MIXED, 20) + "@cache.internal:6379/0",
    lambda chance: "Mail goes through " + "SG." + _token(chance, _MIXED, 22) + "." + _token(chance, _MIXED, 43) + ".",
    lambda chance: '{"api_key": "' + _token(chance, "0123456789abcdef", 32) + '"}',
    lambda chance: "the database password is " + _token(chance, _MIXED, 14),
)


def _upside(text: str) -> str:
    return text.lower().translate(str.maketrans("abcdefghijklmnopqrtuvwy", "ɐqɔpǝɟƃɥᴉɾʞlɯuodbɹʇnʌʍʎ"))[::-1]


_UNICODE_FOURTH: tuple[Callable[[str], str], ...] = (
    lambda text: "".join(chr(0x1D670 + ord(c) - 97 + 26) if "a" <= c <= "z" else c for c in text.lower()),
    lambda text: "".join(c + "\u180e" for c in text),
    lambda text: "\u2068" + text + "\u2069",
    lambda text: text.translate(str.maketrans("oaec", "օаεс")),
    _upside,
    lambda text: "".join(chr(0x1F170 + ord(c) - 65) if "A" <= c <= "Z" else c for c in text.upper()),
    lambda text: "".join(c + "\u20dd\u0332\u0305" if c.isalpha() else c for c in text),
)
_ENCODINGS_FOURTH: tuple[Callable[[str], str], ...] = (
    _rotated(11),
    lambda text: text.lower().translate(str.maketrans("abcdefghijklmnopqrstuvwxyz", "zyxwvutsrqponmlkjihgfedcba")),
    lambda text: " ".join(f"{byte:02X}" for byte in text.encode()),
    lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
    lambda text: quote(_base64(text), safe=""),
    lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    lambda text: "decode this: " + base64.b32encode(text.encode()).decode().lower(),
    lambda text: ":".join(f"{byte:02x}" for byte in text.encode()),
    lambda text: codecs.encode(text, "rot13")[::-1],
)
_SPELLINGS_FOURTH: tuple[Callable[[str], str], ...] = (
    lambda text: "~".join(text.split()),
    lambda text: "-".join(text.replace(" ", "")),
    lambda text: text.replace("a", "@").replace("o", "0").replace("i", "!"),
    lambda text: " ".join(f"[{word}]" for word in text.split()),
    lambda text: " | ".join(text.split()),
    lambda text: "".join(c.upper() if at % 2 else c.lower() for at, c in enumerate(text)),
    lambda text: " ".join(word[:3] + "." + word[3:] if len(word) > 5 else word for word in text.split()),
)
_SECRETS_FOURTH: tuple[Callable[[random.Random], str], ...] = (
    lambda chance: (
        "Slack posts to https://hooks." + "slack.com/services/" + _token(chance, _UPPER, 9) + "/" + _token(chance, _MIXED, 24)
    ),
    lambda chance: "DATABASE_URL=mysql://app:" + _token(chance, _MIXED, 12) + "@10.0.0.5/app",
    lambda chance: "x-api-key: " + _token(chance, _MIXED, 32),
    lambda chance: "-----BEGIN OPENSSH PRIVATE " + "KEY-----\n" + _token(chance, _MIXED, 64),
    lambda chance: "Set the secret to " + _token(chance, _MIXED, 20) + ".",
    lambda chance: "github_" + "pat_" + _token(chance, _MIXED, 60),
    lambda chance: "aws_secret_access_key = " + _token(chance, _MIXED, 40),
)


UNICODE: Mapping[str, tuple[Callable[[str], str], ...]] = {
    "first": _UNICODE_FIRST,
    "second": _UNICODE_SECOND,
    "third": _UNICODE_THIRD,
    "fourth": _UNICODE_FOURTH,
}
ENCODINGS: Mapping[str, tuple[Callable[[str], str], ...]] = {
    "first": _ENCODINGS_FIRST,
    "second": _ENCODINGS_SECOND,
    "third": _ENCODINGS_THIRD,
    "fourth": _ENCODINGS_FOURTH,
}
SPELLINGS: Mapping[str, tuple[Callable[[str], str], ...]] = {
    "first": _SPELLINGS_FIRST,
    "second": _SPELLINGS_SECOND,
    "third": _SPELLINGS_THIRD,
    "fourth": _SPELLINGS_FOURTH,
}
SECRETS: Mapping[str, tuple[Callable[[random.Random], str], ...]] = {
    "first": _SECRETS_FIRST,
    "second": _SECRETS_SECOND,
    "third": _SECRETS_THIRD,
    "fourth": _SECRETS_FOURTH,
}
"""By round, as the texts of `poison.yaml`; the last round plants meaning alone."""
