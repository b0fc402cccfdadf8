"""Taking secrets out of a request: what is replaced, what stays, and that the rest reads as before."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_gate import Bundle, evaluate
from reflect_gate.measure._secrets import secrets
from reflect_gate.memory.redacting import redact

# Assembled, so that no scanner of this repository takes them for a leak.
TOKEN = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
OTHER = "gl" + "pat-" + "Zx81kQpT0aLmWq93Rt5Y"
LOGIN = "Zx81kQpT0aLm"
KEY = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEowIBAAKCAQEA7x9f\nq1Wz==\n-----END RSA " + "PRIVATE KEY-----"


def texts(value: Any) -> list[str]:
    """Return every string of a document."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for entry in inner for text in texts(entry)]


def with_text(request: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the request with another text of its first trace."""
    changed = copy.deepcopy(request)
    changed["record"]["traces"][0]["text"] = text
    return changed


def test_a_request_without_secrets_is_what_it_was(request_document: dict[str, Any]) -> None:
    """Nothing is changed where nothing is secret."""
    assert redact(request_document) == (request_document, 0)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"curl -H 'Authorization: token {TOKEN}'", "curl -H 'Authorization: token [secret-1 redacted]'"),
        (f"password = '{LOGIN}'", "password = '[secret-1 redacted]'"),
        ("dsn: postgres://app:tiger@db.internal/shop", "dsn: postgres://app:[secret-1 redacted]@db.internal/shop"),
        (f"key:\n{KEY}\nend", "key:\n[secret-1 redacted]\nend"),
        (f"ключ {TOKEN} и {OTHER}", "ключ [secret-1 redacted] и [secret-2 redacted]"),
    ],
)
def test_a_secret_becomes_a_marker(request_document: dict[str, Any], text: str, left: str) -> None:
    """The text around a secret stays to the letter, also around letters of several bytes and keys of several lines."""
    assert redact(with_text(request_document, text)).request["record"]["traces"][0]["text"] == left


def test_a_key_that_was_cut_off_goes_as_far_as_it_goes(request_document: dict[str, Any]) -> None:
    """A log that ends within a key must not keep its first half."""
    cut = redact(with_text(request_document, KEY[:60] + "\n# more")).request["record"]["traces"][0]["text"]
    assert "MII" not in cut
    assert cut.endswith("# more")


def test_the_same_secret_has_the_same_marker_everywhere(request_document: dict[str, Any]) -> None:
    """What a claim quotes of its evidence still matches it after redaction."""
    given_ = with_text(request_document, f"export API_TOKEN={TOKEN}")
    given_["reflection"]["failed_assumption"] = f"The plan assumed that {TOKEN} is still valid."
    done = redact(given_)
    assert done.secrets == 1
    assert "[secret-1 redacted]" in done.request["record"]["traces"][0]["text"]
    assert "[secret-1 redacted]" in done.request["reflection"]["failed_assumption"]


def test_a_value_that_was_called_a_secret_is_one_without_its_name(request_document: dict[str, Any]) -> None:
    """A password that one line names and another prints bare is gone from both."""
    done = redact(with_text(request_document, f"password: {LOGIN}\nlogin with {LOGIN} failed"))
    assert LOGIN not in "".join(texts(done.request))
    assert done.secrets == 1


def test_a_plain_word_of_an_address_stays_a_word_elsewhere(request_document: dict[str, Any]) -> None:
    """`app` is a password in `postgres://app:app@db` and a word in the rest of the record."""
    done = redact(with_text(request_document, "postgres://shop:carts@db/shop: the carts were empty"))
    assert done.request["record"]["traces"][0]["text"].endswith("the carts were empty")


def test_ids_and_enumerations_stay(request_document: dict[str, Any]) -> None:
    """An item whose id looks like a secret remains citable, and its kind and component remain words of their lists."""
    given_ = copy.deepcopy(request_document)
    given_["record"]["traces"][0]["id"] = TOKEN
    given_["reflection"]["evidence_ids"] = [TOKEN]
    given_["reflection"]["counterfactual"] = f"Without {TOKEN} the request would have been refused."
    done = redact(given_).request
    assert (done["record"]["traces"][0]["id"], done["reflection"]["evidence_ids"]) == (TOKEN, [TOKEN])
    assert [item["kind"] for item in done["record"]["traces"]] == [item["kind"] for item in given_["record"]["traces"]]
    assert TOKEN not in done["reflection"]["counterfactual"]


def test_redacting_again_changes_nothing(request_document: dict[str, Any]) -> None:
    """A marker is no secret."""
    once = redact(with_text(request_document, f"password='{LOGIN}' token={TOKEN} {KEY}"))
    assert redact(once.request) == (once.request, 0)


def test_the_order_of_keys_does_not_number_secrets(request_document: dict[str, Any]) -> None:
    """Two documents that are equal as JSON are redacted alike."""
    given_ = with_text(request_document, f"token={TOKEN}")
    given_["project"] = {"repository": f"https://bot:{OTHER}@git.acme.dev/shop"}
    turned = dict(reversed(given_.items()))
    assert redact(given_).request == redact(turned).request


def test_a_marker_never_makes_a_text_too_long(request_document: dict[str, Any]) -> None:
    """A text at its limit stays valid though a marker is longer than what it replaces."""
    text = "postgres://a:bcd@e " * 3_449
    assert len(text) == 65_531
    assert len(redact(with_text(request_document, text)).request["record"]["traces"][0]["text"]) == 65_536


def test_a_decision_does_not_depend_on_the_secret(request_document: dict[str, Any], structured: Bundle) -> None:
    """The same failure with another token is judged alike, and has the same signature."""
    logs = [
        redact(with_text(request_document, f"load_cart() always returns a dict; token={value}")).request
        for value in (TOKEN, OTHER)
    ]
    first, second = (evaluate(log, structured) for log in logs)
    assert first.to_bytes() == second.to_bytes()


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_nothing_that_is_found_is_left(before: str, after: str) -> None:
    """Whatever stands around a secret, no text of the result holds one."""
    done = redact({"reflection": {"scope": f"{before} {TOKEN} {after}"}})
    assert TOKEN not in done.request["reflection"]["scope"]
    assert secrets(done.request["reflection"]["scope"]) == 0
