"""Cut the power of a real file system under a queue, mount it again, and see whether anything acknowledged is lost.

    python tests/queue/power.py --rounds 20 --fs ext4 [--broken no-file-sync|no-folder-sync]

A writer works in a loop image; the kernel is told to drop what it has not written, journal included (`FS_IOC_SHUTDOWN` with
NOLOGFLUSH). Only what was printed before that counts as acknowledged. `--broken` leaves a sync out, which must lose jobs. Exit
code 77 where nothing may be mounted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from reflect_store.queue import Job, LocalFs, QueueSettings, open_queue

__all__ = ["main"]

SETTINGS = QueueSettings(initial_delay=30.0, capacity=1_000_000)
SHUTDOWN = 0x8004587D
NOLOGFLUSH = 2
SIZES = {"ext4": "64M", "xfs": "320M"}
SKIPPED = 77


class NoFileSync(LocalFs):
    """Broken: files are not synced."""

    def sync(self, handle: int) -> None:
        """Leave it out."""


class NoFolderSync(LocalFs):
    """Broken: folders are not synced."""

    def sync_folder(self, handle: int) -> None:
        """Leave it out."""


BROKEN = {"no-file-sync": NoFileSync, "no-folder-sync": NoFolderSync}


def _job(number: int) -> Job:
    return Job(f"{number}", "error", f"{number}", "failed", {"pad": "x" * 700})


def _say(what: str, number: int) -> None:
    os.write(1, f"{what} {number} {time.monotonic_ns()}\n".encode())


def write(folder: str, broken: str | None) -> NoReturn:
    """Put jobs; acknowledge, retry or bury each third; print what is durable by then."""
    with open_queue(folder, SETTINGS, fs=BROKEN[broken]() if broken else None) as queue:
        number = 0
        while True:
            queue.put(_job(number))
            _say("put", number)
            claim = queue.claim()
            if claim is not None:
                _say("try", number)
                what = ("ack", "retry", "dead")[number % 3]
                if what == "ack":
                    claim.ack()
                else:
                    getattr(claim, what)("because")
                _say(what, number)
            number += 1


@contextlib.contextmanager
def _mounted(image: Path, point: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "loop", str(image), str(point)], check=True, capture_output=True)  # noqa: S607 - as root's PATH has it
    try:
        yield
    finally:
        subprocess.run(["umount", str(point)], check=False, capture_output=True)  # noqa: S607


def _cut(point: Path) -> int:
    import fcntl

    handle = os.open(point, os.O_RDONLY)
    try:
        moment = time.monotonic_ns()
        fcntl.ioctl(handle, SHUTDOWN, struct.pack("I", NOLOGFLUSH))
        return moment
    finally:
        os.close(handle)


def _judge(folder: str, lines: list[list[str]], moment: int) -> tuple[int, list[str]]:
    """Return how many jobs were acknowledged before the cut, and what is wrong."""
    state: dict[int, str] = {}
    begun: dict[int, str] = {}
    for what, digits, when in lines:
        known = begun if what == "try" or int(when) >= moment else state
        known[int(digits)] = what
    wrong = []
    with open_queue(folder, SETTINGS) as queue:
        corrupt = queue.replay().corrupt
        waits = {row.id: row.attempts for row in queue.jobs()}
        dead = {row.id for row in queue.dead_letters()}
        for number, what in state.items():
            id_ = _job(number).id
            place = "dead" if id_ in dead else f"{waits[id_]}" if id_ in waits else "done" if queue.done(id_) else "absent"
            right = {"put": {"0"}, "ack": {"done"}, "retry": {"1"}, "dead": {"dead"}}[what]
            if what == "put" and number in begun:
                right |= {"done", "1", "dead"}
            if place not in right:
                wrong.append(f"job {number} was told {what} and is {place}")
    return len(state), [*wrong, *(["a torn record is to be seen"] if corrupt else [])]


def trial(fs: str, broken: str | None, scratch: Path, chance: random.Random) -> tuple[int, list[str]]:
    """Run one round."""
    image, point = scratch / "image", scratch / "mount"
    image.unlink(missing_ok=True)
    point.mkdir(exist_ok=True)
    with image.open("wb") as file:
        file.truncate(int(SIZES[fs].removesuffix("M")) << 20)
    quiet = ["-q", "-F"] if fs == "ext4" else ["-q", "-f"]
    subprocess.run([f"mkfs.{fs}", *quiet, str(image)], check=True, capture_output=True)
    command = [sys.executable, __file__, "--write", f"{point}/queue", *(["--broken", broken] if broken else [])]
    with (
        _mounted(image, point),
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as writer,
    ):
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(chance.uniform(0.05, 0.4))
        moment = _cut(point)
        lines = [line.split() for line in (first, *writer.stdout) if line.endswith("\n")]
        writer.kill()
    with _mounted(image, point):
        return _judge(f"{point}/queue", lines, moment)


def _may_mount(fs: str) -> bool:
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which(f"mkfs.{fs}") is None or shutil.which("mount") is None:
        return False
    with tempfile.TemporaryDirectory() as scratch:
        try:
            trial(fs, None, Path(scratch), random.Random(0))
        except (OSError, subprocess.CalledProcessError):
            return False
    return True


def main() -> int:
    """Run as a script; exit code 1 where something is lost (or, with `--broken`, where nothing is), 77 where it cannot run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--fs", choices=sorted(SIZES), default="ext4")
    parser.add_argument("--broken", choices=sorted(BROKEN))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        write(given.write, given.broken)
    if not _may_mount(given.fs):
        print("skipped: no loop image may be made and mounted here")  # noqa: T201 - the result
        return SKIPPED
    chance = random.Random(given.seed)
    acknowledged, wrong = 0, []
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(given.rounds):
            count, problems = trial(given.fs, given.broken, Path(scratch), chance)
            acknowledged += count
            wrong += problems
    result = {"fs": given.fs, "broken": given.broken, "rounds": given.rounds, "acknowledged": acknowledged, "wrong": len(wrong)}
    print(json.dumps({**result, "examples": wrong[:5]}))  # noqa: T201 - the result
    return int(bool(wrong) is not bool(given.broken))


if __name__ == "__main__":
    sys.exit(main())
