"""A bulk replay in one process: what it writes, what it does not do twice, and what it says of bad rows."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reflect_gate import Bundle, load_bundle, schemas
from reflect_gate._canonical import canonical_bytes
from reflect_gate.bulk import judging
from reflect_gate.bulk.running import lines_of
from reflect_gate.errors import ReflectGateError
from reflect_gate.pipeline import evaluate
from reflect_store import EventStore, StoreError, open_store

from .conftest import Replay
from .making import made, one_request, write


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_lines_are_those_of_the_pipeline(replayed: Replay, source: Path, out: Path, quick: Bundle) -> None:
    """Every decision, byte for byte, in the order of the rows; the digest is that of the lines."""
    done, _ = replayed(source, out)
    expected = [evaluate(one_request(number), quick).to_bytes() for number in range(7)]
    assert list(lines_of(out)) == expected
    assert done.report["digest"] == hashlib.sha256(b"".join(line + b"\n" for line in expected)).hexdigest()
    assert (done.report["requests"], done.report["chunks"], done.report["admitted"]) == (7, 3, 2)


def test_the_report_holds_to_its_schema(replayed: Replay, source: Path, out: Path) -> None:
    """What is returned is what stands in the folder."""
    done, _ = replayed(source, out)
    schemas.check("bulk-report", done.report, "report")
    assert (out / "report.json").read_bytes() == canonical_bytes(done.report) + b"\n"


def test_columns_can_be_queried(replayed: Replay, source: Path, out: Path) -> None:
    """A part holds the number of each row in its file, and what is asked of a decision most."""
    replayed(source, out)
    table = pq.read_table(out / "requests-00001.parquet").to_pydict()
    assert table["row"] == [4, 5, 6]
    assert table["failure_id"] == ["checkout-3", "checkout-4", "checkout-5"]
    assert table["status"] == ["refused", "admitted", "refused"]


def test_what_is_finished_is_not_judged_again(replayed: Replay, source: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run reads, judges nothing, and leaves the same bytes."""
    first, _ = replayed(source, out)
    before = files(out)
    monkeypatch.setattr(judging, "evaluate", None)
    again, _ = replayed(source, out)
    assert (first.kept, again.kept, again.report) == (0, 3, first.report)
    assert files(out) == before


def test_another_bundle_is_another_outcome(replayed: Replay, source: Path, out: Path) -> None:
    """Chunks are kept for the bundle that judged them, and replaced by those of another."""
    replayed(source, out)
    other, _ = replayed(source, out, load_bundle("introspect", cache=False))
    assert (other.kept, other.report["admitted"]) == (0, 7)


def test_a_changed_row_costs_its_chunk_alone(replayed: Replay, source: Path, out: Path) -> None:
    """Chunks go by what they hold."""
    replayed(source, out)
    rows = [*made(6), canonical_bytes(one_request(8))]
    pq.write_table(pa.table({"request": [row.decode() for row in rows]}), source, row_group_size=3)
    again, _ = replayed(source, out)
    assert again.kept == 2


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_part_is_judged_again(damage: str, replayed: Replay, source: Path, out: Path) -> None:
    """A part that is cut short, or of which a line is another than was written, is not taken for finished."""
    first, _ = replayed(source, out)
    part = out / "requests-00000.parquet"
    if damage == "cut":
        part.write_bytes(part.read_bytes()[:-40])
    else:
        table = pq.read_table(part)
        lines = pa.array(["{}", *table.column("decision").to_pylist()[1:]], pa.large_string())
        pq.write_table(table.set_column(4, "decision", lines), part)
    again, _ = replayed(source, out)
    assert (again.kept, again.report) == (2, first.report)


def test_bad_rows_are_told_and_cost_no_other(replayed: Replay, out: Path, tmp_path: Path) -> None:
    """File and row of each, in order; nothing is lost, and a second run says the same without judging."""
    good = canonical_bytes(one_request(0)).decode()
    rows = [good, None, "{", '{"record": {}}', good]
    source = tmp_path / "bad.parquet"
    pq.write_table(pa.table({"request": pa.array(rows, pa.string())}), source, row_group_size=2)
    done, told = replayed(source, out)
    assert (done.report["admitted"], done.report["invalid"], done.report["requests"]) == (2, 3, 5)
    assert [error.partition(": ")[0].split(" at ")[0] for error in told][:2] == ["bad.parquet:2", "bad.parquet:3"]
    assert all(error.startswith("bad.parquet:4") for error in told[2:])
    again, told_again = replayed(source, out)
    assert (again.kept, told_again) == (3, told)
    for line in list(lines_of(out))[1:4]:
        schemas.check("error", orjson.loads(line), "line")


def test_a_row_on_which_the_gate_fails_is_tried_again(
    replayed: Replay, source: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the gate is no fault of the row: it is counted apart, and its chunk is not finished."""

    def fails(request: Any, *rest: Any, **more: Any) -> Any:
        if request["record"]["failure_id"] == "checkout-4":
            raise RuntimeError("out of order")
        return evaluate(request, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr(judging, "evaluate", fails)
        done, told = replayed(source, out)
    assert (done.report["failed"], done.report["invalid"]) == (1, 0)
    assert told == ["requests.parquet:5: internal error: RuntimeError: out of order [internal]"]
    again, told_again = replayed(source, out)
    assert (again.kept, again.report["failed"], told_again) == (2, 0, [])


def test_nothing_is_left_of_a_part_that_could_not_be_written(
    replayed: Replay, source: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part is there whole or not at all, and the report only where all are."""
    replayed(source, out)
    (out / "requests-00001.parquet").unlink()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(ReflectGateError, match=r"no space left on device \[cannot-write\]"):
        replayed(source, out)
    left = {name for name in files(out) if not name.startswith("_shipped")}
    assert left == {"requests-00000.parquet", "requests-00002.parquet"}
    with pytest.raises(ReflectGateError, match=r"did not come to its end \[bulk-unfinished\]"):
        list(lines_of(out))


def test_files_are_taken_in_order_of_their_names(replayed: Replay, out: Path, tmp_path: Path) -> None:
    """A folder is read as deep as it is; names that others pass over are passed over."""
    for name, count in (("b.parquet", 2), ("a/late.parquet", 1), ("a-b.parquet", 1), ("_metadata/x.parquet", 4)):
        write(tmp_path / "in" / name, count, 1)
    done, _ = replayed(tmp_path / "in", out)
    assert done.report["requests"] == 4
    assert sorted(name for name in files(out) if name.endswith("t")) == [
        "a-b-00000.parquet",
        "a/late-00000.parquet",
        "b-00000.parquet",
        "b-00001.parquet",
    ]
    ids = [orjson.loads(line)["failure_id"] for line in lines_of(out)]
    assert ids == ["checkout-0", "checkout-0", "checkout-0", "checkout-1"]


def test_a_store_is_seen_as_it_was(replayed: Replay, source: Path, out: Path, quick: Bundle, tmp_path: Path) -> None:
    """Requests are judged against a copy, as `consider` judges them; a store that moved on is another outcome."""
    from reflect_gate.memory.applying import apply, consider

    with open_store(tmp_path / "store.db", create=True) as store:
        apply(store, one_request(0), quick)
        done, _ = replayed(source, out, store=store)
        assert list(lines_of(out)) == [consider(store, one_request(number), quick).decision.to_bytes() for number in range(7)]
        assert done.report["store"] == str(store.head())
        assert replayed(source, out, store=store)[0].kept == 3
        apply(store, one_request(1), quick)
        assert replayed(source, out, store=store)[0].kept == 0


def test_a_store_on_a_server_is_copied_by_its_events(
    replayed: Replay, source: Path, out: Path, quick: Bundle, tmp_path: Path
) -> None:
    """Where a store cannot be copied as a file, its events are; decisions are the same."""
    from reflect_gate.memory.applying import apply, consider

    class Server(EventStore):
        """A store that is copied by other means."""

        def backup(self, target: Path, *, progress: Any = None) -> Any:
            """Refuse."""
            raise StoreError("store-unsupported", f"not to `{target}`, {progress}")

    with open_store(tmp_path / "store.db", create=True) as store:
        apply(store, one_request(0), quick)
        server = Server(store.backend)
        replayed(source, out, store=server)
        assert list(lines_of(out)) == [consider(store, one_request(number), quick).decision.to_bytes() for number in range(7)]


def test_what_looks_on_is_shipped_too(replayed: Replay, source: Path, out: Path) -> None:
    """What another bundle would have decided stands in each decision."""
    done, _ = replayed(source, out, shadow=load_bundle("introspect", cache=False))
    assert done.report["shadow"]["name"] == "introspect"
    assert all(orjson.loads(line)["shadow"]["bundle"]["name"] == "introspect" for line in lines_of(out))
