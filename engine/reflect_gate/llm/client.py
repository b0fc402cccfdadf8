"""Asking the model: one request over HTTP, one response as bytes. The only module that imports openai.

The client asks once and never again: no retries, no redirects, no second try with other parameters. Whatever comes back with
a status of success and is whole is *received*, whatever it says; everything else is a `ModelError` that says whether the
queue may try again. A response that ends early was not received. `ModelSettings.timeout` bounds the whole call: at its end
the connection is shut down, so that a server which sends a byte now and then cannot hold a worker.
"""

from __future__ import annotations

import email.utils
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import orjson

from .._canonical import digest
from ..policy.load_models import PARAMETERS
from .call import Received
from .errors import ModelError
from .prompt import Prompt
from .settings import MAX_COMPLETION_TOKENS, TEMPERATURE, ModelSettings

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["MAX_RESPONSE_BYTES", "Client", "ModelClient", "request_of"]

MAX_RESPONSE_BYTES: Final = 1_048_576
"""Bytes of a response that are kept; 2048 tokens need about a hundredth of it."""

_MAX_ERROR_BYTES: Final = 65_536
_SHOWN: Final = 240
_MAX_WAIT: Final = 86_400.0
_CONNECT_SECONDS: Final = 15.0
# What openai's client sends by itself; everything else is from the environment.
_PLAIN_HEADERS: Final = frozenset(
    {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent"}
)
_HTTP: Final = frozenset({"httpx", "httpx2", "httpcore", "httpcore2"})
_BUSY: Final = frozenset({408, 409, 425, 429})
_KEY_LIKE: Final = re.compile(r"\b(?:sk|pk|key)-[\w*-]{4,}|\bBearer\s+\S+", re.IGNORECASE)


class ModelClient(Protocol):
    """What the `reflect` stage needs of a client; tests may bring another."""

    @property
    def settings(self) -> ModelSettings:
        """How the call is made."""
        ...

    def ask(self, prompt: Prompt) -> Received:
        """Ask once; raise `ModelError` where no whole response came."""
        ...


def request_of(prompt: Prompt, settings: ModelSettings) -> dict[str, Any]:
    """Return the body of the request; the same prompt and settings give the same bytes."""
    request: dict[str, Any] = {"model": settings.model, "messages": [dict(message) for message in prompt.messages]}
    if settings.choice("temperature") == "send":
        request["temperature"] = TEMPERATURE
    if settings.choice("seed") == "send":
        request["seed"] = settings.seed
    bound = settings.choice("max_completion_tokens")
    if bound != "omit":
        request["max_completion_tokens" if bound == "send" else bound] = MAX_COMPLETION_TOKENS
    if settings.choice("json_schema") == "send":
        shape = {"name": "reflection_response", "strict": True, "schema": prompt.schema}
        request["response_format"] = {"type": "json_schema", "json_schema": shape}
    return request


class Client:
    """A client of any server that speaks OpenAI's chat completions."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings

    @property
    def settings(self) -> ModelSettings:
        """How the call is made."""
        return self._settings

    def ask(self, prompt: Prompt) -> Received:
        """Send one request and return what was received.

        Raises:
            ModelError: no whole response came (`transient` says whether another try later may go better).
        """
        settings, request = self._settings, request_of(prompt, self._settings)
        library = _library()
        started = time.monotonic()
        with (
            _Deadline(settings.timeout) as deadline,
            _opened(library, settings, deadline) as api,
            _translated(library, settings, deadline),
            api.chat.completions.with_streaming_response.create(**request) as response,
        ):
            status, content_type = response.status_code, response.headers.get("content-type", "")
            body, cut = _head(response.iter_bytes(), MAX_RESPONSE_BYTES)
            if deadline.passed:
                # A body without a stated length ends where the connection does, which may have been our doing.
                raise _too_late(settings)
        return Received(
            body,
            status,
            content_type[:256],
            cut,
            round((time.monotonic() - started) * 1000),
            settings.model,
            settings.base_url,
            digest(request),
            settings.deviations,
            settings.price,
        )


def _library() -> ModuleType:
    """Return openai, which takes half a second to import: before the call's time begins."""
    try:
        import openai
    except ImportError as error:
        raise ModelError("model-missing", f"openai cannot be imported: {error}") from None
    return openai


def _too_late(settings: ModelSettings) -> ModelError:
    message = f"no whole answer from `{settings.base_url}` within {settings.timeout:g} s"
    return ModelError("model-timeout", message, transient=True)


@contextmanager
def _opened(openai: Any, settings: ModelSettings, deadline: _Deadline) -> Iterator[OpenAI]:
    """Open openai's client so that it neither retries nor follows redirects, and reports every connection to `deadline`."""

    def watch(request: Any) -> None:
        request.extensions["trace"] = deadline.trace
        if not settings.account:
            for name in set(request.headers) - _PLAIN_HEADERS:
                if not name.startswith("x-stainless-"):
                    del request.headers[name]
            request.headers["authorization"] = f"Bearer {key}"

    def refuse(response: Any) -> None:
        if not 200 <= response.status_code < 300:
            raise _status_error(response, settings)

    # Servers that want no key still get a header, since the library insists on one.
    key = settings.key or "none"
    timeout = openai.Timeout(settings.timeout, connect=min(settings.timeout, _CONNECT_SECONDS))
    try:
        http = openai.DefaultHttpxClient(
            timeout=timeout, follow_redirects=False, event_hooks={"request": [watch], "response": [refuse]}
        )
        api = openai.OpenAI(
            api_key=key,
            base_url=settings.base_url,
            max_retries=0,
            timeout=timeout,
            http_client=http,
            # A compressed body could grow without bound after it was counted.
            default_headers={"Accept-Encoding": "identity"},
        )
    except (openai.OpenAIError, ValueError, ImportError) as error:
        # The environment may name a proxy or an account that the libraries cannot use.
        raise ModelError("model-settings", f"openai's client cannot be made: {_shown(str(error), settings.key)}") from None
    with api:
        yield api


@contextmanager
def _translated(openai: Any, settings: ModelSettings, deadline: _Deadline) -> Iterator[None]:
    """Turn whatever ends the call early into a `ModelError`: the connection's faults are transient, all others are not."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, a response may be lost by it, so nobody asks again by himself
        cause = error.__cause__ or error
        if isinstance(cause, ModelError):
            # Some versions of openai wrap what a hook raises.
            raise cause from None
        said = _shown(f"{type(cause).__name__}: {cause}", settings.key)
        # The HTTP library is another one in every second version of openai, so its exceptions are known by its name.
        home = type(error).__module__.partition(".")[0]
        if not isinstance(error, openai.APIConnectionError | OSError) and home not in _HTTP:
            raise ModelError("model-client", f"openai's client failed: {said}") from None
        if deadline.passed or "timeout" in type(error).__name__.lower():
            raise _too_late(settings) from None
        message = f"the connection to `{settings.base_url}` failed: {said}"
        raise ModelError("model-connection", message, transient=True) from None


def _head(chunks: Iterator[bytes], most: int) -> tuple[bytes, bool]:
    """Return at most `most` bytes, and whether there were more."""
    found = bytearray()
    for chunk in chunks:
        found += chunk
        if len(found) > most:
            return bytes(found[:most]), True
    return bytes(found), False


class _Deadline:
    """Shuts the connection down when the time is over, however busy it looks."""

    def __init__(self, seconds: float) -> None:
        self.passed = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            self._socket = None

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Note the socket of a connection that was opened or encrypted just now."""
        if not event.endswith(("connect_tcp.complete", "start_tls.complete")):
            return
        with self._lock:
            self._socket = info["return_value"].get_extra_info("socket")
            if self.passed:
                self._shut()

    def _end(self) -> None:
        with self._lock:
            self.passed = True
            self._shut()

    def _shut(self) -> None:
        if self._socket is None:
            return
        try:
            # Closing would free the descriptor under the thread that reads it; the plain shutdown wakes that thread, also under
            # TLS.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        except OSError:
            self._socket = None


# -- answers that are none ------------------------------------------------------------------------------------------------------


def _status_error(response: Any, settings: ModelSettings) -> ModelError:
    status: int = response.status_code
    said, parameter = _said(_error_body(response))
    code, transient = _code(status, said, parameter)
    message = f"`{settings.base_url}` answered {status}"
    if said:
        message += f": {_shown(said, settings.key)}"
    if code == "model-parameter":
        name = _parameter(said, parameter)
        message += f"; set `parameters: {{{name}: {PARAMETERS[name][1]}}}` for the model"
    wait = _retry_after(response.headers) if transient else None
    return ModelError(code, message, transient=transient, retry_after=wait, status=status)


def _error_body(response: Any) -> bytes:
    """Return the beginning of an error's body, nothing where it breaks off: the status says enough."""
    try:
        return _head(response.iter_bytes(), _MAX_ERROR_BYTES)[0]
    except Exception:  # noqa: BLE001 - the HTTP library's own, which is not imported here
        return b""


def _code(status: int, said: str, parameter: str) -> tuple[str, bool]:
    """Return the code of a status, and whether another try later may go better."""
    if status >= 500:
        return "model-unavailable", True
    if status in _BUSY:
        return "model-busy", True
    if status in {401, 403}:
        return "model-unauthorized", False
    if status == 404:
        return "model-unknown", False
    if status < 400:
        return "model-redirect", False
    if _parameter(said, parameter):
        return ("model-schema-unsupported" if _parameter(said, parameter) == "json_schema" else "model-parameter"), False
    return "model-refused", False


def _parameter(said: str, parameter: str) -> str:
    """Return which of our parameters an error is about, empty where it names none."""
    for name, words in (
        ("json_schema", ("response_format", "json_schema")),
        ("temperature", ("temperature",)),
        ("max_completion_tokens", ("max_completion_tokens", "max_tokens")),
        ("seed", ("seed",)),
    ):
        if any(parameter.startswith(word) or re.search(rf"\b{word}\b", said) for word in words):
            return name
    return ""


def _said(body: bytes) -> tuple[str, str]:
    """Return the message of an error's body and the parameter that it names."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode("utf-8", "replace"), ""
    error = document.get("error", document) if isinstance(document, dict) else document
    if isinstance(error, dict):
        return str(error.get("message") or error), str(error.get("param") or "")
    return str(error), ""


def _shown(text: str, key: str) -> str:
    """Return text of others in one short line that gives no key away."""
    if len(key) >= 8:
        text = text.replace(key, "[key]")
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text[:4096]).split()).replace("`", "'")
    line = _KEY_LIKE.sub("[key]", line)
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `Retry-After`, at most a day; `None` where it is absent or unreadable."""
    given = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,6})?", given):
        return min(float(given), _MAX_WAIT)
    until = _moment(given)
    if until is None:
        return None
    # The server's own clock says how long it means, where it tells the time.
    now = _moment(headers.get("date", "")) or time.time()
    return min(max(0.0, until - now), _MAX_WAIT)


def _moment(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
