"""Archives of policies: the same bytes from the same files, loaded as the files would be, and refused when anything is off."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import orjson
import pytest

from reflect_gate import load_bundle
from reflect_gate._canonical import canonical_bytes
from reflect_gate.bundles import archive as archives
from reflect_gate.bundles.archive import MANIFEST, SIGNATURES, archive_bytes, open_archive, read_archive
from reflect_gate.bundles.building import build_archive, check_requirements, content_digest, verify_content
from reflect_gate.bundles.codes import BUNDLE_CODES
from reflect_gate.bundles.layout import with_keys
from reflect_gate.bundles.signing import new_key, require_signature, signed
from reflect_gate.bundles.unpacking import unpacked
from reflect_gate.cli import main
from reflect_gate.errors import ReflectGateError
from reflect_gate.resources import data_root

RULES = """ruleset: hedging
version: 1.0.0
stage: calibrate
doc: A lesson that takes back what it says.
neutral: calibrated
settings:
  max_hedges: {default: 2, doc: Hedging phrases that a lesson may hold.}
rules:
  - id: hedged
    doc: Too many.
    when:
      - lesson: {hedges: {gt: $max_hedges}}
    then:
      - finding: {verdict: too_vague, reason: hedged, about: candidate_lesson}
"""
LEXICON = """lexicon: hedges
version: 1.0.0
doc: Hedging.
groups:
  - {id: maybe, doc: Maybes., patterns: ['perhaps'], cases: {hit: [Perhaps.], miss: [Surely.]}}
"""
POLICIES = """policies: 1
default: ours  # the usual one
rules: my-rules
lexicons: words
bundles:
  ours: {doc: Ours., rulesets: [hedging@1]}
  other: {doc: Other., extends: ours, disable: [hedging]}
"""
CASES = """ruleset: hedging
cases:
  - {id: none, facts: [{lesson: {}}], expect: {verdict: too_vague, findings: []}}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and no required signature."""
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("REFLECT_GATE_REQUIRE_SIGNATURE", raising=False)
    return tmp_path / "cache"


def write_team(root: Path) -> Path:
    """Write a policies file with one rule set, its cases and one lexicon, and return its path."""
    for name, text in {
        "my-rules/hedging.yaml": RULES,
        "my-rules/hedging.cases.yaml": CASES,
        "words/hedges.yaml": LEXICON,
        "policies.yaml": POLICIES,
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root / "policies.yaml"


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """Policies of a team."""
    return write_team(tmp_path / "team")


@pytest.fixture
def built(policies: Path) -> bytes:
    """The archive of those policies."""
    return build_archive(policies)


def code_of(function: Callable[..., object], *arguments: object) -> str:
    """Return the code with which a call is refused."""
    with pytest.raises(ReflectGateError) as caught:
        function(*arguments)
    assert caught.value.code in BUNDLE_CODES
    return caught.value.code


def entries(data: bytes) -> list[tuple[zipfile.ZipInfo, bytes]]:
    """Return the entries of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(info, archive.read(info)) for info in archive.infolist()]


def zipped(parts: Iterable[tuple[zipfile.ZipInfo | str, bytes]]) -> bytes:
    """Return an archive of entries as they are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for info, data in parts:
            archive.writestr(info, data)
    return stream.getvalue()


def entry(name: str, mode: int = stat.S_IFREG | 0o644, compress: int = zipfile.ZIP_STORED) -> zipfile.ZipInfo:
    """Return what an archive says of an entry."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.create_system, info.external_attr, info.compress_type = 3, mode << 16, compress
    return info


def with_file(data: bytes, name: str, text: bytes) -> bytes:
    """Return the archive with one file replaced and everything else, digests included, as it was."""
    found = read_archive(data, "x")
    return archive_bytes(found.manifest_bytes, {**found.files, name: text})


def with_manifest(data: bytes, **changed: object) -> bytes:
    """Return the archive with keys of its manifest replaced, as a forger with no key would."""
    found = read_archive(data, "x")
    return archive_bytes(canonical_bytes({**found.manifest, **changed}), found.files)


# -- building -----------------------------------------------------------------------------------------------------------------


def test_the_same_files_give_the_same_bytes(policies: Path, built: bytes, tmp_path: Path) -> None:
    """Neither times, nor the folder, nor the order of writing shows in the bytes."""
    other = tmp_path / "elsewhere"
    policies.parent.rename(other)
    for path in sorted(other.rglob("*.yaml"), reverse=True):
        path.touch()
    assert build_archive(other / "policies.yaml") == built


def test_the_manifest_tells_parsed_content_from_bytes(policies: Path, built: bytes) -> None:
    """A comment changes the bytes of a file and not what it says."""
    rules = policies.parent / "my-rules/hedging.yaml"
    rules.write_text("# a remark\n" + RULES.replace("{default: 2, doc:", "{default:  2,   doc:"))
    before, after = read_archive(built, "a").manifest, read_archive(build_archive(policies), "b").manifest
    before, after = before["files"]["rules/hedging.yaml"], after["files"]["rules/hedging.yaml"]
    assert before["sha256"] != after["sha256"]
    assert before["content"] == after["content"] == content_digest(RULES.encode(), "x")


def test_an_archive_loads_as_its_files_do(policies: Path, built: bytes, tmp_path: Path) -> None:
    """The digest is the same from the folder and from the archive, also when the cache answers."""
    path = tmp_path / "ours.rgb"
    path.write_bytes(built)
    expected = load_bundle(policies=policies, as_of="2026-01-01").digest
    assert [load_bundle(policies=path, as_of="2026-01-01").digest for _ in range(2)] == [expected] * 2
    assert load_bundle("other", policies=path, as_of="2026-01-01").rulesets[0].on is False


def test_an_archive_holds_the_shipped_rules_of_a_file_that_names_none(policies: Path) -> None:
    """An archive stands alone: what a file takes from the installation is in it."""
    policies.write_text("policies: 1\ndefault: a\nbundles:\n  a: {doc: A., rulesets: [blame]}\n")
    found = read_archive(build_archive(policies), "x")
    assert found.files["rules/blame.yaml"] == (data_root() / "rules/blame.yaml").read_bytes()
    assert found.files["policies.yaml"].decode().endswith("rules: rules\nlexicons: rules/lexicons\n")


def test_a_named_bundle_becomes_the_default_one(policies: Path) -> None:
    """`bundle build other` stands for `other`."""
    found = read_archive(build_archive(policies, "other", "abc"), "x")
    assert (found.manifest["bundle"], found.manifest["revision"]) == ("other", "abc")
    assert b"default: other\n" in found.files["policies.yaml"]


def test_a_bundle_that_does_not_load_is_not_built(policies: Path) -> None:
    """Every bundle of the file must load, not only the one that is asked for."""
    policies.write_text(POLICIES.replace("disable: [hedging]", "disable: [heding]"))
    with pytest.raises(ReflectGateError, match="heding"):
        build_archive(policies)


def test_lines_keep_their_numbers() -> None:
    """Errors in an archive name the lines of the file that it was built from."""
    changed = with_keys(POLICIES.encode(), "x", {"default": "other", "rules": "r"}).decode().splitlines()
    assert changed == POLICIES.replace("ours  # the usual one", "other").replace("my-rules", "r").splitlines()


def test_a_key_over_several_lines_is_refused() -> None:
    """What cannot be changed by lines is not changed at all."""
    text = POLICIES.replace("rules: my-rules", "rules: >-\n  my-rules")
    assert code_of(with_keys, text.encode(), "x", {"rules": "r"}) == "bundle-layout"


# -- what is refused ----------------------------------------------------------------------------------------------------------


def test_a_file_that_is_no_archive(built: bytes) -> None:
    """Nothing at all, text, and an archive cut short."""
    assert {code_of(read_archive, data, "x") for data in (b"", b"policies: 1\n", built[: len(built) // 2])} == {"bundle-damaged"}


@pytest.mark.parametrize(
    "name", ["../evil.yaml", "/etc/passwd", "rules/../../x", "C:/x", "a\\b", "rules//x", ".hidden", "a/\x00b"]
)
def test_a_path_that_leads_out(built: bytes, name: str) -> None:
    """No path is followed, and nothing is written."""
    forged = zipped([*entries(built), (entry("rules/placeholder"), b"x")])
    data = forged.replace(b"rules/placeholder", name.encode().ljust(17, b"x")[:17])
    assert code_of(read_archive, data, "x") == "bundle-traversal"


@pytest.mark.parametrize("mode", [stat.S_IFLNK | 0o777, stat.S_IFCHR | 0o644, stat.S_IFDIR | 0o755])
def test_a_symbolic_link_a_device_and_a_folder(built: bytes, mode: int) -> None:
    """Only regular files."""
    assert (
        code_of(read_archive, zipped([*entries(built), (entry("rules/x.yaml", mode), b"/etc/passwd")]), "x") == "bundle-symlink"
    )


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ["policies.yaml", "POLICIES.yaml"])
def test_one_name_twice(built: bytes, name: str) -> None:
    """Also where a file system would see one name in two."""
    assert code_of(read_archive, zipped([*entries(built), (entry(name), b"policies: 1")]), "x") == "bundle-duplicate"


def test_a_zip_bomb(built: bytes) -> None:
    """A compressed entry is refused before a byte of it is inflated, and so is one that claims more than is there."""
    bomb = zipped([*entries(built), (entry("rules/x.yaml", compress=zipfile.ZIP_DEFLATED), b"0" * 500_000)])
    assert code_of(read_archive, bomb, "x") == "bundle-bomb"
    name = entry("rules/x.yaml")
    claims = zipped([*entries(built), (name, b"abc")])
    place = claims.rindex(b"PK\x01\x02")
    forged = claims[: place + 20] + (900_000).to_bytes(4, "little") * 2 + claims[place + 28 :]
    assert code_of(read_archive, forged, "x") == "bundle-bomb"


def test_too_large(built: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive, a file, and a number of files beyond what is allowed."""
    large = zipped([*entries(built), (entry("rules/x.yaml"), b"x" * (archives.MAX_FILE_BYTES + 1))])
    assert code_of(read_archive, large, "x") == "bundle-too-large"
    assert code_of(read_archive, b"x" * (archives.MAX_ARCHIVE_BYTES + 1), "x") == "bundle-too-large"
    monkeypatch.setattr(archives, "MAX_FILES", 2)
    assert code_of(read_archive, built, "x") == "bundle-too-large"


@pytest.mark.parametrize("name", ["rules/hedging.yaml", "policies.yaml", "rules/lexicons/hedges.yaml"])
def test_a_tampered_file(built: bytes, name: str) -> None:
    """One byte of one file."""
    found = read_archive(built, "x").files[name]
    assert code_of(read_archive, with_file(built, name, found + b"\n"), "x") == "bundle-tampered"


def test_a_foreign_and_a_missing_file(built: bytes) -> None:
    """The manifest names all files and no other."""
    assert code_of(read_archive, with_file(built, "rules/extra.yaml", b"x"), "x") == "bundle-foreign"
    found = read_archive(built, "x")
    files = {name: data for name, data in found.files.items() if name != "rules/hedging.yaml"}
    assert code_of(read_archive, archive_bytes(found.manifest_bytes, files), "x") == "bundle-missing-file"


def test_a_manifest_that_is_none(built: bytes) -> None:
    """Missing, no JSON, against its schema, and with space in it."""
    found = read_archive(built, "x")
    without = zipped([part for part in entries(built) if part[0].filename != MANIFEST])
    loose = orjson.dumps(found.manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    forged = [archive_bytes(text, found.files) for text in (b"{", b"{}", loose)]
    assert {code_of(read_archive, data, "x") for data in (without, *forged)} == {"bundle-manifest"}


def test_bytes_that_no_file_accounts_for(built: bytes) -> None:
    """Before the entries, and in an entry's own header: what two readers could see differently."""
    stream = io.BytesIO(built)
    with zipfile.ZipFile(stream, "a") as archive:
        archive.comment = b"a comment"
    assert code_of(read_archive, b"MZ" + built, "x") == "bundle-not-canonical"
    assert code_of(read_archive, stream.getvalue(), "x") == "bundle-not-canonical"


def test_another_version(built: bytes) -> None:
    """A newer reflect-gate, and another vocabulary."""
    requires = read_archive(built, "x").manifest["requires"]
    for changed in ({"reflect_gate": "99.0.0"}, {"vocabulary": "99.0.0"}, {"vocabulary": "0.1.0"}):
        forged = read_archive(with_manifest(built, requires={**requires, **changed}), "x")
        assert code_of(check_requirements, forged) == "bundle-requires"


def test_what_it_resolves_to_and_says(built: bytes) -> None:
    """A manifest that is consistent in itself and wrong is found by resolving, and by parsing."""
    manifest = read_archive(built, "x").manifest
    resolved = {**manifest["resolved"], "digests": dict.fromkeys(manifest["resolved"]["digests"], "0" * 64)}
    assert code_of(verify_content, read_archive(with_manifest(built, resolved=resolved), "x")) == "bundle-digest"
    files = {name: {**said, "content": "0" * 64} for name, said in manifest["files"].items()}
    assert code_of(verify_content, read_archive(with_manifest(built, files=files), "x")) == "bundle-tampered"
    assert verify_content(read_archive(built, "x"))


# -- signatures ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A private key; its public one stands beside it."""
    new_key(tmp_path / "team.pem")
    return tmp_path / "team.pem"


def public(key: Path) -> Path:
    """Return the public key beside a private one."""
    return key.with_name(f"{key.name}.pub")


def test_a_signature_is_of_one_key_and_one_manifest(built: bytes, key: Path, tmp_path: Path) -> None:
    """Signed by a trusted key: taken. Unsigned, by another key, or of another manifest: refused, each with its own code."""
    new_key(tmp_path / "stranger.pem")
    plain = read_archive(built, "x")
    data, own = signed(plain, key)
    ours = read_archive(data, "x")
    assert require_signature(ours, public(key)) == own
    assert code_of(require_signature, plain, public(key)) == "bundle-unsigned"
    assert code_of(require_signature, ours, public(tmp_path / "stranger.pem")) == "bundle-untrusted"
    forged = ours._replace(manifest_bytes=ours.manifest_bytes.replace(b'"revision":""', b'"revision":"x"'))
    assert code_of(require_signature, forged, public(key)) == "bundle-signature"


def test_a_signature_cannot_be_carried_over(built: bytes, policies: Path, key: Path) -> None:
    """The signature of one archive in another is refused, however well-formed that one is."""
    ours = entries(signed(read_archive(built, "x"), key)[0])
    carried = next(data for info, data in ours if info.filename == SIGNATURES)
    other = read_archive(build_archive(policies, "other"), "x")
    forged = read_archive(archive_bytes(other.manifest_bytes, other.files, carried), "x")
    assert code_of(require_signature, forged, public(key)) == "bundle-signature"


def test_several_keys_sign_in_any_order(built: bytes, key: Path, tmp_path: Path) -> None:
    """The bytes do not depend on who signed first, and signing twice changes nothing."""
    second = tmp_path / "second.pem"
    new_key(second)

    def both(*keys: Path) -> bytes:
        data = built
        for path in keys:
            data = signed(read_archive(data, "x"), path)[0]
        return data

    assert both(key, second) == both(second, key) == both(key, second, key)
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(public(second).read_bytes())
    assert require_signature(read_archive(both(key, second), "x"), trusted)


def test_a_key_file_that_holds_none(built: bytes, key: Path, tmp_path: Path) -> None:
    """Missing, empty, and a private key in the place of a public one."""
    ours = read_archive(signed(read_archive(built, "x"), key)[0], "x")
    (tmp_path / "empty").write_text("")
    for path in (tmp_path / "nothing", tmp_path / "empty", key):
        assert code_of(require_signature, ours, path) == "bundle-key"
    assert code_of(signed, ours, public(key)) == "bundle-key"


def test_a_private_key_is_its_owners_and_never_overwritten(key: Path) -> None:
    """Nobody else may read it."""
    assert stat.S_IMODE(key.stat().st_mode) & 0o077 == 0
    with pytest.raises(ReflectGateError, match="cannot write"):
        new_key(key)


def test_without_the_library_nothing_passes(built: bytes, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signature that cannot be verified is none."""
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.serialization", None)
    assert code_of(require_signature, read_archive(built, "x"), public(key)) == "bundle-signing-missing"


def test_a_required_signature_holds_for_every_way_of_loading(
    policies: Path, built: bytes, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By argument and by environment: a file, an unsigned archive and the shipped policies are refused."""
    ours, bare = tmp_path / "ours.rgb", tmp_path / "bare.rgb"
    ours.write_bytes(signed(read_archive(built, "x"), key)[0])
    bare.write_bytes(built)
    assert load_bundle(policies=ours, require_signature=public(key)).name == "ours"
    monkeypatch.setenv("REFLECT_GATE_REQUIRE_SIGNATURE", str(public(key)))
    assert load_bundle(policies=ours).name == "ours"
    for place in (policies, bare, None):
        assert code_of(lambda place=place: load_bundle(policies=place)) == "bundle-unsigned"


# -- unpacking ----------------------------------------------------------------------------------------------------------------


def test_a_changed_unpacked_file_is_written_again(built: bytes) -> None:
    """What stands in the cache is held to the archive at each load: changed, added and linked files go."""
    files = read_archive(built, "x").files
    place = unpacked(files)
    rules = place.parent / "rules/hedging.yaml"
    rules.write_text(RULES.replace("default: 2", "default: 9"))
    (place.parent / "rules/lexicons/more.yaml").write_text(LEXICON)
    assert unpacked(files) == place
    assert rules.read_text() == RULES
    assert not (place.parent / "rules/lexicons/more.yaml").exists()
    rules.unlink()
    rules.symlink_to("/etc/hostname")
    assert not (unpacked(files).parent / "rules/hedging.yaml").is_symlink()


# -- the command line ---------------------------------------------------------------------------------------------------------


def test_the_verbs(
    policies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Build, sign, verify, inspect: each ends with 0, and a tampered archive with 3 and its code."""
    monkeypatch.chdir(tmp_path)
    assert main(["policy", "bundle", "build", "--policies", str(policies)]) == 0
    assert main(["policy", "bundle", "keygen", "k.pem"]) == 0
    assert main(["policy", "bundle", "sign", "ours.rgb", "--key", "k.pem"]) == 0
    capsysbinary.readouterr()
    assert main(["policy", "bundle", "verify", "ours.rgb", "--key", "k.pem.pub", "--format", "json"]) == 0
    report = orjson.loads(capsysbinary.readouterr().out)
    assert report["verified"]["key"] == report["signatures"][0]
    assert main(["policy", "bundle", "inspect", "ours.rgb"]) == 0
    assert b"rules/hedging.yaml" in capsysbinary.readouterr().out
    Path("ours.rgb").write_bytes(with_file(Path("ours.rgb").read_bytes(), "policies.yaml", b"policies: 1\n"))
    assert main(["policy", "bundle", "verify", "ours.rgb"]) == 3
    assert b"[bundle-tampered]" in capsysbinary.readouterr().err


def test_every_code_is_told_in_the_docs() -> None:
    """The table of the page is the table of the program."""
    page = (data_root() / "docs/policy-bundles.md").read_text()
    for code, meaning in BUNDLE_CODES.items():
        assert f"| `{code}` | {meaning} |" in page
    assert open_archive is not None
