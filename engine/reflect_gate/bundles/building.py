"""Building an archive from a policies file, and holding one to what its manifest says.

The manifest's digests are of each bundle on the first of all days, on which nothing has expired, and with the engine that the
policies file names: so they, and the archive's bytes, follow from the files alone, whenever and wherever it is built.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .. import __version__
from .._canonical import canonical_bytes, digest
from ..errors import ReflectGateError, Source
from .archive import Archive, archive_bytes, read_archive

__all__ = ["MANIFEST_SCHEMA", "build_archive", "check_requirements", "content_digest", "verify_content"]

MANIFEST_SCHEMA: Final = "urn:reflect-gate:schema:policy-bundle:1"
FIRST_DAY: Final = "0001-01-01"
_POLICIES: Final = "policies.yaml"


def build_archive(policies: Path, bundle: str | None = None, revision: str = "") -> bytes:
    """Return the archive of a policies file with every rule set that it names, their cases, and every lexicon.

    Args:
        policies: the policies file.
        bundle: the bundle that the archive stands for; the default one when absent.
        revision: a text of the builder's own, such as a commit.

    Raises:
        ReflectGateError: with every fault of every bundle; `bundle-layout` where the file cannot be made to name its own folders.
    """
    from ..measure import MEASURES
    from ..policy.build import lexicon_files, ruleset_folder
    from .layout import parsed_policies, with_keys

    text = _read(policies)
    declared = parsed_policies(text, str(policies))
    name = bundle or declared.default
    if name not in declared.bundles:
        from ..errors import did_you_mean

        near = did_you_mean(name, declared.bundles)
        raise ReflectGateError("policy-unknown-bundle", f"there is no bundle `{name}`{near}", Source(str(policies)))
    files = {_POLICIES: with_keys(text, str(policies), {"default": name, "rules": "rules", "lexicons": "rules/lexicons"})}
    named = {ref.name for one in declared.bundles.values() for ref in (*one.rulesets, *one.enable)}
    for ruleset in sorted(named):
        for path in (ruleset_folder(declared) / f"{ruleset}{suffix}" for suffix in (".yaml", ".cases.yaml")):
            if path.is_file():
                files[f"rules/{path.name}"] = _read(path)
    files |= {f"rules/lexicons/{path.name}": _read(path) for path in lexicon_files(declared)[1]}
    manifest = {
        "schema": MANIFEST_SCHEMA,
        "bundle": name,
        "revision": revision,
        "requires": {"reflect_gate": __version__, "vocabulary": _vocabulary(), "policies": 1},
        "engine": {"mode": declared.mode, "cross_check": declared.cross_check},
        "measures": dict(MEASURES),
        "resolved": {"as_of": FIRST_DAY, "digests": _digests(files)},
        "files": {
            path: {"content": content_digest(data, path), "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
            for path, data in files.items()
        },
    }
    built = archive_bytes(canonical_bytes(manifest), files)
    # What is refused when it is read is refused when it is built.
    read_archive(built, f"{name}.rgb")
    return built


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ReflectGateError("cannot-read", f"cannot read `{path}`: {(error.strerror or '').lower()}") from None


def _vocabulary() -> str:
    from ..facts import load_vocabulary

    return load_vocabulary().version


def content_digest(data: bytes, name: str) -> str:
    """Return the SHA-256 of what a YAML file says: its keys and values, without comments, layout and the order of keys."""
    from ..policy.problems import Problems
    from ..policy.source import parse_document

    problems = Problems()
    root = parse_document(data, name, problems)
    problems.stop_if_any()
    return digest(_plain(root))


def _plain(node: object) -> object:
    from ..policy.source import ListNode, MapNode, ScalarNode

    if isinstance(node, ScalarNode):
        return [node.text, node.plain]
    if isinstance(node, ListNode):
        return {"list": [_plain(item) for item in node.items]}
    return {"map": {entry.key.text: _plain(entry.value) for entry in node.entries}} if isinstance(node, MapNode) else None


def _digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return what each bundle of `files` resolves to, whichever engines can be had here; raises every fault of every bundle."""
    from ..errors import raise_all
    from ..policy.build import build_bundle, meaning
    from ..policy.bundle import LoadRequest
    from .layout import parsed_policies
    from .unpacking import unpacked

    place = unpacked(files)
    declared = parsed_policies(files[_POLICIES], str(place))
    found, errors = {}, {}
    for name in sorted(declared.bundles):
        try:
            bundle, _ = build_bundle(LoadRequest(name, place, (), (), (), FIRST_DAY))
        except ReflectGateError as error:
            errors.update({str(leaf): leaf for leaf in error.errors})
            continue
        found[name] = digest(meaning(bundle._replace(engine=declared.mode, cross_check=declared.cross_check)))
    raise_all(errors.values())
    return found


def check_requirements(archive: Archive) -> None:
    """Refuse an archive that was built for another version than this; `bundle-requires`."""
    requires: Mapping[str, Any] = archive.manifest["requires"]
    place = Source(archive.name)
    if _numbers(requires["reflect_gate"]) > _numbers(__version__):
        message = f"the bundle needs reflect-gate {requires['reflect_gate']} or later, and this is {__version__}"
        raise ReflectGateError("bundle-requires", message, place)
    own = _vocabulary()
    if _numbers(requires["vocabulary"])[0] != _numbers(own)[0] or _numbers(requires["vocabulary"]) > _numbers(own):
        message = f"the bundle was built with vocabulary {requires['vocabulary']}, and this one is {own}"
        raise ReflectGateError("bundle-requires", message, place)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit())


def verify_content(archive: Archive) -> bool:
    """Hold an archive to its manifest beyond the bytes: the parsed content of each file, and what its bundles resolve to.

    Returns:
        Whether the digests of the bundles were compared; they are not where this version, its vocabulary or a measure is
        another than the one that built the archive, since they then differ without a fault.

    Raises:
        ReflectGateError: `bundle-tampered`, `bundle-digest`, `bundle-requires`, or what a broken policy raises.
    """
    from ..measure import MEASURES

    check_requirements(archive)
    manifest = archive.manifest
    for path, entry in manifest["files"].items():
        if content_digest(archive.files[path], path) != entry["content"]:
            raise ReflectGateError("bundle-tampered", f"`{path}` does not say what the manifest holds", Source(archive.name))
    requires = manifest["requires"]
    found = _digests(archive.files)
    if requires["vocabulary"] != _vocabulary() or dict(manifest["measures"]) != dict(MEASURES):
        return False
    for name in sorted(found.keys() | manifest["resolved"]["digests"].keys()):
        if found.get(name) != manifest["resolved"]["digests"].get(name):
            raise ReflectGateError(
                "bundle-digest", f"`{name}` resolves to another digest than the manifest says", Source(archive.name)
            )
    return True
