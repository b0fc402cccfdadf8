"""`reflect-gate worker`: reflect on what was captured, until told to stop."""

from __future__ import annotations

import gc
import signal
import threading
from typing import TYPE_CHECKING, Final

import click

from ._errors import store_errors
from ._options import examples, format_option
from ._output import COULD_NOT_RUN, OK, note
from ._summary import summarise

if TYPE_CHECKING:
    from ..capture.settings import Settings
    from ..capture.working import Worked, Worker

__all__ = ["WORKER_SCHEMA", "worker"]

WORKER_SCHEMA: Final = "urn:reflect-gate:schema:worker-report:1"


@click.command
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    help="Processes that work at once; else REFLECT_GATE_QUEUE_WORKERS, else 2.",
)
@click.option("--once", is_flag=True, help="End when nothing is due; jobs that wait for a later attempt stay.")
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65_535),
    help="Serve Prometheus metrics on this port; 0 takes a free one.",
)
@click.option(
    "--metrics-host",
    default="127.0.0.1",
    show_default=True,
    help="The address at which they are served; whoever reaches it may read them.",
)
@format_option("text", "json")
@examples(
    "reflect-gate worker", "reflect-gate worker --once --format json", "reflect-gate worker --workers 4 --metrics-port 9464"
)
def worker(workers: int | None, once: bool, metrics_port: int | None, metrics_host: str, format_: str) -> int:
    """Reflect on what was captured, and let the gate judge it.

    Each worker has a process of its own, which ends with a job that takes too long. At SIGTERM or SIGINT no further job is begun,
    those in work have 27 seconds, and what is left waits in the queue; a second signal ends them at once. Any number of workers
    may share a queue. What became of the jobs is told at the end, on stderr, or as JSON on stdout.
    """
    from ..capture import handling, working
    from ..capture.settings import read_settings

    gc.enable()
    settings = read_settings()
    if workers is not None:
        settings = settings._replace(queue_workers=workers)
    if settings.queue_enabled:
        model = handling.check(settings)
        _say_where(settings, model.model, model.base_url)
    ending = _Ending()
    with store_errors(), ending:
        done = working.work(settings, once=once, stop=ending.asked, started=_Started(ending, metrics_host, metrics_port))
    _say_how(done, settings, format_)
    return COULD_NOT_RUN if done.released and once else OK


class _Ending:
    """What a signal asks for: the first an orderly end, the second a quick one."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.worker: Worker | None = None
        self._before: dict[int, object] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._heard)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _heard(self, *_: object) -> None:
        if self.asked.is_set() and self.worker is not None:
            self.worker.pool.hurry()
        self.asked.set()


class _Started:
    """Is told of the worker once it works: hands it to the signals, and to the metrics where they are wanted."""

    def __init__(self, ending: _Ending, host: str, port: int | None) -> None:
        self._ending = ending
        self._host = host
        self._port = port

    def __call__(self, started: Worker) -> None:
        self._ending.worker = started
        if self._port is not None:
            from ..capture.metrics import serve

            at = serve(self._host, self._port, started)
            host = f"[{self._host}]" if ":" in self._host else self._host
            note(f"metrics on http://{host}:{at}/metrics", {"metrics_port": at})


def _say_where(settings: Settings, model: str, base_url: str) -> None:
    from reflect_store.addresses import shown

    place = shown(settings.place)
    text = f"{settings.queue_workers} workers on {place}, asking {model} at {base_url}"
    note(text, {"workers": settings.queue_workers, "queue": place, "model": model, "base_url": base_url})


def _say_how(done: Worked, settings: Settings, format_: str) -> None:
    from reflect_store.addresses import shown

    counts = ", ".join(f"{count} {outcome}" for outcome, count in done.attempts.items() if count) or "none"
    text = f"attempts: {counts}; {done.waiting} wait, {done.parked} of them parked; {done.dead} dead letters"
    if done.attempts.get("success"):
        text += "; `reflect-gate decisions list` says what the gate decided"
    counted = {**done._asdict(), "attempts": dict(done.attempts)}
    about = {"schema": WORKER_SCHEMA, "workers": settings.queue_workers, "queue": shown(settings.place)}
    summarise(format_, text, counted, {**about, **counted})
