"""A server of the test's own: started anew under real processes (`postgres_kill.py` at length), a standby, encrypted, full."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from reflect_store import SearchQuery, StoreError, open_store

from ..postgres_server import Server, running, unable
from .postgres_kill import restarted
from .stores import Told
from .tenants import Tenants

MOUNT, UMOUNT = shutil.which("mount"), shutil.which("umount")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of the test's own, which it may stop."""
    if reason := unable():
        pytest.skip(reason)
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path))
    with running() as started:
        yield started


@pytest.mark.slow
def test_a_crash_of_the_server_loses_no_decision_that_was_acknowledged(server: Server) -> None:
    """R-s1: writers wait for the server and go on; what was acknowledged is there once."""
    writers, decisions = 2, 6
    done = restarted(server, writers, decisions, restarts=1)
    assert (done.errors, done.lost, done.doubled, done.problems) == ((), (), (), ())
    assert done.acknowledged == writers * decisions


def test_a_standby_is_read_and_searched(server: Server) -> None:
    """A copy that follows another server answers retrieval, and says that it cannot be written."""
    tenants = Tenants(server)
    role = tenants.role("main", tenants.owner)
    with open_store(tenants.url(role)) as store:
        store.append([Told.admitted("l-1")])
    server.stop()
    (server.data / "standby.signal").touch()
    server.start()
    with open_store(tenants.url(role)) as store:
        assert [found.lesson_id for found in store.search(SearchQuery(("generator",)))] == ["l-1"]
        assert store.verify().sound
        with pytest.raises(StoreError) as caught:
            store.append([Told.skipped("f-1")])
    assert caught.value.code == "store-read-only"


def certify(server: Server) -> Path:
    """Let the server speak TLS as `localhost`, and return the certificate that a client trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    start = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding, none = serialization.Encoding.PEM, serialization.NoEncryption()
    texts = {
        "server.key": key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, none),
        "server.crt": certificate.public_bytes(encoding),
    }
    owner = server.data.stat()
    for file, text in texts.items():
        (server.data / file).write_bytes(text)
        (server.data / file).chmod(0o600)
        os.chown(server.data / file, owner.st_uid, owner.st_gid)
    return server.data / "server.crt"


def test_tls_is_what_was_asked_for(server: Server) -> None:
    """`verify-full` reaches the server that the certificate is of, and no other."""
    tenants = Tenants(server)
    trusted = certify(server)
    with tenants.connected() as connection:
        connection.execute(b"ALTER SYSTEM SET ssl = on")
        connection.execute("SELECT reflect_gate.assign('postgres', 'over TLS')")
    server.stop()
    server.start()
    checked = {"database": tenants.database, "sslmode": "verify-full", "sslrootcert": str(trusted)}
    with open_store(server.url(**checked).replace("127.0.0.1", "localhost")) as store:
        store.append([Told.skipped("f-1")])
        with tenants.connected() as connection:
            asked = (
                "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'reflect-gate'"
            )
            assert connection.execute(asked).fetchall() == [(True,)]
    with pytest.raises(StoreError, match="no encrypted connection") as caught:
        open_store(server.url(**checked))
    assert caught.value.code == "store-unreachable"


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or MOUNT is None or UMOUNT is None, reason="needs a small file system of its own")
def test_a_full_disk_loses_nothing_that_was_acknowledged(server: Server) -> None:
    """R-s1: the decision that found no room is not there at all, and the chain verifies."""
    tenants = Tenants(server)
    small, owner = server.folder / "small", server.data.stat()
    small.mkdir()
    options = f"size=24m,mode=700,uid={owner.st_uid},gid={owner.st_gid}"
    mounted = subprocess.run([str(MOUNT), "-t", "tmpfs", "-o", options, "tmpfs", str(small)], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        with tenants.connected(database="postgres") as connection:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{small}'".encode())
            connection.execute(f"ALTER DATABASE {tenants.database} SET TABLESPACE small".encode())
        with tenants.store() as store:
            code, kept = "", 0
            while not code:
                try:
                    store.append([Told.failed(f"f-{kept}", os.urandom(60_000).hex())])
                    kept += 1
                except StoreError as error:
                    code = error.code
            assert (code, store.version, store.verify().problems) == ("store-full", kept, ())
    finally:
        server.stop(crash=True)
        subprocess.run([str(UMOUNT), str(small)], check=True)
