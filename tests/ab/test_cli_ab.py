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


def test_groups_by_another_key(here: Run, files: dict[str, str]) -> None:
    """Records belong together by any text of the labels; a key that is not there is named."""
    assert ab(here, files, "--group", "team").code == 0
    ran = ab(here, files, "--group", "tema")
    assert (ran.code, "`tema` must be a text" in ran.err) == (3, True)


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
