"""Which model is asked, where, with which key, at what price: the environment over `models:` of the policies file.

- model: `REFLECT_GATE_MODEL`, the name of an entry of `models.known` or the model's own name; else `models.default`.
- server: `REFLECT_GATE_BASE_URL`, else the entry's `base_url`, else `OPENAI_BASE_URL`, else OpenAI.
- key: `REFLECT_GATE_API_KEY`, else `OPENAI_API_KEY`. The latter is the key of the user's own OpenAI account or of the server that
  the user's environment names: it does not go to another server that a policies file names.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from ..config import choose_policies
from ..policy.load_models import PARAMETERS
from ..policy.load_policies import load_policies
from ..policy.parsed import ModelDecl, ModelsDecl
from ..policy.problems import Problems
from .errors import ModelError

__all__ = [
    "BASE_URL_VARIABLE",
    "KEY_VARIABLE",
    "MAX_COMPLETION_TOKENS",
    "MODEL_VARIABLE",
    "OPENAI_BASE_URL",
    "TEMPERATURE",
    "ModelSettings",
    "Price",
    "model_settings",
]

MODEL_VARIABLE: Final = "REFLECT_GATE_MODEL"
BASE_URL_VARIABLE: Final = "REFLECT_GATE_BASE_URL"
KEY_VARIABLE: Final = "REFLECT_GATE_API_KEY"
OPENAI_BASE_URL: Final = "https://api.openai.com/v1"
TEMPERATURE: Final = 0
MAX_COMPLETION_TOKENS: Final = 2048

_OPENAI_KEY: Final = "OPENAI_API_KEY"
_OPENAI_URL: Final = "OPENAI_BASE_URL"
_OPENAI_HOST: Final = "api.openai.com"
_TIMEOUT: Final = 100.0
_PROMPT_TOKENS: Final = 24_000
_SEED: Final = 15


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars a million tokens: of the prompt, of its part that the server had in its cache, and of the answer."""

    input: Decimal
    cached: Decimal
    output: Decimal


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How the one call is made.

    Attributes:
        model: the model as its server calls it.
        base_url: the server, without a slash at the end; holds no user name or password.
        key: the key, empty where the server wants none; it is in no text that this class prints.
        key_from: the variable that the key is from, empty where there is none.
        account: whether the server may see what the environment says of the user's OpenAI account: organization, project, and
            headers for openai's client.
        timeout: seconds from the beginning of the call to the last byte of the answer.
        prompt_tokens: the most that the prompt may have, by the estimate of `prompt`.
        parameters: what is done with each of `policy.load_models.PARAMETERS`.
        price: `None` where it is not known; no cost is then recorded.
        cost_limit: dollars that one call may cost at most.
    """

    model: str
    base_url: str = OPENAI_BASE_URL
    key: str = field(default="", repr=False)
    key_from: str = ""
    account: bool = True
    timeout: float = _TIMEOUT
    prompt_tokens: int = _PROMPT_TOKENS
    seed: int = _SEED
    parameters: Mapping[str, str] = field(default_factory=dict)
    price: Price | None = None
    cost_limit: Decimal | None = None

    def choice(self, parameter: str) -> str:
        """Return what is done with a parameter: `send`, `omit`, or another name to send it under."""
        return self.parameters.get(parameter, PARAMETERS[parameter][0])

    @property
    def deviations(self) -> tuple[str, ...]:
        """What is not sent as it should be, in the fixed order of the parameters."""
        found = []
        for parameter in PARAMETERS:
            choice = self.choice(parameter)
            if choice != "send":
                found.append(f"{parameter} omitted" if choice == "omit" else f"{parameter} sent as {choice}")
        return tuple(found)


def model_settings(policies: str | Path | None = None, environ: Mapping[str, str] | None = None) -> ModelSettings:
    """Return the settings in force.

    Args:
        policies: the policies file; by default the one that `config.choose_policies` chooses.
        environ: the environment; the process' own by default.

    Raises:
        ReflectGateError: the policies file cannot be read; `model-unset`, `model-url`, `model-key` or `model-settings`.
    """
    given = os.environ if environ is None else environ
    declared = _declared(choose_policies(policies).path)
    entry, model = _chosen(declared, given.get(MODEL_VARIABLE, ""))
    base_url, url_from_file = _base_url(entry, given)
    account = not url_from_file or urlsplit(base_url).hostname == _OPENAI_HOST
    settings = ModelSettings(model, base_url, *_key(base_url, account, given), account)
    return _check(_with_entry(settings, entry) if entry else settings)


def _declared(path: Path) -> ModelsDecl:
    problems = Problems()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError("model-settings", f"`{path}` cannot be read: {error.strerror}") from None
    policies = load_policies(data, str(path), problems)
    problems.stop_if_any()
    return policies.models if policies else ModelsDecl("", {})


def _chosen(declared: ModelsDecl, asked: str) -> tuple[ModelDecl | None, str]:
    """Return the entry and the model's own name; a name that is no entry's may still be the model of one."""
    if not asked and not declared.default:
        message = f"no model is named: set `{MODEL_VARIABLE}`, or `models.default` in the policies file"
        raise ModelError("model-unset", message)
    entry = declared.known.get(asked or declared.default)
    if entry is None:
        entry = next((known for known in declared.known.values() if known.model == asked), None)
    return entry, entry.model if entry else asked


def _base_url(entry: ModelDecl | None, given: Mapping[str, str]) -> tuple[str, bool]:
    """Return the server's address, and whether the policies file names it."""
    named = given.get(BASE_URL_VARIABLE, "")
    if not named and entry and entry.base_url:
        return _sound_url(entry.base_url), True
    return _sound_url(named or given.get(_OPENAI_URL, "") or OPENAI_BASE_URL), False


def _sound_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ModelError("model-url", "the model's address is no URL") from None
    if "@" in parts.netloc:
        # The address is printed and recorded, so it must hold nothing secret; for the same reason it is not shown here.
        raise ModelError("model-url", f"the model's address holds a user name or password: set `{KEY_VARIABLE}` instead")
    if not sound or parts.query or parts.fragment:
        raise ModelError("model-url", f"`{url[:200]}` is not the address of a server, such as `http://127.0.0.1:8000/v1`")
    return url.rstrip("/")


def _key(base_url: str, account: bool, given: Mapping[str, str]) -> tuple[str, str]:
    own, openai = given.get(KEY_VARIABLE, ""), given.get(_OPENAI_KEY, "")
    parts = urlsplit(base_url)
    if own:
        key, key_from = own, KEY_VARIABLE
    elif openai and account:
        key, key_from = openai, _OPENAI_KEY
    else:
        key, key_from = "", ""
    if parts.hostname == _OPENAI_HOST and not key:
        other = f"or `{BASE_URL_VARIABLE}` for another server"
        raise ModelError("model-key", f"OpenAI wants a key: set `{KEY_VARIABLE}` or `{_OPENAI_KEY}`, {other}")
    if not (key.isascii() and key.isprintable()):
        raise ModelError("model-key", f"`{key_from}` holds characters that no key has, such as a line end")
    if key and parts.scheme == "http" and not _loopback(parts):
        raise ModelError("model-key", f"a key would go to `{base_url}` unencrypted: use https, or a server on this machine")
    return key, key_from


def _loopback(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _with_entry(settings: ModelSettings, entry: ModelDecl) -> ModelSettings:
    price = entry.price
    return ModelSettings(
        settings.model,
        settings.base_url,
        settings.key,
        settings.key_from,
        settings.account,
        float(entry.timeout) if entry.timeout is not None else settings.timeout,
        entry.prompt_tokens or settings.prompt_tokens,
        entry.seed if entry.seed is not None else settings.seed,
        entry.parameters,
        Price(price.input, price.cached, price.output) if price else None,
        entry.cost_limit,
    )


def _check(settings: ModelSettings) -> ModelSettings:
    if settings.cost_limit is not None and settings.choice("max_completion_tokens") == "omit":
        message = "`cost_limit` needs a bounded answer: `max_completion_tokens` must be `send` or `max_tokens`"
        raise ModelError("model-settings", message)
    return settings
