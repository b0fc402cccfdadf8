"""The part of `doctor` that asks the model, once and only when told to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from ..llm.errors import ModelError
from ..llm.settings import BASE_URL_VARIABLE, KEY_VARIABLE, MODEL_VARIABLE, ModelSettings, model_settings

if TYPE_CHECKING:
    from ..llm.call import Call

__all__ = ["FIXES", "model_check"]

FIXES: Final = {
    "model-unset": f"set {MODEL_VARIABLE}, or `models.default` in the policies file",
    "model-key": f"set {KEY_VARIABLE}",
    "model-unauthorized": f"set {KEY_VARIABLE} to a key that this server accepts",
    "model-unknown": "name a model that the server has; the address ends in /v1 with most servers",
    "model-schema-unsupported": "set `parameters: {json_schema: omit}` for the model, or use another",
    "model-missing": "pip install openai",
    "model-connection": f"start the server, or set {BASE_URL_VARIABLE} to where it is",
}


def model_check(policies: str | None) -> tuple[Literal["ok", "warn", "fail"], str, str]:
    """Return status, detail and fix of one call to the configured model; a broken policies file raises."""
    try:
        settings = model_settings(policies)
        from ..llm.probe import probe

        call, violation = probe(settings)
    except ModelError as error:
        return "fail", str(error), FIXES.get(error.code, "try again later" if error.transient else "")
    detail = f"{_who(settings)} answered {_cost(call)}"
    if violation is not None:
        fix = "such answers are counted as rejected candidates; a model that holds to JSON Schema does better"
        return "warn", f"{detail}; no candidate: {violation.message}", fix
    return "ok", detail, ""


def _who(settings: ModelSettings) -> str:
    key = f"key from {settings.key_from}" if settings.key_from else "no key"
    deviations = "".join(f", {deviation}" for deviation in settings.deviations)
    return f"`{settings.model}` at {settings.base_url} ({key}{deviations})"


def _cost(call: Call) -> str:
    shown = call.to_json()
    tokens = f"{shown['prompt_tokens']} + {shown['completion_tokens']} tokens" if call.usage else "tokens not stated"
    cost = f"${shown['cost']}" if call.cost is not None else "cost not known"
    return f"in {call.latency_ms} ms, {tokens}, {cost}"
