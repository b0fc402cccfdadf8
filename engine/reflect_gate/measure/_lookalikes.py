"""Characters that hide, reorder or imitate others: which they are, and the ASCII letters that they are taken for.

The tables hold what Unicode (Technical Standard 39 and the property `Default_Ignorable_Code_Point`) says of the characters that
attacks on readers use; letters that a script needs for itself and that look like no ASCII letter are left out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

__all__ = ["BIDI", "JOINERS", "LOOKALIKES", "SCRIPTS", "bare", "invisible", "script", "styled"]

BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Controls that change the order in which text is shown."""

JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
"""Characters without width that emoji and some scripts need between or after characters of their own."""

_INVISIBLE = frozenset(
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u200b\u2800\u3164\ufeff\uffa0\ufff9\ufffa\ufffb"
)
_INVISIBLE_RANGES = ((0x2060, 0x206F), (0xFE00, 0xFE0D), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF))
_CONTROLS = frozenset(map(chr, {*range(32), *range(0x7F, 0xA0)} - {0x09, 0x0A, 0x0D}))

_CYRILLIC = "аaеeоoрpсcуyхxіiјjѕsһhԁdԛqԝwѵvӏlАAВBЕEЅSІIЈJКKМMНHОOРPСCТTХXУYҮYԌGԚQԜWғfкkтtмmнhвbпnгrзe"
_GREEK = "αaοoνvυuιiκkτtχxρpΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXηnγyωwεeσo"
_ARMENIAN = "օoսuհhոnցgզqԱUՏSՕOլlյjքf"
_CHEROKEE = "ᎠDᎡRᎢTᎥiᎪAᎫJᎬEᎳWᎷMᎻHᎽYᏀGᏃZᏎ4ᏔWᏕSᏙVᏚSᏞLᏟCᏢPᏦKᏧdᏴB"
_LISU = "ꓐBꓑPꓓDꓔTꓖGꓗKꓙJꓚCꓜZꓝFꓟMꓠNꓡLꓢSꓣRꓦVꓧHꓪWꓫXꓬYꓮAꓰEꓲIꓳOꓴU"
_COPTIC = "ⲁaⲟoⲣpⲥcⲧtⲩyⲭxⲓiⲕkⲏhⲛnⲘMⲞOⲢPⲤCⲦTⲬXⲒIⲔKⲎHⲚN"
_LATIN = "ıiȷjɑaɡgɩiɪiʟlɴnʀrʙbʜhɢgʏyøoØOđdĐDłlŁLħhŧtƅbƖlǃ!ƚlɐaəeɛeɔoʋvʍwɯmᴀaᴄcᴅdᴇeᴊjᴋkᴍmᴏoᴘpᴛtᴜuᴠvᴡwᴢzꜰfꜱsʘo"


def _pairs(text: str) -> dict[str, str]:
    return dict(zip(text[::2], text[1::2], strict=True))


SCRIPTS: Mapping[str, Mapping[str, str]] = {
    "cyrillic": _pairs(_CYRILLIC),
    "greek": _pairs(_GREEK),
    "armenian": _pairs(_ARMENIAN),
    "cherokee": _pairs(_CHEROKEE),
    "lisu": _pairs(_LISU),
    "coptic": _pairs(_COPTIC),
}
"""Script → its letters that are taken for an ASCII letter → that letter."""

LOOKALIKES: Mapping[str, str] = {
    **_pairs(_LATIN),
    **{foreign: ascii_ for table in SCRIPTS.values() for foreign, ascii_ in table.items()},
}
"""Every letter that is taken for an ASCII letter → that letter."""

# Letters that stand beside ASCII letters in formulas and units (μs, Δt, λx); alone they make no word an imitation.
_TECHNICAL = frozenset("ηγωεσρ")
_STYLED = (
    (0x0250, 0x02AF),
    (0x1D400, 0x1D7FF),
    (0xFF21, 0xFF3A),
    (0xFF41, 0xFF5A),
    (0x2460, 0x24FF),
    (0x1F110, 0x1F189),
    (0x1D00, 0x1D6A),
)
_SMALL_CAPITALS = frozenset("ɪʟɴʀʙʜɢʏꜰꜱ")


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= code <= high for low, high in ranges)


@lru_cache(maxsize=4096)
def invisible(character: str) -> bool:
    """Return whether a character is a control, has no width or is a tag; the joiners are none of these."""
    return character in _INVISIBLE or character in _CONTROLS or _within(ord(character), _INVISIBLE_RANGES)


@lru_cache(maxsize=4096)
def styled(character: str) -> bool:
    """Return whether a character is a Latin letter dressed as a symbol (mathematical, full width, enclosed, small capital)."""
    return character in _SMALL_CAPITALS or _within(ord(character), _STYLED)


@lru_cache(maxsize=4096)
def script(character: str) -> str:
    """Return the script of a letter: `latin`, a script of `SCRIPTS`, or an empty string for any other character."""
    if character.isascii():
        return "latin" if character.isalpha() else ""
    if not character.isalpha() or character in _TECHNICAL:
        return ""
    name = unicodedata.name(character, "").partition(" ")[0].casefold()
    return name if name == "latin" or name in SCRIPTS else ""


@lru_cache(maxsize=4096)
def bare(character: str) -> str:
    """Return what a character of an NFKC text is taken for: an ASCII letter, nothing where it is not seen, else itself."""
    if character.isascii():
        return "" if character in _CONTROLS else character
    if character in BIDI or character in JOINERS or invisible(character):
        return ""
    kept = "".join(part for part in unicodedata.normalize("NFKD", character) if unicodedata.category(part)[0] != "M")
    return "".join(LOOKALIKES.get(part, part) for part in kept)
