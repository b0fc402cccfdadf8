"""Deterministic assembly of the evidentiary record: what stands in it is decided here, never by the model (R-a1).

A record has exactly six keys: `failure_id`, which is also the idempotency key (one record per termination), and five fields of
evidence. An item keeps the id, component and sequence number that it was captured with; what is missing is filled in by a fixed
rule:

- `seq`: one more than the item before it in its list (0 for the first);
- `component`: the one its kind comes from (`KIND_COMPONENT`);
- `id`: `<kind>-<n>`, the nth item of that kind in order, where the number is free.

Real captures carry no component-13 diagnosis; `diagnose` then builds one from the failing items. It states a symptom and names
no cause: its root cause is `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from ..errors import ReflectGateError, Source, did_you_mean, raise_all
from ..measure._errortext import exception_class, read_error
from ._signature import signature, site

if TYPE_CHECKING:
    from ..types import Component, Diagnosis, FailureError, Item, Outcome, Record, SignatureContext

__all__ = [
    "CONTEXT_KEYS",
    "KIND_COMPONENT",
    "RECORD_KEYS",
    "assemble",
    "complete",
    "diagnose",
    "failing",
    "idempotency_key",
    "items",
    "record_signature",
]

RECORD_KEYS = ("failure_id", "outcome", "traces", "diagnosis", "repair_delta", "successful_trajectory")

CONTEXT_KEYS = (
    "task",
    "repository",
    "language",
    "commit",
    "session",
    "recalled",
    "recalled_beside",
    "error",
    "failing_action_seq",
)
"""What a termination says beyond its record; of these only `error` is read here, for the diagnosis."""

OUTCOMES = ("resolved", "escalated")

KIND_COMPONENT: Mapping[str, Component] = {
    "plan": 11,
    "code": 11,
    "action": 11,
    "spec": 11,
    "tool_output": 12,
    "test_output": 12,
    "error": 12,
    "log": 12,
    "diagnosis": 13,
    "repair": 14,
    "success": 11,
    "user": "user",
}

CITED_LIMIT = 16
"""Failing items that a built diagnosis cites."""

SYMPTOM_LIMIT = 512

CHECK_FAILED = "check-failed"
"""The error class of a check that raised nothing and gave another value."""


def idempotency_key(record: Mapping[str, object]) -> str:
    """Return the key under which a termination is reflected on once: its `failure_id`."""
    return str(record["failure_id"])


def items(record: Record) -> tuple[Item | Diagnosis, ...]:
    """Return every citable item of a record: traces, diagnosis, repair, successful trajectory; traces and trajectory by `seq`."""
    diagnosis = [record["diagnosis"]] if record["diagnosis"] is not None else []
    repair = [record["repair_delta"]] if record["repair_delta"] is not None else []
    return (*record["traces"], *diagnosis, *repair, *record["successful_trajectory"])


def complete(record: Record) -> bool:
    """Return whether the record may go to the model: it has an outcome and at least one trace."""
    return record["outcome"] is not None and bool(record["traces"])


def failing(traces: Sequence[Item]) -> list[Item]:
    """Return the traces that show the failure, in order: failed checks, non-zero exits, errors; none where none says so."""
    return [item for item in traces if _fails(item)]


def _fails(item: Item) -> bool:
    if "passed" in item:
        return not item["passed"]
    return item.get("exit_code", 0) != 0 or bool(item.get("error_class")) or item["kind"] == "error"


# -- assembly --------------------------------------------------------------------------------------------------------------------


def assemble(termination: Mapping[str, object]) -> Record:
    """Return the evidentiary record of a termination; the same termination gives the same record.

    `termination` is one of `schemas/termination.schema.json`: `failure_id` and any of the other five keys and of
    `CONTEXT_KEYS`; absent ones are `None` or empty. All problems are raised at once: `record-unknown-key`, `record-bad-value`,
    `record-duplicate-id`, `record-unknown-citation`.
    """
    errors = list(_key_errors(termination))
    traces = _items(termination.get("traces"), "/traces", errors)
    successes = _items(termination.get("successful_trajectory"), "/successful_trajectory", errors)
    repair = _items(termination.get("repair_delta"), "/repair_delta", errors)
    raise_all(errors)
    given = termination.get("diagnosis")
    draft = cast("Mapping[str, object] | None", given)
    known = {str(item["id"]) for item in (*traces, *repair, *successes, *([draft] if draft else [])) if item.get("id")}
    counts: dict[str, int] = {}
    record: Record = {
        "failure_id": str(termination["failure_id"]),
        "outcome": cast("Outcome | None", termination.get("outcome")),
        "traces": _named(traces, known, counts),
        "diagnosis": None,
        "repair_delta": next(iter(_named(repair, known, counts)), None),
        "successful_trajectory": _named(successes, known, counts),
    }
    if draft is not None:
        record["diagnosis"] = _given_diagnosis(draft, record["traces"])
    elif record["traces"]:
        record["diagnosis"] = diagnose(record, cast("FailureError | None", termination.get("error")))
    raise_all(_reference_errors(record))
    return record


def _key_errors(termination: Mapping[str, object]) -> Iterator[ReflectGateError]:
    for key in termination:
        if key not in RECORD_KEYS and key not in CONTEXT_KEYS:
            near = did_you_mean(key, (*RECORD_KEYS, *CONTEXT_KEYS))
            yield _error("record-unknown-key", f"unknown key `{key}`{near}", f"/{key}")
    failure_id = termination.get("failure_id")
    if not isinstance(failure_id, str) or not failure_id.strip():
        yield _error("record-bad-value", f"expected a non-blank text, found `{failure_id}`", "/failure_id")
    outcome = termination.get("outcome")
    if outcome is not None and outcome not in OUTCOMES:
        near = did_you_mean(str(outcome), OUTCOMES)
        yield _error("record-bad-value", f"expected {' or '.join(OUTCOMES)}, found `{outcome}`{near}", "/outcome")
    diagnosis = termination.get("diagnosis")
    if diagnosis is not None and not isinstance(diagnosis, Mapping):
        yield _error("record-bad-value", f"expected an object, found `{diagnosis}`", "/diagnosis")


def _items(value: object, pointer: str, errors: list[ReflectGateError]) -> list[dict[str, object]]:
    """Return the items of one key ordered by `seq`, with `seq` and `component` filled in; problems go to `errors`."""
    if value is None:
        return []
    listed = [value] if isinstance(value, Mapping) else value
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        errors.append(_error("record-bad-value", f"expected items, found `{str(value)[:80]}`", pointer))
        return []
    filled: list[dict[str, object]] = []
    seq = -1
    for index, item in enumerate(listed):
        place = pointer if isinstance(value, Mapping) else f"{pointer}/{index}"
        problem = _item_error(item, place)
        if problem:
            errors.append(problem)
            continue
        entry = {
            "seq": seq + 1,
            "component": KIND_COMPONENT[item["kind"]],
            **{key: part for key, part in item.items() if part is not None},
        }
        seq = cast("int", entry["seq"])
        filled.append(entry)
    return sorted(filled, key=lambda entry: cast("int", entry["seq"]))


def _item_error(item: object, pointer: str) -> ReflectGateError | None:
    if not isinstance(item, Mapping):
        return _error("record-bad-value", f"expected an item, found `{str(item)[:80]}`", pointer)
    kind, seq = item.get("kind"), item.get("seq", 0)
    if kind not in KIND_COMPONENT:
        return _error("record-bad-value", f"unknown kind `{kind}`{did_you_mean(str(kind), KIND_COMPONENT)}", f"{pointer}/kind")
    if not isinstance(item.get("text"), str):
        return _error("record-bad-value", f"expected a text, found `{item.get('text')}`", f"{pointer}/text")
    if seq is not None and (not isinstance(seq, int) or isinstance(seq, bool) or seq < 0):
        return _error("record-bad-value", f"expected a whole number from 0, found `{seq}`", f"{pointer}/seq")
    return None


def _named(entries: Iterable[dict[str, object]], known: set[str], counts: dict[str, int]) -> list[Item]:
    """Give each entry without an id the next free `<kind>-<n>`; `known` and `counts` run over the whole record."""
    named = []
    for entry in entries:
        name = entry.get("id") or _free_id(str(entry["kind"]), known, counts)
        named.append(cast("Item", {**entry, "id": name}))
    return named


def _free_id(kind: str, known: set[str], counts: dict[str, int]) -> str:
    while True:
        counts[kind] = counts.get(kind, 0) + 1
        name = f"{kind}-{counts[kind]}"
        if name not in known:
            known.add(name)
            return name


def _reference_errors(record: Record) -> Iterator[ReflectGateError]:
    seen: set[str] = set()
    for item in items(record):
        if item["id"] in seen:
            yield _error("record-duplicate-id", f"two items have the id `{item['id']}`", f"/{record['failure_id']}")
        seen.add(item["id"])
    diagnosis = record["diagnosis"]
    if diagnosis is not None:
        citable = seen - {diagnosis["id"]}
        for index, name in enumerate(diagnosis["cited"]):
            if name not in citable:
                message = f"the diagnosis cites `{name}`, which the record does not hold{did_you_mean(name, citable)}"
                yield _error("record-unknown-citation", message, f"/diagnosis/cited/{index}")


def _error(code: str, message: str, pointer: str) -> ReflectGateError:
    return ReflectGateError(code, message, Source("termination", pointer=pointer))


# -- diagnosis -------------------------------------------------------------------------------------------------------------------


def diagnose(record: Record, error: FailureError | None = None) -> Diagnosis:
    """Return the deterministic diagnosis of a record with traces: symptom, class, site and failing items; no cause.

    `error` is the error that ended the run, where the capture says; else the first failing item is read, and where none says
    that it failed, the last trace is.
    """
    shown = failing(record["traces"]) or record["traces"][-1:]
    if not shown:
        message = f"`{record['failure_id']}` has no trace to diagnose"
        raise ReflectGateError("record-without-traces", message, Source("termination", pointer="/traces"))
    first, known = shown[0], cast("Mapping[str, str]", error or {})
    error_class = known.get("class") or _error_class(first)
    symptom = (known.get("message") or _symptom(first, error_class))[:SYMPTOM_LIMIT]
    place = site(known.get("site", "")) or _site(first)
    taken = {item["id"] for item in items(record)}
    return {
        "id": _free_id("diagnosis", taken, {}) if "diagnosis" in taken else "diagnosis",
        "component": 13,
        "kind": "diagnosis",
        "seq": max(item["seq"] for item in record["traces"]) + 1,
        "text": _diagnosis_text(symptom, error_class, place, len(shown)),
        "symptom": symptom,
        "error_class": error_class,
        "site": place,
        "root_cause": "unknown",
        "cited": [item["id"] for item in shown[:CITED_LIMIT]],
    }


def _given_diagnosis(given: Mapping[str, object], traces: Sequence[Item]) -> Diagnosis:
    """Complete a captured diagnosis with empty or `unknown` values; what it says is kept."""
    last = traces[-1]["seq"] + 1 if traces else 0
    text = str(given.get("text") or given.get("symptom") or "")
    return cast(
        "Diagnosis",
        {
            "id": "diagnosis",
            "seq": last,
            "symptom": text[:SYMPTOM_LIMIT],
            "error_class": "",
            "site": "",
            "root_cause": "unknown",
            "cited": [],
            **{key: value for key, value in given.items() if value is not None},
            "text": text,
            "component": 13,
            "kind": "diagnosis",
        },
    )


def _error_class(item: Item) -> str:
    """The captured class, else the one in the text, else what kind of check failed."""
    captured = item.get("error_class") or read_error(item["text"]).error_class or exception_class(item.get("actual", ""))
    if captured:
        return captured
    if "expected" in item or item.get("passed") is False:
        return CHECK_FAILED
    code = item.get("exit_code", 0)
    return f"exit-{code}" if code else "unknown"


def _symptom(item: Item, error_class: str) -> str:
    """The error's message; of a check that only gave another value, both values."""
    if error_class == CHECK_FAILED and "actual" in item and "expected" in item:
        return f"expected {item['expected']}, got {item['actual']}: {_first_line(item['text'])}"
    for text in (item["text"], item.get("actual", "")):
        named = text.rfind(f"{error_class}: ")
        if named >= 0:
            return _first_line(text[named + len(error_class) + 2 :])
    return read_error(item["text"]).message or item["kind"]


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _site(item: Item) -> str:
    found = site(item["text"])
    if found:
        return found
    return site(str(item.get("path", "")))


def _diagnosis_text(symptom: str, error_class: str, place: str, shown: int) -> str:
    where = f" at {place}" if place else ""
    more = f"; {shown} items show a failure" if shown > 1 else ""
    return f"{error_class}{where}: {symptom}{more}; root cause unknown"


def record_signature(record: Record) -> SignatureContext:
    """Return the signature context of a record: its diagnosis' class, message and site.

    A failed check is told by what was checked, not by the value that came out, so that another wrong value is the same failure.
    """
    diagnosis = record["diagnosis"]
    if diagnosis is None:
        # Nothing was observed: two such failures must not be taken for one.
        return signature("unobserved", "", record["failure_id"])
    message = diagnosis["symptom"]
    if diagnosis["error_class"] == CHECK_FAILED:
        cited = (item for item in record["traces"] if item["id"] in diagnosis["cited"][:1])
        message = next((_first_line(item["text"]).removesuffix(item.get("actual", "")).rstrip() for item in cited), message)
    return signature(diagnosis["error_class"], message, diagnosis["site"])
