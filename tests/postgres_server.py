"""A PostgreSQL server for tests and scripts: private, on a free port of 127.0.0.1, synced, and gone when its starter is.

with running() as server:
    server.url("reflect", password="…")
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

__all__ = ["SUPERUSER", "Server", "programs", "running", "unable"]

SUPERUSER: Final = "postgres"

_TRIES: Final = 3
_PATIENCE: Final = 60.0
_ROOM: Final = 1024**3
_SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "32MB",
    "max_connections": "60",
    "log_min_messages": "warning",
    "lc_messages": "C",
}
# The server ends when whoever holds the other end of the shell's input is gone, however it went.
_WATCHED: Final = 'trap "" INT TERM; "$@" </dev/null & server=$!; read _; kill -INT $server 2>/dev/null; wait $server'


def programs() -> Path | None:
    """Return the folder of the server's programs, the newest one that there is."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    known = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return known[-1].parent if known else None


def _other_user() -> pwd.struct_passwd | None:
    """Return whom the server runs as where that must not be root."""
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def unable() -> str | None:
    """Return why no server can be started here, `None` where one can."""
    if os.name != "posix":
        return "needs a POSIX system"
    try:
        import psycopg  # noqa: F401 - whether it is there
    except ImportError:
        return "needs psycopg (the extra `postgres`)"
    if programs() is None:
        return "needs the programs of a PostgreSQL server (`initdb`)"
    if os.geteuid() == 0 and _other_user() is None:
        return "needs another user than root for the server to run as"
    return None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """One server and its data; `start` and `stop` may follow each other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = 0
        self.password = secrets.token_hex(16)
        self._bin = programs() or Path()
        self._user = _other_user() if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, role: str = SUPERUSER, password: str | None = None, database: str = "postgres", **options: str) -> str:
        """Return the address of the server for a role."""
        secret = self.password if password is None else password
        more = "&".join(f"{name}={value}" for name, value in options.items())
        return f"postgresql://{role}:{secret}@127.0.0.1:{self.port}/{database}{f'?{more}' if more else ''}"

    def local(self, role: str = SUPERUSER, database: str = "postgres") -> str:
        """Return the address of the server's socket, where a role needs no password."""
        return f"postgresql://{role}@/{database}?host={self.folder}&port={self.port}"

    def _as_user(self, command: Sequence[str]) -> dict[str, Any]:
        user = self._user
        drop = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        return {"args": command, "cwd": self.folder, **drop}

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            **self._as_user([str(self._bin / program), *arguments]), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")

    def make(self) -> None:
        """Make the data of a new server: passwords over the network, none on the socket that only this folder shows."""
        self.folder.chmod(0o700)
        secret = self.folder / "password"
        secret.write_text(self.password)
        if self._user:
            for path in (self.folder, secret):
                os.chown(path, self._user.pw_uid, self._user.pw_gid)
        options = ["-A", "scram-sha-256", "--auth-local=trust", "-U", SUPERUSER, f"--pwfile={secret}"]
        self._run("initdb", "-D", str(self.data), *options, "-E", "UTF8", "--locale=C", "-N")

    def start(self) -> None:
        """Start the server and wait until it answers; on the same port again where it ran before."""
        for _ in range(_TRIES):
            port = self.port or _free_port()
            if self._started(port):
                self.port = port
                return
        raise RuntimeError(f"the server does not start: {self.log()[-2_000:]}")

    def _started(self, port: int) -> bool:
        given = {**_SETTINGS, "port": str(port), "unix_socket_directories": str(self.folder)}
        options = [part for name, value in given.items() for part in ("-c", f"{name}={value}")]
        command = ["sh", "-c", _WATCHED, "sh", str(self._bin / "postgres"), "-D", str(self.data), *options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(**self._as_user(command), stdin=subprocess.PIPE, stdout=log, stderr=log)
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            ready = [str(self._bin / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
            if subprocess.run(ready, check=False).returncode == 0:
                return True
            if not (self.data / "postmaster.pid").exists() and self._process.poll() is not None:
                break
            time.sleep(0.02)
        self.stop()
        return False

    def stop(self, *, crash: bool = False) -> None:
        """Stop the server; on a crash nothing is written that was not, and connections are cut."""
        process, self._process = self._process, None
        if process is None:
            return
        if (self.data / "postmaster.pid").exists():
            mode = "immediate" if crash else "fast"
            subprocess.run(
                **self._as_user([str(self._bin / "pg_ctl"), "-D", str(self.data), "-m", mode, "-w", "-s", "stop"]), check=False
            )
        process.communicate(timeout=_PATIENCE)

    def log(self) -> str:
        """Return what the server said."""
        return (self.folder / "log").read_text(errors="replace")


def _in_memory() -> str | None:
    """Return a folder in memory with room for a server, `None` where there is none."""
    shared = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    return str(shared) if shared.is_dir() and shutil.disk_usage(shared).free >= _ROOM else None


@contextmanager
def running(*, on_disk: bool = False) -> Iterator[Server]:
    """Yield a new server that runs, and remove it afterwards.

    Args:
        on_disk: its data lies on a disk, as what is to be kept does; else in memory where there is room, which is quicker.
    """
    folder = Path(tempfile.mkdtemp(prefix="reflect-pg-", dir=None if on_disk else _in_memory()))
    server = Server(folder)
    try:
        server.make()
        server.start()
        yield server
    finally:
        # Its data is thrown away: there is nothing to write down first.
        server.stop(crash=True)
        shutil.rmtree(folder, ignore_errors=True)
