"""The cache of compiled bundles: the same bundle, quickly, and never one that is out of date or was meddled with."""

from __future__ import annotations

import json
import marshal
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from reflect_gate import Bundle, ReflectGateError, load_bundle
from reflect_gate._hashing import fingerprint
from reflect_gate.infer.compiled import Compiled
from reflect_gate.policy import build as building
from reflect_gate.policy import cache
from reflect_gate.policy.bundle import LoadRequest
from reflect_gate.policy.codec import KeptLexicons

POLICIES, GROUNDING, BLAME = "policies.yaml", "rules/grounding.yaml", "lexicons/blame.yaml"
Write = Callable[..., Path]
AS_OF = "2026-01-01"

unix = pytest.mark.skipif(sys.platform == "win32", reason="a user's folders are guarded by Windows itself")


def load(policies: Path, **options: object) -> Bundle:
    """Load the default bundle through the cache."""
    return load_bundle(policies=policies, as_of=AS_OF, **options)  # type: ignore[arg-type]


def _read(bundle: Bundle) -> Bundle:
    """Return a bundle that was kept, with its code read: bytes of the same code need not be the same."""
    assert isinstance(bundle.generated, bytes)
    return bundle._replace(generated=marshal.loads(bundle.generated))  # noqa: S302 - of the cache that this test has filled


def entries() -> list[Path]:
    """Return the entries of the cache."""
    return sorted(cache.cache_folder().iterdir())


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count builds: the names of the bundles that were built from their files."""
    names: list[str] = []
    original = building.build_bundle

    def build(request: LoadRequest) -> tuple[Bundle, building.Inputs]:
        bundle, inputs = original(request)
        names.append(bundle.name)
        return bundle, inputs

    monkeypatch.setattr(building, "build_bundle", build)
    return names


def test_second_load_builds_nothing(write_policies: Write, builds: list[str]) -> None:
    """The second load gives an equal bundle, places and generated code included, without building it."""
    policies = write_policies()
    first, second = load(policies), load(policies)
    assert builds == ["main"]
    assert _read(second) == first._replace(generated=compile(str(first.generated), "<compiled bundle>", "exec"))
    assert [rule.source for rule in second.program.rules] == [rule.source for rule in first.program.rules]


@pytest.mark.parametrize("file", [POLICIES, GROUNDING, BLAME])
def test_changed_file_is_built_again(
    file: str, policy_files: Mapping[str, str], write_policies: Write, builds: list[str]
) -> None:
    """Any change of any file outdates the entry, whatever its time stamp and length."""
    policies = write_policies()
    load(policies)
    path = policies.parent / file
    status = path.stat()
    path.write_text(policy_files[file].replace("doc: ", "doc: X", 1).replace("doc: XT", "doc: X", 1), "utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    load(policies)
    assert len(builds) == 2


def test_new_lexicon_is_seen(policy_files: Mapping[str, str], write_policies: Write) -> None:
    """A file that is added to the folder of lexicons outdates the entry."""
    policies = write_policies()
    load(policies)
    write_policies({"lexicons/luck.yaml": policy_files[BLAME].replace("lexicon: blame", "lexicon: luck")})
    assert sorted(load(policies).lexicons) == ["blame", "luck"]


def test_removed_rule_set_is_an_error(write_policies: Write) -> None:
    """A cached bundle does not outlive its files."""
    policies = write_policies()
    load(policies)
    (policies.parent / GROUNDING).unlink()
    with pytest.raises(ReflectGateError, match="policy-unknown-ruleset"):
        load(policies)


def test_every_option_has_its_own_entry(write_policies: Write) -> None:
    """Name, date, settings and switches are part of what is asked."""
    policies = write_policies()
    bundles = [
        load(policies),
        load(policies, set_=["grounding.min_overlap=0.7"]),
        load(policies, disable=["admission"]),
        load_bundle("child", policies=policies, as_of=AS_OF),
        load_bundle(policies=policies, as_of="2026-01-02"),
    ]
    assert len(entries()) == 5
    # The child and the switch from outside come to the same thing.
    assert len({bundle.digest for bundle in bundles}) == 4


def _flip(data: bytes) -> bytes:
    return data[:-20] + bytes([data[-20] ^ 1]) + data[-19:]


def _resign(data: bytes) -> bytes:
    head, _, lexicons = data[64:].partition(b"\n")
    entry = json.loads(head)
    del entry["bundle"]["program"]
    body = json.dumps(entry).encode() + b"\n" + lexicons
    return fingerprint(body).encode() + body


@pytest.mark.parametrize("spoil", [_flip, _resign, lambda _: b"", lambda data: data[:100], lambda data: b"0" * 64 + data[64:]])
def test_spoilt_entry_is_built_again(spoil: Callable[[bytes], bytes], write_policies: Write, builds: list[str]) -> None:
    """An entry that was cut, changed, or has the right digest of wrong content is ignored and replaced."""
    policies = write_policies()
    first = load(policies)
    (entry,) = entries()
    entry.write_bytes(spoil(entry.read_bytes()))
    kept = first._replace(generated=compile(str(first.generated), "<compiled bundle>", "exec"))
    assert load(policies) == first
    assert _read(load(policies)) == kept
    assert len(builds) == 2


def test_entry_of_another_request_is_ignored(write_policies: Write, builds: list[str]) -> None:
    """An entry that was copied over another is not taken for it."""
    policies = write_policies()
    load(policies)
    load(policies, disable=["admission"])
    one, other = entries()
    other.write_bytes(one.read_bytes())
    assert {ruleset.on for ruleset in load(policies, disable=["admission"]).rulesets} == {True, False}
    assert all(ruleset.on for ruleset in load(policies).rulesets)
    assert len(builds) >= 3


@unix
def test_folder_and_files_are_private(write_policies: Write) -> None:
    """The folder is the user's alone, and so is every entry."""
    load(write_policies())
    assert cache.cache_folder().stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in entries()] == [0o600]


@unix
def test_folder_that_others_may_write_is_not_used(write_policies: Write, builds: list[str]) -> None:
    """Entries carry code, so a folder that others may write to is neither read nor written."""
    policies = write_policies()
    load(policies)
    cache.cache_folder().chmod(0o777)
    load(policies)
    load(policies, disable=["admission"])
    assert len(builds) == 3
    assert len(entries()) == 1


@unix
def test_entry_that_others_may_write_is_not_used(write_policies: Write, builds: list[str]) -> None:
    """So is an entry."""
    policies = write_policies()
    load(policies)
    entries()[0].chmod(0o666)
    load(policies)
    assert len(builds) == 2


@unix
def test_link_is_not_followed(tmp_path: Path, write_policies: Write, builds: list[str]) -> None:
    """An entry that is a link to elsewhere is not read."""
    policies = write_policies()
    load(policies)
    (entry,) = entries()
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    load(policies)
    assert len(builds) == 2


@unix
def test_foreign_owner_is_not_trusted(write_policies: Write, builds: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What belongs to somebody else is neither read nor written."""
    policies = write_policies()
    load(policies)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    load(policies)
    assert len(builds) == 2


def test_unwritable_cache_does_not_matter(tmp_path: Path, write_policies: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be kept, bundles are built each time."""
    policies = write_policies()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "file"))
    assert load(policies) == load(policies)


def test_cache_can_be_left_alone(write_policies: Write) -> None:
    """`cache=False` neither reads nor writes."""
    load(write_policies(), cache=False)
    assert not cache.cache_folder().exists()


def test_broken_policy_is_not_kept(policy_files: Mapping[str, str], write_policies: Write) -> None:
    """A bundle that does not load leaves no entry."""
    with pytest.raises(ReflectGateError):
        load(write_policies({GROUNDING: policy_files[GROUNDING].replace("{gt: 1}", "{gt: x}")}))
    assert not cache.cache_folder().exists()


def test_old_entries_are_dropped(write_policies: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache keeps a bounded number of entries, the newest."""
    monkeypatch.setattr(cache, "_KEPT", 3)
    policies = write_policies()
    for day in range(1, 7):
        load_bundle(policies=policies, as_of=f"2026-01-0{day}")
    assert len(entries()) == 3
    key, found = cache.fetch(LoadRequest("", policies, (), (), (), "2026-01-06"))
    assert found is not None
    assert entries()[0].parent / key in entries()


SCRIPT = """
import sys
from reflect_gate import load_bundle
bundle = load_bundle(policies=sys.argv[1], as_of="2026-01-01")
print(bundle.digest, *sorted({"yaml", "jsonschema", "re2", "durable_rules_engine"} & set(sys.modules)))
"""


def _start(policies: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(policies)], stdout=subprocess.PIPE, text=True)


def test_processes_at_once(write_policies: Write) -> None:
    """Processes that build and write the same entry at once all get the bundle, and leave one whole entry."""
    policies = write_policies()
    started = [_start(policies) for _ in range(4)]
    printed = {process.communicate(timeout=60)[0].split()[0] for process in started}
    assert [process.returncode for process in started] == [0] * 4
    assert printed == {load(policies).digest}
    assert len(entries()) == 1


def test_warm_load_imports_no_reader(write_policies: Write) -> None:
    """A warm load costs no YAML, no schema library and no pattern compiler."""
    policies = write_policies()
    digest = load(policies).digest
    assert _start(policies).communicate(timeout=60)[0].split() == [digest]


def test_lexicons_and_code_wait(write_policies: Write, builds: list[str]) -> None:
    """What a process that only looks after a store has no use for is read when it is asked for, and is the same then."""
    policies = write_policies()
    first, second = load(policies), load(policies)
    assert len(builds) == 1
    assert isinstance(second.lexicons, KeptLexicons)
    assert "_found" not in vars(second.lexicons)
    assert dict(second.lexicons) == first.lexicons
    assert len(second.lexicons) == len(first.lexicons)
    fresh, kept = Compiled(first.program, first.generated), Compiled(second.program, second.generated)
    assert fresh.stages.keys() == kept.stages.keys()
