"""S1's settings, under our names, with S1's defaults."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reflect_gate.capture.route import DEFAULT_ROUTE, bundle_of, chosen_route, store_of
from reflect_gate.capture.settings import SHUTDOWN, VARIABLES, Settings, read_settings
from reflect_gate.errors import ReflectGateError

S1 = {
    "ENABLED": True,
    "ON_ERROR": True,
    "ON_HALLUCINATION": True,
    "ON_LOW_QUALITY": False,
    "PERSIST": True,
    "QUEUE_ENABLED": True,
    "QUEUE_WORKERS": 2,
    "QUEUE_CAPACITY": 1000,
    "QUEUE_DROP_OLDEST": False,
    "QUEUE_BLOCK_TIMEOUT": 5.0,
    "QUEUE_MAX_ATTEMPTS": 5,
    "QUEUE_INITIAL_DELAY": 1.0,
    "QUEUE_MAX_DELAY": 300.0,
    "QUEUE_JITTER": 0.2,
    "QUEUE_JOB_TIMEOUT": 120.0,
    "QUEUE_STALE_AFTER": 7 * 86_400.0,
    "QUEUE_BASE_DIR": "",
}


def test_every_setting_of_s1_with_its_default() -> None:
    """R-q11: seventeen of S1, and two limits in dollars, which are off."""
    fields = {variable: field for field, variable in VARIABLES.items()}
    assert {name: getattr(Settings(), fields[f"REFLECT_GATE_{name}"]) for name in S1} == S1
    assert set(VARIABLES) == set(Settings._fields)
    assert {field for field in Settings._fields if getattr(Settings(), field) is None} == {"daily_cost_limit", "job_cost_limit"}


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("REFLECT_GATE_ENABLED", "false", False),
        ("REFLECT_GATE_ON_LOW_QUALITY", " TRUE ", True),
        ("REFLECT_GATE_QUEUE_WORKERS", "8", 8),
        ("REFLECT_GATE_QUEUE_BLOCK_TIMEOUT", "250ms", 0.25),
        ("REFLECT_GATE_QUEUE_MAX_DELAY", "5m", 300.0),
        ("REFLECT_GATE_QUEUE_STALE_AFTER", "168h", 604_800.0),
        ("REFLECT_GATE_QUEUE_JOB_TIMEOUT", "90", 90.0),
        ("REFLECT_GATE_QUEUE_JITTER", "0.5", 0.5),
        ("REFLECT_GATE_DAILY_COST_LIMIT", "2.50", Decimal("2.50")),
        ("REFLECT_GATE_JOB_COST_LIMIT", "0.02", Decimal("0.02")),
        ("REFLECT_GATE_QUEUE_CAPACITY", "", 1000),
    ],
)
def test_the_environment_is_read(variable: str, text: str, value: object) -> None:
    """R-q11: each value in the form that S1 writes it in; empty is unset."""
    field = next(field for field, name in VARIABLES.items() if name == variable)
    assert getattr(read_settings({variable: text}), field) == value


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("REFLECT_GATE_ENABLED", "maybe"),
        ("REFLECT_GATE_QUEUE_WORKERS", "0"),
        ("REFLECT_GATE_QUEUE_WORKERS", "-1"),
        ("REFLECT_GATE_QUEUE_WORKERS", "65"),
        ("REFLECT_GATE_QUEUE_WORKERS", "\u0662"),
        ("REFLECT_GATE_QUEUE_CAPACITY", "1e3"),
        ("REFLECT_GATE_QUEUE_JITTER", "0.51"),
        ("REFLECT_GATE_QUEUE_JITTER", "nan"),
        ("REFLECT_GATE_QUEUE_JOB_TIMEOUT", "2 minutes"),
        ("REFLECT_GATE_QUEUE_JOB_TIMEOUT", "25h"),
        ("REFLECT_GATE_QUEUE_STALE_AFTER", "0"),
        ("REFLECT_GATE_QUEUE_BASE_DIR", "queue"),
        ("REFLECT_GATE_DAILY_COST_LIMIT", "$5"),
        ("REFLECT_GATE_JOB_COST_LIMIT", "-1"),
    ],
)
def test_what_makes_no_sense_is_an_error(variable: str, text: str) -> None:
    """A misspelt limit must not quietly become no limit."""
    with pytest.raises(ReflectGateError) as caught:
        read_settings({variable: text})
    assert (caught.value.code, str(caught.value).partition(":")[0]) == ("settings", variable)


def test_all_problems_are_told_at_once() -> None:
    """One run shows everything that is to be repaired."""
    with pytest.raises(ReflectGateError) as caught:
        read_settings({"REFLECT_GATE_ENABLED": "maybe", "REFLECT_GATE_QUEUE_JITTER": "2"})
    assert len(caught.value.errors) == 2


def test_queue_and_workers_are_told(tmp_path: Path) -> None:
    """R-q3, R-q4, R-q6 to R-q8: what is set reaches those whom it concerns; a worker is gone within 30 seconds."""
    settings = read_settings(
        {"REFLECT_GATE_QUEUE_CAPACITY": "7", "REFLECT_GATE_QUEUE_MAX_ATTEMPTS": "2", "REFLECT_GATE_QUEUE_JOB_TIMEOUT": "3s"}
    )
    assert (settings.queue().capacity, settings.queue().max_attempts, settings.queue().check()) == (7, 2, settings.queue())
    assert (settings.pool().workers, settings.pool().job_timeout) == (2, 3.0)
    assert 20.0 < settings.pool().drain < SHUTDOWN == 30.0
    assert settings._replace(queue_base_dir=str(tmp_path)).folder == tmp_path


def test_a_base_can_be_given() -> None:
    """What the environment does not say comes from elsewhere, such as a file."""
    base = Settings(queue_workers=5, on_error=False)
    assert read_settings({"REFLECT_GATE_ON_ERROR": "on"}, base) == base._replace(on_error=True)


@pytest.mark.parametrize(("given", "route"), [({}, DEFAULT_ROUTE), ({"REFLECT": "15reflect"}, "15reflect")])
def test_the_route(given: dict[str, str], route: str) -> None:
    """R-x3: REFLECT names it."""
    assert chosen_route(given) == route


def test_an_unknown_route_is_an_error() -> None:
    """A misspelt experiment must not run as the other arm."""
    with pytest.raises(ReflectGateError, match="did you mean `introspect`"):
        chosen_route({"REFLECT": "introspec"})


def test_each_route_has_its_bundle_and_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """R-x3: the baseline's store is its own, and no setting sends it elsewhere."""
    monkeypatch.setenv("REFLECT_GATE_HOME", str(tmp_path))
    monkeypatch.setenv("REFLECT_GATE_STORE", str(tmp_path / "team.db"))
    monkeypatch.setenv("REFLECT_GATE_BUNDLE", "ablate-blame")
    found: dict[str, Any] = {"15reflect": (bundle_of("15reflect"), Path(store_of("15reflect")).name)}
    found["introspect"] = (bundle_of("introspect"), Path(store_of("introspect")).name)
    assert found == {"15reflect": ("ablate-blame", "team.db"), "introspect": ("introspect", "introspect.db")}
    monkeypatch.delenv("REFLECT_GATE_BUNDLE")
    assert bundle_of("15reflect") is None
    assert os.environ["REFLECT_GATE_HOME"] == str(tmp_path)
