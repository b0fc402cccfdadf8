"""Run the compose file and what docs/operations.md tells of it, word by word, on a Docker Engine that has the three images.

    python tests/serving/compose.py --build-network host

The image holds a wheel of this checkout. No model is asked: a decision comes by a request. Port 443 has to be free. Where there
is no engine, no Compose 2, or an image that cannot be pulled, it says so and ends with 0. All that it made is removed at the end.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

__all__ = ["done", "missing", "run", "told", "tried"]

ROOT: Final = Path(__file__).parents[2]
IMAGES: Final = ("python:3.12-slim", "postgres:17", "caddy:2")
NAMED: Final = "reflect-gate-try"
OWNING: Final = 'docker run --rm --network none -v "$PWD:/here" python:3.12-slim chown 10001 /here/pgpass'
CONFINED: Final = "import os; assert os.getuid() == 10001; open('/home/gate/.reflect-gate/x', 'a'); open('/home/gate/x', 'a')"


def run(command: str, folder: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    """Return what became of a shell's line in `folder`, with `given` on its stdin."""
    words = [shutil.which("bash") or "bash", "-c", command]
    return subprocess.run(words, cwd=folder, input=given, text=True, capture_output=True, check=False, timeout=1_800)


def done(command: str, folder: Path, given: str = "") -> str:
    """Return what a line printed.

    Raises:
        SystemExit: it failed.
    """
    sys.stdout.write(f"$ {command}\n")
    sys.stdout.flush()
    told = run(command, folder, given)
    if told.returncode:
        sys.exit(f"failed with {told.returncode}:\n{told.stdout}{told.stderr}")
    return told.stdout


def missing() -> str:
    """Return why nothing can be run here, or an empty text."""
    here = Path.cwd()
    if run("docker compose version", here).returncode or run("docker info", here).returncode:
        return "no Docker Engine with Compose 2"
    absent = [image for image in IMAGES if run(f"docker image inspect {image} || docker pull {image}", here).returncode]
    return f"not here and not to be pulled: {', '.join(absent)}" if absent else ""


def told(path: str, fence: str, replaced: Mapping[str, str]) -> str:
    """Return the lines that a text tells to run, found by `fence`, with what an operator puts in their place."""
    (text,) = re.findall(fence, (ROOT / path).read_text(), re.DOTALL)
    lines: str = re.sub(r"^#?\s*", "", text, flags=re.MULTILINE)
    for old, new in replaced.items():
        assert old in lines, old
        lines = lines.replace(old, new)
    return f"set -euo pipefail\n{lines}"


def tried(folder: Path) -> None:
    """Set it up in `folder`, decide, stop and start, lose the volumes' content and restore it."""
    put = {
        "sudo chown 10001 pgpass": OWNING,
        "echo REFLECT_GATE_MODEL=...": r"printf 'REFLECT_GATE_MODEL=none\nREFLECT_GATE_BASE_URL=http://127.0.0.1:9/v1\n'",
        "--scope record": "--scope record --scope evaluate --scope apply",
    }
    steps = told("docs/examples/server/compose.yaml", r"in this folder:\n#\n(.*?)\n\n", put)
    (token,) = re.findall(r"^rgt_\S+", done(steps, folder), re.MULTILINE)
    (folder / "token").write_text(token)
    gate = 'docker compose exec -T -e REFLECT_GATE_TOKEN="$(cat token)" gate'
    known = "'amounts with thousands separators: decimal.InvalidOperation' --server http://127.0.0.1:8321"
    request = (ROOT / "docs/examples/admitted.json").read_text()
    done(f"{gate} reflect-gate evaluate - --server http://127.0.0.1:8321 --store --apply", folder, given=request)
    refused = run(f'{gate} python -c "{CONFINED}"', folder)
    assert "Read-only file system: '/home/gate/x'" in refused.stderr, refused
    done("docker compose stop", folder)
    ended = done("docker inspect -f '{{.State.ExitCode}}' $(docker compose ps -aq)", folder).split()
    assert ended == ["0"] * 4, ended
    done("docker compose down && docker compose up -d --wait", folder)
    (head,) = re.findall(r"^head\s+(\S+)", done(f"{gate} reflect-gate store status", folder), re.MULTILINE)
    done(told("docs/operations.md", r"With the compose file:\n\n```sh\n(.*?)```", {"SEQ:HASH": head}), folder)
    assert "lesson-" in done(f"{gate} reflect-gate retrieve {known}", folder)


def main() -> None:
    """Read the options, and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-network", help="the network of the builds, as `docker build --network`")
    network = parser.parse_args().build_network
    if why := missing():
        sys.stdout.write(f"skipped: {why}\n")
        return
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / NAMED
        shutil.copytree(ROOT / "docs/examples/server", folder)
        if network:
            builds = "".join(f"  {name}: {{build: {{network: {network}}}}}\n" for name in ("gate", "worker"))
            (folder / "compose.override.yaml").write_text(f"services:\n{builds}")
        try:
            done(f"{sys.executable} -m pip wheel -q --no-deps -w {folder} {ROOT}", folder)
            tried(folder)
        finally:
            run("docker compose down -v --rmi local", folder)
    sys.stdout.write("all of it was done\n")


if __name__ == "__main__":
    main()
