"""Which model is asked, where and with which key: environment over policies, and never a key where it does not belong."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from reflect_gate.errors import ReflectGateError
from reflect_gate.llm.errors import ModelError
from reflect_gate.llm.settings import ModelSettings, Price, model_settings

Read = Callable[..., ModelSettings]

HEAD = "policies: 1\ndefault: a\nbundles: {a: {doc: A bundle., rulesets: [grounding]}}\n"
MODELS = """\
models:
  default: small
  known:
    small:
      doc: Our own server.
      model: qwen3-8b
      base_url: http://127.0.0.1:8000/v1/
      timeout: 2.5
      prompt_tokens: 5000
      seed: 0
      parameters: {temperature: omit, max_completion_tokens: max_tokens}
      price: {input: 0.4, output: 1.6}
      cost_limit: 0.02
    large: {doc: OpenAI's., model: gpt-large}
"""


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return a function that reads settings from a policies text and an environment."""

    def build(models: str = MODELS, **environ: str) -> ModelSettings:
        path = tmp_path / "policies.yaml"
        path.write_text(HEAD + models, encoding="utf-8")
        return model_settings(path, environ)

    return build


def refusal(read: Read, models: str = MODELS, **environ: str) -> str:
    """Return the code with which settings are refused."""
    with pytest.raises(ModelError) as caught:
        read(models, **environ)
    assert not caught.value.transient
    return caught.value.code


def test_the_default_model_of_the_policies(read: Read) -> None:
    """R-L1: everything that an entry says is used; a cached token costs what a fresh one does where the table does not say."""
    assert read() == ModelSettings(
        "qwen3-8b",
        "http://127.0.0.1:8000/v1",
        account=False,
        timeout=2.5,
        prompt_tokens=5000,
        seed=0,
        parameters={"temperature": "omit", "max_completion_tokens": "max_tokens"},
        price=Price(Decimal("0.4"), Decimal("0.4"), Decimal("1.6")),
        cost_limit=Decimal("0.02"),
    )


def test_deviations_are_named_in_a_fixed_order(read: Read) -> None:
    """What a model is configured to refuse is recorded, never silently left out."""
    assert read().deviations == ("temperature omitted", "max_completion_tokens sent as max_tokens")


@pytest.mark.parametrize("name", ["large", "gpt-large"])
def test_the_environment_names_an_entry_or_its_model(read: Read, name: str) -> None:
    """`REFLECT_GATE_MODEL` goes over the default; both names of an entry find it."""
    found = read(REFLECT_GATE_MODEL=name, OPENAI_API_KEY="sk-own")
    assert (found.model, found.base_url, found.key_from) == ("gpt-large", "https://api.openai.com/v1", "OPENAI_API_KEY")


def test_a_model_that_no_entry_knows_has_no_price(read: Read) -> None:
    """Nothing of another entry is taken over: not its price, and not its server."""
    found = read(REFLECT_GATE_MODEL="other", REFLECT_GATE_API_KEY="k")
    assert (found.model, found.price, found.base_url) == ("other", None, "https://api.openai.com/v1")


def test_the_server_of_the_environment_goes_over_the_entry(read: Read) -> None:
    """`REFLECT_GATE_BASE_URL`, then the entry, then `OPENAI_BASE_URL`."""
    both = {"REFLECT_GATE_BASE_URL": "http://localhost:1/v1", "OPENAI_BASE_URL": "http://localhost:2/v1"}
    assert read(**both).base_url == "http://localhost:1/v1"
    assert read(OPENAI_BASE_URL="http://localhost:2/v1").base_url == "http://127.0.0.1:8000/v1"
    assert read(OPENAI_BASE_URL="http://localhost:2/v1", REFLECT_GATE_MODEL="large").base_url == "http://localhost:2/v1"


def test_our_own_key_goes_first(read: Read) -> None:
    """`REFLECT_GATE_API_KEY` before `OPENAI_API_KEY`."""
    found = read(REFLECT_GATE_API_KEY="ours", OPENAI_API_KEY="sk-own")
    assert (found.key, found.key_from) == ("ours", "REFLECT_GATE_API_KEY")


def test_the_openai_key_does_not_go_to_a_server_of_the_policies(read: Read) -> None:
    """Somebody else's policies file must not fetch the key of the user's OpenAI account."""
    found = read(OPENAI_API_KEY="sk-own")
    assert (found.key, found.account) == ("", False)
    assert read(OPENAI_API_KEY="sk-own", REFLECT_GATE_BASE_URL="http://localhost:1/v1").key == "sk-own"


def test_no_text_of_the_settings_holds_the_key(read: Read) -> None:
    """A traceback or a log line shows the settings."""
    assert "hidden-key" not in repr(read(REFLECT_GATE_API_KEY="hidden-key"))


def test_a_key_is_not_sent_unencrypted(read: Read) -> None:
    """Plain http is for this machine alone; without a key there is nothing to protect."""
    remote = MODELS.replace("http://127.0.0.1:8000/v1/", "http://models.example/v1")
    assert refusal(read, remote, REFLECT_GATE_API_KEY="k") == "model-key"
    assert read(remote).key == ""
    assert read(remote.replace("http:", "https:"), REFLECT_GATE_API_KEY="k").key == "k"


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        ({"REFLECT_GATE_BASE_URL": "ftp://host/v1"}, "model-url"),
        ({"REFLECT_GATE_BASE_URL": "api.example.com/v1"}, "model-url"),
        ({"REFLECT_GATE_BASE_URL": "http://user:secret@host/v1"}, "model-url"),
        ({"REFLECT_GATE_BASE_URL": "http://host/v1?key=secret"}, "model-url"),
        ({"REFLECT_GATE_BASE_URL": "http://host:port/v1"}, "model-url"),
        ({"REFLECT_GATE_BASE_URL": "http://[::1/v1"}, "model-url"),
        ({"REFLECT_GATE_MODEL": "large"}, "model-key"),
        ({"REFLECT_GATE_API_KEY": "two\nlines"}, "model-key"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(read: Read, environ: dict[str, str], code: str) -> None:
    """A wrong address or key is found before anything is sent, and is no reason to try again."""
    assert refusal(read, **environ) == code


def test_an_address_with_a_password_is_not_repeated(read: Read) -> None:
    """The error about it must not print it."""
    with pytest.raises(ModelError) as caught:
        read(REFLECT_GATE_BASE_URL="http://user:secret@host/v1")
    assert "secret" not in str(caught.value)


def test_without_a_model_nothing_is_asked(read: Read) -> None:
    """The shipped policies name no model."""
    assert refusal(read, "") == "model-unset"


def test_a_cost_limit_needs_a_bounded_answer(read: Read) -> None:
    """R-L3: a bound of the cost that cannot be kept is refused."""
    assert refusal(read, MODELS.replace("max_completion_tokens: max_tokens", "max_completion_tokens: omit")) == "model-settings"


def test_policies_that_cannot_be_read_are_no_settings(tmp_path: Path) -> None:
    """A missing file is not taken for one without models."""
    with pytest.raises(ModelError, match="cannot be read"):
        model_settings(tmp_path / "gone.yaml", {"REFLECT_GATE_MODEL": "m"})


BROKEN = """\
models:
  default: smal
  known:
    small:
      doc: d
      model: q
      key: sk-secret
      timeout: 0
      seed: 1.5
      prompt_tokens: many
      parameters: {temperature: never, tmperature: omit}
      price: {input: -1, output: 1}
    big: {doc: d, cost_limit: 1}
"""


def test_every_fault_of_the_models_is_reported_at_once(read: Read) -> None:
    """House style: file, line, column, nearest name, all at once; the key has no place in the file."""
    with pytest.raises(ReflectGateError) as caught:
        read(BROKEN)
    found = [(error.source.line - 3 if error.source else 0, error.message) for error in caught.value.errors]
    assert [line for line, _ in found] == [2, 7, 8, 9, 10, 11, 11, 12, 13, 13]
    said = "\n".join(message for _, message in found)
    assert "`default` of `models` names none of them: `smal`, did you mean `small`?" in said
    assert "model `small` has no key `key`" in said
    assert "`timeout` of model `small` is a number from 1 to 3600, not `0`" in said
    assert "has no key `tmperature`, did you mean `temperature`?" in said
    assert "`temperature` is one of `send`, `omit`, not `never`" in said
    assert "`cost_limit` of model `big` needs a `price`" in said
    assert "model `big` needs the key `model`" in said
