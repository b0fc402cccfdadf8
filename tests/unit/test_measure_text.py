"""Texts: normal forms and their way back, words, content terms, language."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure.text import LIMIT, analyse, fold, language, normalise, placed_words, split_words, terms, words

TEXTS = st.text(max_size=200)


def test_ascii_is_its_own_normal_form() -> None:
    """The common case needs no map of positions."""
    assert normalise("Plain text") == ("Plain text", None)


def test_the_normal_form_is_nfkc() -> None:
    """Ligatures, full-width letters and composed accents are one text."""
    assert normalise("ﬁle Ｘ e\u0301").text == unicodedata.normalize("NFKC", "ﬁle Ｘ e\u0301")


def test_a_span_leads_back_to_the_original() -> None:
    """A ligature that became two letters is widened to the whole of it."""
    original = "the ﬁle"
    normal = normalise(original)
    assert [original[slice(*normal.span(4, 8))], original[slice(*normal.span(5, 6))]] == ["ﬁle", "ﬁ"]


def test_a_mark_belongs_to_its_letter() -> None:
    """A composed letter leads back to the letter and its mark."""
    original = "cafe\u0301 Ⅳ"
    normal = normalise(original)
    start = normal.text.index("é")
    assert original[slice(*normal.span(start, start + 1))] == "e\u0301"


def test_lone_surrogates_are_replaced_one_for_one() -> None:
    """What no encoder takes does not stop a measure and moves no position."""
    assert normalise("a\ud800b").text == "a\ufffdb"


def test_a_text_is_read_up_to_the_limit() -> None:
    """What lies beyond is not measured."""
    assert len(fold("x" * (LIMIT + 10))) == LIMIT


def test_an_apostrophe_does_not_split_a_word() -> None:
    """Both kinds of apostrophe are taken out."""
    assert words("It doesn't, it can’t") == ["it", "doesnt", "it", "cant"]


def test_placed_words_keep_their_apostrophes_in_place() -> None:
    """The place is that of the text, the word is that of `words`."""
    assert list(placed_words("a don't 'go'")) == [(0, 1, "a"), (2, 7, "dont"), (8, 12, "go")]


def test_terms_are_stems_without_stop_words_and_numbers() -> None:
    """The same content in another inflection has the same terms."""
    assert terms("The indexes were rebuilt 12 times") & terms("rebuilding an index") == {"index"}


def test_terms_of_a_joined_name_are_those_of_its_parts() -> None:
    """`snake_case` and `camelCase` names speak of the same things as prose."""
    assert terms("parse_header_lines") == terms("parseHeaderLines") == terms("parsing the lines of a header")


def test_a_very_long_word_is_one_term() -> None:
    """A blob is cut, not stemmed."""
    assert terms("A" * 500) == {"a" * 64}


def test_english_is_read() -> None:
    """Prose, a terse rule and a rule with code are English."""
    texts = (
        "The cache keeps a stale entry because nothing clears it after a write.",
        "Validate the bounds first; handle empty arrays; avoid indexing past the end.",
        "Call `flush()` before `close()`, since the buffer is lost otherwise.",
    )
    assert {language(text) for text in texts} == {"english"}


def test_other_languages_are_unmeasurable() -> None:
    """The measures say so rather than finding nothing (R-e1)."""
    texts = (
        "Bevor der Puffer geschlossen wird, muss er geleert werden, weil sonst Daten verloren gehen.",
        "Antes de cerrar el archivo hay que vaciar el búfer porque se pierden los datos.",
        "Avant de fermer le fichier, il faut vider le tampon car les données sont perdues.",
        "Voordat het bestand wordt gesloten moet de buffer worden geleegd omdat er anders gegevens verloren gaan.",
        "Als de index of de lijst leeg is, is er een fout en stopt de test.",
        "For at have det rigtige resultat skal du teste listen igen under kørslen.",
        "在关闭文件之前先刷新缓冲区",
        "Перед закрытием файла нужно сбросить буфер",
        "",
        "12 34 %&",
    )
    assert {language(text) for text in texts} == {"unmeasurable"}


@given(TEXTS)
def test_every_character_of_the_normal_form_has_an_origin(text: str) -> None:
    """Spans of single characters lie in the original, in order."""
    normal = normalise(text)
    spans = [normal.span(index, index + 1) for index in range(len(normal.text))]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


@given(TEXTS)
def test_normalising_the_origin_of_a_word_gives_the_word(text: str) -> None:
    """The way back and forth meets: the original of a word holds it in its normal form."""
    normal = normalise(text)
    for start, end, _ in placed_words(normal.text):
        assert normal.text[start:end] in normalise(text[slice(*normal.span(start, end))]).text


@given(TEXTS)
def test_placed_words_are_the_words(text: str) -> None:
    """Both ways of reading words agree."""
    assert [word for _, _, word in placed_words(normalise(text).text)] == split_words(text)


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12), max_size=12))
def test_terms_do_not_depend_on_the_order_of_words(parts: list[str]) -> None:
    """Terms are a set of what the words say."""
    assert analyse(" ".join(parts)).terms == analyse(" ".join(reversed(parts))).terms
