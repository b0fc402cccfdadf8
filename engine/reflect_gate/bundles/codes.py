"""Why an archive or a git ref is refused: the stable codes, each with what it means. `docs/policy-bundles.md` shows the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["BUNDLE_CODES"]

BUNDLE_CODES: Final[Mapping[str, str]] = {
    "bundle-too-large": "the archive, or a file in it, is larger than allowed, or there are too many files",
    "bundle-damaged": "the file is no archive, or its structure is broken",
    "bundle-traversal": "a file's path is absolute, leads upwards, or holds what a path here never holds",
    "bundle-symlink": "an entry is a symbolic link, a folder or a device",
    "bundle-duplicate": "two entries have one name, also where only their case differs",
    "bundle-bomb": "an entry is compressed, or the entries claim more bytes than the archive has",
    "bundle-manifest": "the manifest is missing, or is not what its schema says",
    "bundle-foreign": "a file stands in the archive that its manifest does not name",
    "bundle-missing-file": "the manifest names a file that the archive does not hold",
    "bundle-tampered": "a file is not the one whose digest the manifest holds",
    "bundle-not-canonical": "the archive holds bytes that building it would not write: before, between or after its entries",
    "bundle-requires": "the bundle was built for another version of reflect-gate, of its vocabulary or of the policies file",
    "bundle-digest": "a bundle resolves to another digest than the manifest says",
    "bundle-layout": "the policies file is written so that its folders cannot be told to be those of the archive",
    "bundle-unsigned": "a signature is required, and there is none",
    "bundle-untrusted": "a signature is required, and those that are there are of other keys",
    "bundle-signature": "the signature of a trusted key does not fit the manifest",
    "bundle-key": "a key file cannot be read, or holds no Ed25519 key",
    "bundle-signing-missing": "the extra `sign` is not installed, so that nothing can be signed or verified",
    "bundle-unpack": "the archive's files cannot be written to the cache folder",
    "git-missing": "there is no git to ask",
    "git-ref": "the repository has no such ref",
    "git-path": "the ref holds no policies file at this path, or a path leads out of the repository",
    "git-symlink": "a file of the ref is a symbolic link or a submodule",
}
"""Tools may rely on these, so a code is never renamed."""
