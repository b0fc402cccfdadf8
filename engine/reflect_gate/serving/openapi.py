"""The OpenAPI 3.1 document, made from the routes and the schemas: nothing is said twice."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

from .. import __version__, schemas
from .problems import MEDIA
from .routes import ROUTES, Parameter, Route
from .tokens import SCOPES

__all__ = ["document"]

_URN: Final = re.compile(r"urn:reflect-gate:schema:([a-z-]+):1(?:#(.*))?")
_COMPONENTS: Final = "#/components/schemas/"
_ALWAYS: Final = (429, 503)
_GUARDED: Final = (401, 403)
_ABOUT: Final = (
    "What the command line of reflect-gate does, over HTTP and with the same documents. Errors are problem documents (RFC 9457) "
    "with the codes of the command line."
)
_SCHEME: Final = (
    "A token of `reflect-gate serve token new`. The scopes that a request needs stand beside it; they are: "
    f"{', '.join(SCOPES)}. A server on the loopback interface without any token asks for none."
)


@functools.cache
def document() -> dict[str, Any]:
    """Return the whole document; not to be changed."""
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "reflect-gate", "version": __version__, "description": _ABOUT, "license": _LICENSE},
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "paths": paths,
        "components": {
            "schemas": {name: _component(name) for name in _needed()},
            "responses": {"problem": _problem()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": _SCHEME}},
        },
    }


_LICENSE: Final = {"name": "Apache-2.0", "identifier": "Apache-2.0"}


def _operation(route: Route) -> dict[str, Any]:
    statuses = sorted({*route.problems, *_ALWAYS, *(_GUARDED if route.scope else ()), 421})
    operation: dict[str, Any] = {
        "operationId": re.sub(r"[^a-z0-9]+", "-", f"{route.method} {route.path}".lower()).strip("-"),
        "summary": route.summary,
        "description": route.doc,
        "responses": {"200": _answer(route)} | {str(status): {"$ref": "#/components/responses/problem"} for status in statuses},
    }
    if route.parameters:
        operation["parameters"] = [_parameter(parameter) for parameter in route.parameters]
    if route.request:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _reference(route.request)}}}
    if route.scope:
        # The empty requirement is the server on loopback that has no tokens.
        operation["security"] = [{"token": [route.scope]}, {}]
    return operation


def _answer(route: Route) -> dict[str, Any]:
    said: Mapping[str, Any] = {"type": "string"} if route.media == "text/plain" else {"type": "object"}
    schema = _reference(route.answer) if route.answer else said
    return {"description": HTTPStatus.OK.phrase, "content": {route.media: {"schema": schema}}}


def _problem() -> dict[str, Any]:
    return {"description": "Why it was not done.", "content": {MEDIA: {"schema": _reference("problem")}}}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema = dict(parameter.schema)
    if schema["type"] == "string" and "enum" not in schema:
        schema["minLength"] = 1
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.place == "path",
        "description": parameter.doc,
        "schema": schema,
    }


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": _COMPONENTS + name}


def _needed() -> list[str]:
    """Return the names of the schemas that the routes speak of, and of those that these refer to, sorted."""
    todo = ["problem", *(name for route in ROUTES for name in (route.request, route.answer) if name)]
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += [match[1] for match in map(_URN.fullmatch, _references(schemas.schema(name))) if match]
    return sorted(found)


def _references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for inner in node.values():
            yield from _references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _references(inner)


def _component(name: str) -> Any:
    """Return a schema as a component; without its id, which would change what its references are relative to."""
    schema = schemas.schema(name)
    del schema["$id"], schema["$schema"]
    return _moved(schema, name)


def _moved(node: object, name: str) -> Any:
    """Return `node` with each reference pointing into this document."""
    if isinstance(node, list):
        return [_moved(inner, name) for inner in node]
    if not isinstance(node, dict):
        return node
    moved = {key: _moved(inner, name) for key, inner in node.items()}
    if isinstance(node.get("$ref"), str):
        moved["$ref"] = _target(node["$ref"], name)
    return moved


def _target(reference: str, name: str) -> str:
    match = _URN.fullmatch(reference)
    if match:
        return f"{_COMPONENTS}{match[1]}{match[2] or ''}"
    return f"{_COMPONENTS}{name}{reference.removeprefix('#')}"
