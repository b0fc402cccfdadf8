"""What a bulk replay refuses before it judges, and what a worker refuses to judge by."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Self

import distributed
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reflect_gate import Bundle
from reflect_gate.bulk import scheduling
from reflect_gate.bulk.chunks import Chunk
from reflect_gate.bulk.codes import BULK_CODES
from reflect_gate.bulk.parcel import FOLDER, Contents, receive, ship
from reflect_gate.bulk.scheduling import is_scheduler, scheduler
from reflect_gate.bulk.working import Task
from reflect_gate.errors import ReflectGateError

from .conftest import Replay

PAGE = Path(__file__).parents[2] / "docs" / "bulk.md"


def test_only_text_in_a_column_of_that_name_is_judged(replayed: Replay, out: Path, tmp_path: Path) -> None:
    """The columns that are there, or the type of the column, are named; nothing is written."""
    source = tmp_path / "in.parquet"
    for columns, said in (
        ({"prompt": ["{}"]}, "has no column `request`, but `prompt`"),
        ({"request": [1]}, "column `request` holds `int64`, not the JSON of requests as text"),
    ):
        pq.write_table(pa.table(columns), source)
        with pytest.raises(ReflectGateError, match=f"in.parquet: {said} \\[bulk-input\\]"):
            replayed(source, out)
    assert not out.exists()


@pytest.mark.parametrize("content", [b"", b"PAR1", b'{"record": {}}\n' * 9])
def test_what_is_no_parquet_is_named(content: bytes, replayed: Replay, out: Path, tmp_path: Path) -> None:
    """A file of another kind, or an empty one."""
    (tmp_path / "in.parquet").write_bytes(content)
    with pytest.raises(ReflectGateError, match=r"^in.parquet: cannot be read as Parquet: .* \[bulk-input\]$"):
        replayed(tmp_path / "in.parquet", out)


def test_what_is_not_there_cannot_be_read(replayed: Replay, out: Path, tmp_path: Path) -> None:
    """A missing file, and a folder that holds none."""
    with pytest.raises(ReflectGateError, match=r"no such file or directory \[cannot-read\]"):
        replayed(tmp_path / "in.parquet", out)
    (tmp_path / "in").mkdir()
    with pytest.raises(ReflectGateError, match=r"holds no Parquet file with rows \[bulk-input\]"):
        replayed(tmp_path / "in", out)


def test_the_outcome_does_not_mix_with_other_files(replayed: Replay, source: Path, out: Path) -> None:
    """Neither with the requests, which would be read as such by the next run, nor with parts of something else."""
    for inside in (source.parent, source.parent / "out"):
        with pytest.raises(ReflectGateError, match=r"lies in the folder of the requests"):
            replayed(source.parent, inside)
    out.mkdir()
    (out / "other-00000.parquet").write_bytes(source.read_bytes())
    with pytest.raises(ReflectGateError, match=r"^other-00000.parquet: is no part of what is written here.* \[bulk-out\]$"):
        replayed(source, out)


@pytest.mark.parametrize("name", ["report.json", f"{FOLDER}/goods.txt", f"{FOLDER}"])
def test_what_others_keep_under_its_names_stays(name: str, replayed: Replay, source: Path, out: Path) -> None:
    """A report and a folder that no replay wrote are neither replaced nor removed."""
    (out / name).parent.mkdir(parents=True)
    (out / name).write_text('{"mine": 1}')
    with pytest.raises(ReflectGateError, match=r"\[bulk-out\]$"):
        replayed(source, out)
    assert [path.read_text() for path in out.rglob("*") if path.is_file()] == ['{"mine": 1}']


def test_only_its_own_drafts_are_removed(replayed: Replay, source: Path, out: Path) -> None:
    """What a killed worker left goes; a hidden file of somebody else stays, whatever its name ends with."""
    out.mkdir()
    for name in (".letter.draft", ".requests-00000.parquet.4711.0a1b2c3d.draft"):
        (out / name).write_text("x")
    replayed(source, out)
    assert [path.name for path in out.glob(".*")] == [".letter.draft"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_what_is_shipped_is_private_in_a_folder_that_was_there(quick: Bundle, out: Path) -> None:
    """A run that was killed, or somebody else, may have left one that others can read."""
    (out / FOLDER).mkdir(mode=0o777, parents=True)
    ship(Contents(quick), out)
    assert (out / FOLDER).stat().st_mode & 0o777 == 0o700


def test_a_worker_judges_by_what_was_shipped_alone(quick: Bundle, out: Path) -> None:
    """What was shipped holds code: a worker that reads other bytes uses none of them."""
    shipped = ship(Contents(quick), out)
    assert receive(out, shipped.digest)[1]["bundle"] == [quick.digest, "compiled", False]
    path = out / FOLDER / shipped.digest
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.write_bytes(path.read_bytes().replace(b'"min', b'"max', 1))
    with pytest.raises(ReflectGateError, match=r"other content than was shipped .* \[bulk-worker\]"):
        receive(out, shipped.digest)
    path.unlink()
    with pytest.raises(ReflectGateError, match=r"cannot read what was shipped .* \[bulk-worker\]"):
        receive(out, shipped.digest)


@pytest.mark.parametrize("field", ["version", "python"])
def test_a_worker_of_another_version_refuses(field: str, quick: Bundle, out: Path) -> None:
    """Decisions follow from the program, and byte code from the interpreter."""
    import hashlib

    shipped = ship(Contents(quick), out)
    found = orjson.loads((out / FOLDER / shipped.digest).read_bytes())
    (found["identity"] if field == "version" else found)[field] = "another"
    data = orjson.dumps(found)
    digest = hashlib.sha256(data).hexdigest()
    (out / FOLDER / digest).write_bytes(data)
    with pytest.raises(ReflectGateError, match=r"a worker runs reflect-gate .* as the driver does \[bulk-worker\]"):
        receive(out, digest)


def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is told, and why."""
    monkeypatch.setattr(scheduling, "_SECONDS", 0.5)
    refused = pytest.raises(ReflectGateError, match=r"cannot reach the scheduler `tcp://127.0.0.1:1`.* \[bulk-scheduler\]")
    with refused, scheduler("tcp://127.0.0.1:1", 1):
        raise AssertionError("there is a scheduler")


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (distributed.KilledWorker("work", None, 3), "row group 0 of `a.parquet` ended every worker.* \\[bulk-lost\\]"),
        (distributed.CancelledError("work"), "the scheduler was lost: CancelledError \\[bulk-scheduler\\]"),
    ],
)
def test_what_ends_a_run_is_named(ends: Exception, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row group that no worker survives, and a scheduler that went away; what is left to do is called off."""
    client = Client(ends)
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: client)
    monkeypatch.setattr(distributed, "as_completed", lambda futures, **_: futures)
    tasks = [Task("in", Chunk("a.parquet", 0, 1, 3), "out", "0" * 64)]
    with scheduler("tcp://127.0.0.1:8786", 1) as run, pytest.raises(ReflectGateError, match=said):
        list(run(tasks))
    assert client.cancelled == [client.future]


class Client:
    """A client whose one future ends as it is told to."""

    loop = None

    def __init__(self, ends: Exception) -> None:
        self.future = Future(ends)
        self.cancelled: list[Future] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def map(self, *_: object, **__: object) -> list[Future]:
        """Return the future."""
        return [self.future]

    def cancel(self, futures: list[Future]) -> None:
        """Note what is called off."""
        self.cancelled += futures


class Future:
    """What raises when it is asked for its result."""

    key = "work-1"

    def __init__(self, ends: Exception) -> None:
        self._ends = ends

    def result(self) -> None:
        """Raise it."""
        raise self._ends


def test_what_a_scheduler_is_called() -> None:
    """This process, processes of this machine, or an address; no other scheme is handed to Dask."""
    assert all(map(is_scheduler, ("local", "processes", "tcp://10.0.0.1:8786", "tls://h:1")))
    assert not any(map(is_scheduler, ("", "threads", "inproc://x", "http://h", "10.0.0.1:8786")))


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
def test_every_code_is_documented() -> None:
    """The page has each code with its meaning."""
    page = PAGE.read_text(encoding="utf-8")
    for code, meaning in BULK_CODES.items():
        assert f"| `{code}` | {meaning} |" in page
