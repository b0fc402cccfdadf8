"""The examples for service managers: they can be read, and start what there is."""

from __future__ import annotations

import configparser
import plistlib
from pathlib import Path

import click

from reflect_gate.capture.settings import SHUTDOWN
from reflect_gate.cli.worker import worker

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def _parsed(arguments: list[str]) -> dict[str, object]:
    program, verb, *options = arguments
    assert (Path(program).name, verb) == ("reflect-gate", "worker")
    with click.Context(worker) as context:
        worker.parse_args(context, options)
    return context.params


def test_the_systemd_unit() -> None:
    """R-q8: systemd waits for the drain, and signals the worker alone."""
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(EXAMPLES / "reflect-gate-worker.service", encoding="utf-8")
    service = unit["Service"]
    assert _parsed(service["ExecStart"].split())["metrics_port"] == 9464
    assert int(service["TimeoutStopSec"]) > SHUTDOWN
    assert (service["KillMode"], service["Restart"], service["RestartPreventExitStatus"]) == ("mixed", "on-failure", "3 64")


def test_the_launchd_example() -> None:
    """R-q8: launchd waits for the drain, and starts again what failed."""
    with (EXAMPLES / "reflect-gate-worker.plist").open("rb") as stream:
        plist = plistlib.load(stream)
    assert _parsed(plist["ProgramArguments"])["metrics_port"] == 9464
    assert plist["ExitTimeOut"] > SHUTDOWN
    assert (plist["KeepAlive"], plist["Umask"]) == ({"SuccessfulExit": False}, 0o077)
