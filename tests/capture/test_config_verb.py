"""`reflect-gate config show`: everything that is configured, with its origin, and never a key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from reflect_gate import schemas
from reflect_gate.capture.settings import VARIABLES

from .world import World

KEY = "sk-not-to-be-shown-0123456789"


def shown(world: World, env: Mapping[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """Return what is shown, by name, held to its schema."""
    ran = world.run("config", "show", "--format", "json", env=env)
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    schemas.check("config-report", document, "report")
    return {each["name"]: each for each in document["settings"]}


def test_everything_is_shown_with_its_origin(world: World) -> None:
    """R-q11: each setting with the variable that would set it; the file's with its place."""
    world.priced()
    path = world.home / "policies.yaml"
    path.write_text(path.read_text("utf-8") + "\ncapture: {daily_cost_limit: 2.50}\n", "utf-8")
    lines = path.read_text("utf-8").count("\n")
    found = shown(world, {"REFLECT_GATE_QUEUE_WORKERS": "3", "OPENAI_API_KEY": KEY})
    assert {each["variable"] for each in found.values()} >= set(VARIABLES.values())
    limit = found["capture.daily_cost_limit"]
    assert (limit["value"], limit["kind"], limit["origin"]) == ("2.50", "policies", f"{path}:{lines}:29")
    assert (found["queue.workers"]["value"], found["queue.workers"]["origin"]) == (3, "REFLECT_GATE_QUEUE_WORKERS")
    assert (found["route"]["value"], found["route"]["kind"]) == ("15reflect", "environment")
    assert (found["model"]["value"], found["model"]["kind"]) == ("tiny", "policies")
    assert (found["model key"]["value"], found["model key"]["origin"]) == ("set", "OPENAI_API_KEY")
    assert found["queue.base_dir"]["value"] == str(world.home / "queue")


def test_a_key_is_never_shown(world: World) -> None:
    """Neither as text nor as data, whichever variable it is from."""
    env = {"REFLECT_GATE_API_KEY": KEY, "REFLECT_GATE_MODEL": "tiny"}
    for arguments in (("--origin",), ("--format", "json")):
        ran = world.run("config", "show", *arguments, env=env)
        assert (ran.code, KEY in ran.out + ran.err) == (0, False)


def test_without_a_model_the_reason_stands_beside_the_rest(world: World) -> None:
    """What is missing is said; it is no error here."""
    ran = world.run("config", "show", "--origin")
    assert ran.code == 0
    assert "model-unset" in ran.err
    assert "queue.stale_after         604800s" in ran.out
    assert "default (REFLECT_GATE_QUEUE_STALE_AFTER)" in ran.out


def test_a_wrong_value_is_an_error_that_names_the_variable(world: World) -> None:
    """Exit code 3, as wherever it is read."""
    ran = world.run("config", "show", env={"REFLECT_GATE_QUEUE_JITTER": "2"})
    assert (ran.code, ran.out) == (3, "")
    assert "REFLECT_GATE_QUEUE_JITTER" in ran.err
