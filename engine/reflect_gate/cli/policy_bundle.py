"""`reflect-gate policy bundle`: build, look into, sign and verify an archive of policies."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._canonical import canonical_bytes
from ..config import choose_policies
from ..report._paint import Paint
from ..report._safe import plain
from ._app import LazyGroup
from ._options import complete_bundle, examples, format_option, output_option, policies_option
from ._output import OK, open_output
from ._summary import files_document, needs_file, summarise

if TYPE_CHECKING:
    from ..bundles.archive import Archive

__all__ = ["bundle"]

REPORT_SCHEMA = "urn:reflect-gate:schema:policy-bundle-report:1"

_archive = click.argument("archive", type=click.Path(dir_okay=False))


@click.group(cls=LazyGroup, no_args_is_help=False)
def bundle() -> None:
    """Build, look into, sign and verify an archive of policies.

    An archive holds a policies file, every rule set that it names with its cases, every lexicon, and a manifest with the digest
    of each. The same files give the same bytes. Every verb takes it as `--policies ours.rgb`.
    """


@bundle.command
@click.argument("name", required=False, shell_complete=complete_bundle)
@policies_option
@click.option("--revision", default="", metavar="TEXT", help="A text of your own for the manifest, such as a commit.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="The archive; else NAME.rgb.")
@format_option("text", "json")
@examples(
    "reflect-gate policy bundle build --policies ./policies.yaml",
    'reflect-gate policy bundle build ours --policies ./policies.yaml --revision "$(git rev-parse HEAD)" -o ours.rgb',
)
def build(name: str | None, policies: str | None, revision: str, output: str | None, format_: str) -> int:
    """Build the archive of a policies file.

    NAME is the bundle that the archive stands for, the default one without. Every bundle of the file must load.
    """
    from ..bundles.archive import read_archive
    from ..bundles.building import build_archive

    data = build_archive(choose_policies(policies).path.absolute(), name, revision)
    built = read_archive(data, "the archive")
    target = output or f"{built.manifest['bundle']}.rgb"
    needs_file(format_, target)
    written = _written(target, data)
    with open_output(target) as sink:
        if sink.terminal:
            raise click.UsageError("an archive is not for a terminal: name a file with `-o`")
        sink.json(data)
    document = files_document("bundle build", [written], 1, bundle=built.manifest["bundle"], sha256=built.digest)
    summarise(format_, f"built {plain(target)}: {_told(built)}", {"archive": target, "sha256": built.digest}, document)
    return OK


@bundle.command
@_archive
@format_option("text", "json")
@output_option
@examples("reflect-gate policy bundle inspect ours.rgb", "reflect-gate policy bundle inspect ours.rgb --format json")
def inspect(archive: str, format_: str, output: str | None) -> int:
    """Say what an archive holds.

    Its structure and the bytes of its files are checked; signatures are named and not verified.
    """
    from ..bundles.archive import open_archive

    found = open_archive(archive)
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(_document(found)) + b"\n")
        else:
            sink.text(_text(found, Paint(sink.coloured)))
    return OK


@bundle.command
@_archive
@click.option("--key", required=True, metavar="KEYFILE", help="The Ed25519 private key, as PEM.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="The signed archive; else the same file.")
@format_option("text", "json")
@examples("reflect-gate policy bundle sign ours.rgb --key team.pem")
def sign(archive: str, key: str, output: str | None, format_: str) -> int:
    """Sign an archive.

    The signature is of the manifest, which holds the digest of every file. Several keys may sign one archive.
    """
    from ..bundles.archive import open_archive
    from ..bundles.signing import signed

    found, target = open_archive(archive), output or archive
    needs_file(format_, target)
    data, key_id = signed(found, key)
    written = _written(target, data)
    with open_output(target) as sink:
        sink.json(data)
    about = {"bundle": found.manifest["bundle"], "sha256": hashlib.sha256(data).hexdigest(), "key": key_id}
    document = files_document("bundle sign", [written], 1, **about)
    summarise(format_, f"signed {plain(target)} with key {key_id[:16]}", {"archive": target, "key": key_id}, document)
    return OK


def _written(target: str, data: bytes) -> dict[str, object]:
    """Return what is about to become of an archive's file."""
    path = Path(target)
    before = path.read_bytes() if path.is_file() else None
    action = "created" if before is None else "unchanged" if before == data else "changed"
    return {"file": target, "action": action, "diff": ""}


@bundle.command
@_archive
@click.option("--key", metavar="KEYFILE", help="Public keys, as PEM; the archive must be signed by one of them.")
@format_option("text", "json")
@output_option
@examples("reflect-gate policy bundle verify ours.rgb --key team.pem.pub")
def verify(archive: str, key: str | None, format_: str, output: str | None) -> int:
    """Verify an archive.

    Its structure, the bytes and the parsed content of each file, what each bundle resolves to, and with `--key` a signature.
    Exit code 3, with a code that says why, where anything differs.
    """
    from ..bundles.archive import open_archive
    from ..bundles.building import verify_content
    from ..bundles.signing import require_signature

    found = open_archive(archive)
    signer = require_signature(found, key) if key else None
    compared = verify_content(found)
    with open_output(output) as sink:
        if format_ == "json":
            verified = {"content": True, "digests": compared, "key": signer}
            sink.json(canonical_bytes({**_document(found), "verified": verified}) + b"\n")
        else:
            paint = Paint(sink.coloured)
            said = f"signed by the trusted key {signer[:16]}" if signer else _signatures(found)
            digests = "" if compared else "; digests of bundles not compared: this version measures otherwise"
            sink.text(f"{paint('ok', 'green')}: {plain(archive)}: {_told(found)}; {said}{digests}\n")
    return OK


@bundle.command
@click.argument("file", type=click.Path(dir_okay=False))
@format_option("text", "json")
@examples("reflect-gate policy bundle keygen team.pem")
def keygen(file: str, format_: str) -> int:
    """Make a key to sign with.

    FILE is the private key, which only its owner may read; FILE.pub is the public key. Nothing is overwritten.
    """
    from ..bundles.signing import new_key

    key_id = new_key(file)
    changes = [{"file": name, "action": "created", "diff": ""} for name in (file, f"{file}.pub")]
    document = files_document("bundle keygen", changes, 2, key=key_id)
    summarise(format_, f"made {plain(file)} and {plain(file)}.pub, key {key_id[:16]}", {"file": file, "key": key_id}, document)
    return OK


def _told(found: Archive) -> str:
    manifest = found.manifest
    bundles = len(manifest["resolved"]["digests"])
    return f"bundle {manifest['bundle']}, {len(found.files)} files, {bundles} bundles, sha256 {found.digest[:16]}"


def _signatures(found: Archive) -> str:
    keys = ", ".join(entry["key"][:16] for entry in found.signatures)
    return f"signatures not verified: {keys}" if keys else "unsigned"


def _document(found: Archive) -> dict[str, Any]:
    return {
        "schema": REPORT_SCHEMA,
        "file": found.name,
        "sha256": found.digest,
        "manifest": found.manifest,
        "signatures": [entry["key"] for entry in found.signatures],
        "verified": None,
    }


def _text(found: Archive, paint: Paint) -> str:
    manifest = found.manifest
    requires, resolved = manifest["requires"], manifest["resolved"]
    engine = manifest["engine"]["mode"] + (", cross-checked" if manifest["engine"]["cross_check"] else "")
    lines = [
        f"{paint(manifest['bundle'], 'bold')}  {found.digest}",
        f"  revision    {plain(manifest['revision']) or '-'}",
        f"  requires    reflect-gate {requires['reflect_gate']}, vocabulary {requires['vocabulary']}",
        f"  engine      {engine}",
        f"  signatures  {', '.join(entry['key'][:16] for entry in found.signatures) or 'none'}",
        "",
        paint(f"bundles, as of {resolved['as_of']}", "dim"),
        *(f"  {digest[:16]}  {name}" for name, digest in resolved["digests"].items()),
        "",
        paint("files, by content", "dim"),
        *(f"  {entry['content'][:16]}  {entry['bytes']:>8}  {path}" for path, entry in manifest["files"].items()),
    ]
    return "\n".join(lines) + "\n"
