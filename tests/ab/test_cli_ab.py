"""`reflect-gate ab` and `ablate`, as the program that people run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reflect_gate import schemas

Run = Callable[..., Any]

QUICK = ("--resamples", "40", "--engine", "compiled")


def ab(run: Run, files: dict[str, str], *more: str) -> Any:
    """Compare the default bundle with the baseline."""
    return run("ab", files["requests"], "--labels", files["labels"], *QUICK, *more)


def test_comparison_is_data(process: Run, files: dict[str, str]) -> None:
    """Every figure, by the schema; the baseline admits everything."""
    ran = ab(process, files, "--format", "json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    schemas.check("ab", document, "stdout")
    assert [document["arms"][key]["name"] for key in "ab"] == ["structured", "introspect"]
    gates = document["main"]["gates"]
    assert (gates["a"]["admitted"]["hits"], gates["b"]["admitted"]["hits"]) == (1, 2)
    assert (gates["a"]["precision"]["share"], gates["b"]["precision"]["share"]) == (1.0, 0.5)
    assert document["main"]["spending"]["tokens"]["mean"] == 700
    assert document["frozen"] is None


def test_two_records_decide_nothing(here: Run, files: dict[str, str]) -> None:
    """Without an interval above 0 the baseline stays, and the exit code is 0 all the same."""
    ran = ab(here, files)
    assert ran.code == 0
    for part in ("a does not win; use introspect", "wins if its lesson-admission precision", "not carried", "a admits 1 of"):
        assert part in ran.out
    assert "\x1b" not in ran.out


def test_worker_processes_change_nothing(process: Run, files: dict[str, str]) -> None:
    """The same bytes with two processes."""
    assert ab(process, files, "--format", "json").out == ab(process, files, "--format", "json", "--jobs", "2").out


def test_a_run_goes_on(here: Run, files: dict[str, str], monkeypatch: Any) -> None:
    """What is kept is not judged again, and says the same."""
    first = ab(here, files, "--format", "json", "--resume", files["kept"]).out
    assert list(Path(files["kept"]).glob("*.json"))
    monkeypatch.setattr("reflect_gate.pipeline.judge", None)
    again = ab(here, files, "--format", "json", "--resume", files["kept"])
    assert again.code == 0, again.err
    assert again.out == first


def test_a_setting_changes_a_alone(here: Run, files: dict[str, str]) -> None:
    """With a bound that nothing reaches, a admits nothing."""
    document = json.loads(ab(here, files, "--format", "json", "--b", "structured", "--set", "calibration.min_words=500").out)
    assert [document["main"]["gates"][key]["admitted"]["hits"] for key in "ab"] == [0, 1]


def test_a_changed_setting_is_part_of_what_is_compared(here: Run, files: dict[str, str]) -> None:
    """The name alone would send a reader to the bundle as it is shipped."""
    changed = ("--set", "calibration.min_words=4")
    document = json.loads(ab(here, files, "--format", "json", *changed).out)
    schemas.check("ab", document, "stdout")
    assert (document["arms"]["a"]["set"], "set" in document["arms"]["b"]) == (["calibration.min_words=4"], False)
    assert "engine compiled with calibration.min_words=4" in ab(here, files, *changed).out
    from reflect_gate.report.ab import adopted

    document["decision"] = {**document["decision"], "wins": True, "adopt": "structured"}
    assert adopted(document) == "structured with calibration.min_words=4"


OWN = """
policies: 1
default: ours
bundles:
  ours:
    doc: Says only what differs.
    rulesets: [grounding@1, generalization@1, calibration@1, dedupe@1, admission@1, blame@1,
               lifecycle@1, adjudication@1, outcome@1, retrieval@1, audit@1]
"""


def test_policies_of_ones_own_need_no_baseline(here: Run, files: dict[str, str], tmp_path: Path) -> None:
    """The naive baseline is the shipped one where a file says only what differs; any other missing bundle is an error."""
    own = tmp_path / "own.yaml"
    own.write_text(OWN, encoding="utf-8")
    ran = ab(here, files, "--policies", str(own), "--format", "json")
    assert (ran.code, "the baseline is the shipped one" in ran.err) == (0, True)
    document = json.loads(ran.out)
    assert [document["arms"][key]["name"] for key in "ab"] == ["ours", "introspect"]
    assert document["main"]["gates"]["b"]["admitted"]["hits"] == 2
    assert ab(here, files, "--policies", str(own), "--b", "structured").code == 3


def test_a_request_counts_once(here: Run, files: dict[str, str]) -> None:
    """Labels join by the failure's id: a second line of the same would double its weight."""
    path = Path(files["requests"])
    path.write_text(path.read_text(encoding="utf-8") * 2, encoding="utf-8")
    ran = ab(here, files, "--format", "json")
    assert (ran.code, json.loads(ran.out)["requests"]["judged"], json.loads(ran.out)["requests"]["invalid"]) == (3, 2, 2)
    assert "line 3: `checkout-1187` stands here a second time" in ran.err


def test_labels_that_name_no_request_are_warned_of(here: Run, files: dict[str, str]) -> None:
    """A file of other labels leaves nothing to score, which is then no silent defeat."""
    path = Path(files["labels"])
    path.write_text(path.read_text(encoding="utf-8").replace('"id": "', '"id": "x-'), encoding="utf-8")
    ran = ab(here, files)
    assert (ran.code, "warning: 2 of 2 requests have no label" in ran.err) == (0, True)
    assert "no record has both outcomes" in ran.out


def test_labels_that_disagree_are_an_error(here: Run, files: dict[str, str]) -> None:
    """The same line twice is none; another outcome of the same failure is, with its place."""
    path = Path(files["labels"])
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines, lines[0]]), encoding="utf-8")
    assert ab(here, files).code == 0
    path.write_text("".join([*lines, lines[0].replace('"after": true', '"after": false')]), encoding="utf-8")
    ran = ab(here, files)
    assert (ran.code, "labels.ndjson:3: `checkout-1187` stands in an earlier line" in ran.err) == (3, True)


def test_a_log_is_named_with_what_reads_it(here: Run, files: dict[str, str]) -> None:
    """One error instead of one for each key of each line."""
    row = {"id": "1", "reflection_text": "I forgot the empty list.", "task_id": "t", "feedback": ""}
    Path(files["requests"]).write_text((json.dumps(row) + "\n") * 3, encoding="utf-8")
    ran = ab(here, files)
    assert (ran.code, ran.err.count("error:")) == (3, 1)
    assert "`reflect-gate corpus import reflexion FILE -o corpus.ndjson`" in ran.err


def test_errors_of_a_long_file_are_counted(here: Run, files: dict[str, str]) -> None:
    """The first twenty stand there, the rest is a number."""
    with Path(files["requests"]).open("a", encoding="utf-8") as stream:
        stream.write("{}\n" * 30)
    ran = ab(here, files)
    assert (ran.code, ran.err.count("error:")) == (3, 20)
    assert "more errors" in ran.err


def test_groups_by_another_key(here: Run, files: dict[str, str]) -> None:
    """Records belong together by any text of the labels; a key that is not there is named."""
    assert ab(here, files, "--group", "team").code == 0
    ran = ab(here, files, "--group", "tema")
    assert (ran.code, "`tema` must be a text" in ran.err, "did you mean `team`?" in ran.err) == (3, True, True)


def renamed(files: dict[str, str], old: str, new: str) -> None:
    """Give a task another name in both files."""
    for key in ("requests", "labels"):
        path = Path(files[key])
        path.write_text(path.read_text(encoding="utf-8").replace(f'"task": "{old}"', f'"task": "{new}"'), encoding="utf-8")


def test_one_task_in_five_is_kept_apart(here: Run, files: dict[str, str]) -> None:
    """R-m8: it is in no figure unless asked for, and then it is reported last."""
    from reflect_gate.ab.cases import frozen

    renamed(files, "mailer", next(name for name in map(str, range(99)) if frozen(name)))
    document = json.loads(ab(here, files, "--format", "json").out)
    assert (document["requests"]["judged"], document["requests"]["kept_apart"]) == (1, 1)
    both = ab(here, files, "--format", "json", "--frozen")
    document = json.loads(both.out)
    schemas.check("ab", document, "stdout")
    assert (document["main"]["records"], document["frozen"]["section"]["records"]) == (1, 1)
    text = ab(here, files, "--frozen").out
    assert text.index("what this can prove") < text.index("kept apart: ")


def test_markdown(here: Run, files: dict[str, str]) -> None:
    """Headings and tables of the same figures."""
    out = ab(here, files, "--format", "markdown").out
    assert out.startswith("## A: structured against b: introspect\n")
    assert "| gate | admits | precision |" in out


def test_invalid_requests_are_reported_and_the_rest_compared(here: Run, files: dict[str, str]) -> None:
    """Exit code 3, and the number of them."""
    with Path(files["requests"]).open("a", encoding="utf-8") as stream:
        stream.write("{}\n")
    ran = ab(here, files, "--format", "json")
    assert (ran.code, json.loads(ran.out)["requests"]["invalid"]) == (3, 1)
    assert "missing key `record`" in ran.err


def test_only_one_file_is_stdin(here: Run) -> None:
    """The other would be empty."""
    assert here("ab", "-", "--labels", "-").code == 64


def test_ablation_is_data(process: Run, files: dict[str, str]) -> None:
    """By the schema: the step that asks first, then the mechanisms, then the rest and the rules."""
    ran = process("ablate", files["requests"], "--labels", files["labels"], "--rules", "--resamples", "40", "--format", "json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    schemas.check("ablation", document, "stdout")
    kinds = [row["kind"] for row in document["rows"]]
    assert document["rows"][0]["name"] == "reflection step"
    assert kinds == sorted(kinds, key=("mechanism", "ruleset", "rule").index)
    assert {row["verdict"] for row in document["rows"]} == {"unexercised"}


def test_ablation_is_text(here: Run, files: dict[str, str]) -> None:
    """With one record enough, what decides is kept; what had nothing to say is named beside the rules."""
    ran = here("ablate", files["requests"], "--labels", files["labels"], "--rules", "--least", "1", "--resamples", "40")
    assert ran.code == 0, ran.err
    rows = {line.split()[0]: line.split()[1] for line in ran.out.splitlines() if line.startswith("  ") and len(line.split()) > 4}
    assert rows["grounding"] == "KEEP"
    assert rows["lifecycle"] == "unexercised"
    assert "unexercised in lifecycle: " in ran.out


def test_ablation_in_worker_processes_says_the_same(process: Run, files: dict[str, str]) -> None:
    """The same bytes with two processes."""
    arguments = ("ablate", files["requests"], "--labels", files["labels"], "--resamples", "40", "--format", "json")
    assert process(*arguments).out == process(*arguments, "--jobs", "2").out


def test_a_replay_goes_with_it(here: Run, files: dict[str, str]) -> None:
    """R-m5: what needs time is judged on chains, where it is asked for."""
    arguments = ("ablate", files["requests"], "--labels", files["labels"], "--resamples", "40")
    assert json.loads(here(*arguments, "--format", "json").out)["chains"] is None
    document = json.loads(here(*arguments, "--chains", "--format", "json").out)
    schemas.check("ablation", document, "stdout")
    assert [row["name"] for row in document["chains"]][:3] == ["dedupe", "generalization", "lifecycle"]
    assert "replayed in the order of the requests" in here(*arguments, "--chains").out
