"""Settings of the policies file: every one, its place, its bounds, and the environment over it."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.capture.declared import declared_settings, origins
from reflect_gate.capture.settings import VARIABLES, Settings, parse, read_settings
from reflect_gate.errors import ReflectGateError, Source
from reflect_gate.policy.load_capture import SECTIONS, key_of

from .world import World

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
OTHER: dict[str, str] = {
    "enabled": "false",
    "on_error": "false",
    "on_hallucination": "false",
    "on_low_quality": "true",
    "persist": "false",
    "queue_enabled": "false",
    "queue_workers": "7",
    "queue_capacity": "17",
    "queue_drop_oldest": "true",
    "queue_block_timeout": "250ms",
    "queue_max_attempts": "3",
    "queue_initial_delay": "2s",
    "queue_max_delay": "1m",
    "queue_jitter": "0.1",
    "queue_job_timeout": "30",
    "queue_stale_after": "24h",
    "queue_base_dir": "/srv/queue",
    "daily_cost_limit": "2.50",
    "job_cost_limit": "0.05",
}
"""For every setting a text of another value than its default."""


def _policies(world: World, *sections: str) -> Path:
    world.home.mkdir(exist_ok=True)
    path = world.home / "policies.yaml"
    path.write_text("policies: 1\ndefault: a\nbundles: {a: {doc: One., rulesets: [poisoning]}}\n" + "\n".join(sections), "utf-8")
    return path


def _written(field: str) -> str:
    section, key = key_of(field)
    return f"{section}: {{{key}: {OTHER[field]}}}"


def _value(field: str) -> Any:
    return parse(field, OTHER[field], Source("test"))


def test_every_setting_has_another_value_here() -> None:
    """The table above is whole, and none of its values is a default."""
    assert set(OTHER) == set(VARIABLES) == set(Settings._fields)
    assert all(_value(field) != getattr(Settings(), field) for field in OTHER)


def test_s1s_defaults() -> None:
    """R-q11: without file and environment S1's values hold."""
    assert tuple(Settings()[:5]) == (True, True, True, False, True)
    assert tuple(Settings()[5:17]) == (True, 2, 1000, False, 5.0, 5, 1.0, 300.0, 0.2, 120.0, 604_800.0, "")


@pytest.mark.parametrize("field", OTHER)
def test_each_can_be_set_in_the_file_and_the_environment_goes_over_it(world: World, field: str) -> None:
    """R-q11: file over default, environment over file; nothing else changes."""
    _policies(world, _written(field))
    assert declared_settings() == Settings()._replace(**{field: _value(field)})
    before = {field: getattr(Settings(), field)}
    again = {bool: "true" if before[field] is True else "false", float: f"{before[field]}", int: f"{before[field]}"}
    text = again.get(type(before[field]), "/other" if field == "queue_base_dir" else "9")
    assert getattr(read_settings({VARIABLES[field]: text}), field) == parse(field, text, Source("test"))
    assert getattr(read_settings({}), field) == _value(field)


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
def test_the_page_lists_every_setting_with_its_default() -> None:
    """docs/settings.md has a row for each, whose default is the one of the code."""
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)\.(\w+)` \| (\S[^|]*) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {variable: (section, key) for variable, section, key, _ in rows} == {
        VARIABLES[field]: key_of(field) for field in OTHER
    }
    defaults = {variable: told.strip("`") for variable, _, _, told in rows}
    for field, variable in VARIABLES.items():
        told = defaults[variable]
        if told not in {"none", "`queue` in the home folder", "queue` in the home folder"}:
            assert parse(field, told, Source("page")) == getattr(Settings(), field), variable


def test_each_names_where_it_comes_from(world: World) -> None:
    """R-q11: default, line and column of the file, or the variable."""
    path = _policies(world, "queue:", "  workers: 7", "  jitter: 0.1")
    found = {each.field: (each.kind, each.source) for each in origins(environ={"REFLECT_GATE_QUEUE_JITTER": "0.3"})}
    assert found["queue_workers"] == ("policies", f"{path}:5:12")
    assert found["queue_jitter"] == ("environment", "REFLECT_GATE_QUEUE_JITTER")
    assert found["persist"] == ("default", "default")


def test_the_schema_and_the_loader_know_the_same_keys() -> None:
    """The schema that editors use offers exactly what is read."""
    properties = schemas.schema("policies")["properties"]
    for section, keys in SECTIONS.items():
        assert set(properties[section]["properties"]) == set(keys)


@pytest.mark.parametrize(
    ("section", "code", "column"),
    [
        ("queue: {worker: 3}", "policy-unknown-key", 9),
        ("queue: {workers: 0}", "policy-value", 18),
        ("queue: {block_timeout: soon}", "policy-value", 24),
        ("queue: {base_dir: here}", "policy-value", 19),
        ("capture: {daily_cost_limit: -1}", "policy-value", 29),
        ("capture: {on_error: maybe}", "policy-value", 21),
        ("capture: [on_error]", "policy-shape", 10),
    ],
)
def test_what_makes_no_sense_is_named_with_its_place(world: World, section: str, code: str, column: int) -> None:
    """A slip is an error of the file, for a capture as for whoever judges by it."""
    path = _policies(world, section)
    with pytest.raises(ReflectGateError) as caught:
        declared_settings()
    (error,) = caught.value.errors
    assert (error.code, error.source) == (code, Source(str(path), 4, column))
    assert f"4:{column}" in world.run("policy", "check").err


def test_a_broken_rule_does_not_lose_a_failure(world: World) -> None:
    """A capture reads its own part of the file alone: what is wrong elsewhere parks the job instead."""
    _policies(world, "queue: {workers: 7}", "models: {default: none, known: {}}")
    assert declared_settings().queue_workers == 7


def test_what_was_read_is_kept_and_follows_the_file(world: World) -> None:
    """The second reading needs no YAML, a changed file is read anew, and a spoilt entry is as none."""
    _policies(world, "capture: {daily_cost_limit: 2.50}")
    assert declared_settings().daily_cost_limit == Decimal("2.50")
    probe = (
        "import sys; from reflect_gate.capture.settings import read_settings; "
        "print(read_settings().daily_cost_limit, 'yaml' in sys.modules)"
    )
    assert world.python(probe) == "2.50 False"
    for entry in (Path(world.environ["REFLECT_GATE_CACHE"]) / "reflect-gate" / "settings").iterdir():
        entry.write_bytes(b"[1")
    assert declared_settings().daily_cost_limit == Decimal("2.50")
    _policies(world, "capture: {daily_cost_limit: 3}")
    assert declared_settings().daily_cost_limit == Decimal(3)


def test_a_file_that_says_nothing_of_it_costs_no_yaml(world: World) -> None:
    """The shipped policies are not parsed by a capture."""
    probe = "import sys; from reflect_gate.capture.settings import read_settings; read_settings(); print('yaml' in sys.modules)"
    assert world.python(probe) == "False"
