"""`reflect-gate schema`: the list, one schema, and the names that are completed."""

from __future__ import annotations

import json

import pytest

from reflect_gate import schemas

from .conftest import RunHere, RunProcess
from .test_cli_completion import complete


def test_every_schema_is_listed_with_its_title(here: RunHere) -> None:
    """One a line, by name."""
    code, out, err = here("schema")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == list(schemas.names())
    assert schemas.schema("termination")["title"] in out


def test_the_list_as_data_keeps_its_schema(here: RunHere) -> None:
    """With the urn by which documents name each."""
    found = json.loads(here("schema", "--format", "json").out)
    schemas.check("schema-list", found, "output")
    assert [entry["urn"] for entry in found["schemas"]] == [schemas.URN.format(name) for name in schemas.names()]


@pytest.mark.parametrize("name", ["lesson", "urn:reflect-gate:schema:lesson:1"])
def test_one_schema_is_printed_whole(here: RunHere, name: str) -> None:
    """By its name or its urn."""
    assert json.loads(here("schema", name).out) == schemas.schema("lesson")


def test_a_misspelt_name_is_answered_with_the_nearest(here: RunHere) -> None:
    """And is exit code 3."""
    code, out, err = here("schema", "terminaton")
    assert (code, out) == (3, "")
    assert "did you mean `termination`?" in err


def test_names_are_completed(process: RunProcess) -> None:
    """After the verb."""
    assert complete(process, "schema", "termin") == ["termination"]
