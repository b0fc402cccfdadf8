"""What docs/operations.md tells to do: backup and restore, one server after another, and the example files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from reflect_gate.cli._app import app
from reflect_gate.serving.metrics import ServerMetrics
from reflect_store import open_store

from ..postgres_server import Server, programs
from .conftest import Run
from .gate import Gate, environment

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "server"
APPLY = "/v1/evaluate?store=true&apply=true"


def numbered(candidate: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the request of another failure."""
    return {**candidate, "record": {**candidate["record"], "failure_id": name}}


def test_a_backup_is_restored(
    tmp_path: Path, bundle_cache: Path, run: Run, candidate: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken while the server writes; put back, it is the store of that moment, and goes on from there."""
    environ = environment(tmp_path / "home", bundle_cache)
    monkeypatch.setenv("REFLECT_GATE_HOME", environ["REFLECT_GATE_HOME"])
    store, copy = tmp_path / "home" / "store.db", tmp_path / "copy.db"
    with Gate(environ) as gate:
        first = gate.post(APPLY, numbered(candidate, "before")).body
        assert run("store", "backup", str(copy)).code == 0
        second = gate.post(APPLY, numbered(candidate, "after")).body
        assert gate.end() == 0
    for path in store.parent.glob("store.db*"):
        path.unlink()
    shutil.copy(copy, store)
    assert run("store", "verify").code == 0
    with Gate(environ) as gate:
        known = gate.get(f"/v1/decisions/{first['decision_id']}")
        assert (known.status, gate.get(f"/v1/decisions/{second['decision_id']}").status) == (200, 404)
        assert gate.post(APPLY, numbered(candidate, "before")).body["applied"]["action"] == "known"
        assert gate.post(APPLY, numbered(candidate, "after")).body["applied"]["events"]


def test_one_server_follows_another(tmp_path: Path, bundle_cache: Path, candidate: dict[str, Any]) -> None:
    """Both on one store for a while: what one commits the other knows, and nothing is lost when the first one ends."""
    environ = environment(tmp_path, bundle_cache)
    with Gate(environ) as old, Gate(environ) as new:
        made = [gate.post(APPLY, numbered(candidate, f"turn-{number}")).body for number, gate in enumerate((old, new, old))]
        assert old.end() == 0
        assert [new.get(f"/v1/decisions/{each['decision_id']}").status for each in made] == [200, 200, 200]
        assert new.post(APPLY, numbered(candidate, "turn-0")).body["applied"]["action"] == "known"
        assert new.post(APPLY, numbered(candidate, "turn-3")).body["applied"]["events"]


def test_a_dump_of_a_server_is_restored(tmp_path: Path, bundle_cache: Path, candidate: dict[str, Any], postgres: Server) -> None:
    """PostgreSQL: dumped while it is in use, restored into an empty database, verified, and served again."""
    import psycopg

    folder = programs()
    assert folder is not None
    names = ("serve_lessons", "serve_restored")
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        for name in names:
            connection.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
    source, target = (postgres.url(database=name) for name in names)
    environ = environment(tmp_path, bundle_cache)
    dump = tmp_path / "lessons.dump"
    with Gate({**environ, "REFLECT_GATE_STORE": source}) as gate:
        first = gate.post(APPLY, numbered(candidate, "before")).body
        subprocess.run([folder / "pg_dump", "-Fc", "-f", dump, source], check=True, timeout=60, capture_output=True)
        assert postgres.password not in json.dumps([first, *gate.lines]) + "".join(gate.other)
    subprocess.run([folder / "pg_restore", "-d", target, dump], check=True, timeout=60, capture_output=True)
    with psycopg.connect(target, autocommit=True) as connection:
        connection.execute("UPDATE reflect_gate.chains SET edition = edition + 1")
    with open_store(target, read_only=True) as store:
        assert store.verify().head.seq == store.head().seq > 0
    with Gate({**environ, "REFLECT_GATE_STORE": target}) as gate:
        assert gate.get(f"/v1/decisions/{first['decision_id']}").status == 200
        found = gate.post("/v1/retrieve", {"text": "load_cart() may return None for a new session"}).body
        assert found["retrieve"]["retrieved_lesson_ids"] == [first["applied"]["lesson_id"]]


# -- the example files -----------------------------------------------------------------------------------------------------


def parsed(words: list[str]) -> click.Context:
    """Return the context of the innermost command of a command line; a usage error where it has an option that is unknown."""
    context = app.make_context("reflect-gate", list(words), resilient_parsing=False)
    command: click.Command = app
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        found = command.get_command(context, name)
        assert found is not None, name
        command = found
    return command.make_context(command.name, rest, parent=context)


def steps(text: str) -> list[str]:
    """Return the command lines of a text that start `docker compose`, without comments, one for each part of a chain."""
    lines = [line.lstrip("# ").partition("  # ")[0] for line in text.splitlines() if "docker compose" in line]
    return [part.strip() for line in lines for part in line.split("&&")]


def test_the_compose_file_starts_what_there_is() -> None:
    """Its services are whole, none runs as root or is reached but through the proxy, and all commands told parse."""
    comments = (EXAMPLES / "compose.yaml").read_text()
    whole = yaml.safe_load(comments)
    services = whole["services"]
    for name in ("gate", "worker"):
        parsed(services[name]["command"])
        assert services[name]["read_only"]
        assert services[name]["cap_drop"] == ["ALL"]
    told = steps(comments) + steps((EXAMPLES.parents[1] / "operations.md").read_text())
    inside = [found[1] for each in told if (found := re.search(r"(?: run (?:(?!entrypoint).)* gate| reflect-gate) (.*)", each))]
    assert len(inside) >= 5
    for words in inside:
        parsed(words.replace("SEQ:HASH", f"7:{'0' * 64}").split())
    assert [name for name, service in services.items() if service.get("ports")] == ["proxy"]
    named = {volume.partition(":")[0] for service in services.values() for volume in service.get("volumes", ())}
    assert {name for name in named if not name.startswith(".")} == set(whole["volumes"])


def test_the_steps_make_what_is_mounted() -> None:
    """Before Docker makes a folder of a file that is missing; and each is readable to whom its container runs as alone."""
    text = (EXAMPLES / "compose.yaml").read_text()
    whole = yaml.safe_load(text)
    head = text.partition("x-gate:")[0]
    mounted = {volume.split(":")[0] for volume in whole["x-gate"]["volumes"] if volume.startswith("./")}
    files = {*mounted, whole["secrets"]["db"]["file"], *whole["services"]["worker"]["env_file"]}
    made = [head.index(made) for made in ("policies &&", "> secrets/db", "> pgpass", "> worker.env")]
    assert {name.removeprefix("./") for name in files} == {"policies", "secrets/db", "pgpass", "worker.env"}
    assert max(made) < head.index("docker compose")
    assert head.index("umask 077") < min(made[1:])
    (uid,) = re.findall(r"--uid (\d+)", (EXAMPLES / "Dockerfile").read_text())
    assert f"chown {uid} pgpass" in head
    # What the image's server says on its socket while it makes the database is not that clients can come.
    assert "127.0.0.1" in whole["services"]["db"]["healthcheck"]["test"]


def test_the_image_has_the_folders_of_its_volumes() -> None:
    """A new volume belongs to root where the image has no such folder; and neither a compiler nor a secret is in the image."""
    volumes = yaml.safe_load((EXAMPLES / "compose.yaml").read_text())["x-gate"]["volumes"]
    whole = (EXAMPLES / "Dockerfile").read_text()
    _, build, image = re.split(r"^FROM ", whole, flags=re.MULTILINE)
    owned = image.partition("USER gate\n")[2]
    (folders,) = re.findall(r"^RUN mkdir -m 700 (.*)$", owned, re.MULTILINE)
    assert set(folders.split()) == {volume.split(":")[1] for volume in volumes if not volume.startswith(".")}
    assert "gcc" in build
    assert "gcc" not in image
    (copied,) = re.findall(r"^COPY (?!--from)(.*) \S+$", whole, re.MULTILINE)
    ignored = (EXAMPLES / ".dockerignore").read_text().split()
    assert ignored == ["*", *(f"!{name}" for name in copied.split())]


def test_alerts_name_metrics_that_there_are() -> None:
    """And routes and statuses as the server writes them."""
    metrics = ServerMetrics(lambda: 0.0, lambda: 1.0)
    metrics.count("POST /v1/evaluate", 200, 0.1, "admitted")
    told = metrics.text().decode()
    (group,) = yaml.safe_load((EXAMPLES / "alerts.yaml").read_text())["groups"]
    rules = group["rules"]
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 5
    for rule in rules:
        names = re.findall(r"reflectgate_[a-z_]+", rule["expr"])
        assert names, rule["alert"]
        assert all(re.search(rf"^{name}[{{ ]", told, re.MULTILINE) for name in names), rule["alert"]
        assert rule["annotations"]["summary"].endswith(".")
    page = (EXAMPLES.parents[1] / "serve.md").read_text()
    assert set(re.findall(r"reflectgate_server_[a-z_]+", page)) >= set(re.findall(r"# TYPE (\w+(?<!_created)) ", told)) - {""}
