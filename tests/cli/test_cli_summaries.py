"""Verbs whose result is files: their summary as one document on stdout, held to its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.capture import working
from reflect_gate.capture.working import Worked

from .conftest import RunHere
from .test_corpus import ROW

OWN = "policies: 1\ndefault: ours\nrules: rules\nlexicons: rules/lexicons\nbundles:\n  ours: {doc: Ours., rulesets: []}\n"


@pytest.fixture
def own(tmp_path: Path) -> str:
    """Policies with a folder of their own, in a layout that is not the usual one."""
    (tmp_path / "rules" / "lexicons").mkdir(parents=True)
    path = tmp_path / "policies.yaml"
    path.write_text(OWN.replace("policies: 1", "policies:   1"), encoding="utf-8")
    return str(path)


@pytest.fixture
def toned(here: RunHere, own: str) -> str:
    """The same with a rule set and a lexicon."""
    assert here("policy", "new", "--ruleset", "tone", "--lexicon", "slang", "--policies", own).code == 0
    return own


@pytest.fixture
def rows(tmp_path: Path) -> str:
    """Two rows of a log, and a line that is none."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({**ROW, "id": name}) + "\n" for name in ("a", "b")) + "no row\n", encoding="utf-8")
    return str(path)


def reported(here: RunHere, schema: str, *arguments: str, code: int = 0) -> Any:
    """Run a verb and return its summary, which is all of stdout."""
    ran = here(*arguments)
    assert ran.code == code, ran.err
    found = json.loads(ran.out)
    schemas.check(schema, found, "summary")
    return found


def written(found: Any) -> list[tuple[str, str]]:
    """Return the names and actions of the files of a report."""
    return [(Path(change["file"]).name, change["action"]) for change in found["changes"]]


# -- policies ----------------------------------------------------------------------------------------------------------------


def test_check_counts_what_loads(here: RunHere, toned: str) -> None:
    """As the text does."""
    found = reported(here, "policy-check", "policy", "check", toned, "--format", "json")
    assert (found["ok"], found["errors"], found["rulesets"], found["confluence"]) == (True, [], 1, None)
    counted = f"{found['bundles']} bundles, {found['rulesets']} rule sets, {found['rules']} rules\n"
    assert here("policy", "check", toned).out.endswith(counted)


def test_check_holds_every_error(here: RunHere, own: str) -> None:
    """They stand on stderr as well, as for every verb; warnings are no reason to fail."""
    Path(own).write_text(OWN.replace("rulesets: []", "rulesets: [tone], disable: [pace]"), encoding="utf-8")
    found = reported(here, "policy-check", "policy", "check", own, "--format", "json", code=3)
    told = here("policy", "check", own).err.splitlines()
    assert (found["ok"], len(found["errors"])) == (False, len(told))
    assert found["errors"][0]["line"] > 0


def test_check_says_how_many_cases_came_out_alike(here: RunHere, toned: str) -> None:
    """With `--confluence`, as the text does."""
    arguments = ("policy", "check", toned, "--confluence", "--rounds", "2")
    found = reported(here, "policy-check", *arguments, "--format", "json")["confluence"]
    assert found["cases"] > 0
    assert f"ok: {found['cases']} cases come out alike in {found['rounds']} other orders" in here(*arguments).out


@pytest.mark.parametrize("flag", ["--check", "--diff"])
def test_fmt_says_what_would_change(here: RunHere, own: str, flag: str) -> None:
    """And changes nothing."""
    before = Path(own).read_text(encoding="utf-8")
    found = reported(here, "policy-files", "policy", "fmt", own, flag, "--format", "json", code=3)
    assert (found["dry_run"], written(found)) == (True, [("policies.yaml", "changed")])
    assert "-policies:   1" in found["changes"][0]["diff"]
    assert Path(own).read_text(encoding="utf-8") == before


def test_fmt_says_what_it_changed(here: RunHere, own: str) -> None:
    """The second time there is nothing."""
    arguments = ("policy", "fmt", own, "--format", "json")
    assert written(reported(here, "policy-files", *arguments)) == [("policies.yaml", "changed")]
    assert written(reported(here, "policy-files", *arguments)) == []


def test_init_names_each_file(here: RunHere, tmp_path: Path) -> None:
    """All of them are there."""
    found = reported(here, "policy-files", "policy", "init", str(tmp_path / "team"), "--bundle", "team", "--format", "json")
    assert found["bundle"] == "team"
    assert {change["file"] for change in found["changes"]} == {str(p) for p in (tmp_path / "team").rglob("*") if p.is_file()}


def test_new_says_what_it_would_make(here: RunHere, own: str) -> None:
    """A dry run leaves the folder empty; the real one makes what was said."""
    arguments = ("policy", "new", "--lexicon", "slang", "--policies", own, "--format", "json")
    planned = reported(here, "policy-files", *arguments, "--dry-run")
    assert not (Path(own).parent / "rules" / "lexicons" / "slang.yaml").exists()
    made = reported(here, "policy-files", *arguments)
    assert planned == {**made, "dry_run": True}
    assert ("slang.yaml", "created") in written(made)


def test_doc_says_what_became_of_the_page(here: RunHere, tmp_path: Path) -> None:
    """Made, kept, and found to be stale."""
    page = tmp_path / "rules.md"
    arguments = ("policy", "doc", "-o", str(page), "--summary", "json")
    assert written(reported(here, "policy-files", *arguments)) == [("rules.md", "created")]
    assert written(reported(here, "policy-files", *arguments)) == []
    page.write_text("old", encoding="utf-8")
    stale = reported(here, "policy-files", *arguments, "--check", code=3)
    assert (stale["dry_run"], written(stale), page.read_text(encoding="utf-8")) == (True, [("rules.md", "changed")], "old")
    assert here("policy", "doc", "-o", str(page)).err == f"changed: {page}\n"


def test_an_archive_is_built_and_signed(here: RunHere, toned: str, tmp_path: Path) -> None:
    """Digest and key are those that `inspect` finds."""
    archive, key = str(tmp_path / "ours.rgb"), str(tmp_path / "team.pem")
    built = reported(here, "policy-files", "policy", "bundle", "build", "--policies", toned, "-o", archive, "-f", "json")
    made = reported(here, "policy-files", "policy", "bundle", "keygen", key, "-f", "json")
    assert written(made) == [("team.pem", "created"), ("team.pem.pub", "created")]
    assert json.loads(here("policy", "bundle", "inspect", archive, "-f", "json").out)["sha256"] == built["sha256"]
    signed = reported(here, "policy-files", "policy", "bundle", "sign", archive, "--key", key, "-f", "json")
    found = json.loads(here("policy", "bundle", "inspect", archive, "-f", "json").out)
    assert (written(signed), signed["key"], signed["sha256"]) == ([("ours.rgb", "changed")], made["key"], found["sha256"])
    assert found["signatures"] == [made["key"]]


# -- lines -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (("convert", "--from", "reflexion"), 3, []),
        (("labels", "--from", "reflexion"), 3, []),
        (("import", "--skip-bad", "reflexion"), 0, [{"name": "reflexion", "lines": 2}]),
    ],
)
def test_what_was_read_is_counted(
    here: RunHere, rows: str, tmp_path: Path, arguments: tuple[str, ...], code: int, parts: list[Any]
) -> None:
    """Lines, those that were left out, and who read them."""
    out = str(tmp_path / "out.ndjson")
    found = reported(here, "lines-report", "corpus", *arguments, rows, "-o", out, "--format", "json", code=code)
    assert (found["command"], found["output"]) == (f"corpus {arguments[0]}", out)
    assert (found["lines"], found["bad"], found["parts"]) == (2, 1, parts)
    assert len(Path(out).read_bytes().splitlines()) == 2


def test_mutants_are_counted_by_mutator(here: RunHere, tmp_path: Path, request_document: dict[str, Any]) -> None:
    """The lines are those of the file."""
    requests, out = tmp_path / "r.ndjson", tmp_path / "m.ndjson"
    requests.write_text(json.dumps(request_document) + "\n", encoding="utf-8")
    found = reported(here, "lines-report", "corpus", "mutate", str(requests), "-o", str(out), "--format", "json")
    assert (found["requests"], found["sources"], found["bad"]) == (1, 1, 0)
    assert found["lines"] == sum(part["lines"] for part in found["parts"]) == len(out.read_bytes().splitlines()) > 0


def test_a_harvest_of_nothing_is_counted(here: RunHere, tmp_path: Path) -> None:
    """Exit code 4 as before."""
    place, out = str(tmp_path / "store.db"), str(tmp_path / "out.jsonl")
    assert here("store", "init", "--store", place).code == 0
    found = reported(here, "lines-report", "harvest", "--store", place, "-o", out, "--summary", "json", code=4)
    assert (found["lines"], found["lessons"]["known"], found["lessons"]["share"]) == (0, 0, None)


@pytest.mark.parametrize(
    "arguments",
    [
        ("corpus", "convert", "--from", "reflexion", "--format", "json"),
        ("corpus", "labels", "--from", "reflexion", "--format", "json"),
        ("corpus", "mutate", "--format", "json"),
        ("corpus", "import", "reflexion", "rows.jsonl", "--format", "json", "-o", "-"),
        ("harvest", "--summary", "json"),
        ("policy", "doc", "--summary", "json"),
    ],
)
def test_two_results_do_not_share_stdout(here: RunHere, arguments: tuple[str, ...]) -> None:
    """Where the lines go there, the summary as JSON needs a file for them."""
    ran = here(*arguments)
    assert (ran.code, ran.out, "the result needs a file" in ran.err) == (64, "", True)


# -- the rest ----------------------------------------------------------------------------------------------------------------


def test_a_worker_says_how_it_ended(here: RunHere, monkeypatch: pytest.MonkeyPatch) -> None:
    """What text tells on stderr, with where it worked."""
    attempts = {"success": 2, "skipped": 0, "transient": 1, "permanent": 0}
    monkeypatch.setattr(working, "work", lambda *_, **__: Worked(2, 0, attempts, 3, 1, 4))
    monkeypatch.setenv("REFLECT_GATE_QUEUE_ENABLED", "false")
    found = reported(here, "worker-report", "worker", "--once", "--workers", "3", "--format", "json")
    assert (found["workers"], found["attempts"], found["waiting"], found["dead"]) == (3, attempts, 3, 4)


def test_roles_are_told_as_data(here: RunHere) -> None:
    """The same SQL."""
    found = reported(here, "store-roles", "store", "roles", "--format", "json")
    assert found["sql"] == here("store", "roles").out
